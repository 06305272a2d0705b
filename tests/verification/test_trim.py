"""Equilibria against closed forms, and as starts of simulations that stay where they are."""

import math
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import lines
from hydromechs.actuation import JointFriction, Thruster, drives, linear_curve, t200_curve
from hydromechs.hydro import Current, Gusts
from hydromechs.model import added_mass, drag, joints


def vessel(weight=30.0, **options) -> hm.Model:
    """A vehicle that weighs `weight` newtons in water, with drag and six thruster frames."""
    frames = {
        "surge": ((-0.3, 0.0, 0.0), (0.0, 0.0, 0.0)),
        "sway": ((0.0, 0.0, 0.0), (0.0, 0.0, math.pi / 2)),
        "bow": ((0.3, 0.0, 0.0), (0.0, math.pi / 2, 0.0)),
        "stern": ((-0.3, 0.0, 0.0), (0.0, math.pi / 2, 0.0)),
        "fore": ((0.3, 0.0, 0.0), (0.0, 0.0, math.pi / 2)),
    }
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=50.0, com=(0.0, 0.0, 0.02), tensor=(2.0, 3.0, 4.0, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(
            volume=(50.0 - weight / 9.81) / 1025.0,
            buoyancy_center=(0.0, 0.0, -0.03),
            added_mass=added_mass.Diagonal((20.0, 40.0, 60.0, 1.0, 2.0, 3.0)),
            drag=(drag.Damping(linear=(10.0, 20.0, 30.0, 1.0, 2.0, 3.0), quadratic=(50.0, 80.0, 90.0, 2.0, 3.0, 4.0)),),
        ),
        frames=tuple(hm.Frame(name, hm.Origin(*place)) for name, place in frames.items()),
    )
    return hm.Model(name="vessel", bodies=[hull], world=hm.World(gravity=9.81, water_density=1025.0))


def thrusters(model, dead_band=0.1):
    curve = linear_curve(100.0, 80.0, dead_band=dead_band)
    return [Thruster(name=n, frame=n, curve=curve, time_constant=0.2) for n in model.frames]


def plant(model, **options) -> hm.Plant:
    return hm.Plant(model=model, components=tuple(thrusters(model)), **options)


def test_thrust_that_carries_a_weight_and_drives_on():
    """Surge thrust is the drag at the wanted speed; bow and stern share the weight; a dead band is no obstacle."""
    model, u = vessel(), 0.5
    state = model.initial()
    state.v[0] = u
    found = hm.trim(plant(model), state=state)
    assert found.converged and not found.message
    force = {c.name: float(c.curve.steady(found.commands[c.name])) for c in thrusters(model)}
    assert force["surge"] == pytest.approx(10.0 * u + 50.0 * u**2, rel=1e-9)
    assert force["bow"] == pytest.approx(15.0, rel=1e-9) and force["stern"] == pytest.approx(15.0, rel=1e-9)
    assert max(map(abs, found.residual.values())) < 1e-8
    run = hm.Simulation(plant(model), state=found.state).run(1.0)  # the thrusters' lag starts in equilibrium, too
    assert np.allclose(run.state.v, state.v, rtol=0.0, atol=1e-9)


def test_open_parameters_are_those_of_the_state():
    """A vehicle made heavier by 2 kg is carried by 19.62 N more, and a run starts from what was found."""
    open_plant = plant(vessel(), parameters=("hull.inertia.mass",))
    state = hm.Simulation(open_plant, parameters={"hull.inertia.mass": 52.0}).state
    found = hm.trim(open_plant, state=state)
    force = sum(float(c.curve.steady(found.commands[c.name])) for c in thrusters(vessel()) if c.name in ("bow", "stern"))
    assert found.converged and force == pytest.approx(30.0 + 2.0 * 9.81, rel=1e-9)
    assert found.state.parameters.tolist() == [52.0] and hm.trim(open_plant).state.parameters.tolist() == [50.0]
    assert np.abs(hm.Simulation(open_plant, state=found.state).run(0.5).state.v).max() < 1e-9
    with pytest.raises(ValueError, match=r"state.parameters must have shape \(1,\), got \(2,\)"):
        hm.trim(open_plant, state=replace(state, parameters=np.zeros(2)))


