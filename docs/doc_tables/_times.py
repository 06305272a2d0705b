"""Tables of times, from the reports of `hydromechs bench` and `hydromechs papers`."""

from __future__ import annotations

from typing import Any

from hydromechs import bench

from ._common import goals, report, table, where

__all__ = ["TABLES"]


def dynamics_machine() -> str:
    """Where the times were taken."""
    data = report("dynamics")
    model = data["model"]
    return where(data) + (
        f"Model `{model['name']}`, {model['bodies']} bodies, {model['degrees_of_freedom']} degrees of freedom. "
        f"Nanoseconds per evaluation, {data['rounds']} rounds.\n"
    )


def dynamics_times() -> str:
    """One model in all ways."""
    rows = [
        (
            row["what"],
            "in water" if row["water"] else "dry",
            f"{row['minimum_ns']:.0f}",
            f"{row['ratio']:.2f}",
        )
        for row in report("dynamics")["times"].values()
    ]
    return table(("", "", "minimum", "time / ours on one lane"), rows)


def dynamics_chains() -> str:
    """Growth with the links."""
    chains = report("dynamics")["chains"]
    keys = ("one_lane_ns", "one_lane_ns_per_link", "lanes_ns", "lanes_ns_per_link", "rolled_lanes_ns_per_link")
    heads = ("links", "one lane", "per link", f"{chains[0]['lanes']} lanes", "per link", "as a loop, per link")
    return table(heads, [(c["links"], *(f"{c[k]:.0f}" if c[k] >= 100 else f"{c[k]:.1f}" for k in keys)) for c in chains])


def dynamics_compile() -> str:
    """Compile times."""
    times = report("dynamics")["compile"]
    rows = [
        (what, f"{times['cold'][key]:.3f}", f"{times['cached'][key]:.3f}")
        for key, what in (
            ("single_s", "from `hm.compile` to the first result of one state"),
            ("batch_s", "then until the first result of a batch"),
            ("import_compiler_s", "import of the compiler before that"),
            ("load_model_s", "import of `hydromechs` and reading of the model"),
        )
    ]
    return table(("seconds in a new process", "empty cache", "filled cache"), rows)


def dynamics_goals() -> str:
    """Goals of the project."""
    return goals(report("dynamics"))


def _us(row: dict[str, Any], key: str) -> str:
    """Microseconds of a time in a report."""
    return "–" if row.get(key) is None else f"{1e-3 * row[key]:.3g}"


def trees_machine() -> str:
    """Where the times of trees were taken."""
    return where(report("trees"))


def trees_chains() -> str:
    """Chains."""
    chains = report("trees")["chains"]
    rows = [
        (
            c["links"],
            _us(c, "one_lane_ns"),
            f"{c['one_lane_ns_per_link']:.0f}",
            _us(c, "lanes_ns"),
            f"{c['lanes_ns_per_link']:.0f}",
            _us(c, "dry_ns"),
            _us(c, "pinocchio_ns"),
            _us(c, "mujoco_ns"),
            f"{c['compile_s']:.2f}",
        )
        for c in chains
    ]
    lanes = f"{chains[0]['lanes']} lanes"
    heads = (
        "links",
        "in water",
        "per link, ns",
        lanes,
        "per link, ns",
        "dry",
        "Pinocchio, dry",
        "MuJoCo, dry",
        "first result, s",
    )
    return table(heads, rows)


def trees_random() -> str:
    """Random trees."""
    rows = [
        (
            t["bodies"],
            t["degrees_of_freedom"],
            *(_us(t, f"{key}_ns") for key in ("one", "dry", "pinocchio", "mujoco")),
            f"{t['compile_s']:.2f}",
        )
        for t in report("trees")["trees"]
    ]
    heads = ("bodies", "degrees of freedom", "in water", "dry", "Pinocchio, dry", "MuJoCo, dry", "first result, s")
    return table(heads, rows)


def trees_forms() -> str:
    """Walkers in all forms."""
    rows = []
    for f in report("trees")["forms"]:
        times = (f"{_us(t, 'minimum_ns')} ({t['compile_s']:.2f})" for t in f["times"])
        rows.append((f"`{f['model']}`", f["bodies"], f["degrees_of_freedom"], *times, _us(f, "dry_ns"), _us(f, "mujoco_ns")))
    heads = ("", "bodies", "degrees of freedom", "specialised", "rolled", "legs on lanes", "the same, dry", "MuJoCo, dry")
    return table(heads, rows)


