"""Types: mypy finds nothing in the package. It is a test so that it runs beside the others; `make lint` runs it, too."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_types_are_sound():
    found = subprocess.run([sys.executable, "-m", "mypy"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert found.returncode == 0, found.stdout + found.stderr
