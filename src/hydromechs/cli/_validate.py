"""Command `hydromechs validate`: fit a model to recorded trials and predict held-out trials."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from hydromechs import files
from hydromechs.errors import message_of

from ._console import Console
from ._options import CODE, JSON
from ._tables import print_report, table_of


def validate(
    study: Annotated[Path, typer.Argument(help="Validation file, such as examples/hinsdale_2023.yaml.")],
    data: Annotated[str, typer.Option(help="Folder with the logs. Defaults to the key `data` in the file.")] = "",
    out: Annotated[
        str,
        typer.Option(
            help="Folder for the report and for fits of --variants, which later runs reuse. If omitted, nothing is saved."
        ),
    ] = "",
    workers: Annotated[int, typer.Option(min=0, help="Number of worker processes; 0 for one per core.")] = 0,
    trials: Annotated[str, typer.Option(help="Pattern of the names of trials. Defaults to the pattern in the file.")] = "",
    variants: Annotated[bool, typer.Option("--variants", help="Compare the model with the variants in the file.")] = False,
    folds: Annotated[
        int, typer.Option(min=0, help="Number of cross-validation folds with --variants; 0 for one per motion.")
    ] = 0,
    as_json: JSON = False,
    code: CODE = False,
) -> None:
    """Fit a model to trials and predict held-out trials.

    Each motion of the study is held out once.
    """
    from hydromechs.identification import validation

    console = Console(stderr=True)
    try:
        found = validation.load_validation_study(study, code=code)
        if trials:
            found = replace(found, trials=replace(found.trials, names=trials))
        folder = Path(data) if data else study.parent / found.data
        if not data and not found.data:
            raise ValueError(f"{study} does not name a folder with logs; add --data FOLDER")
        if folds and not variants:
            raise ValueError("--folds applies only to --variants; add --variants, or omit --folds")
        with _live(console) as progress:
            how: dict[str, Any] = {
                "workers": workers or None,
                "on_message": lambda text: console.print(Text(text)),
                "progress": progress,
            }
            if variants:
                kept = Path(out) / "fits" if out else None
                compared = validation.compare_variants(found, folder, folds=folds, kept=kept, **how)
            else:
                result = validation.validate(found, folder, **how)
    except (ValueError, KeyError) as error:
        console.print(Text(f"error: {message_of(error)}", "red"), soft_wrap=True)
        raise typer.Exit(1) from None
    if variants:
        print_report(compared, print_variants, as_json)
        if out:
            file = Path(out) / "variants.json"
            files.write_json(file, compared, indent=1)
            console.print(Text(f"written: {file}"))
        return
    print_report(validation.report_of(result), print_validation, as_json)
    if out:
        console.print(Text(f"written: {validation.write_validation(result, out)}"))


@contextmanager
def _live(console: Console) -> Iterator[Callable[[Any], None]]:
    """Show the iteration of each running fit on the last line of the terminal; yield the function that updates the line."""
    latest: dict[str, str] = {}
    with console.status(Text("reading logs, compiling")) as status:

        def progress(iteration: Any) -> None:
            latest.pop(iteration.fit, None)  # latest last
            latest[iteration.fit] = f"{iteration.fit}: iteration {iteration.number}, cost {iteration.cost:.4g}"
            status.update(Text("; ".join(list(latest.values())[-SHOWN:])))

        yield progress


SHOWN = 2
"""Number of running fits displayed at a time."""


def print_variants(report: dict[str, Any], console: Console) -> None:
    """Print the prediction errors of the variants as a table."""
    console.print(
        Text(f"{report['title'] or report['study']}: {report['trials']} trials, {report['folds']} fits of each model", "bold")
    )
    console.print(Text("Mean of the root-mean-square prediction errors (increase over the model of the study):"))
    table = table_of("model", *(f">{c} [{unit}]" for c, unit in report["units"].items()))
    for row in report["variants"]:
        numbers = [f"{row['mean'][c]:.3f} ({row['more'][c]:+.3f})" if c in row["mean"] else "–" for c in report["units"]]
        said = f" ({row['not_converged']} fits did not converge)" if row["not_converged"] else ""
        table.add_row(*map(Text, (row["name"] + said, *numbers)))
    console.print(table)
    for row in report["variants"]:
        if row["fault"]:
            console.print(Text(f"{row['name']}: {row['fault']}", "red"))


def print_validation(report: dict[str, Any], console: Console) -> None:
    """Print the result of a validation as tables."""
    from hydromechs.identification.validation import channel_cells, found_cells

    console.print(
        Text(f"{report['title'] or report['study']}: {len(report['trials'])} trials, {report['seconds']:.0f} s", "bold")
    )
    console.print(Text("Root-mean-square prediction errors from the start of the motion to the end of the trial:"))
    columns = (
        ">mean",
        ">median",
        ">9 of 10",
        ">largest",
        ">including\nthe time before",
        ">statics,\nnot seen",
        ">statics,\nall seen",
    )
    console.print(table_of("channel", *columns, rows=map(channel_cells, report["channels"])))
    console.print(Text("\nEstimates from all trials:"))
    numbers = ("number", ">value", ">deviation", ">between\ntrials", ">before", ">deviation\nbefore")
    console.print(table_of(*numbers, rows=map(found_cells, report["found"])))
    for information, text in report["directions"]:
        console.print(Text(f"the data do not determine this combination (information {information:.2f}): {text}"))
    for name in report["not_converged"]:
        console.print(Text(f"the fit without {name} did not converge; its best iterate is used", "red"))
