"""`hydromechs plot` and `compare`: pictures of one recording, or of two over each other."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from hydromechs.recording import RecordingComparison, compare_recordings, load_recording

from ._save import parse_entries
from ._tables import table_of

PLOTS = (".png", ".svg", ".pdf", ".jpg")
"""Formats of one plot by the suffix of the file."""


def plot(recording: str, variable: str, out: str, select: list[str], console: Console, *, force: bool = False) -> None:
    """Draw one variable of a recording into a file, or all plots of a report into a folder."""
    from hydromechs.viewer import plot_recording, plot_variable

    target = Path(out or (f"{variable}.png" if variable else "plots"))
    if variable and target.suffix.lower() not in PLOTS:
        raise ValueError(f"--out {target}: a plot ends in {', '.join(PLOTS)}")
    ds = load_recording(recording)
    there = target if target.is_file() else next(target.glob("*.png"), None)
    if there is not None and not force:
        raise FileExistsError(f"{there} is there already; choose another place with --out, or replace it with --force")
    if variable:
        paths = [plot_variable(ds, variable, target, parse_entries(select) or None)]
    else:
        paths = plot_recording(ds, target)
    for path in paths:
        console.print(Text(str(path)), soft_wrap=True)


def compare(
    first: str,
    second: str,
    console: Console,
    *,
    out: str = "",
    quantities: list[str] | None = None,
    tolerance: float | None = None,
) -> bool:
    """Compare two recordings: print the largest difference of each variable, draw both. True if within tolerance."""
    if tolerance is not None and not tolerance >= 0.0:
        raise ValueError(f"--tolerance {tolerance:g}: must not be below 0")
    if quantities and not out:
        raise ValueError(f"--quantity {quantities[0]} needs a file to plot to; add --out FILE.png, or omit it")
    datasets = load_recording(first), load_recording(second)
    try:
        comparison = compare_recordings(*datasets)
    except ValueError as error:
        raise ValueError(f"{first} (the first) and {second} (the second): {error}") from None
    _print_comparison(comparison, (first, second), console)
    if out:
        from hydromechs.viewer import plot_comparison

        drawn = plot_comparison(*datasets, comparison, out, labels=(first, second), quantities=tuple(quantities or ()))
        console.print(Text(str(drawn)), soft_wrap=True)
    if tolerance is None or comparison.largest <= tolerance:
        return True
    beyond = next(d for d in comparison.differences if d.relative == comparison.largest and d.name != "energy_residual")
    text = f"{beyond.name} differs by {beyond.relative:.3g} of its maximum, more than the tolerance of {tolerance:g}"
    Console(stderr=True, soft_wrap=True).print(Text(text, "red"))
    return False


def _print_comparison(comparison: RecordingComparison, names: tuple[str, str], console: Console) -> None:
    begin, end, n = comparison.begin, comparison.end, comparison.samples
    how = ", the second interpolated at the times of the first" if comparison.interpolated else ""
    rest = []
    for name, (first, last) in zip(names, comparison.spans, strict=True):
        rest += [f"{name} begins at {first:g} s"] if first < begin else []
        rest += [f"{name} continues to {last:g} s"] if last > end else []
    when = f"from {begin:g} to {end:g} s" if begin < end else f"at {begin:g} s"
    parts = f" ({'; '.join(rest)})" if rest else ""
    console.print(Text(f"{when}, {n} sample{'' if n == 1 else 's'}{how}{parts}"), soft_wrap=True)
    if begin == end and rest:
        console.print(Text("they have one instant in common: does one of them go on from the other?", "yellow"))
    if comparison.equal:
        console.print(Text(f"all {len(comparison.differences)} variables are the same to the last bit"))
    else:
        table = table_of("variable", ">maximum\ndifference", "unit", ">of the\nmaximum", "at", ">time\ns")
        for d in comparison.differences:
            if d.maximum:
                share = f"{d.relative:.1e}" if d.scale else "–"
                cells = (d.name, f"{d.maximum:.3g}", d.units, share, ".".join(d.entry), f"{d.time:g}")
                table.add_row(*map(Text, cells))
        console.print(table)
        same = sum(d.maximum == 0.0 for d in comparison.differences)
        if same:
            console.print(Text(f"{same} more variables are the same to the last bit"))
    for name, only in zip(names, (comparison.only_first, comparison.only_second), strict=True):
        if only:
            more = f" and {len(only) - 6} more" if len(only) > 6 else ""
            console.print(Text(f"only in {name}: {', '.join(only[:6])}{more}"), soft_wrap=True)
    if comparison.unlike:
        console.print(Text(f"not compared, other dimensions or units: {', '.join(comparison.unlike)}"), soft_wrap=True)
