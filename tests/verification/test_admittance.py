"""A tool that gives way to a force: on the way as the closed form says, in rest by f/K, and from where it touched something."""

import numpy as np
import pytest
from tests.sensed import sensed

import hydromechs as hm
from hydromechs import sensors
from hydromechs.actuation import drives
from hydromechs.contact import Grip
from hydromechs.control import Admittance, CartesianMotion
from hydromechs.model import joints
from hydromechs.simulation import Measured
from hydromechs.spatial import matrix_from_rpy

K, D, T = 1000.0, 2000.0, 0.02
GRIP = 3000.0
START = {"yaw": 0.2, "upper": -0.5, "fore": 1.1}
FRAMES = (hm.Frame("tool", hm.Origin((0.35, 0.0, 0.0))), hm.Frame("wrist", hm.Origin((0.02, 0.0, 0.01), (0.4, -0.7, 1.1))))


def link(name, parent, axis, at):
    return hm.Body(
        name=name,
        parent=parent,
        joint=joints.Revolute(axis=axis, placement=hm.Origin(at), position=START[name]),
        inertia=hm.Inertia(mass=2.0, com=(0.15, 0.0, 0.01), tensor=(0.005, 0.03, 0.03, 0.0, 0.0, 0.0)),
        frames=FRAMES if name == "fore" else (),
    )


ARM = [
    link("yaw", None, (0, 0, 1), (0.4, 0.0, 0.1)),
    link("upper", "yaw", (0, 1, 0), (0.05, 0.0, 0.0)),
    link("fore", "upper", (0, 1, 0), (0.4, 0.0, 0.0)),
]
MODEL = hm.Model(name="arm", bodies=ARM)
HOME = np.array(hm.frame_pose(MODEL, MODEL.initial().q, "tool"), dtype=float)
AWAY = np.array([0.03, -0.02, 0.04])
WAY = {"frame": "tool", "waypoints": [{"t": 0.0, "position": HOME[:3, 3].tolist()}], "stiffness": 5.0, "period": T}


def held(**times):
    """An arm that is led nowhere and grips a post, `AWAY` from its tool, at 2 s; how far it gave way, shape (time, 3)."""
    post = hm.Body(
        name="post",
        joint=joints.Fixed(placement=hm.Origin(tuple(HOME[:3, 3] + AWAY))),
        inertia=hm.Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    )
    lead = CartesianMotion(**WAY, admittance={"sensor": "ft", "stiffness": K, "damping": D, **times})
    ds = hm.Simulation(
        hm.Model(name="m", bodies=[*ARM, post]),
        components=[
            *(drives.Servo(joint=n, stiffness=2000.0, damping=60.0) for n in START),
            Grip(name="jaws", holder="tool", held="post", stiffness=(GRIP,) * 3, damping=(100.0,) * 3, reach=0.2),
        ],
        commands=START,
        events=[hm.Event(name="grip", quantity="time", level=2.0, grasp="jaws")],
        controller=sensed(lead, sensors=[sensors.ForceTorque(name="ft", frame="wrist", rate=50)]),
        step=0.001,
        record=0.1,
    )
    signal = ds.run(8.0).recording.signal
    return np.stack([signal.sel(channel=f"given.tool.{x}").values for x in "xyz"], axis=1)


def test_a_constant_force_moves_it_as_the_closed_form_says():
    """δ = f t/D without the spring, then δ_0 + (f/K) (1 − exp(−K t/D)); exact, for forces that stay for a period."""
    law = Admittance(sensor="ft", stiffness=K, damping=D, start=1.0, touched=2.0, period=T)
    law.on(MODEL, "tool", {"ft": Measured("wrist", np.full(6, np.nan))})
    R_WT = np.array(matrix_from_rpy((0.3, -0.8, 2.0)), dtype=float)
    R_WS = R_WT @ np.array(matrix_from_rpy((0.4, -0.7, 1.1)), dtype=float)
    weight, f = np.array([0.0, 3.0, -17.0]), np.array([40.0, -25.0, 60.0])
    memory = np.zeros(Admittance.SIZE)
    for k in range(200):
        t = k * T
        (offset, rate), memory = law(memory, t, R_WT, R_WS.T @ (weight if t < 1.0 - 1e-9 else weight - f))
        late = max(t - 2.0, 0.0)
        expected = f * np.clip(t - 1.0, 0.0, 1.0) / D + f / K * (1.0 - np.exp(-K * late / D))
        assert np.allclose(offset, expected, rtol=0.0, atol=1e-13)
        assert np.allclose(memory[:3] - offset, T * rate, rtol=0.0, atol=1e-15)


def test_in_rest_a_held_spring_moves_it_by_the_force_over_the_stiffness():
    """f = k (a − δ) and δ = f/K: δ = a k/(k + K). What is left is the servos' error and exp(−6 s (K + k)/D)."""
    given = held(start=2.0)
    assert np.allclose(given[-1], AWAY * GRIP / (GRIP + K), rtol=0.0, atol=2e-4)
    assert np.abs(given[:20]).max() == 0.0  # the weight of the hand does not move it


def test_a_path_begins_where_something_was_touched():
    """Without the spring until 6 s it comes to the post; from there on nothing pulls."""
    given = held(start=2.0, touched=6.0)
    assert np.allclose(given[60], AWAY, rtol=0.0, atol=5e-4) and np.allclose(given[-1], AWAY, rtol=0.0, atol=5e-4)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sensor": "ft"}, "set sensor, stiffness, damping and optionally start, touched"),
        ({"sensor": "ft", "stiffness": 0, "damping": 1}, "admittance: stiffness is 0"),
        ({"sensor": "ft", "stiffness": 1, "damping": 1, "start": 2, "touched": 1}, "touched is 1 s, before start at 2 s"),
        ({"sensor": "ft", "stiffness": 1, "damping": 1}, "no sensor is named 'ft'; add a force_torque sensor"),
    ],
)
def test_rejected(given, words):
    with pytest.raises(ValueError, match=words):
        hm.Simulation(
            MODEL,
            components=[*(drives.Servo(joint=n, stiffness=1.0, damping=1.0) for n in START)],
            controller=CartesianMotion(**WAY, admittance=given),
        )