def test_given_commands_come_back_and_no_thrust_is_no_command():
    """Not another one that does the same, nor one at the edge of the dead band."""
    found = hm.trim(plant(vessel()), commands={"surge": 0.05})
    assert found.converged and found.commands["surge"] == 0.05
    assert found.commands["sway"] == 0.0 and found.commands["fore"] == 0.0
    with pytest.raises(ValueError, match="the command of 'surge' is 1.5.*outside its range -1 to 1"):
        hm.trim(plant(vessel()), commands={"surge": 1.5})


def test_thrust_against_a_current():
    model, c = vessel(weight=0.0), 0.4
    water = hm.Environment(current=Current(velocity=(-c, 0.0, 0.0)))
    found = hm.trim(plant(model, environment=water))
    assert float(linear_curve(100.0, 80.0, 0.1).steady(found.commands["surge"])) == pytest.approx(10 * c + 50 * c**2, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "current"),
    [
        ("bluerov2_heavy_alpha5", (0.35, 0.07, 0.0)),
        ("bluerov2_heavy_alpha5", (0.7, 0.14, 0.0)),
        ("tiburon_titan2", (0.4, 0.12, 0.0)),
    ],
)
def test_vehicles_stay_in_a_current(name, current):
    """Their thrusters lose to the inflow; by command there are false minima around no thrust."""
    vehicle = replace(hm.load_plant(name), environment=hm.Environment(current=Current(velocity=current)))
    found = hm.trim(vehicle)
    assert found.converged and not found.message
    for thruster in (c for c in vehicle.components if isinstance(c, Thruster)):
        assert thruster.curve.commands[0] <= found.commands[thruster.name] <= thruster.curve.commands[-1]


def losing(model, curve, **options) -> hm.Plant:
    """The vessel with thrusters that lose all thrust at 2 m/s."""
    pushing = (Thruster(name=n, frame=n, curve=curve, zero_thrust_speed=2.0) for n in model.frames)
    return hm.Plant(model=model, components=tuple(pushing), **options)


def test_the_highest_current_that_thrust_withstands():
    """10 c + 50 c² = 80 (1 − c / 2); beyond, what is at its limit is named, and commands stay in range."""
    model, highest = vessel(weight=0.0), (math.sqrt(50.0**2 + 4 * 50.0 * 80.0) - 50.0) / 100.0
    for c, holds in ((highest - 1e-6, True), (highest + 1e-3, False)):
        against = hm.Environment(current=Current(velocity=(-c, 0.0, 0.0)))
        found = hm.trim(losing(model, linear_curve(80.0, 60.0), environment=against))
        assert found.converged == holds
        assert found.commands["surge"] == pytest.approx(1.0, abs=1e-5) and found.commands["surge"] <= 1.0
    assert found.message.endswith("at their limits: surge") and "hull.u (-0.1" in found.message


def test_full_reverse_is_a_command_in_range():
    """A pulse width of 0 µs would be held at full reverse, too, but is none."""
    found = hm.trim(losing(vessel(weight=-300.0), t200_curve()))
    assert not found.converged and found.message.endswith("at their limits: bow, stern")
    assert [found.commands[n] for n in ("bow", "stern")] == pytest.approx([1100.0] * 2, rel=1e-12)
    assert min(found.commands.values()) >= 1100.0


def test_thrust_and_loss_turn_with_a_free_heading():
    """Found in terms of thrust in the water, but held by commands of the plant as it is."""
    model = vessel(weight=5.0)
    water = hm.Environment(current=Current(velocity=(-0.5, 0.6, 0.1)))
    turning = losing(model, linear_curve(60.0, 40.0, dead_band=0.1), environment=water)
    found = hm.trim(turning, commands={"fore": -0.3}, free=["hull.r", "hull.p", "hull.q"])
    assert found.converged and abs(found.state.q[6]) > 0.1
    assert np.abs(hm.linearize(turning, state=found.state).rates).max() < 1e-8


def test_attitude_for_given_commands():
    """With bow and stern given, the vehicle pitches until its righting moment balances: (m g zg + B zb) sin θ = l (f_b − f_s)."""
    model = vessel(weight=0.0)
    curve = linear_curve(100.0, 80.0, dead_band=0.1)
    given = {"bow": curve.inverse(5.0), "stern": curve.inverse(-5.0), "surge": curve.inverse(0.0), "sway": 0.0, "fore": 0.0}
    found = hm.trim(plant(model), commands=given, free=["hull.q"])
    w, x, y, z = found.state.q[3:]
    pitch = math.asin(2 * (w * y - z * x))
    assert found.converged
    assert math.sin(pitch) == pytest.approx(0.3 * 10.0 / (50.0 * 9.81 * 0.05), rel=1e-9)


