"""Third-party robot descriptions: a table of formats, with recognition, readers and writers."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from hydromechs.errors import Fault, ModelError, UnsupportedFeature
from hydromechs.files import one_load
from hydromechs.model import Model

from ._imported import Findings, Imported, ImportOptions
from ._robot_files import RobotFiles
from ._xacro import expanded, is_xacro
from ._xml import Element, parse_xml, read_bytes
from ._xml_write import RobotText, RobotWriter

if TYPE_CHECKING:
    from collections.abc import Mapping

Reader: TypeAlias = Callable[[Element, Findings, RobotFiles], Imported]
"""Reader of a document; arguments are the root element, the findings, and the finder of files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RobotFormat:
    """Format of robot descriptions."""

    name: str
    root: str
    """Tag of the root element, which identifies the format."""
    suffixes: tuple[str, ...]
    """Suffix of files in this format, which selects the format for writing."""
    reader: str
    """Module and function that read the format, a `Reader`, such as "._urdf_read:read_urdf"."""
    writer: str = ""
    """Module and class that write the format, a `RobotWriter`; empty without a writer."""
    parser: str = ""
    """Module and function that parse text into elements if the format is not XML; such files are recognised by suffix."""


FORMATS = (
    RobotFormat(
        name="URDF", root="robot", suffixes=(".urdf",), reader="._urdf_read:read_urdf", writer="._urdf_write:UrdfWriter"
    ),
    RobotFormat(
        name="SDF", root="sdf", suffixes=(".sdf", ".world"), reader="._sdf_read:read_sdf", writer="._sdf_write:SdfWriter"
    ),
    RobotFormat(
        name="MJCF", root="mujoco", suffixes=(".xml", ".mjcf"), reader="._mjcf_read:read_mjcf", writer="._mjcf_write:MjcfWriter"
    ),
    RobotFormat(name="DynaMechs", root="System", suffixes=(".dm",), reader="._dm_read:read_dm", parser="._dm_read:parse_dm"),
)
"""All formats; a new format is a row in this table."""

SUFFIXES = (*(suffix for form in FORMATS for suffix in form.suffixes), ".xacro")
"""Suffixes of files that are read as robot descriptions."""
WRITTEN = tuple(form.suffixes[0] for form in FORMATS if form.writer)
"""Suffix of each format that can be written."""


def is_robot_file(path: str | os.PathLike) -> bool:
    """True if a file has the suffix of a third-party robot description."""
    return Path(path).suffix.lower() in SUFFIXES


@one_load()
def import_file(
    path: str | os.PathLike,
    *,
    packages: Mapping[str, str] | None = None,
    folders: tuple[str, ...] | list[str] = (),
    base: Literal["auto", "free", "fixed"] = "auto",
    placeholders: bool = False,
    arguments: Mapping[str, str] | None = None,
) -> Imported:
    """Read a third-party robot description, with notes on what was ignored, assumed or repaired.

    Args:
        path: URDF, SDF or MJCF file, recognised by its first element, or DynaMechs file with the suffix ".dm". Xacro files are
            expanded with the package `xacro`.
        packages: Folder of each package, keyed by the name in `package://name/` or `model://name/`.
        folders: Additional folders from which meshes and further files may be read.
        base: Joint of the root if the file does not specify it: "free", "fixed", or "auto" for free if the root has mass.
        placeholders: True to ignore collision shapes whose meshes are missing, with a note; otherwise they are errors. Visuals
            whose meshes are missing become grey boxes, with a note.
        arguments: Values of xacro arguments, keyed by name.

    Returns:
        The model, its actuators and the notes. One `ModelError` lists all errors of the file.
    """
    if base not in ("auto", "free", "fixed"):
        raise ValueError(f"base is {base!r}, must be 'auto', 'free' or 'fixed'")
    options = ImportOptions(
        packages=dict(packages or {}),
        folders=tuple(folders),
        base=base,
        placeholders=placeholders,
        arguments=dict(arguments or {}),
    )
    return _read(read_bytes(path), os.fspath(path), Path(path).parent, options)


