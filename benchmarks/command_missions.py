"""`python -m benchmarks speed` and `python -m benchmarks missions`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from hydromechs.cli._tables import print_report

__all__ = ["bench_missions", "study_missions"]

ENGINES = Annotated[
    str,
    typer.Option(help="Engines besides ours, with commas between: mujoco, dart, bullet; all that are installed by default."),
]
FLOWN = Annotated[str, typer.Option(help="Missions, with commas between; all by default. A wrong name lists them.")]
SHORT = Annotated[float | None, typer.Option(help="How much of each mission [s], to check that it works; all by default.")]


def bench_missions(
    engines: ENGINES = "",
    missions: FLOWN = "",
    duration: SHORT = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Time the missions in our engine and in others, with sensors, filter and control on."""
    from benchmarks.mission_bench import measure_mission_speed

    from .print_missions import flying, print_mission_speed

    with flying() as said:
        report = measure_mission_speed(_names(missions), _names(engines), duration=duration, said=said)
    print_report(report, print_mission_speed, as_json)


def study_missions(
    engines: ENGINES = "",
    missions: FLOWN = "",
    seeds: Annotated[int, typer.Option(min=0, help="How many other seeds to fly in our engine.")] = 0,
    duration: SHORT = None,
    out: Annotated[str, typer.Option(help="Folder for pictures, and missions.json unless --json; none by default.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fly the missions in all engines: checks, differences from ours, errors of navigation. Status 1 unless all checks pass."""
    from benchmarks.mission_study import measure_missions

    from .print_missions import flying, print_missions

    folder = Path(out) if out else None
    with flying() as said:
        report = measure_missions(_names(missions), _names(engines), seeds=seeds, duration=duration, out=folder, said=said)
    if folder is not None and not as_json:
        (folder / "missions.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print_report(report, print_missions, as_json)
    if not report["passed"]:
        raise typer.Exit(1)


def _names(text: str) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
