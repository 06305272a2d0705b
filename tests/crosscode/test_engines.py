"""The same plant in MuJoCo, DART and Bullet: accelerations, contacts, schemes of added mass and their limits."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import added_mass, contact, drag, geometry, joints
from hydromechs.actuation import JointFriction
from hydromechs.contact import Terrain
from hydromechs.hybrid import ENGINES, Causal, Exact, Filtered, Hybrid, Iterated, UnstableScheme
from hydromechs.hydro import Current
from hydromechs.simulation import Plant, Simulation, components_of, evaluate

STEPS = (4e-3, 1e-3)
EPS = np.finfo(float).eps
INSTALLED = [name for name, engine in ENGINES.items() if importlib.util.find_spec(engine.module)]
engines = pytest.mark.parametrize("engine", INSTALLED)


def full_added_mass(rng, size):
    A = rng.normal(size=(6, 6))
    return (added_mass.Matrix((A @ A.T * size).tolist()),)


def swimmer(ratio=1.0):
    """A tilted vehicle with an offset centre of mass and two joints, full added mass everywhere, in a current."""
    rng = np.random.default_rng(3)
    hydro = lambda size: hm.Hydro(  # noqa: E731
        volume=0.01,
        buoyancy_center=(0.02, -0.03, 0.05),
        added_mass=full_added_mass(rng, ratio * size),
        drag=(drag.Damping(linear=(3, 4, 5, 1, 2, 3), quadratic=(9, 8, 7, 3, 2, 1)),),
    )
    vehicle = hm.Body(
        name="vehicle",
        joint=joints.Free(placement=hm.Origin(xyz=(0.5, -1.0, 2.0), rpy=(0.2, 0.3, -0.4))),
        inertia=hm.Inertia(mass=12.0, com=(0.05, -0.02, 0.08), tensor=(0.5, 0.7, 0.9, 0.02, -0.03, 0.04)),
        hydro=hydro(2.0),
    )
    arm = hm.Body(
        name="arm",
        parent="vehicle",
        joint=joints.Revolute(axis=(0.3, 0.9, -0.2), placement=hm.Origin(xyz=(0.3, 0.1, 0.2), rpy=(0.3, -0.4, 0.5))),
        inertia=hm.Inertia(mass=3.0, com=(0.2, 0.03, -0.05), tensor=(0.02, 0.06, 0.05, 0, 0, 0)),
        hydro=hydro(0.5),
    )
    slide = hm.Body(
        name="slide",
        parent="arm",
        joint=joints.Prismatic(axis=(1, 0.2, 0), placement=hm.Origin(xyz=(0.4, 0, 0))),
        inertia=hm.Inertia(mass=2.0, com=(0.1, 0.02, 0.03), tensor=(0.02, 0.03, 0.04, 0, 0, 0)),
        hydro=hydro(0.3),
    )
    model = hm.Model(name="swimmer", bodies=(vehicle, arm, slide))
    quaternion = np.array([0.8, 0.3, -0.4, 0.2])
    q = np.concatenate([[1.0, -2.0, 3.0], quaternion / np.linalg.norm(quaternion), [0.4, -0.1]])
    v = 0.5 * rng.normal(size=8)
    environment = hm.Environment(current=Current(velocity=(0.3, -0.2, 0.1)))
    rotor = JointFriction(joint="arm", viscous=0.5, armature=0.3)
    plant = Plant(model=model, environment=environment, components=(rotor,))
    return plant, hm.State(t=0.0, q=q, v=v)


def acceleration(sim):
    """That of the last step, as the scheme remembers it."""
    names = list(sim.plant.layout.states)
    at = [names.index(f"engine.acceleration.{name}") for name in sim.model.coordinate_names[1]]
    return sim.state.internal[at]


def ours(sim):
    """v̇ of our own equations, in floats."""
    at, nv = sim._at, sim.model.nv
    return np.array(evaluate(sim.plant, at.t, at.q, at.x[:nv], at.x[nv:], sim._inputs(at.t)[0]).vdot, dtype=float)


@engines
@pytest.mark.parametrize("scheme", [Exact(), Iterated()])
def test_a_step_has_the_exact_acceleration(engine, scheme):
    """Lemma 1 of Razzanelli et al. for a mechanism: with a rotor that DART and Bullet do not know, at M_A of up to 60 M_RB."""
    plant, start = swimmer(ratio=3.0)
    h = 1e-3
    sim = Hybrid(engine=engine, scheme=scheme).simulation(plant, state=start, step=h)
    expected = ours(sim)
    sim.step()
    # differences of velocities near 1 over h; a rotation and solutions with condition numbers below 1e3 between them
    np.testing.assert_allclose(acceleration(sim), expected, rtol=0, atol=1e4 * EPS * np.abs(start.v).max() / h)


@engines
def test_a_body_about_its_principal_axes_keeps_its_added_mass(engine):
    """A hull whose centre of mass is its origin: engines that simplify such a body must not simplify the water away."""
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=10.0, tensor=(0.5, 0.4, 0.3, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.008, added_mass=(added_mass.Diagonal((5.0, 20.0, 40.0, 0.1, 0.2, 0.3)),)),
    )
    quaternion = np.array([0.9, 0.3, -0.2, 0.1]) / np.linalg.norm([0.9, 0.3, -0.2, 0.1])
    state = hm.State(q=np.array([0, 0, 5, *quaternion]), v=np.zeros(6))
    plant = Plant(model=hm.Model(bodies=[hull]))
    sim = Hybrid(engine=engine).simulation(plant, state=state, step=1e-3)
    sim.step()
    expected = hm.forward_dynamics(plant.model, state.q, state.v, np.zeros(6))
    np.testing.assert_allclose(acceleration(sim), expected, atol=1e-9 * np.abs(expected).max())


@engines
def test_steps_converge_to_our_engine_with_order_one(engine):
    plant, start = swimmer()
    exact = Simulation(plant, state=start, step=1e-3).step(duration=0.1)
    errors = []
    for h in (2e-3, 1e-3):
        sim = Hybrid(engine=engine).simulation(plant, state=start, step=h)
        errors.append(np.abs(sim.step(duration=0.1).v - exact.v).max())
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.02)  # h² terms
    assert errors[1] < 0.01


# --- one body in heave: the paper's lemmas ------------------------------------------------------------------------------


def sphere(ratio):
    """A sphere of 10 kg, neutral, with an added mass of `ratio` times its own; driven by a wrench."""
    hydro = hm.Hydro(volume=10.0 / 1025.0, added_mass=(added_mass.Diagonal((10.0 * ratio,) * 3 + (0.04 * ratio,) * 3),))
    body = hm.Body(
        name="ball",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=10.0, com=(0, 0, 0), tensor=(0.04, 0.04, 0.04, 0, 0, 0)),
        hydro=hydro,
    )
    model = hm.Model(name="ball", world=hm.World(water_density=1025.0), bodies=(body,))
    return Plant(model=model, components=components_of(model, [hm.actuation.ExternalWrench(body="ball")]))


@engines
def test_causal_scheme_is_exact_but_for_added_mass_times_step_times_jerk(engine):
    """Lemma 2: v_{k+1} = v_k + T (M_RB + M_A)⁻¹ (τ' + M_A (a_k − a_{k−1})), whatever τ' is."""
    ratio, h, m = 0.6, 0.01, 10.0
    sim = Hybrid(engine=engine, scheme=Causal()).simulation(sphere(ratio), step=h)
    forces, speeds = [], [0.0]
    for k in range(30):
        forces.append(20.0 * np.sin(0.3 * k) + (5.0 if k > 10 else 0.0))
        sim.set_wrench("ball", [forces[-1], 0, 0, 0, 0, 0])
        speeds.append(float(sim.step().v[0]))
    a = np.diff(speeds) / h
    disturbed = np.array(forces[1:]) + m * ratio * np.diff(a)
    np.testing.assert_allclose(a[1:], disturbed / (m * (1 + ratio)), rtol=0, atol=1e3 * EPS * max(speeds) / h)


@engines
@pytest.mark.parametrize("scheme", [Causal(), Filtered(weight=0.5)])
def test_stability_limit_is_where_it_is_predicted(engine, scheme):
    """An error a step ahead is multiplied by the eigenvalue: below the limit it dies out, above it grows, by just that factor."""
    h = 0.01
    for ratio in (0.95 * scheme.limit, 1.05 * scheme.limit):
        hybrid = Hybrid(engine=engine, scheme=scheme, accept_unstable=True)
        plant = sphere(ratio)
        sim = hybrid.simulation(plant, step=h)
        sim.set_wrench("ball", [1.0, 0, 0, 0, 0, 0])
        error = []
        for _ in range(40):
            sim.step()
            error.append(acceleration(sim)[0] - 1.0 / (10.0 * (1.0 + ratio)))
        factor = abs(error[-1] / error[-11]) ** 0.1
        assert factor == pytest.approx(hybrid.stability(plant).growth, rel=1e-4)
        assert hybrid.stability(plant).stable == (factor < 1.0)


@engines
def test_a_sphere_with_three_times_its_mass_of_water_runs_exactly_and_diverges_in_the_causal_scheme(engine):
    plant = sphere(3.0)
    with pytest.raises(UnstableScheme, match=r"M_RB⁻¹ M_A at the start is 3 .*accept_unstable"):
        Hybrid(engine=engine, scheme=Causal()).simulation(plant)
    sim = Hybrid(engine=engine, scheme=Causal(), accept_unstable=True).simulation(plant, step=0.01, record=0.01)
    sim.set_wrench("ball", [1.0, 0, 0, 0, 0, 0])
    with pytest.raises(hm.SimulationDiverged, match="diverged.*unstable") as caught:
        sim.run(1.0)
    # an error of 1/10 m/s² grows by 3 a step: 1e6 m/s after ln(1e6/1e-3)/ln 3 = 19 steps
    assert 15 <= caught.value.recording.sizes["time"] <= 23
    sim = Hybrid(engine=engine).simulation(plant, step=0.01)
    sim.set_wrench("ball", [1.0, 0, 0, 0, 0, 0])
    assert sim.step(duration=1.0).v[0] == pytest.approx(1.0 / 40.0, rel=1e-12)


# --- contact ------------------------------------------------------------------------------------------------------------


def block(solid):
    body = hm.Body(
        name="block",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=10.0, com=(0, 0, 0), tensor=(0.2, 0.3, 0.4, 0, 0, 0)),
        hydro=hm.Hydro(volume=0.005, added_mass=(added_mass.Diagonal((8.0, 9.0, 20.0, 0.1, 0.1, 0.1)),)),
        shapes=(geometry.Box(size=(0.4, 0.3, 0.2)),),
    )
    model = hm.Model(name="block", bodies=(body,))
    return Plant(model=model, components=components_of(model, [solid]))


ROUGH = contact.Material(
    law=contact.LinearContact(stiffness=2e4, damping=800.0),
    friction=contact.DryFriction(static=0.5, kinetic=0.4, stiffness=1e4, damping=200.0),
)
SOLIDS = {
    "plane": Terrain(name="floor", material=ROUGH, shape=geometry.Plane.through((0, 0, 0), (0, 0, -1))),
    "box": Terrain(name="floor", material=ROUGH, origin=hm.Origin(xyz=(0, 0, 0.5)), shape=geometry.Box(size=(4, 4, 1))),
}


@pytest.mark.parametrize(("engine", "solid"), [(e, "plane") for e in INSTALLED] + [(e, "box") for e in INSTALLED[:1]])
def test_a_block_lands_slides_and_rests_with_its_weight_in_water(engine, solid):
    """Its kinetic energy with water goes into friction: μ N s = ½ (m + m_A) v²; the corners are recorded as in our engine."""
    plant = block(SOLIDS[solid])
    start = hm.State(t=0.0, q=np.array([0, 0, -0.1, 1, 0, 0, 0]), v=np.array([0.2, 0, 0, 0, 0, 0]))
    sim = Hybrid(engine=engine).simulation(plant, state=start, step=2.5e-3, record=0.05)
    rec = sim.run(0.4).recording
    weight = (10.0 - 0.005 * 1025.0) * 9.81
    assert list(rec.contact.values) == list(Simulation(plant).run(0.02).recording.contact.values)
    assert float(rec.contact_force[-1].sum()) == pytest.approx(weight, rel=1e-3)
    assert float(rec.force_contact[-1].sel(body="block", six="Z")) == pytest.approx(-weight, rel=1e-3)
    stopped = 0.5 * 18.0 * 0.04 / (0.5 * weight)
    assert float(rec.position[-1].sel(body="block", xyz="x")) == pytest.approx(
        stopped, rel=0.06
    )  # it pitches on its front edge
    assert float(rec.position[-1].sel(body="block", xyz="z")) == pytest.approx(-0.1, abs=1e-3)
    assert float(abs(rec.energy_residual).max()) < 0.02 * 0.5 * 18.0 * 0.04


SOFT = contact.Material(law=contact.LinearContact(stiffness=2e4, damping=150.0))


@pytest.mark.parametrize("engine", [e for e in INSTALLED if ENGINES[e].takes_stiffness])
@pytest.mark.parametrize("on", ["floor", "post"])
def test_a_contact_has_the_stiffness_and_damping_of_its_material(engine, on):
    """A ball bounces in ½ period π/ω of its spring; against our engine with first order in the step."""
    ball = hm.Body(
        name="ball",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=10.0, tensor=(0.4, 0.4, 0.4, 0, 0, 0)),
        hydro=hm.Hydro(volume=10.0 / 1025.0, added_mass=(added_mass.Diagonal((5.0, 5.0, 5.0, 0.1, 0.1, 0.1)),)),
        shapes=(geometry.Sphere(radius=0.2),),
    )
    post = hm.Body(
        name="post",
        joint=joints.Fixed(placement=hm.Origin(xyz=(0, 0, 0.3))),
        inertia=hm.Inertia(mass=1.0, tensor=(0.1, 0.1, 0.1, 0, 0, 0)),
        shapes=(geometry.Sphere(radius=0.3),),
    )
    floor = Terrain(name="floor", material=SOFT, shape=geometry.Plane.through((0, 0, 0), (0, 0, -1)))
    model = hm.Model(name="bounce", bodies=(ball, post) if on == "post" else (ball,), world=hm.World(water_density=1025.0))
    what = (
        dict(components=[hm.contact.BodyContact(bodies=("ball", "post"), material=SOFT)])
        if on == "post"
        else dict(components=[floor])
    )
    plant = Plant(model=model, components=components_of(model, what["components"]))
    start = hm.State(t=0.0, q=np.array([0, 0, -0.21, 1, 0, 0, 0]), v=np.array([0, 0, 0.5, 0, 0, 0]))
    ours = Simulation(plant, state=start, step=2.5e-4).step(duration=0.16).v[2]
    assert -0.45 < ours < -0.1  # it has bounced
    off = [abs(Hybrid(engine=engine).simulation(plant, state=start, step=h).step(duration=0.16).v[2] - ours) for h in STEPS]
    assert off[1] < 0.7 * off[0] and off[1] < 0.02  # a phase error of up to a step at the touch, and the order of Euler


@pytest.mark.parametrize("engine", [e for e in INSTALLED if ENGINES[e].takes_stiffness])
@pytest.mark.parametrize("on", ["floor", "slab"])
def test_the_energy_of_a_bounce_with_friction_is_accounted_for(engine, on):
    """Friction acts on the surface of each body; soft surfaces overlap by centimetres, and the lever counts."""
    rough = contact.Material(
        law=contact.LinearContact(stiffness=2e4, damping=0.0),
        friction=contact.DryFriction(static=0.5, kinetic=0.5, stiffness=1e4, damping=100.0),
    )
    tilted = (np.cos(0.2), 0.6 * np.sin(0.2), 0.8 * np.sin(0.2), 0.0)
    case = hm.Body(
        name="case",
        joint=joints.Free(position=(0, 0, 0.2), orientation=tilted, velocity=(0.3, 0, -1.5, 0.2, 0.1, 0)),
        inertia=hm.Inertia(mass=5.0, com=(0.02, -0.01, 0.03), tensor=(0.05, 0.06, 0.08, 0, 0, 0)),
        shapes=(geometry.Box(size=(0.3, 0.2, 0.1)),),
    )
    slab = hm.Body(
        name="slab",
        joint=joints.Prismatic(placement=hm.Origin(xyz=(0, 0, -0.5)), axis=(1, 0, 0)),
        inertia=hm.Inertia(mass=20.0, tensor=(1, 1, 1, 0, 0, 0)),
        shapes=(geometry.Box(size=(4.0, 4.0, 1.0)),),
    )
    model = hm.Model(name="bounce", bodies=(case, slab) if on == "slab" else (case,), world=hm.World(axes="ENU"))
    floor = Terrain(name="floor", material=rough, shape=geometry.Plane.through((0, 0, 0), (0, 0, 1)))
    what = (
        dict(components=[hm.contact.BodyContact(bodies=("case", "slab"), material=rough)])
        if on == "slab"
        else dict(components=[floor])
    )
    plant = Plant(model=model, components=components_of(model, what["components"]))
    residuals = []
    for h in (1e-3, 5e-4):
        rec = Hybrid(engine=engine).simulation(plant, step=h, record=0.01).run(0.2).recording
        assert float(rec.position.sel(body="case", xyz="z").min()) < 0.08 < float(rec.position.sel(body="case", xyz="z")[-1])
        residuals.append(float(np.abs(rec.energy_residual).max()))
    kinetic = float(rec.kinetic_energy_body[0])
    assert residuals[0] < 0.02 * kinetic and residuals[1] < 0.7 * residuals[0]  # first order in the step


@pytest.mark.skipif("bullet" not in INSTALLED, reason="needs pybullet")
def test_energy_that_contacts_of_bullet_supply_is_reported():
    """Points that it remembers on a rock, and a second one deep in a floor, each have the full stiffness; one point is passive."""
    elastic = contact.Material(law=contact.LinearContact(stiffness=2e4, damping=0.0))
    rough = replace(elastic, friction=contact.DryFriction(static=0.5, kinetic=0.5, stiffness=1e4, damping=100.0))
    rock = Terrain(name="rock", material=elastic, shape=geometry.Sphere(radius=1.0).at((0, 0, -1.0)))
    floor = Terrain(name="floor", material=rough, shape=geometry.Plane.through((0, 0, 0), (0, 0, 1)))
    case, drum, ball = (
        geometry.Box(size=(0.3, 0.2, 0.1)),
        geometry.Cylinder(radius=0.1, length=0.4),
        geometry.Sphere(radius=0.1),
    )
    tilted = (np.cos(0.2), 0.6 * np.sin(0.2), 0.8 * np.sin(0.2), 0.0)
    slow, fast = (0.3, 0, -2, 0.2, 0.1, 0), (1, 0.5, -1.5, 3, -2, 1)
    for shape, solid, v in ((case, rock, slow), (drum, floor, fast), (ball, rock, slow), (ball, floor, fast)):
        body = hm.Body(
            name="body",
            joint=joints.Free(position=(0, 0, 0.25), orientation=tilted, velocity=v),
            inertia=hm.Inertia(mass=5.0, com=(0.02, -0.01, 0.01), tensor=(0.05, 0.06, 0.08, 0, 0, 0)),
            shapes=(shape,),
        )
        model = hm.Model(name="bounce", bodies=(body,), world=hm.World(axes="ENU"))
        plant = Plant(model=model, components=components_of(model, [solid]))
        run = Hybrid(engine="bullet").simulation(plant, step=2.5e-4, record=2.5e-3).run(0.3)
        energy = run.recording.kinetic_energy_body + run.recording.potential_energy
        gained = float(energy[-1] - energy[0])
        assert (gained < 0.0) if shape is ball else (gained > 1.0)
        assert any("contacts supply" in m for m in run.messages) == (shape is not ball)


@engines
def test_a_grasp_holds_two_bodies_with_the_force_that_they_need(engine):
    """A push F on the first: the second, at the other end of a ball joint on the line of the push, needs F M₂/(M₁ + M₂)."""
    first = sphere(2.0).model.bodies[0]
    second = replace(first, name="load", hydro=replace(first.hydro, added_mass=(added_mass.Diagonal((5.0,) * 6),)))
    hand, grip = (hm.Frame(name, hm.Origin(xyz=(x, 0, 0))) for name, x in (("hand", 0.4), ("grip", -0.5)))
    model = hm.Model(
        name="pair",
        world=hm.World(water_density=1025.0),
        bodies=(replace(first, frames=(hand,)), replace(second, frames=(grip,))),
    )
    holding = contact.Grasp(name="hold", holder="hand", held="grip", free=("rx", "ry", "rz"))
    plant = Plant(model=model, components=components_of(model, [hm.actuation.ExternalWrench(body="ball"), holding]))
    q, v = model.neutral()
    q[7] = 0.9
    sim = Hybrid(engine=engine).simulation(plant, state=hm.State(t=0.0, q=q, v=v), step=0.01)
    sim.set_wrench("ball", [12.0, 0, 0, 0, 0, 0])
    end = sim.step(duration=0.2)
    np.testing.assert_allclose(end.v[[0, 6]], 0.2 * 12.0 / 45.0, rtol=1e-9)
    seen = sim.observe()
    np.testing.assert_allclose(seen["grasp_force"][0], [12.0 * 15.0 / 45.0, 0, 0, 0, 0, 0], atol=1e-9)
    assert seen["grasp_error"].max() < 1e-9


# --- a run is a run -----------------------------------------------------------------------------------------------------


@engines
def test_a_run_continues_from_its_state_to_the_last_bit(engine):
    plant, start = swimmer()
    sim = Hybrid(engine=engine, scheme=Filtered(weight=0.05)).simulation(plant, state=start, step=1e-3)
    sim.step(duration=0.02)
    half, end = sim.state, sim.step(duration=0.02)
    sim.reset(half)
    again = sim.step(duration=0.02)
    np.testing.assert_array_equal(again.v, end.v)
    np.testing.assert_array_equal(again.internal, end.internal)


@pytest.mark.parametrize("engine", [e for e in ("mujoco", "dart") if e in INSTALLED])
def test_a_run_with_contacts_continues_from_its_state_and_repeats_to_the_last_bit(engine):
    """The contact forces from which engines start do not matter."""
    plant = block(SOLIDS["plane"])
    q = np.array([0.0, 0.0, -0.2, 0.9, 0.3, 0.1, 0.3])
    q[3:] /= np.linalg.norm(q[3:])
    start = hm.State(q=q, v=np.array([0.4, 0.1, 0.3, 0.5, -0.7, 0.2]))
    sim = Hybrid(engine=engine).simulation(plant, state=start, step=1e-3)
    half, end = sim.step(duration=0.4), sim.step(duration=0.4)
    assert np.abs(sim.observe()["contact_force"]).max() > 0.0
    assert sim.reset(half) == half and sim.step(duration=0.4) == end
    sim.reset()
    assert sim.step(duration=0.4) == half and sim.step(duration=0.4) == end


@pytest.mark.skipif("dart" not in INSTALLED, reason="needs dartpy")
def test_what_an_engine_cannot_represent_is_named_before_the_start():
    field = Terrain(name="seabed", material=ROUGH, shape=geometry.HeightField(x=(-1, 1), y=(-1, 1), heights=((0, 0), (0, 0))))
    with pytest.raises(hm.UnsupportedFeature, match="'seabed' is a height field"):
        Hybrid(engine="dart").on(block(field))


def test_an_engine_that_is_not_installed_reports_how_to_get_it(monkeypatch):
    monkeypatch.setattr(ENGINES["bullet"], "module", "no_such_module")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'hydromechs\[bullet\]' \(wheels for Python 3.11 only\)"):
        Hybrid(engine="bullet").on(sphere(1.0))
    with pytest.raises(ValueError, match="no engine is named 'newton'; available: mujoco, dart, bullet"):
        Hybrid(engine="newton")


SCENARIO = """
hydromechs_scenario: 2
name: ball
models:
  ball: {model: "./ball.yaml"}
external: [ball]
run: {engine: ENGINE, duration: 0.1}
"""


@pytest.mark.skipif("mujoco" not in INSTALLED, reason="needs mujoco")
def test_a_scenario_file_names_its_engine(tmp_path):
    from hydromechs.formats import dumps_scenario, loads_scenario

    hm.save(sphere(3.0).model, tmp_path / "ball.yaml")
    for text, engine in (
        ("mujoco", Hybrid(engine="mujoco")),
        ("{type: bullet, scheme: iterated}", Hybrid(engine="bullet", scheme=Iterated())),
        (
            "{type: dart, scheme: {type: filtered, weight: 0.25}, accept_unstable: true}",
            Hybrid(engine="dart", scheme=Filtered(weight=0.25), accept_unstable=True),
        ),
    ):
        scenario = loads_scenario(SCENARIO.replace("ENGINE", text), folder=tmp_path)
        assert scenario.engine == engine
        assert loads_scenario(dumps_scenario(scenario, tmp_path), folder=tmp_path).engine == engine
    with pytest.raises(
        hm.ScenarioError, match="run.engine.scheme.type is 'best', must be one of exact, iterated, causal, filtered"
    ):
        loads_scenario(SCENARIO.replace("ENGINE", "{type: dart, scheme: best}"), folder=tmp_path)
    with pytest.raises(hm.ScenarioError, match="line 7: engine: .* M_RB⁻¹ M_A at the start is 3 .* unstable"):
        loads_scenario(SCENARIO.replace("ENGINE", "{type: dart, scheme: causal}"), folder=tmp_path)
    run = loads_scenario(SCENARIO.replace("ENGINE", "mujoco"), folder=tmp_path).simulation().run(0.1)
    assert run.recording.attrs["integrator"] == "mujoco with exact added mass"
    assert any("largest eigenvalue" in text for text in run.messages)


MISSION = """hydromechs_scenario: 2
name: own engine
models: {rov: {model: bluerov2_heavy_alpha5}}
run: {engine: {type: "own_engine.py:DenseEngine", scheme: iterated}, step: 0.004, duration: 0.02}
"""


def test_an_engine_of_the_users_class(tmp_path):
    """From a file, only with consent; saved by its path; a run and its end say its name."""
    (tmp_path / "own_engine.py").write_text((Path(__file__).parents[2] / "examples" / "own_engine.py").read_text())
    (tmp_path / "mission.yaml").write_text(MISSION)
    with pytest.raises(hm.CodeNotAllowed, match="own_engine.py:DenseEngine"):
        hm.load_scenario(tmp_path / "mission.yaml")
    scenario = hm.load_scenario(tmp_path / "mission.yaml", code=True)
    assert scenario.engine.name == "dense" and isinstance(scenario.engine.scheme, Iterated)
    hm.save_scenario(scenario, tmp_path / "copy.yaml")
    assert 'engine: {type: "own_engine.py:DenseEngine", scheme: iterated}' in (tmp_path / "copy.yaml").read_text()
    again = hm.load_scenario(tmp_path / "copy.yaml", code=True)
    assert again.engine == scenario.engine
    run = again.run().recording
    assert "dense" in run.attrs["integrator"]
    with pytest.raises(ValueError, match=r"DenseEngine\(\)"):
        Hybrid(engine=type(scenario.engine.engine))
