"""Command `hydromechs save`: save a recording for other programs."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from hydromechs.values import nearest

from ._console import Console
from ._kinds import expect

FORMATS = ("csv", "nc", "parquet", "mat", "zarr")
"""Names of the file formats, which are also the file suffixes."""


def save(
    run: Annotated[str, typer.Argument(help="Run folder or recording (.zarr, .nc).")],
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="Format: csv (text), nc (NetCDF 3), parquet (requires hydromechs[parquet]), mat (MATLAB 5) or zarr. "
            "Defaults to the suffix of --out.",
        ),
    ] = "",
    out: Annotated[str, typer.Option(help="File to write. Defaults to RUN.FORMAT in the current folder.")] = "",
    variable: Annotated[
        list[str] | None, typer.Option(help="Variable to save, such as tilt_deg; repeatable. Defaults to all variables.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(help="Entries to save, such as body=vehicle or xyz=x,z; repeatable.")
    ] = None,
    begin: Annotated[
        float | None, typer.Option("--from", help="Time of the first sample [s]. Defaults to the start of the recording.")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--to", help="Time of the last sample [s]. Defaults to the end of the recording.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Save a recording as CSV, NetCDF, Parquet, MATLAB or Zarr.

    CSV and Parquet files are tables with a row per sample and columns such as position.vehicle.z. NetCDF, MATLAB and Zarr files
    contain arrays with units and the names of their entries.

    Example: hydromechs save runs/demo --format csv --variable position --select body=vehicle --from 10 --to 20
    """
    from hydromechs.recording import load_recording, save_recording, select_recording

    expect(run, "save", "run")
    path = _target(run, format, out)
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; choose another file with --out, or replace it with --force")
    part = select_recording(
        load_recording(run), variables=variable or (), entries=parse_entries(select or []), begin=begin, end=end
    )
    save_recording(part, path, overwrite=force)
    time = part["time"].values
    span = f"{len(time)} samples" + (f" from {time[0]:g} to {time[-1]:g} s" if len(time) else "")
    Console().print(Text(f"{path}: {len(part.data_vars)} variables, {span}"), soft_wrap=True)


def parse_entries(texts: list[str]) -> dict[str, list[str]]:
    """Parse options such as body=vehicle or xyz=x,z; return the names of entries, keyed by dimension."""
    entries: dict[str, list[str]] = {}
    for text in texts:
        dim, equals, names = text.partition("=")
        if not equals:
            raise ValueError(
                f"--select {text!r} is not of the form DIMENSION=ENTRIES; write, for example, body=vehicle or xyz=x,z"
            )
        entries[dim] = names.split(",")
    return entries


def _target(run: str, kind: str, out: str) -> Path:
    if not kind and not out:
        raise ValueError(
            f"the format is missing; add --format with one of {', '.join(FORMATS)}, or --out FILE with one of these suffixes"
        )
    suffix = Path(out).suffix.lstrip(".")
    kind = kind or suffix
    if kind not in FORMATS:
        option = f"--out {out}: suffix" if kind == suffix else "--format"
        raise ValueError(f"{option} {kind!r} is not a known format{nearest(kind, FORMATS)}")
    if not out:
        source = Path(run).resolve()
        return Path(f"{source.parent.name if source.stem == 'recording' else source.stem}.{kind}")
    if suffix != kind:
        raise ValueError(f"--out {out} does not end in .{kind}, the suffix of --format {kind}; change one of them")
    return Path(out)
