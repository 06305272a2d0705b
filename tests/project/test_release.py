"""Contents of a release: one version everywhere, the files of the wheel, what the package must not do on other systems."""

import ast
import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

import hydromechs as hm
from hydromechs.cli import main
from hydromechs.cli._demo import DEMO
from hydromechs.formats import FILE_KINDS
from hydromechs.library import names, scenario_names

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "hydromechs"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_one_version():
    """The package, the citation and the newest section of the changelog, which has a date."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    newest = re.search(r"^## (\S+) \((\d{4}-\d\d-\d\d|unreleased)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert citation["version"] == hm.__version__ == newest[1]
    assert str(citation["date-released"]) == newest[2]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/hydromechs/__init__.py"


def test_pythons_agree():
    """Classifiers, the workflow and the lowest version name the same Pythons."""
    pythons = [c.rpartition(" ")[2] for c in PROJECT["project"]["classifiers"] if re.search(r"Python :: 3\.\d+$", c)]
    workflow = (ROOT / ".github" / "workflows" / "test.yml").read_text()
    assert re.search(r"python: (\[.*\])", workflow)[1] == str(pythons).replace("'", '"')
    assert PROJECT["project"]["requires-python"] == f">={pythons[0]}"


def test_the_demo_is_there():
    """The scenario of `hydromechs demo` is part of the package; `make demo` is the same command."""
    assert DEMO in scenario_names()
    assert "bluerov2_heavy_alpha5" in names()
    assert re.search(r"^demo:.*\n\t\$\(BIN\)/hydromechs demo$", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_the_demo_runs_it_with_its_replay(monkeypatch):
    """`hydromechs demo` is `hydromechs run station_keeping --show`, and fails where that does."""
    calls = []
    monkeypatch.setattr("hydromechs.cli._run.run", lambda source, console, **options: calls.append((source, options)) or False)
    monkeypatch.setattr("sys.argv", ["hydromechs", "demo", "--out", "here"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert calls == [(DEMO, {"out": "here", "show": True})]


def test_the_wheel_has_the_schema_of_every_kind_of_file(monkeypatch, capsys):
    """`make dist` writes what `hydromechs schema` prints for each kind into a folder that git ignores and the wheel takes."""
    recipe = (ROOT / "Makefile").read_text().partition("\ndist:")[2].partition("\n\n")[0]
    kinds = re.search(r"for kind in ([\w ]+);", recipe)[1].split()
    assert "schema $$kind > src/hydromechs/schemas/$$kind.schema.json" in recipe
    assert PROJECT["tool"]["hatch"]["build"]["artifacts"] == ["/src/hydromechs/schemas/*.json"]
    assert sorted(kinds) == sorted(FILE_KINDS)
    for kind in kinds:
        monkeypatch.setattr("sys.argv", ["hydromechs", "schema", kind])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        schema = json.loads(capsys.readouterr().out)
        assert {FILE_KINDS[kind].key, "name"} & set(schema["properties"]) and schema["$defs"]


def test_extras_are_named_in_messages():
    """Every extra that a message tells to install is one of the package's."""
    extras = set(PROJECT["project"]["optional-dependencies"])
    texts = "".join(file.read_text() for file in SOURCE.rglob("*.py"))
    named = set(re.findall(r"hydromechs\[(\w+)\]", texts))
    assert named and named <= extras


def test_text_files_have_an_encoding():
    """Windows would take another one than UTF-8."""
    bare = []
    for file in SOURCE.rglob("*.py"):
        text = file.read_text()
        for node in ast.walk(ast.parse(text)) if "_text(" in text else ():
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
                continue
            given = {keyword.arg for keyword in node.keywords}
            if isinstance(node.func.value, ast.Name) and node.func.value.id == "files":  # hydromechs.files reads UTF-8
                continue
            if node.func.attr in ("read_text", "write_text") and "encoding" not in given:
                bare.append(f"{file.relative_to(SOURCE)}:{node.lineno}")
    assert not bare


OTHERS = (("x86_64-pc-windows-msvc", "haswell"), ("x86_64-apple-macosx11.0", "haswell"), ("arm64-apple-macosx11.0", "apple-m1"))
KNOWN = {
    *("acos", "asin", "atan", "atan2", "cos", "cosh", "exp", "fmod", "log", "log1p", "pow", "sin", "sinh", "tan", "tanh"),
    *("memcpy", "memset", "malloc", "free"),
    "_chkstk",  # of Windows, in its ntdll: looks after large stacks
}
CONSTANT = re.compile(r"_real|_[xy]mm|L|l_|GOT")
"""Names of numbers beside the code."""


@pytest.mark.parametrize(("triple", "cpu"), OTHERS)
def test_machine_code_for_other_systems_needs_what_they_have(triple, cpu):
    """Code for Windows and macOS, made here: it refers to functions that their C libraries have, and no `sincos` or such."""
    import llvmlite.binding as llvm

    from hydromechs.compiler import trace
    from hydromechs.compiler._llvm_text import llvm_text

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    model = hm.load("bluerov2_heavy_alpha5")
    shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
    program = trace(lambda q, v, tau: hm.forward_dynamics(model, q, v, tau) * np_all(q), shapes, name="f", outputs=("vdot",))
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError:
        pytest.skip(f"this llvmlite has no {triple}")
    module = llvm.parse_assembly(llvm_text(program, 1))
    machine = target.create_target_machine(cpu=cpu, opt=2, jit=True)
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=1))
    builder.getModulePassManager().run(module, builder)
    assembly = machine.emit_assembly(module)
    named = set(re.findall(r"^\s+(?:(?:callq?|jmp|bl?)\s+|movabsq\s+\$|adrp\s+\w+, )_?([A-Za-z_]\w*)", assembly, re.MULTILINE))
    defined = set(re.findall(r"^_?([A-Za-z_]\w*):", assembly, re.MULTILINE))
    far = {name for name in named - defined if not CONSTANT.match(name)}
    assert {"atan2", "asin", "exp", "pow"} <= far <= KNOWN


def np_all(q):
    """Every function of the C library that an equation can call, of one number."""
    import numpy as np

    x = q[0]
    return np.exp(np.arctan2(x, 2.0)) + np.arcsin(x) + np.tanh(x) + np.log(x + 2.0) + np.sin(x) * np.cos(x) + (x + 2.0) ** 1.3
