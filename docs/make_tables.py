"""Rewrite the tables of the documentation: what stands between `<!-- table: NAME -->` and `<!-- end -->`.

python docs/make_tables.py                      counts are made anew, times come from docs/data
python docs/make_tables.py --check              says what is out of date and ends with status 1
python docs/make_tables.py --measure dynamics   runs `python -m benchmarks goals dynamics --json` first and keeps its report in
                                                docs/data; also: blocks, gpu, hybrid, trees, navigation, and missions,
                                                papers and stiffness, which draw pictures, too
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for benchmarks
from doc_tables import DATA, DOCS, TABLES

COMMANDS = {
    "dynamics": ("benchmarks", "goals", "dynamics", "--json"),
    "gpu": ("benchmarks", "gpu", "--json"),
    "hybrid": ("benchmarks", "hybrid", "--json"),
    "missions": ("benchmarks", "missions", "--seeds", "10", "--json", "--out", str(DOCS / "pictures")),
    "navigation": ("benchmarks", "navigation", "--json"),
    "blocks": ("benchmarks", "blocks", "--json"),
    "papers": ("hydromechs.cli", "papers", "lift", "--json", "--picture", str(DOCS / "pictures" / "thesis_fig_14.png")),
    "stiffness": ("benchmarks", "stiffness", "--json", "--out", str(DOCS / "pictures" / "stiffness.png")),
    "trees": ("benchmarks", "trees", "--json"),
}
"""Commands whose reports are kept in docs/data, because they take long or measure times."""
BLOCK = re.compile(r"(?P<head><!-- table: (?P<name>[\w-]+) -->\n)(?P<body>.*?)(?P<foot><!-- end -->)", re.DOTALL)


def renewed(text: str) -> str:
    """A document with all its tables made anew."""

    def replaced(match: re.Match[str]) -> str:
        if match["name"] not in TABLES:
            raise ValueError(f"no table {match['name']!r}; there are {', '.join(TABLES)}")
        return f"{match['head']}\n{TABLES[match['name']]()}\n{match['foot']}"

    return BLOCK.sub(replaced, text)


def measure(name: str) -> None:
    """Run a command and keep its report."""
    done = subprocess.run(
        [sys.executable, "-m", *COMMANDS[name]], cwd=DOCS.parent, check=True, stdout=subprocess.PIPE, text=True
    )
    data = json.loads(done.stdout)
    data.pop("counts", None)  # those are made anew
    DATA.mkdir(exist_ok=True)
    (DATA / f"{name}.json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def main() -> int:
    """Rewrite the tables, or say which are out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if a table is out of date")
    parser.add_argument("--measure", nargs="*", choices=COMMANDS, default=[], help="commands to run first")
    options = parser.parse_args()
    for name in options.measure:
        measure(name)
    stale = 0
    for page in sorted([*DOCS.glob("*.md"), *DOCS.glob("notes/*.md")]):
        old = page.read_text()
        new = renewed(old) if BLOCK.search(old) else old
        if new != old:
            stale += 1
            print(f"{page}: {'out of date: make docs-tables' if options.check else 'rewritten'}")
            if not options.check:
                page.write_text(new)
    return int(options.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
