"""`hydromechs pilot`: starts, answers on its address, ends on Ctrl-C with a complete run."""

import json
import re
import signal
import urllib.request
from pathlib import Path

import pytest
from websockets.sync.client import connect

from hydromechs.actuation import Thruster
from hydromechs.cli._pilot import catalog, link_of, vehicle_file
from hydromechs.recording import RunFolder, load_recording
from hydromechs.station import configured, fly_again

LITTLE = Path(__file__).parents[1] / "station" / "files" / "little.yaml"


def test_the_command_serves_a_flight_and_ends_on_request(start, tmp_path):
    """Somebody opens the page, starts and flies behind a delay; Ctrl-C or a plain kill leaves a run that flies again to the last bit."""
    process = start("pilot", LITTLE, "--out", tmp_path, "--port", 0, "--no-browser", "--delay", 0.2)
    url = ""
    for line in process.stdout:
        if found := re.search(r"open (http://\S+)", line):
            url = found[1]
            break
    assert url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(url) as answer:
        assert b"operator station" in answer.read()
    with connect(url.replace("http", "ws", 1) + "link/new") as link:
        link.send(json.dumps({"type": "start"}))
        link.send(json.dumps({"type": "operator", "mode": "speed", "axes": [1, 0, 0, 0, 0, 0]}))
        while True:
            message = json.loads(link.recv(timeout=30))
            if message["type"] == "frame" and message["t"] > 0.5:
                break
    assert message["status"]["link"]["delay"] == 0.2 and message["ghost"]["t"] > message["t"]
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=30)[0]
    folder = RunFolder(tmp_path / "little")
    assert process.returncode == 0 and "hydromechs replay" in said and "pilot --again" in said
    assert folder.summary.exists() and load_recording(folder.recording).attrs["finished"] == 1
    again = fly_again(catalog(), folder.path, tmp_path / "again")
    assert again.recording["position"].equals(load_recording(folder.recording)["position"])


def test_options_of_the_link():
    assert link_of(None, None, 0.0, 0.0) is None
    assert link_of(None, 3000.0, 0.5, 0.1).delay == 2.0 and link_of(2.0, None, 0.5, 0.1).loss == 0.1
    with pytest.raises(ValueError, match="--delay 2 and --distance 3000"):
        link_of(2.0, 3000.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="require --delay"):
        link_of(None, None, 0.0, 0.1)


def test_a_vehicle_of_the_library_is_flown_in_still_water(tmp_path):
    file = vehicle_file("dual_arm_rov", tmp_path)
    assert vehicle_file("dual_arm_rov", tmp_path) == file
    flown = configured(catalog(file), Path(file).stem)
    assert flown.scenario.parts(Thruster) and "Pilot" in flown.text
    Path(file).write_text("mine")
    with pytest.raises(ValueError, match=r"dual_arm_rov_still_water\.yaml exists with other contents"):
        vehicle_file("dual_arm_rov", tmp_path)
