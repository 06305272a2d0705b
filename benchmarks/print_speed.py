"""Reports on the speed of trees and of a GPU as tables."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from hydromechs.cli._bench import print_peers
from hydromechs.cli._console import Console
from hydromechs.cli._tables import print_heading, table_of

from .goals import print_targets

__all__ = ["print_gpu", "print_trees"]


def print_trees(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_trees` as tables."""
    print_heading(report, console)
    lanes = report["chains"][0]["lanes"]

    def us(row: dict[str, Any], key: str) -> str:
        return "–" if row.get(key) is None else f"{1e-3 * row[key]:.4g}"

    console.print(Text(f"Forward dynamics of general chains on a vehicle, rolled; minimum of {report['rounds']} rounds, µs"))
    rows: list[tuple[str, ...]] = [
        (
            *(c["links"], us(c, "one_lane_ns"), f"{c['one_lane_ns_per_link']:.1f}"),
            *(us(c, "lanes_ns"), f"{c['lanes_ns_per_link']:.1f}"),
            *(us(c, key) for key in ("dry_ns", "pinocchio_ns", "mujoco_ns")),
            f"{c['compile_s']:.2f}",
        )
        for c in report["chains"]
    ]
    ours = (">links", ">in water", ">per link\nns", f">{lanes} lanes", ">per link\nns", ">dry")
    console.print(table_of(*ours, ">Pinocchio aba\ndry", ">MuJoCo mj_forward\ndry", ">first result\ns", rows=rows))
    if report["trees"]:
        console.print(Text("\nRandom trees, rolled, µs"))
        times = ("one_ns", "dry_ns", "pinocchio_ns", "mujoco_ns")
        rows = [
            (t["bodies"], t["degrees_of_freedom"], *(us(t, key) for key in times), f"{t['compile_s']:.2f}")
            for t in report["trees"]
        ]
        columns = (">bodies", ">freedoms", ">in water", ">dry", ">Pinocchio\ndry", ">MuJoCo\ndry", ">first result\ns")
        console.print(table_of(*columns, rows=rows))
    console.print(Text("\nWalkers, one state at a time, µs, and in brackets seconds to the first result"))
    rows = [
        (
            *(f["model"], f["bodies"], f["degrees_of_freedom"]),
            *(f"{us(row, 'minimum_ns')} ({row['compile_s']:.2f})" for row in f["times"]),
            *(us(f, "dry_ns"), us(f, "mujoco_ns")),
        )
        for f in report["forms"]
    ]
    forms = (">specialised", ">rolled", ">legs on lanes", ">the same\ndry", ">MuJoCo\ndry")
    console.print(table_of("", ">bodies", ">freedoms", *forms, rows=rows))
    print_peers(report, console)
    console.print(Text(f"\nOne evaluation in the papers, on an {report['papers_machine']}, and ours"))
    rows = [(row["what"], row["time"], us(row, "ours_ns"), row["source"]) for row in report["papers"]]
    console.print(table_of("", ">papers", ">ours, µs", "source", rows=rows))
    print_targets(report, console)


def print_gpu(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_gpu` as tables."""
    print_heading(report, console)
    d, m = report["device"], report["model"]
    peak = (
        "unknown peak" if d["peak_float32"] is None else f"peak {d['peak_float32']:.3g} and {d['peak_float64']:.3g} per second"
    )
    console.print(
        Text(
            f"{d['name']}, {d['multiprocessors']} multiprocessors at {1e-9 * d['clock_hz']:.2f} GHz, {peak} in float32 and "
            f"float64, memory {1e-12 * d['memory_bytes_per_s']:.2f} TB/s\n"
            f"Forward dynamics of {m['name']} in still water, {m['degrees_of_freedom']} degrees of freedom: "
            f"{m['operations']} operations, {m['numbers']} numbers in and out per evaluation"
        )
    )
    rows: list[tuple[str, ...]] = [
        (
            *(c["precision"], f"{c['compile_s']:.2f}", c["registers"], c["local_bytes"]),
            f"{c['relative_difference_to_casadi']:.1e}",
        )
        for c in report["kernels"]
    ]
    console.print(table_of("", ">compile\ns", ">registers", ">local memory\nbytes", ">difference\nto CasADi", rows=rows))
    rows = []
    for r in report["runs"]:
        shares = ("–" if x is None else f"{x:.1%}" for x in (r["fraction_of_peak"], r["fraction_of_bandwidth"]))
        milliseconds = (f"{r['minimum_ms']:.4f}", f"{r['median_ms']:.4f}")
        rows.append((r["precision"], r["batch"], r["layout"], *milliseconds, f"{r['per_second']:.3g}", *shares))
    speeds = (">ms", ">median\nms", ">evaluations\nper second", ">of peak\narithmetic", ">of memory\nbandwidth")
    console.print()
    console.print(table_of("", ">batch", "layout", *speeds, rows=rows))
    print_targets(report, console)
