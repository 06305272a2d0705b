"""A fixture that runs the command line."""

import sys

import pytest

from hydromechs.cli import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `hydromechs` with arguments on a wide terminal: status, stdout, stderr."""

    def command(*arguments, columns=400):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr(sys, "argv", ["hydromechs", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return command
