"""Invalid components, controllers and events are rejected by name."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from tests.sensed import sensed

import hydromechs as hm
from hydromechs.contact import Grasp
from hydromechs.control import HoldPose, JointTrajectory, LqrHoldPose
from hydromechs.model import joints
from hydromechs.model.component import Action, Output
from hydromechs.navigation import Navigation
from hydromechs.recording import summarise
from hydromechs.sensors import DepthGauge, Imu
from hydromechs.simulation import components_of, coordinates


def pendulum():
    inertia = hm.Inertia(mass=2.0, com=(0.1, 0.0, 0.2), tensor=(0.01, 0.02, 0.03, 0.0, 0.0, 0.0))
    bob = hm.Body(
        name="bob", joint=joints.Revolute(axis=(0.0, 1.0, 0.0), placement=hm.Origin((0.0, 0.0, 0.1))), inertia=inertia
    )
    return hm.Model(name="pendulum", bodies=(bob, hm.Body(name="load", joint=joints.Free(), inertia=inertia)))


@dataclass(frozen=True, kw_only=True)
class Rotor(hm.Component):
    name: str = "rotor"
    size: float = 0.1
    grows: float = 0.0

    def act(self, now, z, u):
        part = now.joint("bob")
        return Action(armature=[(part.part.v, self.size + self.grows * part.q[0] ** 2)])


def test_a_rotor_must_be_a_number_that_stays():
    assert hm.Simulation(pendulum(), components=[Rotor()]).plant.armature[0] == 0.1
    with pytest.raises(ValueError, match=r"component 'rotor' \(Rotor\): the armature is -0.1.*at least 0"):
        hm.Simulation(pendulum(), components=[Rotor(size=-0.1)])
    with pytest.raises(ValueError, match=r"component 'rotor' \(Rotor\): the armature is nan"):
        hm.Simulation(pendulum(), components=[Rotor(size=np.nan)])
    with pytest.raises(ValueError, match=r"component 'rotor' \(Rotor\): the armature changes.*return a constant"):
        hm.Simulation(pendulum(), components=[Rotor(grows=1.0)]).compile()


class Counter(hm.Controller):
    """Counts its calls in its memory, and through a part of its own."""

    period = 0.02

    def __init__(self):
        self.memory = np.zeros(1)
        self.part = [0]

    def __call__(self, state):
        self.memory += 1.0
        self.part[0] += 1


def test_two_simulations_with_one_controller_do_not_mix():
    counter = Counter()
    sims = [hm.Simulation(pendulum(), controller=counter) for _ in range(2)]
    for sim in (*sims, *sims):
        sim.run(0.1)
    assert [sim.state.memory[0] for sim in sims] == [10.0, 10.0]
    assert [sim.controller.part for sim in sims] == [[10], [10]] and counter.part == [0]


class Pair(Counter):
    """Remembers two numbers."""

    def __init__(self):
        self.memory, self.part = np.zeros(2), [0]


@pytest.mark.parametrize("other", [None, Pair()], ids=["none", "larger"])
def test_the_memory_of_another_controller_is_rejected(other):
    """With the remedy, which works."""
    state = hm.Simulation(pendulum(), controller=Counter()).run(0.1).state
    sim = hm.Simulation(pendulum(), controller=other)
    with pytest.raises(ValueError, match=r"state\.memory must have shape \((0|2),\), got \(1,\).*replace\(state, memory"):
        sim.reset(state)
    assert sim.reset(replace(state, memory=np.zeros(0), signal=np.zeros(0))).t == state.t
    assert hm.Simulation(pendulum(), controller=Counter()).reset(state) == state


def test_a_state_names_the_controller_whose_memory_it_holds():
    """Two controllers with memories of equal size are distinguished by state files."""
    names = [hm.Simulation(pendulum(), controller=c).layout_names for c in (None, Counter(), Pair())]
    assert len(set(names)) == 3 and names[1].endswith("; Counter remembers 1") and names[2].startswith(names[0])


def test_the_controller_of_a_simulation_can_start_another():
    """Compiled programs do not prevent a copy."""
    scenario = hm.load_scenario("station_keeping")
    sim = scenario.simulation()
    options = {"step": scenario.step, "record": scenario.record, "integrator": scenario.integrator}
    other = hm.Simulation(scenario.plant, controller=sim.controller, state=scenario.start, **options)
    assert other.controller is not sim.controller and other.run(0.1).state == sim.run(0.1).state


def test_a_controller_that_cannot_be_copied_reports_it():
    class Socket(Counter):
        def __init__(self):
            super().__init__()
            self.handle = open(__file__)  # noqa: SIM115  such a thing is what the test is about

    one = Socket()
    with pytest.raises(TypeError, match=r"controller Socket cannot be copied.*in start"):
        hm.Simulation(pendulum(), controller=one)
    one.handle.close()


def test_the_method_of_an_object_is_called_as_it_is():
    class Pilot:
        calls = 0

        def steer(self, state):
            self.calls += 1

    pilot = Pilot()
    hm.Simulation(pendulum(), controller=pilot.steer, period=0.02).run(0.1)
    assert pilot.calls == 5


def recorder(**output):
    @dataclass(frozen=True, kw_only=True)
    class Gauge(hm.Component):
        name: str = "gauge"
        outputs: ClassVar = (Output(**({"name": "reading", "units": "1", "long_name": "a reading"} | output)),)

        def act(self, now, z, u):
            (o,) = self.outputs
            return Action(record={o.name: np.zeros(len(o.labels)) if o.labels else 0.0})

    return Gauge()


@pytest.mark.parametrize("name", ["R_WB", "command", "position", "work", "time", "body", "gauge", "force_weight"])
def test_an_output_with_a_name_of_the_recording_is_rejected(name):
    with pytest.raises(ValueError, match=rf"component 'gauge' \(Gauge\): the output {name!r} .*record"):
        hm.Simulation(pendulum(), components=[recorder(name=name)])


@pytest.mark.parametrize("dimension", ["body", "time", "actuator", "gauge", "position", ""])
def test_an_output_along_a_dimension_of_the_recording_is_rejected(dimension):
    with pytest.raises(ValueError, match=rf"component 'gauge' \(Gauge\): .*'reading'.* dimension {dimension!r}"):
        hm.Simulation(pendulum(), components=[recorder(dimension=dimension, labels=("a", "b"))])


def test_outputs_share_dimensions_with_the_same_labels():
    sim = hm.Simulation(pendulum(), components=[recorder(dimension="xyz", labels=("x", "y", "z"))])
    assert coordinates(sim.plant)["xyz"] == ["x", "y", "z"] and sim.run(0.02).recording.reading.dims[1:] == ("gauge", "xyz")


def test_observe_gives_the_variables_of_the_recording():
    sim = hm.Simulation(pendulum(), components=[hm.actuation.ExternalWrench(body="bob")])
    assert set(sim.observe()) == set(sim.run(0.02).recording.data_vars)


def test_a_summary_on_disk_reports_whether_the_run_diverged():
    recording = hm.Simulation(pendulum()).run(0.02).recording
    assert summarise(recording, diverged="too fast").to_dict()["diverged"] == "too fast"
    assert summarise(recording).to_dict()["diverged"] is None


@pytest.mark.parametrize(
    "what, message",
    [
        ({"grasp": ("gripp",)}, "event 'e'.* grasp 'gripp'.*grip"),
        ({"release": ("gripp",)}, "event 'e'.* grasp 'gripp'.*grip"),
        ({"wrench": {"bobb": (1, 0, 0, 0, 0, 0)}}, "event 'e'.*'bobb'.*bob"),
        ({"command": {"prop": 1.0}}, "event 'e'.* actuator 'prop'"),
        ({"quantity": "q.bobb"}, "event 'e': quantity: 'q.bobb'.*bob"),
    ],
)
def test_events_name_what_is_not_there_in_the_users_words(what, message):
    event = hm.Event(**({"name": "e", "quantity": "time", "level": 1.0} | what))
    grip = Grasp(name="grip", holder="bob", held="load", closed=False)
    with pytest.raises(KeyError, match=message):
        hm.Simulation(pendulum(), components=[hm.actuation.ExternalWrench(body="bob"), grip], events=[event])


def test_components_in_a_list_are_counted():
    with pytest.raises(ValueError, match=r"components\[1\] is 3, but components must be a list of components"):
        hm.Plant(model=pendulum(), components=(Rotor(), 3.0))


def test_a_scenario_rejects_to_watch_the_energy_residual():
    """As a simulation does: it needs the start of the run."""
    event = hm.Event(name="e", quantity="energy_residual", level=1.0)
    with pytest.raises(hm.ScenarioError, match="event 'e': quantity: unknown quantity 'energy_residual'"):
        hm.Scenario(name="s", models=[hm.scenario.ModelStart(model=pendulum())], events=[event], duration=2.0)


def test_a_state_file_of_another_version_reports_it(tmp_path):
    path = tmp_path / "state.json"
    hm.save_state(pendulum().initial(), path)
    text = path.read_text()
    for version, words in (("1", ["version 1", "0.5", "reads version 2", "again"]), ("9", ["version 9", "reads version 2"])):
        path.write_text(text.replace('"hydromechs_state": 2', f'"hydromechs_state": {version}'))
        with pytest.raises(ValueError, match="state.json") as error:
            hm.load_state(path)
        assert all(word in str(error.value) for word in words)
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"state.json is not a state of a simulation: the key 'hydromechs_state' is missing"):
        hm.load_state(path)


def test_rollouts_report_which_shape_does_not_fit():
    plant = hm.Plant(model=pendulum(), components=components_of(pendulum(), [hm.actuation.ExternalWrench(body="bob")]))
    s = plant.model.initial()
    q, v = np.stack([s.q] * 3), np.stack([s.v] * 3)
    with pytest.raises(ValueError, match=r"batch shapes are incompatible: q \(3,\), v \(2,\); use the same leading dimensions"):
        hm.rollout(plant, q, v[:2], {}, 1e-3, 4)
    with pytest.raises(ValueError, match=r"q and v \(3,\), external.bob.X \(2,\)"):
        hm.rollout(plant, q, v, {"external.bob.X": np.ones(2)}, 1e-3, 4)
    with pytest.raises(ValueError, match=r"q and v \(3,\), internal \(2,\)"):
        hm.rollout(plant, q, v, {}, 1e-3, 4, internal=np.zeros((2, plant.layout.nz)))
    opened = hm.Plant(model=pendulum(), parameters=("bob.inertia.com",))
    with pytest.raises(ValueError, match=r"parameter 'bob.inertia.com' must have shape \(..., 3\), got \(2,\)"):
        hm.rollout(opened, q, v, {}, 1e-3, 4, parameters={"bob.inertia.com": np.zeros(2)})
    with pytest.raises(ValueError, match=r"memory applies only with a controller"):
        hm.rollout(plant, q, v, {}, 1e-3, 4, memory=np.zeros((2, 1)))


def test_what_a_notebook_shows():
    dyn = hm.compile(pendulum(), lanes=1, parameters=["bob.inertia.mass"])
    assert repr(dyn) == ("<Dynamics of pendulum: 2 bodies, 7 degrees of freedom; lanes 1, threads 1, open: bob.inertia.mass>")
    hold = hm.control.HoldPose(position=(0.0, 1.5, 20.0), heading_deg=30.0)
    assert repr(hold) == "<HoldPose: (0, 1.5, 20) m, heading 30°, every 0.05 s>"
    path = hm.control.FollowPath(waypoints=[{"position": (0, 0, 1)}, {"t": 9.0, "position": (0, 0, 2)}], body="hull")
    assert repr(path) == "<FollowPath of 'hull': 2 waypoints from t = 0 to 9 s, every 0.05 s>"
    assert repr(hm.actuation.linear_curve(50.0, 40.0)) == "<ForceCurve of 3 points: -40 to 50 N at -1 to 1 throttle>"
    s = dyn.model.initial()
    got = hm.rollout(dyn, np.stack([s.q] * 3), s.v, np.zeros(dyn.model.nv), 1e-3, 4, record=2)
    assert repr(got) == "<Rollout of 3 worlds: 3 rows from t = 0 to 0.004 s, 4 good steps>"


def test_friction_needs_a_joint():
    friction = hm.actuation.JointFriction(joint="load", viscous=1.0)
    with pytest.raises(ValueError, match="joint of body 'load' is free; friction needs a joint of another kind"):
        hm.Simulation(pendulum(), components=[friction])


@pytest.mark.parametrize("where", ["origin", "base", "cart"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: HoldPose(position=(0, 0, 5)),
        lambda: LqrHoldPose(position=(0, 0, 5), controlled=["surge"]),
        lambda: sensed(
            sensors=[Imu(name="imu", frame="hull", rate=100.0), DepthGauge(name="depth", frame="hull", rate=10.0)],
            navigation=Navigation(),
        ),
    ],
)
def test_poses_of_free_joints_that_are_not_those_in_the_world_are_rejected(where, make):
    """A joint with an origin of its own, on a fixed base beside the origin, or on something that moves."""
    away, inertia = hm.Origin((0.0, 0.0, 5.0)), hm.Inertia(mass=10.0, tensor=(1, 1, 1, 0, 0, 0))
    hull = dict(name="hull", inertia=inertia, frames=(hm.Frame("t1"),))
    bodies = {
        "origin": [hm.Body(joint=hm.joints.Free(placement=away), **hull)],
        "base": [
            hm.Body(name="base", joint=hm.joints.Fixed(placement=away), inertia=inertia),
            hm.Body(parent="base", joint=hm.joints.Free(), **hull),
        ],
        "cart": [
            hm.Body(name="cart", joint=hm.joints.Prismatic(axis=(1, 0, 0)), inertia=inertia),
            hm.Body(parent="cart", joint=hm.joints.Free(), **hull),
        ],
    }[where]
    thruster = hm.Thruster(name="t", frame="t1", curve=hm.actuation.linear_curve(50.0, 40.0))
    words = (
        "the free joint of 'hull' is on the moving body 'cart'"
        if where == "cart"
        else r"'hull' has an offset origin, \(0, 0, 5\) m"
    )
    words += "|'hull', which is not free in the world"  # as sensors call a body on another one
    with pytest.raises(ValueError, match=words):
        hm.Simulation(hm.Model(bodies=bodies), components=[thruster], controller=make())


def jaw(drive, **options):
    inertia = hm.Inertia(mass=1.0, com=(0.1, 0.0, 0.0), tensor=(0.003, 0.003, 0.003, 0, 0, 0))
    body = hm.Body(name="jaw", joint=joints.Revolute(axis=(0, 0, 1), limits=(-0.5, 0.5)), inertia=inertia)
    return hm.Simulation(hm.Model(bodies=[body]), components=[drive], **options)


@pytest.mark.parametrize(
    "drive",
    [
        hm.drives.Torque(joint="jaw", limit=5.0),
        hm.drives.Motor(joint="jaw", resistance=1.0, torque_constant=0.05, gear_ratio=50.0),
    ],
)
def test_controllers_of_positions_need_drives_that_take_them(drive):
    """Radians are not sent as torques or volts."""
    motion = JointTrajectory(waypoints=[{"t": 0.0, "jaw": 0.0}, {"t": 1.0, "jaw": 0.4}])
    with pytest.raises(ValueError, match=f"joint 'jaw' has the drive {type(drive).__name__}; use drives.Servo"):
        jaw(drive, controller=motion)


def test_a_joint_that_is_pushed_far_beyond_its_limits_is_named_once():
    run = jaw(hm.drives.Torque(joint="jaw", limit=50.0), commands={"jaw": 30.0}).run(2.0)
    said = [m for m in run.messages if "beyond its limit of 0.5 rad" in m]
    assert len(said) == 1 and "joint 'jaw' is" in said[0] and "define stops" in said[0], run.messages
    assert not jaw(hm.drives.Torque(joint="jaw", limit=50.0), commands={"jaw": 0.05}).run(2.0).messages
