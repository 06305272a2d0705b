"""Runs the Python blocks of pages with the package that is installed, each in an empty folder: python run_blocks.py README.md ..."""

import os
import re
import sys
import tempfile
import time
from pathlib import Path


def main(pages: list[Path]) -> None:
    """Run all blocks; an error ends it."""
    for page in pages:
        blocks = re.findall(r"^```python *\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        for number, code in enumerate(blocks, start=1):
            with tempfile.TemporaryDirectory() as folder:
                here, began = Path.cwd(), time.perf_counter()
                os.chdir(folder)
                try:
                    exec(compile(code, f"{page.name}, block {number}", "exec"), {"__name__": "__main__"})
                finally:
                    os.chdir(here)
            print(f"{page.name}, block {number}: ran in {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main([Path(name).absolute() for name in sys.argv[1:]])
