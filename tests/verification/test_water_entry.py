"""Bodies that go through the free surface: momentum theory, energy that never rises, and an audit that sees what is missing."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import hydromechs as hm
from hydromechs import dynamics, hydro
from hydromechs.hydro import Current, DepthTable, Environment, FreeSurface, RegularWave
from hydromechs.simulation import Plant
from hydromechs.simulation._evaluate import evaluate

STILL = Environment(surface=FreeSurface())
WAVES = (RegularWave(height=0.3, period=2.5, direction=0.3), RegularWave(height=0.2, period=3.1, direction=-0.8))
SHEAR = DepthTable(depths=(0.0, 30.0), factors=(1.0, 0.1))
WATERS = {
    "still": STILL,
    "current": Environment(surface=FreeSurface(), current=Current(velocity=(0.4, 0.2, 0.1))),
    "waves": Environment(surface=FreeSurface(), waves=WAVES),
    "waves on a current": Environment(
        surface=FreeSurface(), waves=WAVES, current=Current(velocity=(0.4, 0.2, 0.0), profile=SHEAR), water_depth=9.0
    ),
}


def full(mass, length, seed):
    """A full matrix of added mass, about as large as the body's own inertia."""
    B = np.random.default_rng(seed).normal(size=(6, 6))
    D = np.diag([1.0, 1.0, 1.0, length, length, length])
    return hm.added_mass.Matrix(0.15 * mass * D @ B @ B.T @ D)


def model(
    shapes,
    volume,
    mass,
    added,
    *,
    com=(0, 0, 0),
    center=(0, 0, 0),
    depth=-0.3,
    velocity=(0.3, 0.2, 0.0, 0.5, 1.2, 0.3),
    **world,
):
    """A free body without drag."""
    r = mass * volume ** (2 / 3) / 6
    body = hm.Body(
        name="body",
        joint=hm.joints.Free(position=(0, 0, depth), velocity=velocity),
        inertia=hm.Inertia(mass=mass, com=com, tensor=(1.3 * r, r, 0.8 * r, 0, 0, 0)),
        hydro=hm.Hydro(volume=volume, buoyancy_center=center, added_mass=added),
        shapes=shapes,
    )
    return hm.Model(name="crossing", bodies=[body], world=hm.World(**world))


def box(size, **at):
    return [hm.geometry.Placed(shape=hm.geometry.Box(size=size), **at)], math.prod(size)


def cylinder(radius, length, **at):
    return [hm.geometry.Placed(shape=hm.geometry.Cylinder(radius=radius, length=length), **at)], math.pi * radius**2 * length


def sphere(radius, **at):
    return [hm.geometry.Placed(shape=hm.geometry.Sphere(radius=radius), **at)], 4 / 3 * math.pi * radius**3


RAFT = model(
    *box((2.0, 1.0, 0.6)),
    615.0,
    hm.added_mass.Diagonal((0.2 * 615, 0.6 * 615, 1.5 * 615, 20, 100, 60)),
    velocity=(0.5, 0.3, 0.2, 1.0, 0.8, 0.4),
)
OFF = hm.Origin((0.2, 0.1, 0.0))
TILTED = hm.Origin((0.3, 0.0, 0.4), (0.5, 0.3, 0.0))
BODIES = {
    "sphere": model(
        *sphere(0.3), 60.0, hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=0.3)), com=(0.05, 0.02, 0.03)
    ),
    "sphere off its origin": model(*sphere(0.3, origin=OFF), 50.0, full(50, 0.3, 1), center=(0.2, 0.1, 0.0)),
    "cube": model(*box((0.8, 0.8, 0.8)), 300.0, full(300, 0.4, 2)),
    "plate": model(*box((1.5, 1.0, 0.1)), 90.0, hm.added_mass.Diagonal((5, 10, 400, 30, 60, 3)), depth=-0.5),
    "box with its weight aside": model(*box((1.0, 0.6, 0.5)), 200.0, full(200, 0.4, 7), com=(0.1, 0.05, -0.1)),
    "cylinder": model(
        *cylinder(0.2, 1.5),
        110.0,
        hm.added_mass.ShapeAddedMass(shape=hm.geometry.Cylinder.between((0, 0, -0.75), (0, 0, 0.75), radius=0.2)),
    ),
    "tilted cylinder": model(*cylinder(0.2, 1.5, origin=TILTED), 110.0, full(110, 0.5, 3), center=(0.3, 0.0, 0.4)),
    "disc": model(*cylinder(0.6, 0.15), 100.0, hm.added_mass.Diagonal((5, 5, 500, 30, 30, 2)), depth=-0.5),
    "ellipsoid": model(
        [], 0.1, 60.0, hm.added_mass.ShapeAddedMass(shape=hm.geometry.Ellipsoid(axes=(0.6, 0.3, 0.2))), com=(0.05, 0.0, 0.05)
    ),
    "capsule": model([hm.geometry.Capsule(radius=0.2, length=1.0)], 0.16, 90.0, full(90, 0.5, 4), com=(0.1, 0.0, 0.02)),
    "box and sphere": model(
        [*box((0.5, 0.5, 0.3))[0], *sphere(0.25, origin=hm.Origin((0.6, 0.0, 0.1)))[0]], 0.14, 80.0, full(80, 0.5, 5)
    ),
}


