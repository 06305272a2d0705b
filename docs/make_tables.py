"""Rewrite the tables of the documentation: what stands between `<!-- table: NAME -->` and `<!-- end -->`.

python docs/make_tables.py                      counts are made anew, times come from docs/data
python docs/make_tables.py --check              says what is out of date and ends with status 1
python docs/make_tables.py --measure dynamics   runs `hydromechs bench dynamics --json` first and keeps its report in
                                                docs/data; also: papers, gpu, hybrid, trees, navigation, and missions
                                                and stiffness, which draw docs/pictures/mission_*.png and stiffness.png
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import degrees
from pathlib import Path
from typing import Any

from hydromechs import studies

DOCS = Path(__file__).parent
DATA = DOCS / "data"
COMMANDS = {
    "dynamics": ("bench", "dynamics", "--json"),
    "gpu": ("bench", "gpu", "--json"),
    "hybrid": ("study", "hybrid", "--json"),
    "missions": ("study", "missions", "--seeds", "10", "--json", "--out", str(DOCS / "pictures")),
    "navigation": ("study", "navigation", "--json"),
    "papers": ("papers", "--json"),
    "stiffness": ("study", "stiffness", "--json", "--out", str(DOCS / "pictures" / "stiffness.png")),
    "trees": ("bench", "trees", "--json"),
}
"""Commands whose reports are kept in docs/data, because they take long or measure times."""
BLOCK = re.compile(r"(?P<head><!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<foot><!-- end -->)", re.DOTALL)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join("| " + " | ".join(map(str, line)) + " |\n" for line in lines)


def pair(count: Sequence[int] | None) -> str:
    """[M, A]."""
    return "" if count is None else f"[{count[0]}, {count[1]}]"


@cache
def comparisons() -> tuple[studies.Comparison, ...]:
    """Our counts beside the papers'."""
    return tuple(studies.compare_with_papers())


@cache
def report(name: str) -> dict[str, Any]:
    """A report that is kept in docs/data."""
    return json.loads((DATA / f"{name}.json").read_text())


# -- counts -----------------------------------------------------------------------------------------------------------------


def _beside(found: Iterable[studies.Comparison]) -> str:
    heads = ("what", "where", "papers", "ours", "ours / papers")
    rows = [(c.what, c.source, pair(c.papers), pair(c.ours), ", ".join(f"{x:.2f}" for x in c.ratio or ())) for c in found]
    return table(heads, rows)


def counts_papers() -> str:
    """All comparisons but those of real mechanisms, a table for each section."""
    sections = dict.fromkeys(c.section for c in comparisons() if not c.section.startswith("Real"))
    return "\n".join(f"**{s}**\n\n{_beside(c for c in comparisons() if c.section == s)}" for s in sections)


def counts_real() -> str:
    """Real mechanisms."""
    return _beside(c for c in comparisons() if c.section.startswith("Real"))


def _thesis(rows: Sequence[tuple[str, str, str]]) -> str:
    """Rows (label, section, what) of the comparisons with the thesis."""
    found = []
    for label, section, what in rows:
        (c,) = [c for c in comparisons() if c.section.startswith(section) and c.what == what and c.source.startswith("thesis")]
        found.append((label, pair(c.papers), pair(c.ours)))
    return table(("", "thesis", "ours"), found)


def counts_closed_chains() -> str:
    """Arms on one load."""
    return _thesis(
        [
            ("four arms of six joints, dry", "Closed chains", "m = 4 arms of N = 6"),
            ("two arms, Method I", "Closed chains", "two arms, load only, method I"),
            ("two arms, Method II", "Closed chains", "two arms, load only, method II, also singular"),
        ]
    )


def counts_star_steps() -> str:
    """What the star's steps give elsewhere."""
    return _thesis(
        [
            ("star of 6 × 3, forward dynamics", "Articulated bodies, vehicle", "m = 6, N = 3, on land, by composite bodies"),
            ("chain of 6, inverse dynamics", "Fixed-base", "inverse dynamics"),
            ("chain of 6, mass matrix", "Fixed-base", "mass matrix"),
            ("rigid inertia across one joint", "Transformations", "rigid inertia"),
        ]
    )


def counts_star_sizes() -> str:
    """Composite against articulated bodies."""
    rows = [(c.joints, pair(c.composite), pair(c.articulated)) for c in studies.star_counts()]
    return table(("N", "composite bodies", "articulated bodies"), rows)


