"""Operator requests, their files, the right to steer, and messages of a browser. No browser, no simulation."""

import json
import random
from pathlib import Path

import msgspec
import pytest

from hydromechs.simulation import PythonBlock
from hydromechs.station import Changes, InputLog, LiveInputs, Operator, Pilot, RecordedInputs, Seats, configured
from hydromechs.station._messages import SCENE_TYPES, page_message
from hydromechs.viewer._messages import BURST, LARGEST, Guard, Rejected, scene_message


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"mode": "dive"}, "Operator.mode is 'dive', must be 'manual', 'speed' or 'hold'"),
        ({"axes": (0, 0, 2, 0, 0, 0)}, "Operator.axes is .* from -1 to 1"),
        ({"axes": (0, 0, float("nan"), 0, 0, 0)}, "Operator.axes is .* from -1 to 1"),
        ({"axes": (0, 0)}, "6 numbers"),
        ({"arm": True}, "must be an integer"),
        ({"target": (0, 0, float("inf"))}, "Operator.target is .* finite"),
        ({"swing": 1}, "must be true or false"),
        ({"modus": "hold"}, "must be a field of operator input"),
    ],
)
def test_wrong_inputs_are_rejected_and_nothing_changes(wrong, said):
    inputs = LiveInputs()
    before = inputs.set(mode="speed")
    with pytest.raises(ValueError, match=said):
        inputs.set(**wrong)
    assert inputs.now == before


def test_inputs_come_back_from_their_file(tmp_path):
    """Each change with its tick; between changes what was asked for last, with all its digits."""
    live = LiveInputs()
    live.log = InputLog(tmp_path / "inputs.jsonl", 0.04)
    seen = [live.at(k) for k in range(3)]
    live.set(mode="speed", axes=(0.1, 1 / 3, 0, 0, 0, -1))
    seen += [live.at(k) for k in range(3, 5)]
    live.set(target=(1.0, 2.0, 1e-9), arm_mode="tool")
    live.set(gripper="close")
    seen += [live.at(k) for k in range(5, 8)]
    live.log.close(0.32)
    again = RecordedInputs(tmp_path / "inputs.jsonl")
    assert [again.at(k) for k in range(8)] == seen
    assert (again.period, again.end) == (0.04, 0.32)
    assert len((tmp_path / "inputs.jsonl").read_text().splitlines()) == 4


@pytest.mark.parametrize(
    "text", ["", "[]", '{"hydromechs_inputs": 2}', '{"hydromechs_inputs": 1, "period": 0.04}\n{"tick": "a"}']
)
def test_files_that_hold_no_inputs_are_rejected(text, tmp_path):
    (tmp_path / "inputs.jsonl").write_text(text)
    with pytest.raises(ValueError, match=r"inputs\.jsonl"):
        RecordedInputs(tmp_path / "inputs.jsonl")


def test_one_steers_and_hands_over():
    seats = Seats()
    for seat in "abc":
        seats.join(seat)
    assert seats.steers("a") and seats.view("b")["pilot"] == "operator 1"
    seats.ask("c")
    seats.ask("b")
    assert seats.steers("a") and seats.view("a")["asking"] == ["operator 3", "operator 2"]
    seats.give("b")
    assert seats.steers("a"), "only who steers can hand over"
    seats.give("a")
    assert seats.steers("c")
    seats.leave("c")
    assert seats.steers("b"), "who asked gets them"
    assert seats.give("b") is None and seats.free
    seats.ask("b")
    assert seats.steers("b") and seats.view("b")["seats"] == 2
    seats.leave("a")
    seats.leave("b")
    seats.join("d")
    assert seats.steers("d")


def test_a_page_says_known_things_only():
    assert page_message('{"type": "operator", "mode": "hold"}')["mode"] == "hold"
    rng = random.Random(3)
    wrong = [
        "", "null", "[]", "7", '"start"', "{", '{"type": 3}', '{"type": "shell"}', '{"type": "start", "path": "/etc/passwd"}',
        '{"type": "scale"}', '{"type": "configure", "scenario": 3, "changes": {}}', '{"type": "scale", "value": NaN}',
        '{"type": "scale", "value": 1e999}', '{"type": "operator", "axes": [1' + "0" * 400 + "]}", '{"type": "scale", "value": -1e300}',
        '{"type": "save", "scenario": "x", "changes": []}', "[" * 5000, '{"type": "operator", "target": [0, 0, 0]}', b"\x00\xff",
        json.dumps({"type": "start", "more": "x" * LARGEST}),
        *("".join(chr(rng.randrange(32, 0x250)) for _ in range(rng.randrange(60))) for _ in range(200)),
    ]  # fmt: skip
    for raw in wrong:
        with pytest.raises(Rejected):
            page_message(raw)


