"""The current's moment beside the stiffness of pose control: Munk's formula, and what a run says before it turns over."""

import re

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.actuation import ideal_curve
from hydromechs.control import FollowPath, HoldPose
from hydromechs.control._pose_control import turning_rates
from hydromechs.equations import mass_matrix
from hydromechs.hydro import Current, DepthTable
from hydromechs.model import added_mass, joints

ADDED = (5.5, 12.7, 14.6, 0.1, 0.1, 0.1)
TENSOR = (0.3, 0.4, 0.5)
FRAMES = [
    (p, axis)
    for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    for p in ((0.3, 0.2, 0.1), (-0.3, -0.2, -0.1), (0.3, -0.2, 0.1), (-0.3, 0.2, 0.1))
]


def vehicle(added=ADDED) -> hm.Model:
    turns = {(1, 0, 0): (0.0, 0.0, 0.0), (0, 1, 0): (0.0, 0.0, np.pi / 2), (0, 0, 1): (0.0, -np.pi / 2, 0.0)}
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=11.0, com=(0, 0, 0.02), tensor=(*TENSOR, 0, 0, 0)),
        hydro=hm.Hydro(volume=11.0 / 1025.0, added_mass=added_mass.Diagonal(added)),
        frames=tuple(hm.Frame(f"t{k}", hm.Origin(p, turns[axis])) for k, (p, axis) in enumerate(FRAMES)),
    )
    return hm.Model(name="rov", bodies=[hull])


def held(speed, controller, profile=None) -> hm.Simulation:
    current = Current(velocity=(speed, 0.0, 0.0), **({} if profile is None else {"profile": profile}))
    thrusters = [
        hm.Thruster(name=f"t{k}", frame=f"t{k}", curve=ideal_curve(50.0, 50.0), time_constant=0.05) for k in range(len(FRAMES))
    ]
    start = hm.State(q=np.array([0, 0, 10.0, np.cos(0.01), 0, np.sin(0.01), 0]), v=np.zeros(6))
    water = hm.Environment(current=current)
    return hm.Simulation(
        vehicle(), state=start, environment=water, components=[*thrusters], controller=controller, step=0.01, record=0.1
    )


def test_it_is_munks_moment():
    """(Z − X) U² in pitch and (Y − X) U² in yaw against the inertia; with the current abeam, (Z − Y) U² in roll."""
    model = vehicle()
    M = np.array(mass_matrix(model, model.initial().q), dtype=float)
    X, Y, Z = ADDED[:3]
    level = np.array([1.0, 0, 0, 0])
    K = M[3:, 3:] @ np.eye(3) - M[3:, :3] @ np.linalg.solve(M[:3, :3], M[:3, 3:])  # inertia about axes that are free to move

    def moments(flow):
        return K @ turning_rates(model, 0, M, level, np.array(flow))

    ahead, abeam = moments((0.4, 0, 0)), moments((0, 0.4, 0))
    assert [ahead[1, 1], ahead[2, 2]] == pytest.approx([(Z - X) * 0.16, (Y - X) * 0.16], rel=1e-6)
    assert [abeam[0, 0], abeam[2, 2]] == pytest.approx([(Z - Y) * 0.16, (X - Y) * 0.16], rel=1e-6)


def test_a_run_reports_it_before_the_vehicle_turns_over_and_the_remedy_holds_it():
    slow, fast = held(0.15, HoldPose(position=(0, 0, 10))), held(0.4, HoldPose(position=(0, 0, 10)))
    assert not slow.controller.notes
    (note,) = fast.controller.notes
    assert all(text in note for text in ("current of 0.4 m/s", "'hull' in pitch", "1.5 N·m/rad", "stiffness of 0.73 N·m/rad"))
    remedy = float(re.search(r"attitude_frequency from [\d.]+ to ([\d.]+) rad/s", note)[1])
    better = held(0.4, HoldPose(position=(0, 0, 10), attitude_frequency=remedy))
    assert not better.controller.notes

    def worst(sim):
        pitch = sim.run(40.0).recording.signal.sel(channel="error.pitch")
        return float(abs(pitch[200:]).max())

    assert worst(slow) < 0.1 and worst(better) < 0.1 and worst(fast) > 0.5


def test_the_current_at_the_depth_of_the_waypoints_counts():
    still = DepthTable(depths=(5.0, 9.0), factors=(1.0, 0.0))
    assert not held(0.4, HoldPose(position=(0, 0, 10)), still).controller.notes
    path = FollowPath(waypoints=[{"t": 0, "position": (0, 0, 10)}, {"t": 60, "position": (0, 0, 5), "heading_deg": 180}])
    (note,) = held(0.4, path, still).controller.notes
    assert "in pitch" in note


def test_a_fast_path_does_not_turn_the_vehicle_over():
    """At 0.94 m/s the Munk moment is eight times the attitude stiffness; the law feeds it forward."""
    path = FollowPath(waypoints=[{"t": 0, "position": (0, 0, 10)}, {"t": 20, "position": (-10, 0, 10)}])
    sim = held(0.0, path)
    assert not sim.controller.notes
    recording = sim.run(25.0).recording
    tilt = hm.recording.samples_of(recording, "tilt_deg.hull")
    assert tilt.max() < 3.0  # it starts with a pitch of 1.1 degrees
    assert float(recording.position.sel(body="hull", xyz="x")[-1]) == pytest.approx(-10.0, abs=0.05)


def test_a_current_against_the_path_counts_where_the_path_is_fastest():
    """With path speed v and current c against it the relative flow has (v + c)² of which v² is fed forward."""
    way = [{"t": 0, "position": (0, 0, 10)}, {"t": 20, "position": (-10, 0, 10)}]
    along, against = (held(speed, FollowPath(waypoints=way)).controller.notes for speed in (-0.15, 0.15))
    assert not along
    (note,) = against
    v, c, (X, _, Z) = 1.875 * 10 / 20, 0.15, ADDED[:3]
    stated = float(re.search(r"in pitch by ([\d.]+) N·m/rad on a path at 0.94 m/s", note)[1])
    assert stated == pytest.approx((Z - X) * (2 * v * c + c * c), rel=0.06)  # two digits, centre of mass off the origin
