"""Every command on every hostile file; the list of commands is the program's own, so that a new one is covered."""

import os
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs.cli._main import app

SECRET = "s3cr3t-of-root"
PASSWORDS = f"root:{SECRET}:0:0:{SECRET}:/root:/bin/sh\ndaemon:{SECRET}:1:1\n"


def leaves(command=None, path=()):
    """All commands of the program, with their names."""
    command = command or typer.main.get_command(app)
    if hasattr(command, "commands"):
        for name, inner in command.commands.items():
            yield from leaves(inner, (*path, name))
    else:
        yield path, command


WRITTEN = {"out", "html", "video"}
"""Parameters that name files to write."""
READ = {"model", "again", "resume"}
"""Options that name files to read."""


def calls(command, file, out):
    """Arguments with which a command reads a file in each place where it can; none for a command that reads none."""
    positional = [p for p in command.params if p.param_type_name == "argument"]
    given = [str(out) if p.name in WRITTEN else str(file) for p in positional]
    if any(p.name not in WRITTEN for p in positional):
        yield given
    for option in (p for p in command.params if p.param_type_name == "option" and p.name in READ):
        yield [*given, option.opts[0], str(file)]


COMMANDS = {" ".join(path): command for path, command in leaves()}


def test_all_commands_are_found():
    assert {"run", "sweep", "campaign", "info", "picture", "replay", "pilot", "bench dynamics", "bench worlds"} <= set(COMMANDS)


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if list(calls(command, "x", "y"))])
def test_no_command_runs_code_that_a_file_names(name, hostile, ran, no_pages):
    """Every command on every file that names code: the list of commands is the program's own."""
    for kind, file in hostile.items():
        for arguments in calls(COMMANDS[name], file, f"out-{kind}"):
            result = CliRunner().invoke(app, [*name.split(), *arguments])
            assert not ran.exists(), (kind, arguments, result.output)
            expected = (hm.CodeNotAllowed, SystemExit, ValueError, KeyError, OSError, type(None))
            assert isinstance(result.exception, expected), (kind, arguments, result.exception)


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if list(calls(command, "x", "y"))])
def test_every_command_survives_every_strange_file(name, tmp_path, monkeypatch, no_pages):
    """The list of commands is the program's own."""
    monkeypatch.chdir(tmp_path)
    Path("secret.yaml").write_text(PASSWORDS)
    Path("secret.urdf").write_text(f"<{SECRET}><{SECRET}></a>")
    Path("folder.yaml").mkdir()
    os.mkfifo("pipe.yaml")
    Path("device.yaml").symlink_to("/dev/zero")
    Path("names.yaml").write_text("hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels: {m: {model: ./secret.yaml}}\n")
    Path("waits.yaml").write_text("hydromechs_scenario: 2\nname: s\nrun: {duration: 1}\nmodels: {m: {model: ./device.yaml}}\n")
    for file in sorted(p.name for p in tmp_path.iterdir()):
        for arguments in calls(COMMANDS[name], file, f"out-{file}.yaml"):
            result = CliRunner().invoke(app, [*name.split(), *arguments])
            assert isinstance(result.exception, (OSError, ValueError, KeyError, SystemExit, type(None))), (
                arguments,
                result.exception,
            )
            assert SECRET not in result.output + str(result.exception), arguments
