"""Make the notebooks from the programs beside this file, and run them: `python docs/notebooks/make_notebooks.py [NAME ...]`.

A program is a notebook in the percent format: `# %%` begins a cell of code, `# %% [markdown]` one of text in comments. What
stands after `# short: ` in a line is the value that tests take in its place, so that they run the same code in less time.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SHORT = re.compile(r"^(\s*\w+ = ).*?  # short: (.*)$", re.MULTILINE)


def programs() -> list[Path]:
    """The programs that notebooks are made from."""
    return sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)


def cells(program: str) -> list[tuple[str, str]]:
    """Kind and text of each cell of a program.

    Args:
        program: Text in the percent format.
    """
    parts = re.split(r"^# %%(.*)\n", program, flags=re.MULTILINE)[1:]
    out = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        if "[markdown]" in mark:
            out.append(("markdown", re.sub(r"^# ?", "", text.strip(), flags=re.MULTILINE)))
        else:
            out.append(("code", SHORT.sub(lambda m: m[0].split("  # short: ")[0], text.strip())))
    return out


def short(program: str) -> str:
    """The program with the values that tests take.

    Args:
        program: Text in the percent format.
    """
    return SHORT.sub(r"\1\2", program)


def made(program: str) -> dict[str, Any]:
    """The notebook of a program, not run.

    Args:
        program: Text in the percent format.
    """
    out = []
    for k, (kind, text) in enumerate(cells(program)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{k}", "metadata": {}, "source": text}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        out.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": out, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def run(notebook: dict[str, Any]) -> str:
    """Text of the notebook file, with what its cells print and draw.

    Args:
        notebook: A notebook, not run.
    """
    import nbformat
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as folder:
        there = nbformat.from_dict(notebook)
        NotebookClient(there, timeout=600, resources={"metadata": {"path": folder}}).execute(cwd=folder, env=os.environ.copy())
    for cell in there.cells:
        cell.metadata.clear()  # times of execution
    return nbformat.writes(there) + "\n"


def main() -> None:
    """Make the notebooks that are named, or all."""
    for program in programs():
        if len(sys.argv) < 2 or program.stem in sys.argv[1:]:
            path = program.with_suffix(".ipynb")
            notebook = run(made(program.read_text(encoding="utf-8")))
            path.write_text(notebook, encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
