"""Tables of the documentation are those that the programs give today; times are those of the reports in docs/data."""

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
try:
    import doc_tables
    import make_tables
finally:
    sys.path.remove(str(DOCS))

FOUND = [
    (page, match["name"], match["body"])
    for page in sorted([*DOCS.glob("*.md"), *DOCS.glob("notes/*.md")])
    for match in make_tables.BLOCK.finditer(page.read_text())
]


@pytest.mark.parametrize("page, name, body", FOUND, ids=[f"{page.stem}-{name}" for page, name, _ in FOUND])
def test_table_is_up_to_date(page, name, body):
    assert body.strip() == doc_tables.TABLES[name]().strip(), f"{page.name} is out of date: make docs-tables"


def test_every_table_is_shown_once():
    assert sorted(name for _, name, _ in FOUND) == sorted(doc_tables.TABLES)


def test_counts_that_the_papers_print():
    """McMillan, Orin, McGhee 1995, Table II and McMillan's thesis, Tables 19, 26 and 28, as printed."""
    printed = {
        ("mobile base, with hydrodynamics", "1995, Table II"): (2392, 2091),
        ("mobile base, with hydrodynamics", "thesis, Table 19"): (2394, 2093),
        ("inverse dynamics, fixed base", "thesis, Table 26"): (459, 400),
        ("mass matrix, fixed base", "thesis, Table 28"): (389, 370),
    }
    found = {(c.what, c.source): c for c in doc_tables.comparisons() if "per added" not in c.section}
    for key, count in printed.items():
        assert found[key].papers == count
        assert max(found[key].ratio) < 1.0
