"""Fingerprints of sweeps, scenarios, and the source code of this package."""

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.compiler import fingerprint, source_hash
from hydromechs.scenario import Scenario

from ._definition import ParameterSweep


def fingerprint_of(sweep: ParameterSweep) -> str:
    """Return a fingerprint, which is equal for sweeps with the same runs."""
    code = [_text_of_code(reference) for reference in sweep.scenario.code]
    kept = (sweep.parameters, sweep.results, sweep.run_seeds, sweep.block_size, sweep.seed, sweep.target)
    return fingerprint(_text(sweep.scenario), _text(kept), sweep.table, *code)[:32]


def fingerprint_of_scenario(scenario: Scenario) -> str:
    """Return a fingerprint, which is equal for equal scenarios with equal custom code."""
    return fingerprint(_text(scenario), *(_text_of_code(reference) for reference in scenario.code))[:32]


def source_of() -> str:
    """Return a fingerprint of the source code of this package."""
    return source_hash()[:32]


def _text(thing: Any) -> str:
    """Return the content of a description as text; external objects are represented by their `repr`."""
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        values = {f.name: _text(getattr(thing, f.name)) for f in dataclasses.fields(thing)}
        return f"{type(thing).__qualname__}({values})"
    if isinstance(thing, Mapping):
        return str({str(key): _text(x) for key, x in thing.items()})
    if isinstance(thing, tuple | list):
        return str([_text(x) for x in thing])
    if isinstance(thing, np.ndarray):
        return f"{thing.dtype} {thing.tolist()}"
    return re.sub(r" at 0x[0-9a-f]+", "", repr(thing))


def _text_of_code(reference: str) -> str:
    """Return a reference to code, followed by the text of its file if the reference contains a file."""
    file = Path(reference.rpartition(":")[0])
    return reference + (file.read_text(encoding="utf-8") if file.suffix == ".py" and file.is_file() else "")
