"""The commands `hydromechs bench dynamics` and `worlds`, and their tables."""

from typing import Annotated, Any

import typer
from rich.text import Text

from hydromechs.compiler import NATIVE, TARGETS

from ._console import Console
from ._options import CODE, JSON
from ._tables import print_heading, print_report, table_of

MODEL = Annotated[str, typer.Option(help="A library model or the path of a model file.")]
WHERE = "; ".join(f"{name}: {backend.about}" for name, backend in TARGETS.items()) + "."
"""Targets of worlds."""


def bench_dynamics(
    model: MODEL = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Few repetitions, as a quick test.")] = False,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Time forward dynamics: ours in water, Pinocchio and MuJoCo dry."""
    from hydromechs.bench import measure_dynamics
    from hydromechs.library import load

    print_report(measure_dynamics(load(model, code=code), model, quick=quick, code=code), print_dynamics, as_json)


def bench_worlds(
    model: MODEL = "tiburon_titan2",
    target: Annotated[str, typer.Option(help=WHERE)] = NATIVE.target,
    quick: Annotated[bool, typer.Option("--quick", help="Few worlds and repetitions, as a quick test.")] = False,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Measure whole steps per second of many worlds: ours in water, MuJoCo's rollout dry."""
    from hydromechs.bench import measure_worlds
    from hydromechs.library import load

    print_report(measure_worlds(load(model, code=code), where=target, quick=quick), print_worlds, as_json)


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
    print_peers(report, console)
    parts = {
        "single_s": "from hm.compile to the first result of one state",
        "batch_s": f"then until the first result of a batch, {report['machine']['native_lanes']} lanes",
        "import_compiler_s": "import of CasADi and LLVM before that",
        "load_model_s": "import of hydromechs and loading of the model",
    }
    rows = [(what, *(f"{report['compile'][when][key]:.3f}" for when in ("cold", "cached"))) for key, what in parts.items()]
    console.print(Text("\nCompile times in a new process"))
    console.print(table_of("", ">empty cache\ns", ">filled cache\ns", rows=rows))


def print_peers(report: dict[str, Any], console: Console) -> None:
    """Print missing third-party codes, and the differences of the others from ours."""
    for name in report["missing"]:
        console.print(Text(f"{name} is not installed: pip install 'hydromechs[dev]'"))
    for name, difference in report["relative_difference_to_ours_dry"].items():
        console.print(Text(f"{name} differs from ours dry by {difference:.1e} of the largest acceleration"))


def print_worlds(report: dict[str, Any], console: Console) -> None:
    """Print a report of `measure_worlds` as tables."""
    print_heading(report, console)
    m = report["model"]
    counts = ", ".join(f"{method} {count}" for method, count in m["operations"].items())
    console.print(
        Text(
            f"Whole steps of {m['name']}, {m['degrees_of_freedom']} degrees of freedom; operations of one: {counts}.\n"
            "Euler is semi-implicit. Steps of all worlds together, measured alternately. A step is 1 ms, so that\n"
            "a thousandth of the rate is the real-time factor."
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
        console.print(Text(f"Peak of a core, by multiply-adds alone: {report['device']['peak_per_core']:.3g} per second."))
    kernels = [row for row in report["rows"] if "registers" in row]
    if kernels:
        rows = []
        for row in kernels:
            apart = "" if row["difference_to_cpu"] is None else f"{row['difference_to_cpu']:.1e}"
            sizes = (row["worlds"], row["registers"], row["local_bytes"], f"{row['compile_s']:.2f}", apart, row["frozen"])
            rows.append((f"{row['what']}, {SHORT[row['method']]}, {row['precision']}", *sizes))
        columns = ("kernel", ">worlds", ">registers", ">local\nbytes", ">set up\ns", ">difference\nto CPU", ">frozen")
        console.print(table_of(*columns, rows=rows))
