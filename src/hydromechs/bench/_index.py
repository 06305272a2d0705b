"""Tables and figures of the five papers: content, our equivalent, and the command that shows it."""

import csv
from collections.abc import Iterator
from importlib import resources
from itertools import islice
from typing import NamedTuple


class Shown(NamedTuple):
    """Table or figure of a paper, with our equivalent."""

    paper: str
    item: str
    what: str
    status: str
    """Status of our equivalent, one of `STATUSES`."""
    command: str
    """Command that shows our equivalent; empty for drawings."""


STATUSES = {
    "compared": "our values are printed next to those of the paper",
    "flown": "a library mission shows the same motion",
    "implemented": "the package contains the algorithm or model with tests",
    "drawing": "an illustration without results to reproduce",
}


def tables_and_figures() -> Iterator[Shown]:
    """Yield all tables and figures, by paper."""
    lines = resources.files(__package__).joinpath("papers.csv").read_text(encoding="utf-8").splitlines()
    yield from (Shown(*row) for row in islice(csv.reader(lines), 1, None))
