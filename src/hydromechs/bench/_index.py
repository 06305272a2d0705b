"""Every table and figure of the five papers: its content, our equivalent, and the command that shows it."""

import csv
from collections.abc import Iterator
from importlib import resources
from itertools import islice
from typing import NamedTuple


class Shown(NamedTuple):
    """A table or figure of a paper, and our equivalent."""

    paper: str
    item: str
    what: str
    status: str
    """One of `STATUSES`."""
    command: str
    """Command that shows our equivalent; empty for drawings."""


STATUSES = {
    "compared": "our numbers are printed next to the paper's",
    "flown": "a library mission shows the same",
    "implemented": "the algorithm or model is in the package and tested",
    "drawing": "it is an explanation without results to reproduce",
}


def tables_and_figures() -> Iterator[Shown]:
    """All tables and figures, by paper."""
    lines = resources.files(__package__).joinpath("papers.csv").read_text(encoding="utf-8").splitlines()
    yield from (Shown(*row) for row in islice(csv.reader(lines), 1, None))
