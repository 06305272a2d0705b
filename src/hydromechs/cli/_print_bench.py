"""Reports of `hydromechs bench` as tables."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from ._tables import print_heading, print_targets, table_of

SHORT = {"semi_implicit_euler": "Euler", "rk4": "RK4"}
"""Names of integrators in a table."""


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
    rows: list[tuple[str, ...]] = [
        (
            row["what"],
            "in water" if row["water"] else "dry",
            *(f"{row['minimum_ns']:.0f}", f"{row['median_ns']:.0f}", f"{row['ratio']:.2f}"),
            *(row["threads"], row["batch"]),
        )
        for row in report["times"].values()
    ]
    columns: tuple[str, ...] = ("", "", ">minimum\nns", ">median\nns", ">time / ours\non one lane", ">threads", ">batch")
    console.print(table_of(*columns, rows=rows))
    _print_peers(report, console)
    lanes = report["chains"][0]["lanes"]
    keys = ("one_lane_ns", "one_lane_ns_per_link", "lanes_ns", "lanes_ns_per_link", "rolled_lanes_ns_per_link")
    rows = [(c["links"], *(f"{c[key]:.1f}" for key in keys)) for c in report["chains"]]
    columns = (">links", ">one lane\nns", ">per link\nns", f">{lanes} lanes\nns", ">per link\nns", ">as a loop,\nper link")
    console.print(Text(f"\nGeneral chains on a vehicle in water, batch {report['chains'][0]['batch']}"))
    console.print(table_of(*columns, rows=rows))
    parts = {
        "single_s": "from hm.compile to the first result of one state",
        "batch_s": f"then to the first result of a batch, {lanes} lanes",
        "import_compiler_s": "import of CasADi and LLVM before that",
        "load_model_s": "import of hydromechs and reading of the model",
    }
    rows = [(what, *(f"{report['compile'][when][key]:.3f}" for when in ("cold", "cached"))) for key, what in parts.items()]
    console.print(Text("\nCompile times in a new process"))
    console.print(table_of("", ">empty cache\ns", ">filled cache\ns", rows=rows))
    print_targets(report, console)


def _print_peers(report: dict[str, Any], console: Console) -> None:
    """Print other codes that are missing, and how much those there are differ from ours."""
    for name in report["missing"]:
        console.print(Text(f"{name} is not installed: pip install 'hydromechs[dev]'"))
    for name, difference in report["relative_difference_to_ours_dry"].items():
        console.print(Text(f"{name} differs from ours dry by {difference:.1e} of the largest acceleration"))


def print_simulation(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_simulation` as tables."""
    print_heading(report, console)
    keys = ("real_time_factor", "median_factor", "ns_per_evaluation")
    rows = [(row["what"], *(f"{row[key]:.4g}" for key in keys)) for row in report["rollouts"].values()]
    columns = ("Rollouts, RK4, step 1 ms, in water", ">x real time\nbest", ">x real time\nmedian", ">ns per\nevaluation")
    console.print(table_of(*columns, rows=rows))
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
    _print_peers(report, console)
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


def print_worlds(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_worlds` as tables."""
    print_heading(report, console)
    m = report["model"]
    counts = ", ".join(f"{method} {count}" for method, count in m["operations"].items())
    console.print(
        Text(
            f"Whole steps of {m['name']}, {m['degrees_of_freedom']} degrees of freedom; operations of one: {counts}.\n"
            "Euler is semi-implicit. Steps of all worlds together, measured in turns."
        )
    )
    rows: list[tuple[Any, ...]] = []
    for row in report["rows"]:
        of = f", {row['precision']}" if "precision" in row else ""
        share, memory = row.get("fraction_of_peak"), row["bytes_per_world"]
        rates = (f"{row['per_second']:.2e}", f"{row['median_per_second']:.2e}")
        rest = (row["worlds"], "" if memory is None else memory, "" if share is None else f"{100 * share:.0f} %")
        rows.append((f"{row['what']}{of}, {'in water' if row['water'] else 'dry'}", SHORT[row["method"]], *rates, *rest))
    columns = ("", "", ">steps per second\nbest", ">\nmedian", ">worlds", ">bytes\nper world", ">share\nof peak")
    console.print(table_of(*columns, rows=rows))
    if "peak_per_core" in report["device"]:
        console.print(
            Text(f"Peak of a core, measured with multiply-adds alone: {report['device']['peak_per_core']:.3g} per second.")
        )
    kernels = [row for row in report["rows"] if "registers" in row]
    if kernels:
        rows = []
        for row in kernels:
            apart = "" if row["difference_to_cpu"] is None else f"{row['difference_to_cpu']:.1e}"
            sizes = (row["worlds"], row["registers"], row["local_bytes"], f"{row['compile_s']:.2f}", apart, row["frozen"])
            rows.append((f"{row['what']}, {SHORT[row['method']]}, {row['precision']}", *sizes))
        columns = ("kernel", ">worlds", ">registers", ">local\nbytes", ">set up\ns", ">difference\nto CPU", ">frozen")
        console.print(table_of(*columns, rows=rows))
    print_targets(report, console)
