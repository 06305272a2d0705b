"""Sessions behind an acoustic link: where the ghost is, what is recorded; looking ahead. No browser."""

import warnings

import numpy as np
import pytest

from hydromechs.recording import load_recording
from hydromechs.simulation import load_state
from hydromechs.station import AcousticLink, RecordedInputs, Session, fly_again

DELAY, MESSAGE = 2.0, 0.08


def axis(k, value=1.0):
    return tuple(value if i == k else 0.0 for i in range(6))


FLIGHT = [
    (0.4, {"mode": "speed", "axes": axis(0)}),
    (2.0, {"mode": "speed", "axes": (0.5, 0.0, 0.4, 0.0, 0.0, 0.7), "arm_axes": axis(0, 0.5)}),
    (3.0, {"mode": "hold", "axes": axis(1, -0.6), "arm_axes": axis(1, -0.5)}),
    (4.0, {"mode": "manual", "axes": (-0.5, 0.0, 0.0, 0.0, 0.0, -0.2)}),
    (4.6, {"mode": "hold", "axes": axis(0, 0.0), "arm_axes": axis(0, 0.0)}),
]
"""Requests of a pilot, with their start times [s]."""


def flown(session, until, flight=FLIGHT, end=7.0):
    """Fly step by step; all snapshots, each with the time of the vehicle at which it was shown."""
    shown, left, snapshot = [], list(flight), session.snapshot
    for tick in range(round(end / 0.04)):
        while left and left[0][0] <= tick * 0.04 + 1e-9:
            session.inputs.set(**left.pop(0)[1])
        session.step()
        before = snapshot
        assert until(lambda before=before: session.snapshot.number > before.number)
        snapshot = session.snapshot
        shown.append(((tick + 1) * 0.04, snapshot))
    return shown


@pytest.fixture(scope="module", params=[0.0, 0.2], ids=["no loss", "20 % lost"])
def delayed(request, little, tmp_path_factory, until):
    """A flight behind a link: its session, now closed, what it showed, and the loss."""
    link = AcousticLink(delay=DELAY, message_time=MESSAGE if request.param else 0.0, loss=request.param, seed=3)
    session = Session(little, tmp_path_factory.mktemp("runs"), lost_after=1e6, link=link)
    try:
        shown = flown(session, until)
    finally:
        session.close()
    return session, shown, request.param


def test_the_ghost_is_where_the_vehicle_will_be(delayed, catalog, tmp_path):
    """Within 5 cm while the pilot flies; the vehicle that is shown is where it was. The run flies again to the last bit.

    Where commands are lost it is off, for a while, by the speed of 0.6 m/s times the messages that were lost one after another.
    """
    session, shown, loss = delayed
    run = load_recording(session.run_folder.recording)
    t, path = run["time"].values, run["position"].sel(body="rov.vehicle").values
    place = lambda at: np.array([np.interp(at, t, path[:, k]) for k in range(3)])  # noqa: E731
    assert np.ptp(path[:, 0]) > 0.5
    body = session.pilot.vehicle.body
    off = [np.linalg.norm(s.ghost.position[body] - place(s.ghost.t)) for _, s in shown if s.ghost.t < t[-1]]
    old = [np.linalg.norm(s.position[body] - place(s.t)) for _, s in shown]
    assert len(off) > 100 and max(off) < (3 * MESSAGE * 0.6 if loss else 2e-3), "2 mm are of the recording, which is coarser"
    assert max(old) < 2e-3
    late = np.array([now - s.t for now, s in shown if now > 3.0])
    assert late.min() >= DELAY and late.max() < (DELAY + 1.0 if loss else DELAY + 0.05)
    again = fly_again(catalog, session.run_folder.path, tmp_path / "again")
    assert again.state == load_state(session.run_folder.state)


def test_the_inputs_of_a_run_are_those_that_the_vehicle_received(delayed):
    session, _, loss = delayed
    recorded = RecordedInputs(session.run_folder.inputs)
    ticks = round(DELAY / 0.04)
    first = next(k for k in range(1000) if recorded.at(k).mode == "speed")
    assert first == 10 + ticks if not loss else 10 + ticks < first < 10 + ticks + 15


def test_a_link_is_switched_on_and_off_in_flight(little, tmp_path, until):
    session = Session(little, tmp_path, lost_after=1e6)
    try:
        flown(session, until, end=0.4)
        assert session.snapshot.ghost is None and session.status["link"] is None
        session.set_link(AcousticLink(delay=0.4))
        assert until(lambda: session.snapshot.ghost is not None)
        session.inputs.set(mode="speed", axes=axis(0))
        flown(session, until, [], end=0.8)
        ghost = session.snapshot.ghost
        assert session.status["link"]["age"] == pytest.approx(0.44) and session.status["link"]["ahead"] == 0.4
        assert ghost.position[0, 0] > session.snapshot.position[0, 0] + 0.02
        session.set_link(None)
        assert until(lambda: session.snapshot.ghost is None)
        assert session.snapshot.t == pytest.approx(1.2)
        session.reset()
        assert until(lambda: session.snapshot.run == 2)
    finally:
        session.close()


def test_what_the_pilot_says_is_said_by_the_vehicle_alone(little, tmp_path, until):
    """A gripper that finds nothing: a message of the run when the vehicle receives of it, no warning of the ghost before."""
    session = Session(little, tmp_path, lost_after=1e6, link=AcousticLink(delay=0.2))
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            flown(session, until, [(0.0, {"gripper": "close"})], end=0.6)
        assert not caught and session.snapshot.ghost is not None
        assert any("reach" in text for text in session.messages)
    finally:
        session.close()


def test_looking_ahead_shows_where_strategies_lead(little, tmp_path, until):
    """To continue leads where the vehicle then goes; to hold stays near; astern leads back."""
    session = Session(little, tmp_path, lost_after=1e6)
    try:
        flown(session, until, [(0.0, {"mode": "speed", "axes": axis(0)})], end=2.0)
        ahead = session.look_ahead()
        print(f"three strategies, 10 s ahead, in {1e3 * ahead.computing_time:.0f} ms")
        assert ahead.names == ("continue", "stop and hold", "full astern") and ahead.t[-1] - ahead.t[0] == pytest.approx(10.0)
        assert np.isfinite(ahead.points).all() and (ahead.until == ahead.t[-1]).all()
        assert little.scenario.controllers[0].controller.period == 0.04, "the next run has commands as often as this one"
        session.scale(float("inf"))
        session.start()
        assert until(lambda: session.snapshot.t > 6.5)
    finally:
        session.close()
    run = load_recording(session.run_folder.recording)
    later = run["position"].sel(body="rov.vehicle").interp(time=ahead.t[:21]).values
    on, hold, astern = ahead.points
    assert np.linalg.norm(on[:21] - later, axis=1).max() < 0.05
    assert np.linalg.norm(hold[-1] - hold[0]) < 0.5 and np.linalg.norm(hold[-1] - hold[-10]) < 0.02
    assert astern[-1, 0] < astern[0, 0] - 1.0
