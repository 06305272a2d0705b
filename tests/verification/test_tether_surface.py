"""Lines at the free surface and under it: no energy comes from nowhere, and with drag they settle."""

import math
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import lines
from hydromechs.hydro import Environment, FreeSurface, RegularWave, UniformFlow
from hydromechs.simulation import Plant, evaluate

HOSE = lines.Cable(
    diameter=0.05,
    mass=0.2 * 1025.0 * math.pi / 4.0 * 0.05**2,
    axial_stiffness=200.0,
    axial_damping=2.0,
    bending_stiffness=0.3,
    tangential_added_mass=0.2,
)
STILL = Environment(surface=FreeSurface())
N, LENGTH = 4, 4.0


def plant(environment=STILL, **options):
    """A hose between a post and a point 3.9 m away, both a little below the surface."""
    inertia = hm.Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0, 0, 0))
    post = hm.Body(name="post", joint=hm.joints.Fixed(placement=hm.Origin((0, 0, 0.01))), inertia=inertia)
    top = lines.SwayingPoint(position=(3.9, 0.3, 0.02))
    hose = {"name": "hose", "frame": "post", "top": top, "cable": HOSE, "length": LENGTH, "segments": N} | options
    model = hm.Model(name="post", bodies=[post])
    return Plant(model=model, environment=environment, components=(lines.Tether(**hose),))


def instant(plant, t, z):
    data, _ = plant.data(UniformFlow(plant.environment, plant.seed), t, {})
    layout = plant.layout
    u = np.concatenate([np.full(len(layout.commands) + len(layout.held), 0.4), data])
    return evaluate(plant, t, np.zeros(0), np.zeros(0), z, u)


def thrown(plant, seed, height=0.02):
    """A state in which the masses are near the surface, some out of it, and move."""
    rng, z = np.random.default_rng(seed), np.zeros(plant.layout.nz)
    places = np.stack([np.linspace(0.6, 3.4, N), rng.normal(0, 0.1, N), rng.normal(0, height, N)], axis=1)
    z[: 6 * N] = np.concatenate([places.ravel(), 0.5 * rng.normal(size=3 * N)])
    for name, value in (("hose.length", LENGTH), ("hose.winch_rate", 0.3)):
        if name in plant.layout.states:
            z[plant.layout.states.index(name)] = value
    return z


def moving_water(plant, z):
    """½ Σ w uᵀ M_A u of the pieces, set up independently."""
    x = np.concatenate([[[0, 0, 0.01]], z[: 3 * N].reshape(N, 3), [[3.9, 0.3, 0.02]]])
    u, cable = z[3 * N : 6 * N].reshape(N, 3), plant.components[0].cable
    out = 0.0
    for j in range(1, N + 1):
        t = (x[j + 1] - x[j - 1]) / np.linalg.norm(x[j + 1] - x[j - 1])
        reach = math.hypot(0.5 * LENGTH / N * t[2], 0.5 * cable.diameter * math.sqrt(1.0 - t[2] ** 2))
        s = np.clip(x[j, 2] / reach, -1.0, 1.0)
        wet = 0.25 * (1.0 + s) ** 2 * (2.0 - s) if plant.environment.surface else 1.0
        along = (t @ u[j - 1]) ** 2
        square = cable.normal_added_mass * (u[j - 1] @ u[j - 1] - along) + cable.tangential_added_mass * along
        out += 0.5 * wet * cable.displaced(1025.0) * LENGTH / N * square
    return out


def rate(plant, f, t, z, dt=1e-6):
    """Rate of f(t, z) along the motion, by central differences."""
    zdot = instant(plant, t, z).zdot
    return (f(t + dt, z + dt * zdot) - f(t - dt, z - dt * zdot)) / (2.0 * dt)


@pytest.mark.parametrize("surface", [FreeSurface(), None], ids=["surface", "deep"])
@pytest.mark.parametrize("seed", range(4))
def test_the_water_around_a_line_gives_back_what_it_took(surface, seed):
    """In still water the work of the added mass is −dT_f/dt, what is lost besides is accounted for as "surface" and never a gain."""
    hose = plant(Environment(surface=surface))
    z = thrown(hose, seed)
    power = instant(hose, 0.0, z).outputs[0]["line_power"].sum(axis=0)
    given = rate(hose, lambda t, z: moving_water(hose, z), 0.0, z)
    assert power[1] == pytest.approx(-given, rel=1e-5, abs=1e-6)  # of central differences
    assert power[4] < 0.0 if surface else power[4] == 0.0
    assert power[0] < 0.0 and power[2] <= 0.0  # drag, damping


@pytest.mark.parametrize("waves", [(), (RegularWave(height=0.06, period=1.5, direction=0.3),)], ids=["still", "waves"])
@pytest.mark.parametrize("winch", [None, lines.Winch(shortest=2.0, longest=9.0)], ids=["fixed", "winch"])
def test_energy_changes_by_the_powers_that_are_accounted_for(waves, winch):
    """d/dt of the stored energy is the sum of all powers, with waves that move the surface and with a winch, too."""
    hose = plant(Environment(surface=FreeSurface(), waves=waves), winch=winch)
    for seed in range(3):
        z = thrown(hose, seed)
        power = instant(hose, 0.7, z).outputs[0]["line_power"].sum()
        stored = rate(hose, lambda t, z: float(instant(hose, t, z).elastic_energy), 0.7, z)
        assert power == pytest.approx(stored, rel=1e-5, abs=1e-5)


def test_a_light_hose_at_the_surface_settles():
    """A light hose, thrown: its energy and that of its water never rise, and drag leaves next to nothing of it."""
    hose = plant()
    sim = hm.Simulation(hose, step=4e-3, record=0.02)
    state = sim.state
    sim.reset(replace(state, internal=thrown(hose, 1)))
    recording = sim.run(40.0).recording
    z = recording.internal_state.values
    energy = recording.elastic_energy.values + [moving_water(hose, row) for row in z]
    first = energy[0] - energy[-1]
    assert np.diff(energy).max() < 1e-6 * first  # of rk4
    kinetic = (z[:, 3 * N : 6 * N] ** 2).sum(axis=1)
    assert kinetic[-250:].mean() < 1e-3 * kinetic[:250].mean()
    assert float(abs(recording.energy_residual).max()) < 1e-4 * first