@one_load()
def loads_robot(
    text: str | bytes, source: str = "<text>", folder: str | os.PathLike = ".", options: ImportOptions | None = None
) -> Imported:
    """Read a robot description from its text; the suffix of `source` selects the format, see `import_file`."""
    return _read(text, source, Path(folder), options or ImportOptions())


def _read(raw: str | bytes, source: str, folder: Path, options: ImportOptions) -> Imported:
    suffix = Path(source).suffix.lower()
    formats = [form for form in FORMATS if form.parser and suffix in form.suffixes] or [f for f in FORMATS if not f.parser]
    parse = _named(formats[0].parser) if formats[0].parser else parse_xml
    files = RobotFiles(folder, options)
    if not formats[0].parser and is_xacro(raw, source):
        raw = expanded(raw, source, files, options.arguments)
    elif options.arguments:
        raise ModelError(source, [f"arguments {', '.join(options.arguments)}: this is not a xacro file; remove them"])
    root: Element = parse(raw, source)
    for form in formats:
        if form.root == root.tag:
            read: Reader = _named(form.reader)
            try:
                return read(root, Findings(source, options), files)
            except ModelError as error:
                raise error if error.source == source else ModelError(source, error.faults) from None
    tag = "{}" if formats[0].parser else "<{}>"
    known = ", ".join(f"{tag.format(form.root)} ({form.name})" for form in formats)
    text = f"the root element is not a supported robot description; supported formats are {known}"
    raise ModelError(source, [Fault((), text, line=root.line)])


def reject_options(source: str | os.PathLike, options: Mapping[str, object]) -> None:
    """Raise `ValueError` if options of `import_file` are used with a source that is not a robot description."""
    if options:
        names = ", ".join(options)
        raise ValueError(f"{names}: valid only for robot descriptions, and {os.fspath(source)!r} is not one; remove the option")


def warned(imported: Imported, *, plant: bool = False) -> Imported:
    """Return an import after warnings about its headlines, its notes and, unless `plant` is True, missing actuators."""
    read = f"hydromechs.import_file({imported.source!r})"
    for text in imported.headlines:
        warnings.warn(f"{imported.source}: {text}", stacklevel=4)
    if imported.notes:
        more = f"{read}.notes and `hydromechs info` list them"
        warnings.warn(f"{imported.source}: {imported.summary()}; {more}", stacklevel=4)
    if imported.components and not plant:
        counts = Counter(type(component).__name__ for component in imported.components)
        parts = ", ".join(f"{n} {kind}" for kind, n in counts.items())
        words = f"a model cannot store actuators, springs and armature; the file has {parts}"
        more = f"{read}.components lists them, and hydromechs.load_plant({imported.source!r}) keeps them"
        warnings.warn(f"{imported.source}: {words}; {more}", stacklevel=4)
    return imported


def dumps_robot(model: Model, suffix: str) -> str:
    """Return the text of a model in the format of a suffix such as ".urdf"; the first comment lists features that are lost."""
    return robot_text(model, suffix).text


def robot_text(model: Model, suffix: str, notes: Iterable[str] = ()) -> RobotText:
    """Return the text of a model in the format of a suffix, with additional notes in the first comment, and lost features."""
    for form in FORMATS:
        if suffix.lower() in form.suffixes and form.writer:
            writer: RobotWriter = _named(form.writer)(model)
            return writer.text(notes)
    known = ", ".join(s for form in FORMATS if form.writer for s in form.suffixes)
    raise UnsupportedFeature(f"a model cannot be written as {suffix!r}; use a name that ends in .yaml, {known}")


def _named(where: str) -> Callable:
    module, _, name = where.partition(":")
    return getattr(import_module(module, __package__), name)
