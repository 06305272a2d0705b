"""Commands `hydromechs plot` and `hydromechs compare`: plots of one recording, or of two recordings overlaid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ._console import Console
from ._kinds import expect
from ._save import parse_entries
from ._show import run_scene
from ._tables import table_of

if TYPE_CHECKING:
    from hydromechs.recording import RecordingComparison

PLOTS = (".png", ".svg", ".pdf", ".jpg")
"""File suffixes of the plot formats."""


def plot(
    recording: Annotated[str, typer.Argument(help="Recording (.zarr, .nc) or run folder.")],
    variable: Annotated[
        str, typer.Argument(help="Variable to plot, such as position. Defaults to all plots of the report.")
    ] = "",
    out: Annotated[
        str, typer.Option(help="File for one variable, or folder for all plots. Defaults to VARIABLE.png or plots.")
    ] = "",
    select: Annotated[
        list[str] | None, typer.Option(help="Entries to plot, such as body=vehicle or xyz=x,z; repeatable.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace existing plots.")] = False,
) -> None:
    """Plot one variable of a recording, or draw all plots."""
    from hydromechs.recording import load_recording
    from hydromechs.viewer import plot_recording, plot_variable

    expect(recording, "plot", "run")
    target = Path(out or (f"{variable}.png" if variable else "plots"))
    if variable and target.suffix.lower() not in PLOTS:
        raise ValueError(f"--out {target} is not a plot file; use one of the suffixes {', '.join(PLOTS)}")
    ds = load_recording(recording)
    there = target if target.is_file() else next(target.glob("*.png"), None)
    if there is not None and not force:
        raise FileExistsError(f"{there} exists; choose another file or folder with --out, or replace it with --force")
    if variable:
        paths = [plot_variable(ds, variable, target, parse_entries(select or []) or None)]
    else:
        paths = plot_recording(ds, target)
    for path in paths:
        Console().print(Text(str(path)), soft_wrap=True)


def compare(
    first: Annotated[str, typer.Argument(help="Recording (.zarr, .nc) or run folder.")],
    second: Annotated[str, typer.Argument(help="Recording or run folder to compare with the first.")],
    out: Annotated[
        str,
        typer.Option(help="File for a page (.html) or a plot (.png) that overlays both. If omitted, only a table is printed."),
    ] = "",
    quantity: Annotated[
        list[str] | None,
        typer.Option(help="Quantity to plot, such as position.vehicle.x; repeatable. Defaults to the largest differences."),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Exit with status 1 if a variable differs by more than this fraction of its maximum.")
    ] = None,
) -> None:
    """Compare two recordings, and optionally plot both.

    A table lists the maximum difference of each variable.
    """
    from hydromechs.recording import compare_recordings, load_recording

    expect(first, "compare", "run")
    expect(second, "compare", "run")
    if tolerance is not None and not tolerance >= 0.0:
        raise ValueError(f"--tolerance {tolerance:g} must be a number of at least 0; use a fraction such as 1e-6")
    if quantity and not out:
        raise ValueError(f"--quantity {quantity[0]} requires a plot file; add --out FILE.png, or omit --quantity")
    if out and Path(out).suffix.lower() not in (".html", *PLOTS):
        raise ValueError(f"--out {out} is not a page or plot; use one of the suffixes .html, {', '.join(PLOTS)}")
    if quantity and out.endswith(".html"):
        raise ValueError(
            f"--quantity {quantity[0]} does not apply to pages (they show all quantities); omit it, or use --out FILE.png"
        )
    datasets = load_recording(first), load_recording(second)
    try:
        comparison = compare_recordings(*datasets)
    except ValueError as error:
        raise ValueError(f"{first} (first) and {second} (second): {error}") from None
    console = Console()
    _print_comparison(comparison, (first, second), console)
    if out:
        from hydromechs.viewer import SCENE_SAMPLES, plot_comparison, write_comparison

        if out.endswith(".html"):
            can_be_drawn = {"body", "position", "orientation"} <= set(datasets[0].variables)
            scene = run_scene(first, most=SCENE_SAMPLES)[0] if can_be_drawn else None
            drawn = write_comparison(*datasets, comparison, out, labels=(first, second), scene=scene)
        else:
            drawn = plot_comparison(*datasets, comparison, out, labels=(first, second), quantities=tuple(quantity or ()))
        console.print(Text(str(drawn)), soft_wrap=True)
    if tolerance is None or comparison.largest <= tolerance:
        return
    beyond = next(d for d in comparison.differences if d.relative == comparison.largest and d.name != "energy_residual")
    text = f"{beyond.name} differs by {beyond.relative:.3g} of its maximum, more than the tolerance of {tolerance:g}"
    Console(stderr=True, soft_wrap=True).print(Text(text, "red"))
    raise typer.Exit(1)


def _print_comparison(comparison: RecordingComparison, names: tuple[str, str], console: Console) -> None:
    begin, end, n = comparison.begin, comparison.end, comparison.samples
    how = "; the second recording is interpolated at the times of the first" if comparison.interpolated else ""
    rest = []
    for name, (first, last) in zip(names, comparison.spans, strict=True):
        rest += [f"{name} starts at {first:g} s"] if first < begin else []
        rest += [f"{name} continues to {last:g} s"] if last > end else []
    when = f"from {begin:g} to {end:g} s" if begin < end else f"at {begin:g} s"
    parts = f" ({'; '.join(rest)})" if rest else ""
    console.print(Text(f"{when}, {n} sample{'' if n == 1 else 's'}{how}{parts}"), soft_wrap=True)
    if begin == end and rest:
        console.print(Text("the recordings overlap only at one instant; check whether one run continues the other", "yellow"))
    if comparison.equal:
        console.print(Text(f"all {len(comparison.differences)} variables are bit-identical"))
    else:
        table = table_of("variable", ">maximum\ndifference", "unit", ">fraction of\nmaximum", "at", ">time\ns")
        for d in comparison.differences:
            if d.maximum:
                share = f"{d.relative:.1e}" if d.scale else "–"
                cells = (d.name, f"{d.maximum:.3g}", d.units, share, ".".join(d.entry), f"{d.time:g}")
                table.add_row(*map(Text, cells))
        console.print(table)
        same = sum(d.maximum == 0.0 for d in comparison.differences)
        if same:
            console.print(Text(f"{same} other variables are bit-identical"))
    for name, only in zip(names, (comparison.only_first, comparison.only_second), strict=True):
        if only:
            more = f" and {len(only) - 6} more" if len(only) > 6 else ""
            console.print(Text(f"only in {name}: {', '.join(only[:6])}{more}"), soft_wrap=True)
    if comparison.unlike:
        console.print(Text(f"not compared, because dimensions or units differ: {', '.join(comparison.unlike)}"), soft_wrap=True)
