"""Whatever happens to a robot description of another program: it gives a model, or an error of ours with lines.

Small files of all formats are changed at random, read, put together to a plant, moved for an instant, written in every format
and read again.
"""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from random import Random

import numpy as np

from hydromechs import formats, library
from hydromechs.equations import forward_dynamics, mass_matrix
from hydromechs.errors import ModelError, UnsupportedFeature
from hydromechs.model import Model

from .file_study import Changed, raised_on_purpose
from .mutations import mutated_bytes, mutated_text

__all__ = ["CHANGED_ROBOTS", "ROBOTS", "robot_mutant", "try_robot"]

ROBOTS = Path(str(files(__package__) / "files" / "robots"))
"""The files that are changed."""
BAD = (
    *("", "nan", "inf", "-1", "1e400", "x", "0", "0 0 0", "1e-300", "'", "<", "{", "}", '"', "&amp;", "&a;", "world"),
    *("1e30", "1e160", "-0.0", "1e-9", "__model__", "a::b", "é", "../x.stl", "9" * 400, "0x10", "1_0", "/", "2 1"),
)
"""Return the replacement of a word."""
WORD = re.compile(r"[-\w.:]+")
VALUE = re.compile(r"""(?<=["'> ])[-\w.:]+(?=["'< ])""")
"""A word that is more often a value than the name of an element."""
NUMBER = re.compile(r"-?\d[\d.]*(?:e[-+]?\d+)?")
WIDEST = 1e12
"""Numbers above which a mechanism may be computed at its start and not at zero, where other formats have it start."""
ELEMENT = re.compile(r"<(\w+)[^<>]*/>|<(\w+)[^<>]*>[^<>]*</\2>|\b\w+ \{[^{}]*\}")
"""An element of XML, or a block in braces, with none in it."""


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    """Ending and text of each file."""
    return tuple((path.suffix, path.read_text(encoding="utf-8")) for path in sorted(ROBOTS.iterdir()))


def robot_mutant(seed: int, number: int) -> tuple[str, bytes]:
    """Ending and content of a changed file; the same for the same numbers.

    Args:
        seed: Of the study.
        number: Of the file.
    """
    rng = Random(f"{seed}/{number}")
    suffix, text = _texts()[number % len(_texts())]
    match rng.choices(("words", "text", "bytes"), (12, 2, 1))[0]:
        case "text":
            text = mutated_text(text, rng)
        case "bytes":
            return suffix, mutated_bytes(text.encode(), rng)
        case _:
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                text = _changed(text, rng)
    return suffix, text.encode()


def _changed(text: str, rng: Random) -> str:
    """The text with one change: a word, an element removed, doubled or taken from elsewhere, some characters cut."""
    kind = rng.random()
    pattern = rng.choice((VALUE, VALUE, NUMBER, NUMBER, NUMBER, WORD))
    words, elements = list(pattern.finditer(text)), list(ELEMENT.finditer(text))
    if kind < 0.7 and words:
        word = rng.choice(words)
        new = rng.choice(BAD) if kind < 0.35 else rng.choice(words).group()
        return text[: word.start()] + new + text[word.end() :]
    if kind < 0.95 and elements:
        element = rng.choice(elements)
        others = list(ELEMENT.finditer(rng.choice(_texts())[1]))
        new = rng.choice(("", element.group() * 2, rng.choice(elements).group(), rng.choice(others).group() if others else ""))
        return text[: element.start()] + new + text[element.end() :]
    at = rng.randrange(len(text))
    return text[:at] + text[at + rng.randint(1, 20) :]


def try_robot(path: Path) -> tuple[str, str]:
    """Return the outcome of a robot description: a kind, and a traceback if it is a failure.

    Args:
        path: The file.
    """
    stage = "read"
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            model = formats.import_file(path).model
            stage = "put together"
            library.load_plant(path)
            stage = "moved"
            start = model.initial()
            forward_dynamics(model, start.q, start.v, np.ones(model.nv))
            stage = "written as a model file and read again"
            native = formats.dumps(model)
            if formats.loads(native) != model:
                return "differs when written and read again", "what is written is not what was read"
            stage = "written in other formats and read again"
            for suffix, problem in _lost(model, native):
                return f"differs when written as {suffix} and read again", problem
    except Exception as error:
        if isinstance(error, ModelError) and stage != "put together":
            good = stage == "read" and bool(error.faults) and all(fault.line is not None for fault in error.faults)
        else:
            good = stage == "put together" and raised_on_purpose(error)
        return (f"refused when {stage}", "") if good else (f"{type(error).__name__} when {stage}", traceback.format_exc())
    return "read, moved and written", ""


def _lost(model: Model, native: str) -> Iterator[tuple[str, str]]:
    """Formats in which a model cannot be read again as it was written, and what became of it there.

    It is compared dry and at zero, for formats omit water and starts; the eigenvalues of the mass matrix do not depend on
    the order of joints. What cannot be written, or cannot move without its water, is passed over.

    Args:
        model: The model.
        native: Its model file.
    """
    wide = any(abs(float(number)) > WIDEST for number in NUMBER.findall(native) if number.count(".") < 2)
    mine = None
    for suffix in (form.suffixes[0] for form in formats.FORMATS if form.writer):
        try:
            text = formats.dumps_robot(model, suffix)
            mine = _moments(model) if mine is None and not wide else mine
        except (UnsupportedFeature, ModelError):
            continue
        try:
            free = formats.ImportOptions(base="free")  # an SDF does not specify whether a root without mass is
            again = formats.loads_robot(text, f"again{suffix}", options=free).model
        except ModelError:
            if not wide:
                yield suffix, traceback.format_exc()
            continue
        if mine is not None:
            its = _moments(again)
            # tensors and axes are rounded once or twice
            near = mine.shape == its.shape and np.allclose(mine, its, rtol=1e-9, atol=1e-12 * np.abs(mine).max(initial=0.0))
            if not near:
                yield suffix, f"{mine} became {its}"


def _moments(model: Model) -> np.ndarray:
    """Eigenvalues of the mass matrix of a dry model at zero, shape (nv,)."""
    dry = replace(model, bodies=tuple(replace(body, hydro=None) for body in model.bodies))
    return np.linalg.eigvalsh(np.array(mass_matrix(dry, dry.neutral()[0]), dtype=float))


def _none() -> list[Path]:
    return []


CHANGED_ROBOTS = Changed(robot_mutant, try_robot, _none)
"""Robot descriptions of all formats."""
