"""Reports of `hydromechs bench` as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from ._tables import print_heading, print_targets, table_of


def print_dynamics(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_dynamics` as tables."""
    print_heading(report, console)
    m = report["model"]
    console.print(
        Text(
            f"Forward dynamics of {m['name']}: {m['bodies']} bodies, {m['degrees_of_freedom']} degrees of freedom; "
            f"[M, A] {list(m['operations'])} in moving water, {list(m['operations_dry'])} dry.\n"
            f"Minimum and median of {report['rounds']} rounds; ratios of minima."
        )
    )
    table = table_of("", "", ">minimum\nns", ">median\nns", ">time / ours\non one lane", ">threads", ">batch")
    for row in report["times"].values():
        table.add_row(
            row["what"],
            "in water" if row["water"] else "dry",
            f"{row['minimum_ns']:.0f}",
            f"{row['median_ns']:.0f}",
            f"{row['ratio']:.2f}",
            str(row["threads"]),
            str(row["batch"]),
        )
    console.print(table)
    for name in report["missing"]:
        console.print(Text(f"{name} is not installed: pip install 'hydromechs[dev]'"))
    for name, difference in report["relative_difference_to_ours_dry"].items():
        console.print(Text(f"{name} differs from ours dry by {difference:.1e} of the largest acceleration"))
    lanes = report["chains"][0]["lanes"]
    table = table_of(
        ">links", ">one lane\nns", ">per link\nns", f">{lanes} lanes\nns", ">per link\nns", ">as a loop,\nper link"
    )
    for c in report["chains"]:
        numbers = (
            c["one_lane_ns"],
            c["one_lane_ns_per_link"],
            c["lanes_ns"],
            c["lanes_ns_per_link"],
            c["rolled_lanes_ns_per_link"],
        )
        table.add_row(str(c["links"]), *(f"{x:.1f}" for x in numbers))
    console.print(Text(f"\nGeneral chains on a vehicle in water, batch {report['chains'][0]['batch']}"))
    console.print(table)
    table = table_of("", ">empty cache\ns", ">filled cache\ns")
    for key, what in (
        ("single_s", "from hm.compile to the first result of one state"),
        ("batch_s", f"then to the first result of a batch, {lanes} lanes"),
        ("import_compiler_s", "import of CasADi and LLVM before that"),
        ("load_model_s", "import of hydromechs and reading of the model"),
    ):
        table.add_row(what, f"{report['compile']['cold'][key]:.3f}", f"{report['compile']['cached'][key]:.3f}")
    console.print(Text("\nCompile times in a new process"))
    console.print(table)
    print_targets(report, console)