def test_a_viewer_says_known_things_only():
    camera = {"type": "ViewerCameraMessage", "wxyz": [1.0, 0, 0, 0], "position": [0.0, 0, 0], "fov": 1.0, "near": 0.1, "far": 9}
    camera |= {"image_height": 3, "image_width": 4, "look_at": [1, 0, 0], "up_direction": [0, 0, 1]}
    assert scene_message(msgspec.msgpack.encode(camera), SCENE_TYPES) == camera
    rng = random.Random(3)
    encode = msgspec.msgpack.encode
    wrong = [
        "text", b"", b"\xc1", encode([1, 2]), encode({"type": "GuiUpdateMessage", "uuid": "a", "updates": {"value": 1}}), encode({"type": "RunJavascriptMessage"}),
        encode({**camera, "fov": float("nan")}), encode({**camera, "position": [[1]]}), encode({**camera, "position": [0.0] * 99}),
        encode({**camera, "fov": b"x"}), encode({**camera, "position": [1e300, 0, 0]}), encode({"type": "ViewerCameraMessage"}), encode({"type": "FileTransferStart"}), encode({**camera, "extra": "y" * LARGEST}),
        *(rng.randbytes(rng.randrange(1, 60)) for _ in range(200)),
    ]  # fmt: skip
    for raw in wrong:
        with pytest.raises(Rejected):
            scene_message(raw, SCENE_TYPES)


def test_messages_that_come_too_fast_are_rejected():
    guard = Guard()
    with pytest.raises(Rejected, match="message rate exceeds 120"):
        for _ in range(int(BURST) + 50):
            guard.admit()


def test_a_page_offers_what_can_be_flown_and_no_more(catalog):
    """Also a scenario with words that YAML 1.1 takes for true and false, as `control: off` in `crash`."""
    flown = set()
    for name in catalog.files:
        try:
            made = configured(catalog, name)
        except ValueError as error:
            assert "no thrusters" in str(error), name
            continue
        flown.add(name)
        (block,) = made.scenario.controllers
        assert isinstance(block.controller, Pilot) and '"hydromechs.station:Pilot"' in made.text
    assert set(catalog.offered) == flown and "crash" in flown and catalog.offered[0] == "little"


def test_what_a_scenario_has_stays_when_it_is_flown(catalog):
    for name in ("crash", "tethered_rov", "little"):
        file = catalog.files[name]
        plain, made = catalog.read(Path(file).read_text(), file), configured(catalog, name).scenario
        for field in (
            "models",
            "environment",
            "components",
            "sensors",
            "step",
            "seed",
        ):
            assert getattr(made, field) == getattr(plain, field), field
    assert [event.control for event in configured(catalog, "crash").scenario.events] == ["off"]


def test_a_changed_scenario_is_a_file_with_the_pilot(catalog):
    changes = Changes.of({"current": [0.1, 0.2, 0], "position": [0, 0, 30], "heading_deg": 40, "bandwidth": 1.2, "seed": 9})
    made = configured(catalog, "pick_and_release", changes)
    again = catalog.read(made.text, made.file)
    assert again.environment.current.velocity == (0.1, 0.2, 0.0) and again.seed == 9
    assert again.models[0].position == (0.0, 0.0, 30.0) and not again.events and not again.checks
    assert 'controller: {type: "hydromechs.station:Pilot", bandwidth: 1.2}' in made.text
    assert again.controllers == made.scenario.controllers == (PythonBlock(controller=Pilot(bandwidth=1.2, period=0.04)),)
    assert configured(catalog, "wave_zone", Changes(wave_height=0.0)).scenario.environment.waves == ()
    waves = configured(catalog, "wave_zone", Changes(wave_height=0.3, wave_period=4.0)).scenario.environment.waves
    assert [(w.height, w.period) for w in waves] == [(0.3, 4.0)]


@pytest.mark.parametrize(
    ("name", "changes", "said"),
    [
        ("nowhere", {}, "unknown scenario 'nowhere'"),
        ("sinking_chain", {}, "no thrusters"),
        ("pick_and_release", {"wave_height": -1}, "wave_height"),
        ("pick_and_release", {"current": [1, 2]}, "current"),
        ("pick_and_release", {"speed": 1}, "must be a known change"),
        ("pick_and_release", {"seed": 0.5}, "seed"),
    ],
)
def test_wrong_changes_are_rejected(catalog, name, changes, said):
    with pytest.raises(ValueError, match=said):
        configured(catalog, name, Changes.of(changes))


def test_operators_compare_by_what_they_ask_for():
    assert Operator() == Operator(axes=[0] * 6) and Operator(swing=True) != Operator()