def counts_closed_form() -> str:
    """Closed form against articulated bodies."""
    heads = ("model", "`forward_dynamics`", "`closed_form_dynamics`", "`coriolis_matrix`", "`coriolis_matrix_lagrange`")
    return table(heads, [(c.model, *map(pair, c[1:])) for c in studies.closed_form_counts()])


def counts_decoupled() -> str:
    """With the base's acceleration given."""
    return _thesis(
        [
            ("full dynamics", "Articulated bodies, general", "mobile base, with hydrodynamics"),
            ("`arm_dynamics`", "Articulated bodies, general", "the same, acceleration of the base given"),
        ]
    )


# -- times ------------------------------------------------------------------------------------------------------------------


def _where(data: dict[str, Any]) -> str:
    """Machine, date and versions of a report."""
    machine, names = (
        data["machine"],
        {"pin": "Pinocchio", "mujoco": "MuJoCo", "dartpy": "DART", "python": "Python", "numpy": "NumPy"},
    )
    load = (
        f", load {machine['load']:.2f} before and {machine['load_after']:.2f} after" if machine.get("load") is not None else ""
    )
    versions = ", ".join(f"{names.get(name, name)} {number}" for name, number in data["versions"].items())
    return f"{machine['date'][:10]}, {machine['cpu']}, {machine['cores']} cores{load}; {versions}.\n"


def dynamics_machine() -> str:
    """Where the times were taken."""
    data = report("dynamics")
    model = data["model"]
    return _where(data) + (
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
            f"{row['median_ns']:.0f}",
            f"{row['ratio']:.2f}",
            row["batch"],
        )
        for row in report("dynamics")["times"].values()
    ]
    return table(("", "", "minimum", "median", "time / ours on one lane", "batch"), rows)


def dynamics_chains() -> str:
    """Growth with the links."""
    chains = report("dynamics")["chains"]
    keys = ("one_lane_ns", "one_lane_ns_per_link", "lanes_ns", "lanes_ns_per_link")
    heads = ("links", "one lane", "per link", f"{chains[0]['lanes']} lanes", "per link")
    return table(heads, [(c["links"], *(f"{c[k]:.0f}" if c[k] >= 100 else f"{c[k]:.1f}" for k in keys)) for c in chains])


def dynamics_compile() -> str:
    """Compile times."""
    times = report("dynamics")["compile"]
    rows = [
        (what, f"{times['cold'][key]:.3f}", f"{times['cached'][key]:.3f}")
        for key, what in (
            ("single_s", "from `hm.compile` to the first result of one state"),
            ("batch_s", "then to the first result of a batch"),
            ("import_compiler_s", "import of the compiler before that"),
            ("load_model_s", "import of `hydromechs` and reading of the model"),
        )
    ]
    return table(("seconds in a new process", "empty cache", "filled cache"), rows)


def _goals(data: dict[str, Any]) -> str:
    held = {True: "yes", False: "**no**", None: "not measured"}
    rows = [
        (t["what"], t["needed"], "–" if t["measured"] is None else f"{t['measured']:.3g}", held[t["held"]])
        for t in data["targets"]
    ]
    return table(("goal", "needed", "measured", "met in this run"), rows)


def dynamics_goals() -> str:
    """Goals of the project."""
    return _goals(report("dynamics"))


def _us(row: dict[str, Any], key: str) -> str:
    """Microseconds of a time in a report."""
    return "–" if row.get(key) is None else f"{1e-3 * row[key]:.3g}"


def trees_machine() -> str:
    """Where the times of trees were taken."""
    return _where(report("trees"))


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
    return _goals(report("trees"))


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
    """Rates."""

    def percent(x: float | None) -> str:
        return "–" if x is None else f"{100 * x:.0f} %"

    heads = ("", "batch", "layout", "ms", "evaluations per second", "of peak arithmetic", "of memory bandwidth")
    rows = [
        (
            r["precision"],
            r["batch"],
            r["layout"],
            f"{r['minimum_ms']:.3f}",
            f"{r['per_second']:.2e}",
            percent(r["fraction_of_peak"]),
            percent(r["fraction_of_bandwidth"]),
        )
        for r in report("gpu")["runs"]
    ]
    return table(heads, rows)


def papers_machine() -> str:
    """Where the papers' experiments were repeated."""
    return _where(report("papers"))


def papers_table_5() -> str:
    """Slowdown of larger blocks."""
    rows = [
        (r["method"], f"{r['theirs_s']:.3f}", f"{r['theirs_slowdown']:.3f}", f"{r['ours_ms']:.2f}", f"{r['ours_slowdown']:.2f}")
        for r in report("papers")["table_5"]
    ]
    return table(("thesis, Table 5", "theirs, s", "theirs, relative", "ours, ms", "ours, relative"), rows)


