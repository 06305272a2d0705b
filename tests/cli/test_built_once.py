"""`hydromechs run` and `hydromechs pilot` parse each file once and build each object once before the first step."""

from __future__ import annotations

import sys
from collections import Counter

import pytest
from yaml.composer import Composer

from hydromechs import library
from hydromechs.cli import main
from hydromechs.model import Model
from hydromechs.scenario import Scenario
from hydromechs.simulation import Plant, Simulation


class Started(BaseException):
    """The first step would be compiled now."""


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """Run a command up to its first step: how often YAML was parsed, and models, scenarios and plants by name were built."""
    library._library_model.cache_clear()
    found = {"files": Counter(), "models": Counter(), "scenarios": Counter(), "plants": Counter()}

    def count(cls, method, what, name):
        inner = getattr(cls, method)

        def called(self, *arguments):
            found[what][name(self)] += 1
            return inner(self, *arguments)

        monkeypatch.setattr(cls, method, called)

    count(Composer, "get_single_node", "files", lambda loader: "parsed")
    count(Model, "__post_init__", "models", lambda model: model.name)
    count(Scenario, "__post_init__", "scenarios", lambda scenario: scenario.name)
    count(Plant, "__post_init__", "plants", lambda plant: plant.model.name)

    def begin(*arguments):
        raise Started

    monkeypatch.setattr(Simulation, "compile", begin)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["hydromechs", *arguments, "--out", str(tmp_path / "out")])
        with pytest.raises(Started):
            main()
        return {what: dict(counts) for what, counts in found.items()}

    return command


ROV = {
    "files": {"parsed": 4},  # the mission, its vehicle, and the models of vehicle and cargo
    "models": {"workclass_arm3": 1, "tubular_frame": 1, "rov and cargo": 1},
    "scenarios": {"workclass_arm3": 1, "pick_and_release": 1},
    "plants": {"workclass_arm3": 1, "rov and cargo": 1},
}


@pytest.mark.parametrize("options", [(), ("--set", "rov.vehicle.inertia.mass=3900")], ids=["plain", "set"])
def test_run(counted, options):
    """With --set, the model, the scenario and the plant of the changed numbers are further objects."""
    once = {what: dict.fromkeys(counts, 1) for what, counts in ROV.items()} | {"files": ROV["files"]}
    if options:
        once["models"] |= {"workclass_arm3": 2, "rov and cargo": 2}
        once["scenarios"]["pick_and_release"] = once["plants"]["rov and cargo"] = 2
    assert counted("run", "pick_and_release", *options) == once


def test_run_of_one_model(counted):
    once = {"tiburon_titan2": 1}
    expected = {"files": {"parsed": 2}, "models": once, "scenarios": {"free_decay": 1}, "plants": once}
    assert counted("run", "free_decay", "--seed", "0") == expected


def test_pilot(counted):
    """The scenario as it is in its file, and with the pilot in place of the mission; they share the model and the plant."""
    flown = ROV | {"scenarios": {"workclass_arm3": 1, "pick_and_release": 2}}
    assert counted("pilot", "pick_and_release", "--no-browser", "--port", "0") == flown
