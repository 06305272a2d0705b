"""Commands `hydromechs bench dynamics` and `hydromechs bench worlds`, and the tables that they print."""

from typing import Annotated, Any

import typer
from rich.text import Text

from hydromechs.compiler import NATIVE, TARGETS

from ._console import Console
from ._options import CODE, JSON
from ._tables import print_heading, print_report, table_of

MODEL = Annotated[str, typer.Option(help="Name of a library model, or path of a model file.")]
WHERE = "; ".join(f"{name}: {backend.about}" for name, backend in TARGETS.items()) + "."
"""Help text that lists the targets on which many worlds run."""


def bench_dynamics(
    model: MODEL = "tiburon_titan2",
    quick: Annotated[bool, typer.Option("--quick", help="Run only a few repetitions for a quick, approximate result.")] = False,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Measure the time of forward dynamics: HydroMechs in water, Pinocchio and MuJoCo without water."""
    from hydromechs.bench import measure_dynamics
    from hydromechs.library import load

    print_report(measure_dynamics(load(model, code=code), model, quick=quick, code=code), print_dynamics, as_json)


def bench_worlds(
    model: MODEL = "tiburon_titan2",
    target: Annotated[str, typer.Option(help=WHERE)] = NATIVE.target,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run only a few worlds and repetitions for a quick, approximate result.")
    ] = False,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Measure integration steps per second of many worlds: HydroMechs in water, MuJoCo's rollout without water."""
    from hydromechs.bench import measure_worlds
    from hydromechs.library import load

    print_report(measure_worlds(load(model, code=code), where=target, quick=quick), print_worlds, as_json)


def bench_contact(
    quick: Annotated[bool, typer.Option("--quick", help="Measure only two cases with few steps, as a quick test.")] = False,
    as_json: JSON = False,
) -> None:
    """Time steps of boxes in contact: ours, MuJoCo and DART in one run."""
    from hydromechs.bench import measure_contact

    print_report(measure_contact(quick=quick), print_contact, as_json)


SHORT = {"semi_implicit_euler": "Euler", "rk4": "RK4"}
"""Short names of the integrators, for tables."""


def print_dynamics(report: dict[str, Any], console: Console) -> None:
    """Print the report of `measure_dynamics` as tables."""
    print_heading(report, console)
    m = report["model"]
    console.print(
        Text(
            f"Forward dynamics of {m['name']}: {m['bodies']} bodies, {m['degrees_of_freedom']} degrees of freedom; "
            f"[M, A] {list(m['operations'])} in moving water, {list(m['operations_dry'])} dry.\n"
            f"Times are the minimum and median of {report['rounds']} rounds; ratios use the minima."
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
    columns: tuple[str, ...] = (
        "",
        "",
        ">minimum\nns",
        ">median\nns",
        ">time relative to\nHydroMechs, one lane",
        ">threads",
        ">batch",
    )
    console.print(table_of(*columns, rows=rows))
    print_peers(report, console)
    parts = {
        "single_s": "hm.compile and the first result for one state",
        "batch_s": f"first result for a batch after that ({report['machine']['native_lanes']} lanes)",
        "import_compiler_s": "import of CasADi and LLVM before compilation",
        "load_model_s": "import of hydromechs and loading of the model",
    }
    rows = [(what, *(f"{report['compile'][when][key]:.3f}" for when in ("cold", "cached"))) for key, what in parts.items()]
    console.print(Text("\nCompile times in a new process"))
    console.print(table_of("", ">empty cache\ns", ">filled cache\ns", rows=rows))


def print_contact(report: dict[str, Any], console: Console) -> None:
    """Print the report of `measure_contact` as a table."""
    print_heading(report, console)
    console.print(
        Text(
            f"Dry boxes, one world on one core, steps of {1e3 * report['step_s']:g} ms.\n"
            "CPU time of a step, minimum of 5 rounds, and how deep the lowest box sinks.\n"
            "HydroMechs: semi-implicit Euler; the others: their defaults."
        )
    )
    engines = [("hydromechs", "HydroMechs"), ("mujoco", "MuJoCo"), ("dartpy", "DART")]
    engines = [(key, name) for key, name in engines if key not in report["missing"]]
    rows = []
    for row in report["rows"]:
        times = [f"{row[f'{key}_us']:.2f} ({row[f'{key}_us'] / row['hydromechs_us']:.1f})" for key, _ in engines]
        depths = [f"{row[f'{key}_depth_mm']:.2f}" for key, _ in engines]
        rows.append((row["case"], row["pairs"], *times, *depths))
    names = (*(f">{name}\nµs (ratio)" for _, name in engines), *(f">{name}\nmm" for _, name in engines))
    console.print(table_of("", ">pairs", *names, rows=rows))
    for name in report["missing"]:
        console.print(Text(f"{name} is not installed; install it with: pip install 'hydromechs[dev]'"))


def print_peers(report: dict[str, Any], console: Console) -> None:
    """Print which third-party codes are missing, and how far the installed ones differ from HydroMechs."""
    for name in report["missing"]:
        console.print(Text(f"{name} is not installed; install it with: pip install 'hydromechs[dev]'"))
    for name, difference in report["relative_difference_to_ours_dry"].items():
        console.print(Text(f"without water, {name} and HydroMechs differ by {difference:.1e} of the largest acceleration"))


def print_worlds(report: dict[str, Any], console: Console) -> None:
    """Print the report of `measure_worlds` as tables."""
    print_heading(report, console)
    m = report["model"]
    counts = ", ".join(f"{method} {count}" for method, count in m["operations"].items())
    console.print(
        Text(
            f"Integration steps of {m['name']}, {m['degrees_of_freedom']} degrees of freedom; operations per step: {counts}.\n"
            "Euler is semi-implicit. Rates count the steps of all worlds; programs are measured alternately. The time\n"
            "step is 1 ms, so the real-time factor is a thousandth of the rate."
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
            Text(
                f"Peak rate of one core with multiply-adds only: {report['device']['peak_per_core']:.3g} operations per second."
            )
        )
    kernels = [row for row in report["rows"] if "registers" in row]
    if kernels:
        rows = []
        for row in kernels:
            apart = "" if row["difference_to_cpu"] is None else f"{row['difference_to_cpu']:.1e}"
            sizes = (row["worlds"], row["registers"], row["local_bytes"], f"{row['compile_s']:.2f}", apart, row["frozen"])
            rows.append((f"{row['what']}, {SHORT[row['method']]}, {row['precision']}", *sizes))
        columns = ("kernel", ">worlds", ">registers", ">local\nbytes", ">setup\ns", ">difference\nto CPU", ">frozen")
        console.print(table_of(*columns, rows=rows))
