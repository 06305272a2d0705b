"""Open parameters of a simulation: in moving water, in the recording, in states and files; against models that have the numbers."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import contact, geometry
from hydromechs.hydro import Current, RegularWave
from hydromechs.model import added_mass, drag, joints
from hydromechs.model.component import Action, Component
from hydromechs.spatial import where

MASS = "hull.inertia.mass"
CURRENT = hm.Environment(current=Current(times=(0.0, 1.0), velocities=((0.0, 0.0, 0.0), (0.9, -0.4, 0.2))))


def vehicle(*, mass=11.0, **world):
    """A hull with all that water does to it, and an arm."""
    hydro = hm.Hydro(
        volume=0.01,
        buoyancy_center=(0.0, 0.01, -0.05),
        added_mass=added_mass.Diagonal((4.0, 6.0, 8.0, 0.1, 0.2, 0.3)),
        drag=(
            drag.Damping(quadratic=(9.0, 12.0, 15.0, 0.2, 0.3, 0.4)),
            drag.ShapeDrag(shape=geometry.Sphere(radius=0.1), coefficient=0.5),
        ),
    )
    start = joints.Free(position=(0.0, 0.0, 3.0), velocity=(0.3, 0.1, 0.2, 0.1, 0.2, -0.1))
    inertia = hm.Inertia(mass=mass, com=(0.02, -0.01, 0.03), tensor=(0.2, 0.3, 0.4, 0.01, 0.02, -0.01))
    arm = hm.Inertia(mass=1.0, com=(0.1, 0.0, 0.02), tensor=(0.01, 0.02, 0.02, 0.0, 0.0, 0.0))
    bodies = (
        hm.Body(name="hull", joint=start, inertia=inertia, hydro=hydro),
        hm.Body(name="arm", parent="hull", joint=joints.Revolute(placement=hm.Origin((0.3, 0.1, 0.0))), inertia=arm),
    )
    return hm.Model(name="vehicle", bodies=bodies, world=hm.World(**world))


@pytest.mark.parametrize(
    "name, value, changed",
    [
        ("world.gravity", 4.0, {"gravity": 4.0}),
        ("world.water_density", 500.0, {"water_density": 500.0}),
    ],
)
def test_an_open_parameter_in_moving_water_is_that_of_a_model_that_has_it(name, value, changed):
    """All that is recorded: poses, forces, energies, work of the water, and an audit that closes."""
    got = hm.Simulation(vehicle(), environment=CURRENT, parameters={name: value}).run(0.2).recording
    want = hm.Simulation(vehicle(**changed), environment=CURRENT).run(0.2).recording
    for variable in want:
        scale = np.abs(want[variable].values).max() + 1.0
        np.testing.assert_allclose(got[variable], want[variable], rtol=0, atol=1e-11 * scale, err_msg=str(variable))
    assert float(np.abs(got.energy_residual).max()) < 1e-6


def test_gravity_of_waves_must_stay_a_number():
    sea = hm.Environment(waves=(RegularWave(height=0.5, period=5.0),))
    with pytest.raises(ValueError, match="'world.gravity' cannot stay open.*waves"):
        hm.Simulation(vehicle(), environment=sea, parameters=["world.gravity"])
    hm.Simulation(vehicle(), environment=sea, parameters=["world.water_density"])


@pytest.mark.parametrize("name", ["hull.hydro.volume", "hull.hydro.buoyancy_center"])
def test_what_shapes_the_wet_part_must_stay_a_number(name):
    with pytest.raises(ValueError, match=f"{name}' cannot stay open with a free surface"):
        hm.Simulation(vehicle(), environment=hm.Environment(surface=hm.hydro.FreeSurface()), parameters=[name])


def test_values_at_construction_are_part_of_the_state(tmp_path):
    """A run that is saved and resumed has them; a plant's open ones are given beside it; names alone have the model's."""
    plant = hm.Plant(model=vehicle(), parameters=(MASS, "hull.hydro.buoyancy_center"))
    sim = hm.Simulation(plant, parameters={MASS: 30.0})
    assert sim.parameters[MASS] == 30.0
    np.testing.assert_array_equal(sim.state.parameters, [30.0, 0.0, 0.01, -0.05])
    start = sim.state
    whole = sim.run(0.2).state
    assert sim.reset() == start
    half = sim.run(0.1).state
    hm.save_state(half, tmp_path / "state.json")
    other = hm.Simulation(plant)
    np.testing.assert_array_equal(other.state.parameters, [11.0, 0.0, 0.01, -0.05])
    assert other.state != start
    other.state = hm.load_state(tmp_path / "state.json")
    assert other.parameters[MASS] == 30.0
    assert other.run(0.1).state == whole
    want = hm.Simulation(vehicle(mass=30.0)).run(0.2).state
    np.testing.assert_allclose(whole.q, want.q, rtol=0, atol=1e-13)


def test_a_state_without_parameters_starts_with_those_of_the_construction():
    sim = hm.Simulation(vehicle(), parameters={MASS: 30.0})
    sim.parameters[MASS] = 12.0
    assert sim.state.parameters == [12.0]
    sim.reset(sim.model.initial())
    assert sim.parameters == {MASS: 30.0}
    given = hm.Simulation(sim.plant, state=replace(sim.state, parameters=np.array([7.0])))
    assert given.parameters[MASS] == 7.0
    with pytest.raises(ValueError, match=r"state.parameters must have shape \(1,\), got \(2,\)"):
        sim.reset(replace(sim.state, parameters=np.zeros(2)))


def test_parameters_that_do_not_fit_are_rejected_by_name():
    plant = hm.Plant(model=vehicle(), parameters=(MASS,))
    with pytest.raises(KeyError, match="unknown open parameter 'hull.inertia.mas' .*mass"):
        hm.Simulation(plant, parameters={"hull.inertia.mas": 3.0})
    with pytest.raises(ValueError, match=r"parameter 'hull.inertia.mass' must have shape \(\), got \(2,\)"):
        hm.Simulation(plant, parameters={MASS: [3.0, 4.0]})
    with pytest.raises(ValueError, match="parameter 'hull.inertia.mass' is nan"):
        hm.Simulation(vehicle(), parameters={MASS: np.nan})
    with pytest.raises(TypeError, match="parameters is given, but the Plant already"):
        hm.Simulation(plant, parameters=[MASS])


def test_a_state_file_names_open_parameters():
    """`hydromechs run --resume` compares what the numbers of a state are."""
    closed, opened = hm.Simulation(vehicle()), hm.Simulation(vehicle(), parameters=[MASS])
    assert MASS in opened.layout_names and opened.layout_names.startswith(closed.layout_names)


def linked(**options):
    """A hull on a floor with a foot, a frame of nothing, and an arm on a ball joint."""
    model = vehicle()
    hull, arm = model.bodies
    joint = joints.Ball(placement=hm.Origin((0.3, 0.1, 0.0)), stiffness=(5.0, 6.0, 7.0), limit=0.5)
    frames = [hm.Frame("foot", hm.Origin((0.0, 0.0, 0.3))), hm.Frame("thing", hm.Origin((0.1, 0.0, 0.0)))]
    hull = replace(hull, frames=frames, shapes=[hm.geometry.Sphere(radius=0.2)])
    mud = contact.Material(law=contact.LinearContact(stiffness=2e3, damping=50.0))
    floor = contact.Terrain(name="floor", material=mud, shape=geometry.Plane.through((0.0, 0.0, 3.25), (0, 0, -1)))
    both = hm.Model(name="linked", bodies=[hull, replace(arm, joint=joint)])
    parts = [floor, hm.contact.PointContact(frame="foot"), *options.pop("components", ())]
    return hm.Simulation(both, components=parts, **options)


@pytest.mark.parametrize(
    "name, said",
    [
        ("hull.shapes.sphere.shape.radius", "cannot stay open, because contacts"),
        ("arm.joint.limit", "has no effect on the equations"),
        ("hull.frames.1.origin.xyz", "has no effect on the programs of the plant; replace the number"),
        ("arm.joint.stiffness", "cannot stay open, because the programs of the plant require its value"),
        ("hull.frames.0.origin.rpy", "has no effect"),
        ("arm.joint.placement.rpy", "cannot stay open"),
    ],
)
def test_what_no_program_reads_is_rejected_by_name(name, said):
    """Beside a parameter that is good; also what programs cannot have as a symbol."""
    with pytest.raises((ValueError, KeyError), match=f"parameter '{name}' {said}"):
        linked(parameters=[MASS, name])


@dataclass(frozen=True)
class Late(Component):
    """A pull on the hull that depends on the place of a frame, from 1 s on."""

    name: str = "late"

    def act(self, now, z, u):
        """Nothing before."""
        frame = now.frame("thing")
        return Action(forces=[frame.force(np.array([where(now.t > 1.0, frame.p_B[0], 0.0), 0.0, 0.0]))])


def test_a_parameter_that_is_read_at_another_time_is_taken():
    """Parameters may take effect only after the start; of a plant that nothing wets, water is no part."""
    linked(components=[Late()], parameters=["hull.frames.1.origin.xyz"])
    dry = replace(vehicle(), bodies=tuple(replace(b, hydro=None) for b in vehicle().bodies))
    with pytest.raises(ValueError, match="'world.water_density' has no effect"):
        hm.Plant(model=dry, parameters=["world.water_density"])


def test_a_foot_whose_place_is_open_touches_there():
    """The frame that touches terrain: as in a model that has it elsewhere."""
    place = (0.0, 0.05, 0.4)
    sim = linked(parameters={"hull.frames.0.origin.xyz": place})
    gap = sim.observe()["contact_gap"][0]
    hull, _ = sim.model.bodies
    assert gap == pytest.approx(3.25 - 3.0 - 0.4)
    assert hull.frames[0].origin.xyz == (0.0, 0.0, 0.3)


def test_values_that_no_model_can_have_are_rejected_by_name():
    """In a simulation and in worlds; a world whose number is spoilt later reports it."""
    said = "parameter 'hull.inertia.mass' is -50.0: .*mass"
    with pytest.raises(ValueError, match=said):
        hm.Simulation(vehicle(), parameters={MASS: -50.0})
    plant = hm.Plant(model=vehicle(), parameters=[MASS])
    with pytest.raises(ValueError, match=said):
        hm.Worlds(plant, 3, parameters={MASS: [11.0, -50.0, 12.0]})
    worlds = hm.Worlds(plant, 2, step=1e-3)
    worlds.parameters[MASS][1] = np.nan
    worlds.step()
    assert worlds.report() == ["world 1: t = 0 s: parameter 'hull.inertia.mass' is nan, must be finite"]