def trees_papers() -> str:
    """Run times of the papers, and ours."""
    rows = [(r["what"], r["time"], f"{_us(r, 'ours_ns')} µs", r["source"]) for r in report("trees")["papers"]]
    return table(("", "papers", "ours", "source"), rows)


def trees_goals() -> str:
    """Goals of the project."""
    return goals(report("trees"))


def gpu_machine() -> str:
    """The GPU."""
    data = report("gpu")
    device, cuda = data["device"], divmod(data["device"]["cuda_runtime"], 1000)
    return (
        f"{data['machine']['date'][:10]}, {device['name']}, {device['multiprocessors']} multiprocessors at "
        f"{1e-9 * device['clock_hz']:.2f} GHz, CUDA {cuda[0]}.{cuda[1] // 10}; `{data['model']['name']}`, "
        f"{data['model']['operations']} operations.\n"
    )


def gpu_kernels() -> str:
    """Code of the kernels."""
    rows = [
        (k["precision"], f"{k['compile_s']:.2f}", k["registers"], k["local_bytes"], f"{k['relative_difference_to_casadi']:.0e}")
        for k in report("gpu")["kernels"]
    ]
    return table(("", "compile, s", "registers", "local memory, bytes", "difference from CasADi"), rows)


def gpu_runs() -> str:
    """Rates with arrays in C order."""

    def percent(x: float | None) -> str:
        return "–" if x is None else f"{100 * x:.0f} %"

    heads = ("", "batch", "ms", "evaluations per second", "of peak arithmetic", "of memory bandwidth")
    rows = [
        (
            r["precision"],
            r["batch"],
            f"{r['minimum_ms']:.3f}",
            f"{r['per_second']:.2e}",
            percent(r["fraction_of_peak"]),
            percent(r["fraction_of_bandwidth"]),
        )
        for r in report("gpu")["runs"]
        if r["layout"] == "row-major"
    ]
    return table(heads, rows)


def papers_machine() -> str:
    """Where the papers' experiments were repeated."""
    return where(report("papers"))


def papers_lift() -> str:
    """Tables 3 to 6 of the thesis."""
    data = report("papers")
    tables = [
        f"**{title}**\n\n{table([name.removeprefix('>') for name in columns], rows)}"
        for title, columns, rows in bench.lift_columns(data)
    ]
    shares = data["operations_of_an_evaluation"]
    whole = sum(shares.values())
    parts = ", ".join(f"{name} {100 * n / whole:.0f} %" for name, n in shares.items())
    arms = ", ".join(f"{t:.2f} µs for {n}" for n, t in data["arms_us"].items())
    return "\n".join(tables) + f"\nOperations of an evaluation: {parts}. Open chains of arms in one call: {arms}.\n"


def papers_index() -> str:
    """Every table and figure."""
    shown, out = list(bench.tables_and_figures()), []
    for paper in dict.fromkeys(s.paper for s in shown):
        here = [s for s in shown if s.paper == paper]
        rows = [(s.item, s.what, s.status, f"`{s.command}`") for s in here if s.status != "drawing"]
        drawings = "; ".join(s.item for s in here if s.status == "drawing")
        rows += [(drawings, "", "drawing", "")] if drawings else []
        out.append(f"**{paper}**\n\n{table(('item', 'content', 'status', 'command'), rows)}")
    meanings = "; ".join(f"{status}: {meaning}" for status, meaning in bench.STATUSES.items())
    return "\n".join([*out, f"{meanings}.\n"])


def papers_lanes() -> str:
    """Gains over the best serial method."""
    data = report("blocks")
    gains = sorted(data["speedup_over_best_serial"].items(), key=lambda item: -item[1])
    rows = [(name, f"{gain:.2f}", f"{data['orders'][name]:.1f}") for name, gain in gains]
    best = data["best_serial"]
    return table((f"over {best}, {data['times_ms'][best]:.2f} ms", "times as fast", "order found"), rows)


TABLES = (
    dynamics_machine,
    dynamics_times,
    dynamics_chains,
    dynamics_compile,
    dynamics_goals,
    trees_machine,
    trees_chains,
    trees_random,
    trees_forms,
    trees_papers,
    trees_goals,
    gpu_machine,
    gpu_kernels,
    gpu_runs,
    papers_machine,
    papers_lift,
    papers_index,
    papers_lanes,
)
"""What makes each table; its name in the documents follows from that of the function."""
