"""Attributes of recordings: texts and numbers, which every file format supports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray


def structured(ds: xarray.Dataset, name: str) -> Any:
    """Return an attribute of a recording that is a list or a table, such as "messages"; None if there is none."""
    value = ds.attrs.get(name)
    return json.loads(value) if isinstance(value, str) else value  # early recordings store lists and tables directly


def plain_attributes(attrs: Mapping[str, Any]) -> dict[str, str | int | float]:
    """Return attributes as texts and numbers; lists and tables become JSON text, which `structured` reads."""
    text = json.dumps(dict(attrs), default=lambda x: x.tolist() if isinstance(x, np.generic | np.ndarray) else str(x))
    return {
        key: value if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)
        for key, value in json.loads(text).items()
    }
