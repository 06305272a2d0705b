"""Things that examples do not touch."""

from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: f.name)
def test_examples_write_where_the_user_is(file):
    """An example that knows where its own file is could write into the repository."""
    assert "__file__" not in file.read_text()
