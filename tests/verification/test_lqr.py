"""Servo LQR: poles, margins and linearisation by second methods, modes out of reach, and vehicles that follow speeds and hold places."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
from rich.console import Console

import hydromechs as hm
from hydromechs.actuation import Thruster, ideal_curve
from hydromechs.cli._run import print_summary
from hydromechs.control import FollowPath, HoldPose, LqrFollowPath, LqrHoldPose, LqrSpeed, loop_margins, servo_lqr
from hydromechs.control._speed_control import AXES, linear_vehicle, speed_design
from hydromechs.control._vehicle import Vehicle
from hydromechs.hydro import Current
from hydromechs.model import added_mass, drag, joints
from hydromechs.recording import DESIGN, Summary
from hydromechs.simulation import BlockPart, Mission, Phase
from hydromechs.station import LiveInputs, Pilot

FRAMES = {
    "port": ((-0.3, -0.2, 0.02), (0.0, 0.0, 0.0)),
    "starboard": ((-0.3, 0.2, 0.02), (0.0, 0.0, 0.0)),
    "lateral": ((0.05, 0.0, 0.0), (0.0, 0.0, math.pi / 2)),
    "bow": ((0.3, 0.0, 0.0), (0.0, math.pi / 2, 0.0)),
    "left": ((-0.3, -0.2, 0.0), (0.0, math.pi / 2, 0.0)),
    "right": ((-0.3, 0.2, 0.0), (0.0, math.pi / 2, 0.0)),
}


def vessel(arm=None, frames=FRAMES) -> hm.Model:
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=50.0, com=(0.01, 0.0, 0.03), tensor=(2.0, 3.0, 4.0, 0.1, 0.05, 0.0)),
        hydro=hm.Hydro(
            volume=0.05,
            buoyancy_center=(0.0, 0.0, -0.03),
            added_mass=added_mass.Diagonal((20.0, 40.0, 60.0, 1.0, 2.0, 3.0)),
            drag=(drag.Damping(linear=(10.0, 20.0, 30.0, 1.0, 2.0, 3.0), quadratic=(50.0, 80.0, 90.0, 2.0, 3.0, 4.0)),),
        ),
        frames=tuple(hm.Frame(name, hm.Origin(*place)) for name, place in frames.items()),
    )
    if arm is None:
        return hm.Model(name="vessel", bodies=[hull])
    boom = hm.Body(
        name="boom",
        parent="hull",
        joint=arm,
        inertia=hm.Inertia(mass=3.0, com=(0.2, 0.05, 0.0), tensor=(0.02, 0.1, 0.1, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(
            volume=0.001, buoyancy_center=(0.2, 0.0, 0.0), added_mass=added_mass.Diagonal((0.1, 1.0, 1.0, 0.0, 0.1, 0.1))
        ),
    )
    return hm.Model(name="vessel", bodies=[hull, boom])


def thrusters(names=tuple(FRAMES), lag=0.1):
    return [Thruster(name=n, frame=n, curve=ideal_curve(60.0, 60.0), time_constant=lag) for n in names]


def simulation(controller, **options) -> hm.Simulation:
    return hm.Simulation(vessel(), components=[*thrusters()], controller=controller, step=5e-3, record=0.1, **options)


def design():
    """Two coupled axes, one of them with an oscillating, one with an unstable mode."""
    A = np.array([[0.0, 1.0, 0.0], [-2.0, -0.1, 0.4], [0.0, 0.3, 0.2]])
    B = np.array([[0.0, 0.0], [1.0, 0.2], [0.1, 2.0]])
    C = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    names = dict(states=("a", "b", "c"), inputs=("f", "g"), outputs=("a", "c"))
    return servo_lqr(A, B, C, state_limits=(0.5, 0.4, 0.3), integral_limits=(0.4, 0.3), input_limits=(2.0, 1.0), **names)


def test_poles_are_the_stable_eigenvalues_of_the_hamiltonian():
    d = design()
    A = np.block([[d.A, np.zeros((3, 2))], [-d.C, np.zeros((2, 2))]])
    B = np.vstack([d.B, np.zeros((2, 2))])
    Q = np.diag(1.0 / np.array([0.5, 0.4, 0.3, 0.4, 0.3]) ** 2)
    H = np.block([[A, -B @ np.diag([4.0, 1.0]) @ B.T], [-Q, -A.T]])
    stable = sorted((x for x in np.linalg.eigvals(H) if x.real < 0.0), key=lambda x: (round(x.real, 9), x.imag))
    found = sorted(d.poles, key=lambda x: (round(x.real, 9), x.imag))
    assert np.allclose(found, stable, rtol=1e-9)


def closed(d, lag, k, factor):
    """Poles with actuators of a lag and a complex factor on the gain of one loop."""
    n, p, m = 3, 2, 2
    A = np.block([[d.A, np.zeros((n, p))], [-d.C, np.zeros((p, p))]])
    B, K = np.vstack([d.B, np.zeros((p, m))]), np.hstack([d.K_x, -d.K_i]).astype(complex)
    K[k] *= factor
    whole = np.block([[A, B], [-K / lag, -np.eye(m) / lag]])
    return np.linalg.eigvals(whole).real.max()


@pytest.mark.parametrize("k", [0, 1])
def test_margins_are_where_the_poles_reach_the_axis(k):
    """From the frequency response, and from the poles of the loop whose gain, or phase, is changed that much."""
    d, lag = design(), 0.15
    m = loop_margins(d, lag=lag, points=60000)[k]
    assert closed(d, lag, k, 1.0) < 0.0
    if math.isinf(m.gain_db):  # no factor does it
        assert max(closed(d, lag, k, 10.0**x) for x in np.linspace(-4.0, 4.0, 81)) < 0.0
    else:
        up, down = 10.0 ** (m.gain_db / 20.0), 10.0 ** (-m.gain_db / 20.0)
        assert min(abs(closed(d, lag, k, up)), abs(closed(d, lag, k, down))) < 1e-3
        assert closed(d, lag, k, 0.98 * up) < 0.0 and closed(d, lag, k, 1.02 * down) < 0.0
    turn = np.exp(-1j * np.radians(m.phase_deg))
    assert abs(closed(d, lag, k, turn)) < 1e-3
    assert closed(d, lag, k, np.exp(-0.98j * np.radians(m.phase_deg))) < 0.0
    # the return difference promises less than there is, and of a state feedback without lag at least 60°
    assert m.phase_deg >= math.degrees(2.0 * math.asin(0.5 * m.return_difference)) - 1e-6
    ideal = loop_margins(d)[k]
    assert ideal.return_difference >= 1.0 - 1e-9 and ideal.phase_deg >= 60.0


def test_modes_out_of_reach_are_named():
    A, names = np.diag([0.5, -1.0]), dict(states=("sway", "yaw"), inputs=("N",), outputs=("yaw",))
    limits = dict(state_limits=(1.0, 1.0), integral_limits=(1.0,), input_limits=(1.0,))
    with pytest.raises(ValueError, match=r"mode at 0\.5 1/s is uncontrollable .* on sway"):
        servo_lqr(A, np.array([[0.0], [1.0]]), np.array([[0.0, 1.0]]), **limits, **names)
    with pytest.raises(ValueError, match=r"mode at 0\.5 1/s is unobservable .* for sway"):
        servo_lqr(A, np.array([[1.0], [1.0]]), np.array([[0.0, 1.0]]), **{**limits, "state_limits": (np.inf, 1.0)}, **names)


H = math.pi / 2
STERN = {"stern": ((-0.5, 0.0, 0.01), (0.0, 0.0, 0.0))}
THREE = {
    "port": ((-0.2, -0.2, 0.1), (0, 0, 0)),
    "starboard": ((-0.2, 0.2, 0.1), (0, 0, 0)),
    "vertical": ((0.1, 0, 0), (0, -H, 0)),
}
FOUR = THREE | {"side": ((0.05, 0.0, 0.0), (0.0, 0.0, H))}
FIVE = FOUR | {"second": ((0.1, 0.3, 0.0), (0.0, -H, 0.0))}
FEW = [
    (STERN, ["surge"]),
    (THREE, ["surge", "heave", "yaw_rate"]),
    (FOUR, ["surge", "sway", "heave", "yaw_rate"]),
    (FIVE, ["surge", "sway", "heave", "roll", "yaw_rate"]),
]


def few(frames, controller=None) -> hm.Simulation:
    """A hull that nothing but quadratic drag brakes, and that rights itself."""
    hull = vessel(frames=frames).bodies[0]
    hydro = replace(hull.hydro, drag=(drag.Damping(quadratic=(50.0, 80.0, 90.0, 2.0, 3.0, 4.0)),))
    model = hm.Model(name="few", bodies=[replace(hull, hydro=hydro)])
    return hm.Simulation(model, components=[*thrusters(frames)], controller=controller, step=5e-3, record=0.1)


@pytest.mark.parametrize(("frames", "reached"), FEW, ids=lambda x: str(len(x)) if isinstance(x, dict) else "")
def test_few_thrusters_control_what_they_reach(frames, reached):
    """Thrusters that pitch the hull as they push; no weight, and no pole at 0, of what they do not reach."""
    sim = few(frames)
    vehicle = Vehicle(sim, None)
    assert [list(AXES)[k] for k in vehicle.axes] == reached
    d = speed_design(sim, vehicle)
    assert d.gain_margin_db > 15.0 and d.phase_margin_deg > 30.0 and d.poles.real.max() < -0.05
    k = vehicle.axes.index(0)
    asked = vehicle.push(0.1 * vehicle.reach * (np.arange(6) == 0)).wrench  # all of it, and nothing along the others reached
    assert asked[list(vehicle.axes)] == pytest.approx(0.1 * vehicle.reach[0] * (np.arange(len(reached)) == k), abs=1e-9)


def test_what_thrusters_do_not_reach_is_rejected_by_name():
    with pytest.raises(
        ValueError,
        match=r"of 'hull': the thrusters cannot control sway, pitch independently; .* surge, heave, yaw_rate$",
    ):
        few(THREE, LqrSpeed(waypoints=[{}], controlled=["surge", "sway", "heave", "pitch"]))
    assert few(THREE, LqrSpeed(waypoints=[{}], controlled=["pitch"])).controller._loop.axes == (4,)  # in place of heave
    with pytest.raises(ValueError, match=r"sway of 'hull', which is not controlled; .* surge, he"):
        few(THREE, LqrSpeed(waypoints=[{"t": 0.0}, {"t": 1.0, "sway": 0.1}]))
    with pytest.raises(ValueError, match=r"pitch of 'hull', which is not controlled"):
        few(THREE, LqrFollowPath(waypoints=[{"t": 0.0, "position": (0, 0, 0), "pitch_deg": 5.0}]))
    with pytest.raises(ValueError, match="controlled is surge, surge; list"):
        few(THREE, LqrSpeed(waypoints=[{}], controlled=["surge", "surge"]))
    with pytest.raises(ValueError, match="no axis is controlled; .* surge, heave, yaw_rate"):
        few(THREE, LqrSpeed(waypoints=[{}], controlled=[]))
    high = hm.Inertia(mass=50.0, com=(0.0, 0.0, -0.2), tensor=(6.0, 7.0, 4.0, 0.0, 0.0, 0.0))
    top_heavy = hm.Model(name="top", bodies=[replace(vessel(frames=STERN).bodies[0], inertia=high)])
    with pytest.raises(ValueError, match=r"the mode at [\d.]+ 1/s is uncontrollable .*roll"):
        hm.Simulation(top_heavy, components=[*thrusters(STERN)], controller=LqrSpeed(waypoints=[{}]))


def test_a_place_is_held_as_far_as_thrusters_reach():
    """Depth, heading and the place ahead, not the place abeam."""
    sim = few(THREE, LqrHoldPose(position=(0.5, 0.0, 0.4), bandwidth=1.5))
    last = sim.run(25.0).recording.signal.isel(time=-1)
    assert max(abs(float(last.sel(channel=f"error.{x}"))) for x in ("x", "z", "yaw")) < 0.02
    assert "gain" in sim.controller.notes[0] and "should" not in sim.controller.notes[0]


def test_signals_of_what_is_not_controlled_are_no_numbers():
    """Speeds: NaN; places: reference less position, held or not."""
    sim = few(THREE, LqrHoldPose(position=(0.5, 0.7, 0.4)))
    last = sim.run(1.0).recording.isel(time=-1)
    for kind in ("reference", "error"):
        speeds = last.signal.sel(channel=[f"{kind}.{x}" for x in ("surge", "sway", "heave", "yaw_rate")]).values
        assert np.isnan(speeds).tolist() == [False, True, False, False]
    off = last.signal.sel(channel=["error.x", "error.y", "error.z"]).values
    assert off == pytest.approx([0.5, 0.7, 0.4] - last.position.values[0], abs=0.02)  # of the last call
    speed = few(THREE, LqrSpeed(waypoints=[{"t": 0.0}])).run(0.2).recording.signal.isel(time=-1)
    assert np.isnan(speed.sel(channel=["reference.roll", "error.roll", "reference.pitch", "error.pitch"])).all()


UPRIGHT = {
    "bow": ((0.3, 0, 0), (0, -H, 0)),
    "port": ((-0.3, -0.2, 0), (0, -H, 0)),
    "starboard": ((-0.3, 0.2, 0), (0, -H, 0)),
}


@pytest.mark.parametrize(("hold", "follow"), [(LqrHoldPose, LqrFollowPath), (HoldPose, FollowPath)])
def test_places_out_of_reach_are_said_or_rejected(hold, follow):
    """Said where they are left as they are, rejected where waypoints lead along nothing else."""
    (*_, note) = few(UPRIGHT, hold(position=(0.5, 0.0, 0.0))).controller.notes
    assert note == "the thrusters of 'hull' cannot control surge, sway, yaw; positions and angles along these axes are not held"
    (*_, note) = few(THREE, hold(position=(0.5, 0.0, 0.0))).controller.notes
    assert "cannot control sway, roll, pitch; " in note

    def path(**second):
        return follow(waypoints=[{"t": 0.0, "position": (0, 0, 0)}, {"t": 9.0, "position": (0, 0, 0)} | second])

    with pytest.raises(
        ValueError,
        match=r"waypoint 1 moves 'hull' to another horizontal position, but the thrusters cannot control surge, sway",
    ):
        few(UPRIGHT, path(position=(1, 0, 0)))
    with pytest.raises(ValueError, match=r"waypoint 1 moves 'hull' to another heading, but the thrusters cannot control yaw"):
        few(UPRIGHT, path(heading_deg=20.0))
    with pytest.raises(ValueError, match=r"waypoint 1 moves 'hull' to another depth, but the thrusters cannot control heave"):
        few(STERN, path(position=(1, 0, 1)))
    with pytest.raises(ValueError, match=r"waypoint.* (?:moves .*'hull'.*pitch|sets pitch of 'hull')"):
        few(THREE, path(pitch_deg=5.0))
    few(UPRIGHT, path(position=(0, 0, 1)))
    few(THREE, path(position=(1, 1, 1), heading_deg=45.0))  # it can turn and go


def test_what_is_omitted_of_the_controlled_is_said():
    controller = simulation(LqrHoldPose(position=(0.5, 0.0, 0.0), controlled=["surge", "heave", "pitch"])).controller
    assert controller.notes[1:] == [
        "sway, roll, yaw of 'hull' are not controlled; positions and angles along these axes are not held"
    ]
    way = [{"t": 0.0, "position": (0, 0, 0)}, {"t": 9.0, "position": (0, 0, 1)}]
    with pytest.raises(ValueError, match="waypoint 1 moves 'hull' to another depth, but heave is not controlled; "):
        simulation(LqrFollowPath(waypoints=way, controlled=["surge", "yaw_rate"]))


def test_the_station_flies_a_vehicle_with_few_thrusters():
    """In speed control along what they reach; what is asked for along the rest does nothing."""
    inputs = LiveInputs()
    inputs.set(mode="speed", axes=(0.5, 1.0, 0.0, 0.0, 1.0, 0.0))
    sim = few(THREE, Pilot(inputs=inputs))
    V = sim.run(10.0).recording.velocity[-1, 0].values
    assert V[[0, 1, 2, 5]] == pytest.approx([0.3, 0.0, 0.0, 0.0], abs=0.03)


def test_a_thruster_that_pushes_one_way_reaches_that_way():
    one_way = [Thruster(name="stern", frame="stern", curve=ideal_curve(60.0, 0.0), time_constant=0.1)]
    sim = hm.Simulation(vessel(frames=STERN), components=[*one_way])
    assert Vehicle(sim, None).reach == pytest.approx([60.0, 0, 0, 0, 0, 0])
    assert speed_design(sim, Vehicle(sim, None)).gain_margin_db > 15.0


def test_linearisation_with_the_arm_held_is_that_of_one_rigid_vehicle():
    """And the vehicle's part of the compiled linearisation of all: M A with the arm's rows and columns left out."""
    model = vessel(joints.Revolute(axis=(0, 1, 0.3), placement=hm.Origin((0.3, 0.1, 0.0))))
    q = np.array([0, 0, 5.0, 1, 0, 0, 0, 0.0])
    A, M = linear_vehicle(model, 0, q)
    rigid = linear_vehicle(vessel(joints.Fixed(placement=hm.Origin((0.3, 0.1, 0.0)))), 0, q[:7])
    tau = np.array(hm.inverse_dynamics(model, q, np.zeros(7), np.zeros(7)), dtype=float)
    whole, _ = hm.compile(model).linearize(q, np.zeros(7), tau)
    columns = [3, 4, *range(7, 13)]
    part = np.linalg.solve(M, (np.array(hm.mass_matrix(model, q), dtype=float) @ whole[7:])[:6][:, columns])
    for other in (rigid[0], np.vstack([whole[[3, 4]][:, columns], part])):
        assert np.allclose(A, other, rtol=1e-9, atol=1e-9 * np.abs(A).max())
    assert np.allclose(M, rigid[1], rtol=1e-12)


SWIMMERS = sorted(
    set(hm.library.plant_names()) - {"aquarobot", "dante", "dual_arm_redundant", "k2t", "osu_hexapod", "snake", "waav"}
)
"""Without those on legs or wheels, and without the one that is dual_arm_rov with a joint more in each arm."""


@pytest.mark.parametrize("name", SWIMMERS)
def test_margins_of_library_vehicles(name):
    plant = hm.load_plant(name)
    sim = hm.Simulation(plant)
    design = speed_design(sim, Vehicle(sim, None))
    assert design.gain_margin_db > 6.0 and design.phase_margin_deg > 30.0
    assert design.poles.real.max() < -0.3


def test_speeds_are_reached_without_a_lasting_error():
    """In a current that the controller does not know; and the nonlinear loop decays as the slowest pole says."""
    way = [{"t": 0.0}, {"t": 4.0, "surge": 0.4, "heave": 0.1, "yaw_rate_deg": 3.0}]
    sim = simulation(LqrSpeed(waypoints=way), environment=hm.Environment(current=Current(velocity=(0.1, -0.1, 0.0))))
    ds = sim.run(25.0).recording
    assert sim.controller.design.gain_margin_db > 6.0 and sim.controller.design.phase_margin_deg > 30.0
    assert "phase margin" in str(sim.controller.design)
    V = ds.velocity.sel(body="hull").values[-1]
    assert V[[0, 2]] == pytest.approx([0.4, 0.1], abs=0.01) and V[5] == pytest.approx(math.radians(3.0), abs=0.01)
    assert abs(ds.signal.sel(channel=["error.roll", "error.pitch"]).values[-1]).max() < 0.01


def test_a_place_is_held_in_a_current_and_a_path_followed():
    water = hm.Environment(current=Current(velocity=(-0.2, 0.1, 0.0)))
    sim = simulation(LqrHoldPose(position=(0.5, -0.3, 0.4), heading_deg=20.0, bandwidth=1.5), environment=water)
    last = sim.run(25.0).recording.signal.isel(time=-1)
    assert max(abs(float(last.sel(channel=f"error.{x}"))) for x in ("x", "y", "z", "yaw")) < 0.005
    way = [{"t": 2.0, "position": (0, 0, 0)}, {"t": 14.0, "position": (2, 1, 0.5), "heading_deg": 90.0}]
    ds = simulation(LqrFollowPath(waypoints=way, bandwidth=1.5)).run(18.0).recording
    assert float(abs(ds.signal.sel(channel=["error.x", "error.y", "error.z"])).max()) < 0.2


def test_a_small_change_decays_with_the_designed_poles():
    """The nonlinear plant without lag, near rest, against expm of the closed loop."""
    controller = LqrSpeed(waypoints=[{}], period=2e-3)
    model = vessel()
    state = model.initial()
    state.v[:] = [1e-3, -2e-3, 1e-3, 1e-3, -1e-3, 2e-3]
    sim = hm.Simulation(model, components=[*thrusters(lag=0.0)], controller=controller, state=state, step=2e-3, record=0.1)
    v = sim.run(2.0).recording.v.values
    d = sim.controller.design
    A = np.block([[d.A - d.B @ d.K_x, d.B @ d.K_i], [-d.C, np.zeros((6, 6))]])
    x = np.concatenate([[0.0, 0.0], state.v, np.zeros(6)])
    exact = np.array([scipy.linalg.expm(A * t) @ x for t in 0.1 * np.arange(21)])[:, 2:8]
    assert np.abs(v - exact).max() < 0.02 * np.abs(exact).max()  # sampled at 2 ms, quadratic drag of 1 % of the linear


@pytest.mark.parametrize("lag", np.geomspace(0.05, 20.0, 9))
def test_a_loop_that_its_actuators_make_unstable_has_no_margins(lag):
    """By the poles with the lag as states."""
    d = design()
    margins, stable = loop_margins(d, lag=lag), closed(d, lag, 0, 1.0) < 0.0
    assert all((m.gain_db > 0.0) == (m.phase_deg > 0.0) == stable for m in margins)


def test_margins_are_shown_and_small_ones_are_said(capsys):
    """In the set-up of a run and where it is printed, also of a controller within others."""
    way = [{"t": 0.0}]
    twice = Mission([BlockPart(LqrSpeed(waypoints=way), name) for name in ("", "other")])
    note = simulation(twice).mission.notes[0].replace("part 0 (LqrSpeed), other", "part 0 (LqrSpeed)")
    d = simulation(LqrSpeed(waypoints=[{"t": 0.0}])).controller.design
    assert f"gain {d.gain_margin_db:.1f} dB" in note and f"phase {d.phase_margin_deg:.1f}°" in note and "should" not in note
    (fast,) = simulation(LqrSpeed(waypoints=[{"t": 0.0}], bandwidth=30.0)).controller.notes
    assert "unstable" in fast and fast.endswith("below the recommended 6 dB or 30°; reduce the bandwidth")
    print_summary(Summary(setup=((DESIGN, note),)), Console(width=300))
    assert note in capsys.readouterr().out
    assert note.startswith("part 0 (LqrSpeed): servo LQR")
    phases = {"come": Phase(end=5.0), "lift": Phase(start=5.0)}
    mission = Mission([BlockPart(LqrSpeed(waypoints=way), name, phase) for name, phase in phases.items()])
    assert simulation(mission).mission.notes == [note.replace("part 0 (LqrSpeed)", "come, lift")]