def papers_table_6() -> str:
    """Speedups."""
    rows = [
        (r["method"], r["theirs_what"], f"{r['theirs']:.2f}", r["ours_what"], f"{r['ours']:.2f}")
        for r in report("papers")["table_6"]
    ]
    return table(("thesis, Table 6", "theirs, four processors", "speedup", "ours, lanes of one core", "speedup"), rows)


def papers_lanes() -> str:
    """Gains over the best serial method."""
    data = report("papers")
    gains = sorted(data["speedup_over_best_serial"].items(), key=lambda item: -item[1])
    rows = [(name, f"{gain:.2f}", f"{data['orders'][name]:.1f}") for name, gain in gains]
    best = data["best_serial"]
    return table((f"over {best}, {data['times_ms'][best]:.2f} ms", "times as fast", "order found"), rows)


def hybrid_lemmas() -> str:
    """Lemmas 1 and 2."""
    data = report("hybrid")
    rows = [
        (
            f"Lemma 1: v̇ of a step, `{name}`",
            *(f"{_row(data['lemma_1'], model=name, engine=e)['iterated']:.0e}" for e in data["engines"]),
        )
        for name in dict.fromkeys(r["model"] for r in data["lemma_1"])
    ]
    rows += [
        (
            f"Lemma 2: disturbance, M_A/M_RB = {ratio:g}",
            *(f"{_row(data['lemma_2'], ratio=ratio, engine=e)['relative']:.0e}" for e in data["engines"]),
        )
        for ratio in dict.fromkeys(r["ratio"] for r in data["lemma_2"])
    ]
    return table(("relative difference", *data["engines"]), rows)


