"""Fixtures that run the command line, and a small scenario to run."""

import subprocess
import sys

import pytest

from hydromechs.cli import main


def _command(main, monkeypatch, capsys):
    def command(*arguments, columns=400):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["hydromechs", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return command


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `hydromechs` with arguments on a wide terminal: status, stdout, stderr."""
    return _command(main, monkeypatch, capsys)


@pytest.fixture
def study(monkeypatch, capsys):
    """Run `python -m benchmarks` with arguments on a wide terminal: status, stdout, stderr."""
    from benchmarks.__main__ import main

    return _command(main, monkeypatch, capsys)


BUOY = """
hydromechs_model: 2
name: buoy
bodies:
  float:
    joint: free
    inertia: {mass: 100.0, com: [0, 0, 0.1], tensor: [4, 5, 6, 0, 0, 0]}
    hydro:
      volume: 0.1
      added_mass: {type: diagonal, diagonal: [50, 50, 50, 1, 1, 1]}
      drag: [{type: shape, shape: {type: sphere, radius: 0.29}, coefficient: 0.5}]
"""
SCENARIO = """
hydromechs_scenario: 2
name: sinking
title: A ball sinks
models:
  buoy: {{model: buoy.yaml, position: [0, 0, 2], velocity: [0.3, 0, 0.5, 0, 0, 0.2]}}
environment: {{current: {{velocity: [0.2, 0, 0]}}, gusts: {{sigma: [0.1, 0.1, 0], time_constant: 5, interval: 0.5}}}}
run: {{step: 0.01, record: 0.05, duration: {duration}, seed: 3}}
checks:
  it sinks: {{quantity: depth.float, statistic: last, above: {above}}}
"""


@pytest.fixture
def scenario(tmp_path):
    """Write the scenario; its path."""

    def write(duration=2.0, above=0.0):
        (tmp_path / "buoy.yaml").write_text(BUOY)
        path = tmp_path / "sinking.yaml"
        path.write_text(SCENARIO.format(duration=duration, above=above))
        return path

    return write


@pytest.fixture
def buoy():
    """The model file of the scenario."""
    return BUOY


@pytest.fixture
def start(default_signals):
    """Start `hydromechs` with arguments in a process of its own that signals can interrupt; it is killed at the end."""
    processes = []

    def command(*arguments, code="from hydromechs.cli import main; main()"):
        words = [sys.executable, "-c", code, *map(str, arguments)]
        processes.append(subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return processes[-1]

    yield command
    for process in processes:
        process.kill()
        process.wait()