def test_servos_hold_an_arm_level():
    """The target is above the wanted position by torque over stiffness."""
    arm = hm.Body(
        name="arm",
        joint=joints.Revolute(axis=(0, 1, 0)),
        inertia=hm.Inertia(mass=2.0, com=(0.5, 0, 0), tensor=(0.1,) * 3 + (0,) * 3),
    )
    model = hm.Model(name="arm", bodies=[arm])
    sim = hm.Simulation(model, components=[drives.Servo(joint="arm", stiffness=200.0, damping=10.0)])
    found = hm.trim(sim.plant)
    assert found.converged and found.commands["arm"] == pytest.approx(2.0 * 9.81 * 0.5 / 200.0, rel=1e-9)
    weak = hm.Simulation(model, components=[drives.Servo(joint="arm", stiffness=200.0, damping=10.0, limit=5.0)])
    assert hm.trim(weak.plant).message == "not in balance: arm (-4.81 N·m); at their limits: arm"
    hanging = hm.trim(model, free=["arm"], state=hm.State(q=np.array([-1.0]), v=np.zeros(1)))
    assert hanging.converged and hanging.state.q[0] == pytest.approx(-math.pi / 2, abs=1e-8)


def test_what_cannot_be_balanced_is_named():
    model = vessel(weight=0.0)
    heeled = model.initial()
    heeled.q[3:] = (math.cos(0.1), math.sin(0.1), 0.0, 0.0)
    with pytest.raises(
        ValueError, match=r"no unknown acts in hull.p \(.*N·m\); add an actuator in this direction, or free .*free=\['hull.p'\]"
    ):
        hm.trim(plant(model), state=heeled)
    assert hm.trim(plant(model), state=heeled, free=["hull.p"]).converged
    heavy = hm.trim(plant(vessel(weight=300.0)))
    assert not heavy.converged
    assert "hull.w" in heavy.message and "at their limits: bow, stern" in heavy.message
    with pytest.raises(ValueError, match="trim requires steady water, but the environment has gusts"):
        hm.trim(plant(model, environment=hm.Environment(gusts=Gusts(sigma=(0.1, 0.1, 0.1), time_constant=5.0, interval=0.5))))
    with pytest.raises(KeyError, match="unknown degree of freedom 'hull.roll'"):
        hm.trim(plant(model), free=["hull.roll"])
    with pytest.raises(KeyError, match="unknown actuator 'port'"):
        hm.trim(plant(model), commands={"port": 0.0})


def test_friction_holds_only_what_drives_cannot():
    """A bar held out level: by its drive alone, friction unloaded; without a drive, by friction that sticks."""
    bar = hm.Body(
        name="bar",
        joint=joints.Revolute(axis=(0.0, 1.0, 0.0)),
        inertia=hm.Inertia(mass=2.0, com=(0.5, 0.0, 0.0), tensor=(0.1, 0.2, 0.2, 0.0, 0.0, 0.0)),
    )
    model = hm.Model(name="bar", bodies=[bar], world=hm.World(gravity=9.81, water_density=1000.0))
    friction = JointFriction(joint="bar", coulomb=15.0, stick_deflection=1e-3)
    driven = hm.Plant(model=model, components=(drives.Torque(joint="bar"), friction))
    found = hm.trim(driven)
    assert found.converged and found.commands["bar"] == pytest.approx(9.81, rel=1e-8)
    assert found.state.internal[0] == pytest.approx(0.0, abs=1e-12)
    stuck = hm.trim(hm.Plant(model=model, components=(friction,)))
    assert stuck.converged and abs(stuck.state.internal[0]) == pytest.approx(9.81 / 15.0 * 1e-3, rel=1e-6)