def energies(ds):
    return (ds.kinetic_energy_body + ds.kinetic_energy_fluid + ds.potential_energy).values


@pytest.mark.parametrize("step", [0.005, 0.002, 0.001])
def test_a_raft_never_gains_energy(step):
    """A box that tumbles through the surface for five minutes. Before the force of its changing added mass was there it gained."""
    ds = hm.Simulation(RAFT, environment=STILL, step=step, record=0.1).run(300.0).recording
    E = energies(ds)
    assert list(ds.cause.values) == ["drag", "surface"]
    assert E[0] - E[-1] > 100.0
    assert np.diff(E).max() < 0.0
    assert np.abs(ds.energy_residual.values).max() < 1e-4 * (step / 0.005) ** 2


@pytest.mark.parametrize("name", BODIES)
def test_no_body_gains_energy(name):
    """Verify that energy falls from sample to sample, but for the error of integration, which the audit shows.

    Edges that touch the water make the wet part's second derivative jump, so the residual falls with h² at least.
    """
    off = []
    for step in (0.005, 0.001):
        ds = hm.Simulation(BODIES[name], environment=STILL, step=step, record=0.05).run(40.0).recording
        E, residual = energies(ds), np.abs(ds.energy_residual.values)
        work = ds.work.sel(cause="surface").values
        assert np.diff(work).max() <= 0.0  # a loss at every instant
        assert work[-1] < -10.0
        off.append(residual.max())
        assert np.diff(E).max() < 2 * residual.max()
    assert off[1] < 1e-5 * abs(work[-1])
    assert off[1] < off[0] / 5


def entry(shapes, volume, mass, added, rpy, touch, wet, speed=3.0):
    """Depth below first touch, speed and speed of momentum theory of a body that falls into the water without gravity."""
    start = model(shapes, volume, mass, hm.added_mass.Diagonal((*added, 0.1, 0.1, 0.1)), depth=-touch - AIR, gravity=0.0)
    state = start.initial()
    state.q[3:7] = hm.spatial.quaternion_from_matrix(hm.Origin((0, 0, 0), rpy).R)
    down = hm.Origin((0, 0, 0), rpy).R.T @ [0.0, 0.0, 1.0]
    state.v[:] = [*(speed * down), 0, 0, 0]
    ds = hm.Simulation(start, environment=STILL, step=2e-4, record=2e-3, state=state).run(0.6).recording
    h = ds.depth.values[:, 0] + touch
    v = ds.velocity.values[:, 0, :3] @ down
    M_A = down @ (np.array(added) * down)
    return h, v, mass * speed / (mass + M_A * np.array([wet(x) for x in h]))


R = 0.25
AIR = 0.02
"""Height from which bodies fall, so that rounded edges are dry [m]."""


def segment(h):
    """Part of a circle of radius R below a chord at height h."""
    s = min(max(h / R - 1.0, -1.0), 1.0)
    return 1.0 - (math.acos(s) - s * math.sqrt(1.0 - s * s)) / math.pi


def diamond(h):
    """Part of a square that stands on its corner below height h, edge 2R."""
    half = math.sqrt(2.0) * R
    h = min(max(h, 0.0), 2.0 * half)
    return 0.5 * (h / half) ** 2 if h < half else 1.0 - 0.5 * (2.0 - h / half) ** 2


def cap(h):
    """Part of a ball of radius R below height h."""
    h = min(max(h, 0.0), 2.0 * R)
    return h * h * (3 * R - h) / (4 * R**3)