def print_simulation(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_simulation` as tables."""
    print_heading(report, console)
    table = table_of("Rollouts, RK4, step 1 ms, in water", ">x real time\nbest", ">x real time\nmedian", ">ns per\nevaluation")
    for row in report["rollouts"].values():
        factors = (row["real_time_factor"], row["median_factor"], row["ns_per_evaluation"])
        table.add_row(row["what"], *(f"{x:.4g}" for x in factors))
    console.print(table)
    s = report["scenario"]
    console.print(
        Text(
            f"\n{s['name']}: {s['duration']:g} s in {s['wall_time']:.3f} s with its recording: {s['real_time_factor']:.0f} x "
            f"real time (median {s['median_factor']:.0f}); set up and compiled in {s['compile_time']:.2f} s"
        )
    )
    if report["mujoco_step_us"] is not None:
        ours = report["rollouts"]["one"]["ns_per_evaluation"] * 4e-3  # four evaluations
        theirs = report["mujoco_step_us"]
        console.print(Text(f"MuJoCo's RK4 step of the same tree, dry: {theirs:.2f} µs; ours in water: {ours:.2f} µs\n"))
    print_targets(report, console)


def print_trees(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_trees` as tables."""
    print_heading(report, console)
    lanes = report["chains"][0]["lanes"]

    def us(row: dict[str, Any], key: str) -> str:
        return "–" if row.get(key) is None else f"{1e-3 * row[key]:.4g}"

    console.print(Text(f"Forward dynamics of general chains on a vehicle, rolled; minimum of {report['rounds']} rounds, µs"))
    table = table_of(
        ">links",
        ">in water",
        ">per link\nns",
        f">{lanes} lanes",
        ">per link\nns",
        ">dry",
        ">Pinocchio aba\ndry",
        ">MuJoCo mj_forward\ndry",
        ">first result\ns",
    )
    for c in report["chains"]:
        table.add_row(
            str(c["links"]),
            us(c, "one_lane_ns"),
            f"{c['one_lane_ns_per_link']:.1f}",
            us(c, "lanes_ns"),
            f"{c['lanes_ns_per_link']:.1f}",
            us(c, "dry_ns"),
            us(c, "pinocchio_ns"),
            us(c, "mujoco_ns"),
            f"{c['compile_s']:.2f}",
        )
    console.print(table)
    if report["trees"]:
        console.print(Text("\nRandom trees, rolled, µs"))
        table = table_of(">bodies", ">freedoms", ">in water", ">dry", ">Pinocchio\ndry", ">MuJoCo\ndry", ">first result\ns")
        for t in report["trees"]:
            times = (us(t, f"{key}_ns") for key in ("one", "dry", "pinocchio", "mujoco"))
            table.add_row(str(t["bodies"]), str(t["degrees_of_freedom"]), *times, f"{t['compile_s']:.2f}")
        console.print(table)
    console.print(Text("\nWalkers, one state at a time, µs, and in brackets seconds to the first result"))
    table = table_of("", ">bodies", ">freedoms", ">specialised", ">rolled", ">legs on lanes", ">the same\ndry", ">MuJoCo\ndry")
    for f in report["forms"]:
        times = (f"{us(row, 'minimum_ns')} ({row['compile_s']:.2f})" for row in f["times"])
        sizes = (str(f["bodies"]), str(f["degrees_of_freedom"]))
        table.add_row(f["model"], *sizes, *times, us(f, "dry_ns"), us(f, "mujoco_ns"))
    console.print(table)
    for name in report["missing"]:
        console.print(Text(f"{name} is not installed: pip install 'hydromechs[dev]'"))
    for name, difference in report["relative_difference_to_ours_dry"].items():
        console.print(Text(f"{name}: differs from ours dry by {difference:.1e} of the largest acceleration"))
    console.print(Text(f"\nOne evaluation in the papers, on an {report['papers_machine']}, and ours"))
    table = table_of("", ">papers", ">ours, µs", "source")
    for row in report["papers"]:
        table.add_row(row["what"], row["time"], us(row, "ours_ns"), row["source"])
    console.print(table)
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
    table = table_of("", ">compile\ns", ">registers", ">local memory\nbytes", ">difference\nto CasADi")
    for c in report["kernels"]:
        numbers = (f"{c['compile_s']:.2f}", str(c["registers"]), str(c["local_bytes"]))
        table.add_row(c["precision"], *numbers, f"{c['relative_difference_to_casadi']:.1e}")
    console.print(table)
    table = table_of(
        "",
        ">batch",
        "layout",
        ">ms",
        ">median\nms",
        ">evaluations\nper second",
        ">of peak\narithmetic",
        ">of memory\nbandwidth",
    )
    for r in report["runs"]:
        shares = ("–" if x is None else f"{x:.1%}" for x in (r["fraction_of_peak"], r["fraction_of_bandwidth"]))
        milliseconds = (f"{r['minimum_ms']:.4f}", f"{r['median_ms']:.4f}")
        table.add_row(r["precision"], str(r["batch"]), r["layout"], *milliseconds, f"{r['per_second']:.3g}", *shares)
    console.print()
    console.print(table)
    print_targets(report, console)