def bar_model() -> hm.Model:
    """A bar of 8 kg in water about a level axis; it weighs 11.2815 N·m at q = 0."""
    bar = hm.Body(
        name="bar",
        joint=joints.Revolute(axis=(0.0, 1.0, 0.0)),
        inertia=hm.Inertia(mass=8.0, com=(0.4, 0.0, 0.0), tensor=(0.01, 0.5, 0.5, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(volume=0.005, buoyancy_center=(0.4, 0.0, 0.0), added_mass=added_mass.Diagonal((1, 3, 3, 0, 0.6, 0.6))),
    )
    return hm.Model(name="bar", bodies=[bar], world=hm.World(gravity=9.81, water_density=1025.0))


@pytest.mark.parametrize("leakage", [1e-12, 0.0])
@pytest.mark.parametrize("lag", [0.03, 0.0])
def test_pressure_and_opening_of_a_hydraulic_drive(leakage, lag):
    """p = τ/D, and a valve that is open by what leaks; both, and a tether beside them, stay where they are."""
    drive = drives.Hydraulic(
        joint="bar",
        supply_pressure=1e7,
        displacement=2e-5,
        flow_coefficient=5e-9,
        bulk_modulus=8e8,
        chamber_volume=2e-4,
        leakage=leakage,
        spool_time_constant=lag,
    )
    balanced = hm.Plant(model=bar_model(), components=(drive,))
    found = hm.trim(balanced)
    pressure = (8.0 - 1025.0 * 0.005) * 9.81 * 0.4 / 2e-5
    assert found.converged and found.state.internal[1 if lag else 0] == pytest.approx(pressure, rel=1e-9)
    left = 1e7 - pressure
    flow = 5e-9 * left * math.sqrt(1.001 / (left + 1e4))
    assert found.commands["bar"] == pytest.approx(leakage * pressure / flow, rel=1e-9)
    run = hm.Simulation(balanced, state=found.state, step=5e-4).run(0.5)
    assert abs(run.state.q[0]) < 1e-12


def on_a_line(line) -> hm.Plant:
    model = vessel()
    return hm.Plant(
        model=model, components=(*thrusters(model), line), environment=hm.Environment(current=Current(velocity=(0.2, 0.1, 0.0)))
    )


CABLE = lines.Cable(diameter=0.02, mass=1.2, axial_stiffness=2e4, axial_damping=20.0)
WINCH = lines.Winch(shortest=5.0, longest=40.0)


@pytest.mark.parametrize("length", [9.0, 14.0])
def test_a_winch_keeps_the_length_of_its_line(length):
    """An equilibrium with a winch is that without; the length is that of the state where it has one."""
    state = hm.State(q=np.array([0.0, 0.0, 8.0, 1.0, 0.0, 0.0, 0.0]), v=np.zeros(6))
    fixed = lines.Tether(
        name="line", frame="bow", top=lines.SwayingPoint(position=(3.0, 0.0, 0.0)), cable=CABLE, length=length, segments=4
    )
    bare, wound = (on_a_line(replace(fixed, winch=winch)) for winch in (None, WINCH))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        alone, found = hm.trim(bare, state=state), hm.trim(wound, state=state)
    assert alone.converged and found.converged
    assert found.state.internal[wound.layout.states.index("line.length")] == length
    assert found.commands["line.rate"] == 0.0
    for name, command in alone.commands.items():
        assert found.commands[name] == pytest.approx(command, abs=1e-7)
    if length == 9.0:
        other = replace(wound, components=tuple(replace(c, length=14.0) if c.name == "line" else c for c in wound.components))
        again = hm.trim(other, state=found.state)  # which has 9 m out
        assert again.converged and again.state.internal[wound.layout.states.index("line.length")] == 9.0
    paid = hm.trim(wound, state=state, commands={"line.rate": 0.1})
    assert not paid.converged and "internal states keep changing: line.length (by 0." in paid.message


@pytest.mark.parametrize(
    ("mass", "length", "current"),
    [
        (0.03, 18.0, (0.4, 0.2, 0.05)),
        (0.055, 18.0, (0.3, 0.1, 0.0)),
        (0.055, 40.0, (0.5, 0.0, 0.0)),
        (0.2, 40.0, (-0.3, 0.0, 0.0)),
    ],
)
def test_lines_that_float_or_hang_in_a_current(mass, length, current):
    """Buoyant, nearly neutral, heavy and slack ones settle far from their shape in still water; a simulation stays there."""
    model = vessel(weight=0.0)
    line = lines.Tether(
        name="line",
        frame="stern",
        top=lines.SwayingPoint(position=(-10.0, 0.0, 0.0)),
        cable=lines.Cable(diameter=0.0076, mass=mass, axial_stiffness=2e4, axial_damping=20.0, bending_stiffness=0.05),
        length=length,
        segments=5,
    )
    wet = hm.Plant(
        model=model, components=(*thrusters(model), line), environment=hm.Environment(current=Current(velocity=current))
    )
    state = hm.State(q=np.array([0.0, 0.0, 10.0, 1.0, 0.0, 0.0, 0.0]), v=np.zeros(6))
    found = hm.trim(wet, state=state, free=["hull.p"])
    assert found.converged, found.message
    run = hm.Simulation(wet, state=found.state, step=2e-3).run(1.0)
    assert np.abs(run.state.q - found.state.q).max() < 1e-9


def test_a_winch_that_has_paid_out():
    """The line of a plant with 12 m, of which 16 m are out, is that of a plant with 16 m."""
    tether = lines.Tether(
        name="line",
        frame="bow",
        top=lines.SwayingPoint(position=(3.0, 0.0, 0.0)),
        cable=replace(CABLE, mass=0.4),
        length=12.0,
        segments=3,
        winch=WINCH,
    )
    short, long = (on_a_line(replace(tether, length=length)) for length in (12.0, 16.0))
    q = np.array([0.0, 0.0, 8.0, 1.0, 0.0, 0.0, 0.0])
    there = hm.trim(long, state=hm.State(q=q, v=np.zeros(6)))
    internal = np.zeros(short.layout.nz)
    internal[short.layout.states.index("line.length")] = 16.0
    here = hm.trim(short, state=hm.State(q=q, v=np.zeros(6), internal=internal))
    assert there.converged and here.converged, here.message
    np.testing.assert_allclose(here.state.internal, there.state.internal, atol=1e-7)


def test_states_that_no_simulation_could_start_from():
    wet, state = plant(vessel()), vessel().initial()
    for wrong, words in (
        ({"q": np.array([0, 0, 0, 2.0, 0, 0, 0])}, "quaternion of body 'hull', has length 2"),
        ({"internal": np.zeros(3)}, r"state.internal must have shape \(7,\), got \(3,\)"),
        ({"command": np.zeros(50)}, "state.command must have shape"),
        ({"v": np.full(6, np.nan)}, "must be finite"),
    ):
        with pytest.raises(ValueError, match=words):
            hm.trim(wet, state=replace(state, **wrong))
    with pytest.raises(ValueError, match="must be a Plant or a Model; for a simulation, use sim.plant"):
        hm.trim(hm.Simulation(wet))
    assert hm.trim(plant(vessel(weight=0.0)), free="hull.p").converged


def test_what_moves_alone_is_rejected():
    top = lines.SwayingPoint(position=(3.0, 0.0, -1.0), amplitude=(0.5, 0.0, 0.2), period=6.0)
    line = lines.HangingLine(name="hawser", frame="bow", top=top, cable=CABLE, length=12.0)
    state = hm.State(t=21.5, q=np.array([0.0, 0.0, 8.0, 1.0, 0.0, 0.0, 0.0]), v=np.zeros(6))
    with pytest.raises(ValueError, match="trim requires a steady system, but 'hawser' changes with time"):
        hm.trim(on_a_line(line), state=state)
    rests = on_a_line(replace(line, top=replace(top, amplitude=(0.0, 0.0, 0.0))))
    found = hm.trim(rests, state=state)
    assert found.converged and found.commands["hawser.length"] == 12.0
    longer = hm.trim(rests, state=replace(found.state, command=np.array([*found.state.command[:-1], 12.5])))
    assert longer.converged and longer.commands["hawser.length"] == 12.5


@dataclass(frozen=True, kw_only=True)
class Propeller(hm.Component):
    """Thrust k n|n| of a shaft that a torque turns against c n|n|: no slope at rest."""

    name: str
    frame: str
    kind = "actuator"

    def states(self, model):
        return [hm.Slot("speed", unit="rad/s")]

    def inputs(self, model):
        return [hm.Slot("", unit="N m")]

    def act(self, now, z, u):
        place, n = now.frame(self.frame), z["speed"]
        return hm.Action(
            forces=[place.force_B(0.02 * abs(n) * n * place.R_B[:, 0])], rates={"speed": (u[""] - 4e-4 * abs(n) * n) / 0.05}
        )


def test_propellers_without_a_slope_at_rest():
    """Against a current from astern: two that push, one the other way, at the speeds that thrust asks for."""
    model = vessel()
    found = hm.trim(
        hm.Plant(
            model=model,
            components=[Propeller(name=n, frame=n) for n in model.frames],
            environment=hm.Environment(current=Current(velocity=(0.6, 0.0, 0.0))),
        )
    )
    assert found.converged
    speeds = dict(zip(model.frames, found.state.internal, strict=False))
    drag_force = 10.0 * 0.6 + 50.0 * 0.36
    assert speeds["surge"] == pytest.approx(-math.sqrt(drag_force / 0.02), rel=1e-8)
    assert found.commands["surge"] == pytest.approx(-4e-4 * drag_force / 0.02, rel=1e-8)
