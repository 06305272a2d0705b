"""Tables of the documentation, by what they are made of."""

from collections.abc import Callable

from . import _counts, _studies, _times
from ._common import DATA, DOCS
from ._counts import comparisons

__all__ = ["DATA", "DOCS", "TABLES", "comparisons"]

TABLES: dict[str, Callable[[], str]] = {
    function.__name__.replace("_", "-"): function for function in (*_counts.TABLES, *_times.TABLES, *_studies.TABLES)
}
"""What makes each table, by its name in the documents."""