def _row(rows: Iterable[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    return next(r for r in rows if all(r[k] == x for k, x in wanted.items()))


def hybrid_eq_51() -> str:
    """The ratio of eq. 51 in the first engine: measured, and by how much it differs."""
    data = report("hybrid")
    found = [r for r in data["eq_51"] if r["engine"] == data["engines"][0]]
    ratios = list(dict.fromkeys(r["ratio"] for r in found))
    rows = []
    for T, omega in dict.fromkeys((r["T"], r["omega"]) for r in found):
        cells = [_row(found, T=T, omega=omega, ratio=ratio) for ratio in ratios]
        off = [f"{r['measured']:.5f} ({100 * abs(r['measured'] / r['foretold'] - 1):.2f} %)" for r in cells]
        rows.append((f"1/{1 / T:.0f}", f"{omega:g}", *off))
    return table(("T, s", "ω, rad/s", *(f"M_A/M_RB = {ratio:g}" for ratio in ratios)), rows)


def hybrid_limits() -> str:
    """Limits of stability."""
    data = report("hybrid")
    rows = [
        (
            "ball",
            s.replace(" added mass", ""),
            f"{f:.4g}",
            *(f"{_row(data['limits'], scheme=s, engine=e)['measured']:.4g}" for e in data["engines"]),
        )
        for s, f in dict.fromkeys((r["scheme"], r["foretold"]) for r in data["limits"])
    ]
    rows += [
        (
            f"`{m}`, vehicle's M_A times",
            "causal",
            f"{f:.4g}",
            *(f"{_row(data['mechanisms'], model=m, engine=e)['measured']:.4g}" for e in data["engines"]),
        )
        for m, f in dict.fromkeys((r["model"], r["foretold"]) for r in data["mechanisms"])
    ]
    return table(("limit of", "scheme", "foretold", *data["engines"]), rows)


def hybrid_convergence() -> str:
    """Errors with the shortest step, and orders."""
    data = report("hybrid")

    def cell(r: dict[str, Any]) -> str:
        return "diverges" if r["order"] is None else f"{r['errors'][-1]:.1e} ({r['order']:.2f})"

    rows = []
    for model in dict.fromkeys(r["model"] for r in data["convergence"]):
        ours, *others = (r for r in data["convergence"] if r["model"] == model)
        rows.append((f"`{model}`", f"ours, semi-implicit Euler: {cell(ours)}", *[""] * len(data["engines"])))
        for scheme in dict.fromkeys(r["scheme"] for r in others):
            cells = [cell(_row(others, scheme=scheme, engine=e)) for e in data["engines"]]
            rows.append(("", scheme.replace(" added mass", ""), *cells))
    return table(("model", "scheme", *data["engines"]), rows)


def hybrid_long() -> str:
    """The ball with three times its mass of water."""
    rows = [
        (
            r["engine"],
            r["scheme"],
            f"runs {r['until']:g} s" if r["finished"] else f"diverges at {r['until']:.2f} s, foretold {r['foretold']:.2f} s",
            "–" if r["error"] is None else f"{r['error']:.1e}",
        )
        for r in report("hybrid")["long"]
    ]
    return table(("engine", "scheme", "", "largest error of the speed, m/s"), rows)


def missions_engines() -> str:
    """Checks of the missions in all engines, and differences from ours."""
    rows, last = [], ""
    for r in report("missions")["flights"]:
        ours = r["engine"] == "hydromechs"
        name = "" if r["mission"] == last else f"`{r['mission']}`"
        turned = abs(r["heading_off"])
        heading = "below 0.01" if turned < 0.01 else f"{turned:.1f}"
        off = ("", "", "") if ours else (f"{r['force_rms']:.2g}", f"{r['pitch_rms']:.2g}", heading)
        passed = f"{r['passed']} of {len(r['checks'])}"
        tool = "" if r["tool_rms"] is None else f"{r['tool_rms']:.3f}"
        rows.append((name, r["engine"], passed, f"{r['navigation_rms']:.3f}", tool, f"{r['heading']:.2f}", *off))
        last = r["mission"]
    heads = ("mission", "engine", "checks passed", "navigation, m rms", "tool, m rms", "final heading, °")
    return table((*heads, "Δ vertical force, N rms", "Δ pitch, ° rms", "Δ final heading, °"), rows)


def missions_seeds() -> str:
    """Other seeds in our engine."""
    rows = [
        (
            f"`{r['mission']}`",
            r["seeds"],
            r["passed"],
            f"{r['navigation_mean']:.3f}",
            f"{r['navigation_worst']:.3f}",
            ", ".join(f"{name} ({count})" for name, count in r["failed"].items()),
        )
        for r in report("missions")["seeds"]
    ]
    return table(("mission", "seeds", "all checks passed", "navigation, m rms, mean", "worst", "failed checks"), rows)


def missions_speed() -> str:
    """Times real time by processor time, per engine."""
    data = report("missions")
    names = dict.fromkeys(r["mission"] for r in data["flights"])
    rows = [
        (f"`{name}`", *(f"{_row(data['flights'], mission=name, engine=e)['real_time_factor']:.2g}" for e in data["engines"]))
        for name in names
    ]
    return table(("times real time", *data["engines"]), rows) + "\n" + _where(data)


def navigation_errors() -> str:
    """Normalised errors by part."""
    data = report("navigation")
    blocks = [row["block"] for row in data["cases"][0]["blocks"]]
    rows = []
    for name in blocks:
        cells = [_row(case["blocks"], block=name) for case in data["cases"]]
        bounds = f"{cells[0]['low']:.2f} to {cells[0]['high']:.2f}"
        rows.append((name, bounds, *(f"{c['mean']:.2f} ({100 * c['inside']:.0f} %)" for c in cells)))
    return table(("part of δ", "95 % bounds", *(case["case"] for case in data["cases"])), rows)


def navigation_places() -> str:
    """Errors in metres and degrees."""
    heads = ("", "position, rms", "in the gap", "largest", "velocity, rms", "attitude, rms")
    rows = [
        (
            c["case"],
            f"{c['position_rms']:.2f} m",
            "–" if c["gap"] is None else f"{c['gap_position_rms']:.2f} m",
            f"{c['largest_distance']:.2f} m, {c['largest_in_sigmas']:.1f} σ",
            f"{c['velocity_rms']:.3f} m/s",
            f"{c['attitude_rms_deg']:.2f}°",
        )
        for c in report("navigation")["cases"]
    ]
    return table(heads, rows)


def stiffness_factors() -> str:
    """Real-time factors over the stiffness of contacts."""
    rows = []
    data = report("stiffness")["rows"]
    methods = list(dict.fromkeys(r["method"] for r in data))
    for stiffness in dict.fromkeys(r["stiffness"] for r in data):
        cells: list[str] = []
        for method in methods:
            r = _row(data, stiffness=stiffness, method=method)
            if r["factor"] is None:
                cells.append("no step will do")
            else:
                cells.append(f"{r['factor']:.1f}" + ("" if r["step"] is None else f" ({1e3 * r['step']:g} ms)"))
        rows.append((f"{1e-3 * stiffness:,.0f}", *cells))
    return table(("stiffness of a contact, kN/m", *(f"`{method}`" for method in methods)), rows)


def _with_more(row: dict[str, Any], channel: str) -> str:
    """An error, and how much more than that of the first row it is, with the standard error of that."""
    if not row["uncertain"][channel]:
        return f"{row['mean'][channel]:.3f}"
    return f"{row['mean'][channel]:.3f} ({row['more'][channel]:+.3f} ± {row['uncertain'][channel]:.3f})"


def variants_errors() -> str:
    """What other models of a real arm cost."""
    data = report("variants")
    rows = []
    for r in data["variants"]:
        cells = [_with_more(r, c) if c in r["mean"] else "–" for c in data["units"]]
        rows.append((r["name"] + (" *" if r["not_converged"] else ""), *cells))
    heads = ("model", *(f"{c.split('.')[1]} [{unit}]" for c, unit in data["units"].items()))
    said = (
        ""
        if all(not r["not_converged"] for r in data["variants"])
        else " \\* A fit did not converge; the best so far was taken."
    )
    dealt = (
        "each motion left out once"
        if data["folds"] == data["motions"]
        else f"motions dealt into {data['folds']} parts, each left out once"
    )
    return table(heads, rows) + f"\n{data['trials']} trials of {data['motions']} motions, {dealt}.{said}\n"


def published_vehicles() -> str:
    """Single vehicles, published and found."""
    rows = [
        (r.vehicle, r.quantity, f"{r.published:.4g} {r.unit}".rstrip(" –"), f"{r.found:.4g}", f"{r.kind}: {r.source}")
        for r in studies.published_vehicles()
    ]
    return table(("vehicle", "quantity", "published", "found here", "where from"), rows)


def free_decays() -> str:
    """Swings of a real vehicle after its arm has stopped, measured and predicted."""
    rows = []
    for d in sorted(report("decays")["decays"], key=lambda d: (d["channel"], d["trial"])):
        numbers = (f"{d[x][k]:.{n}f}" for k, n in (("frequency", 2), ("ratio", 3)) for x in ("measured", "predicted"))
        amplitude = f"{degrees(d['measured']['amplitude']):.2f}"
        rows.append((d["trial"], d["channel"].split(".")[1], *numbers, amplitude))
    heads = ("trial", "angle", "frequency [rad/s]", "predicted", "damping ratio", "predicted", "amplitude [°]")
    return table(heads, rows)


TABLES: dict[str, Callable[[], str]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        counts_papers, counts_real, counts_closed_chains, counts_star_steps, counts_star_sizes, counts_closed_form,
        counts_decoupled,
        dynamics_machine, dynamics_times, dynamics_chains, dynamics_compile, dynamics_goals,
        trees_machine, trees_chains, trees_random, trees_forms, trees_papers, trees_goals,
        gpu_machine, gpu_kernels, gpu_runs, papers_machine, papers_table_5, papers_table_6, papers_lanes,
        hybrid_lemmas, hybrid_eq_51, hybrid_limits, hybrid_convergence, hybrid_long,
        missions_engines, missions_seeds, missions_speed,
        navigation_errors, navigation_places,
        stiffness_factors,
        variants_errors, free_decays, published_vehicles,
    )
}  # fmt: skip
"""What makes each table, by its name in the documents."""


def renewed(text: str) -> str:
    """A document with all its tables made anew."""

    def replaced(match: re.Match[str]) -> str:
        if match["name"] not in TABLES:
            raise ValueError(f"no table {match['name']!r}; there are {', '.join(TABLES)}")
        return f"{match['head']}\n{TABLES[match['name']]()}\n{match['foot']}"

    return BLOCK.sub(replaced, text)


def measure(name: str) -> None:
    """Run a command and keep its report."""
    script = "from hydromechs.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", script, *COMMANDS[name]], check=True, stdout=subprocess.PIPE, text=True)
    data = json.loads(done.stdout)
    data.pop("counts", None)  # those are made anew
    DATA.mkdir(exist_ok=True)
    (DATA / f"{name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def main() -> int:
    """Rewrite the tables, or say which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if a table is out of date")
    parser.add_argument("--measure", nargs="*", choices=COMMANDS, default=[], help="commands to run first")
    options = parser.parse_args()
    for name in options.measure:
        measure(name)
    stale = 0
    for page in sorted(DOCS.glob("*.md")):
        old = page.read_text()
        new = renewed(old) if BLOCK.search(old) else old
        if new != old:
            stale += 1
            print(f"{page}: {'out of date: make docs-tables' if options.check else 'rewritten'}")
            if not options.check:
                page.write_text(new)
    return int(options.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