ENTRIES = {
    # shapes and volume, added mass, attitude, distance of the lowest point, wet part by depth, largest error of the wet part
    "sphere": (*sphere(R), (35.0,) * 3, (0, 0, 0), R, cap, 0.0),
    "wedge": (*box((2 * R, 1.2, 2 * R)), (150.0,) * 3, (0, math.pi / 4, 0), math.sqrt(2) * R, diamond, 1.3 * 0.02),
    "cylinder": (*cylinder(R, 1.2), (240.0, 240.0, 30.0), (0, math.pi / 2, 0), R, segment, 1.7 * 0.02),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_momentum_theory_of_water_entry(name):
    """Verify m V₀ = (m + M_A(h)) V of von Kármán (1929), with M_A(h) the wet part of the body's added mass, without gravity.

    A wedge is a box that falls on an edge. The wet part of boxes and cylinders is rounded (`ROUNDING`), so V is off by at
    most that part of M_A/m; that of a sphere is exact. The slope of ẇ jumps where a body touches: (V h/R)² ΔV = 5e-6 at most.
    """
    shapes, volume, added, rpy, touch, wet, rounding = ENTRIES[name]
    h, v, theory = entry(shapes, volume, 100.0, added, rpy, touch, wet)
    assert h[0] == pytest.approx(-AIR, abs=1e-12) and h.max() > 2 * touch
    M_A = max(added)
    assert v[-1] == pytest.approx(3.0 * 100.0 / (100.0 + M_A), rel=1e-5)  # however it came in
    np.testing.assert_allclose(v, theory, rtol=0, atol=5e-6 + 3.0 * rounding * M_A / 100.0)
    assert np.abs(v - theory).max() < 0.25 * np.abs(3.0 - theory).max()


def test_a_body_that_leaves_the_water_keeps_its_speed():
    """Without gravity nothing acts on the way out: the water's energy stays behind, and is accounted for to the surface."""
    shapes, volume = sphere(R)
    up = model(
        shapes,
        volume,
        100.0,
        hm.added_mass.ShapeAddedMass(shape=hm.geometry.Sphere(radius=R)),
        depth=R,
        velocity=(0, 0, -3.0, 0, 0, 0),
        gravity=0.0,
    )
    ds = hm.Simulation(up, environment=STILL, step=1e-3, record=1e-2).run(0.4).recording
    np.testing.assert_allclose(ds.velocity.values[:, 0, 2], -3.0, rtol=0, atol=1e-12)
    lost = 0.5 * 2 / 3 * math.pi * R**3 * up.world.water_density * 3.0**2
    assert float(ds.work.sel(cause="surface")[-1]) == pytest.approx(-lost, rel=1e-6)
    assert np.abs(ds.energy_residual.values).max() < 1e-6 * lost


def test_a_sphere_dropped_into_the_water():
    """Verify the deepest point of a sphere with M_A = m, dropped from 1 m, against SciPy's solution of

        (m + w M_A) z̈ = (m − w ρ V) g − max(ẇ, 0) M_A ż,   ẇ = ¾ (1 − s²) ż/r,   s = z/r.

    ẇ falls through the slow range at the end only, where the force is small: 1 %. Without the force it would dive twice as deep.
    """
    r, density = 0.2, 1025.0
    shapes, volume = sphere(r)
    mass = 0.5 * density * volume
    drop = model(shapes, volume, mass, hm.added_mass.Diagonal((mass,) * 3 + (0.1,) * 3), depth=-1.0 - r, velocity=(0,) * 6)
    ds = hm.Simulation(drop, environment=STILL, step=1e-3, record=1e-2).run(1.5).recording

    def deepest(slam):
        def rate(t, y):
            s = np.clip(y[0] / r, -1, 1)
            wet = (1 + s) ** 2 * (2 - s) / 4
            force = (1 - 2 * wet) * 9.81 - slam * max(0.75 * (1 - s * s) / r * y[1], 0.0) * y[1]
            return [y[1], force / (1 + wet)]

        return solve_ivp(rate, (0.0, 1.5), [-1.0 - r, 0.0], rtol=1e-9, max_step=0.01).y[0].max()

    assert float(ds.depth.max()) == pytest.approx(deepest(1.0), rel=0.01)
    assert deepest(0.0) > 1.8 * deepest(1.0)


@pytest.mark.parametrize("water", WATERS)
@pytest.mark.parametrize("name", ["sphere off its origin", "box with its weight aside", "tilted cylinder", "capsule"])
def test_power_balance_of_an_instant(name, water, monkeypatch):
    """Verify dE/dt, by differences of the energies along the motion, against the powers of all causes, at random states.

    Energies know nothing of forces: without the force of the changing added mass the balance is off by ẇ V_rᵀ M_A V_r.
    """
    plant = Plant(model=BODIES[name], environment=WATERS[water])
    m, rng, t, h = plant.model, np.random.default_rng(5), 0.7, 1e-5
    inputs, _ = plant.data(hydro.UniformFlow(plant.environment), t, {})
    z = np.zeros(plant.layout.nz)

    def balance(q, v):
        now = evaluate(plant, t, q, v, z, inputs)
        energy = []
        along = dynamics.chart_rate(m, q, np.zeros(m.nv), v)
        for s in (h, -h):
            e = evaluate(plant, t + s, dynamics.retract(m, q, s * along), v + s * now.vdot, z, inputs)
            energy.append(e.kinetic_energy_body + e.kinetic_energy_fluid + e.potential_energy)
        return (energy[0] - energy[1]) / (2 * h), now.zdot.sum(), now.zdot[plant.layout.causes.index("surface")]

    worst, missing = 0.0, 0.0
    for _ in range(12):
        q = m.initial().q
        q[2] = rng.uniform(-0.2, 0.2)
        turn = rng.normal(size=4)
        q[3:7] = turn / np.linalg.norm(turn)
        v = rng.normal(size=6)
        rate, power, lost = balance(q, v)
        assert lost <= 0.0
        worst = max(worst, abs(rate - power))
        with monkeypatch.context() as patch:
            patch.setattr(hydro, "crossing_wrench", lambda body, motion: np.zeros(6))
            patch.setattr(hydro._terms, "crossing_wrench", lambda body, motion: np.zeros(6))
            rate, power, _ = balance(q, v)
            missing = max(missing, abs(rate - power))
    # energies of 1e3 J at times of 0.1 s: truncation h² 1e3/0.1³, rounding 1e3 eps/h
    assert worst < 1e-4
    assert missing > 10.0
