"""The exported C against the Python functions: strict compilation, results, NaN, names that C does not like, the command."""

import ctypes
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.cli import main
from hydromechs.compiler import Case, SourceFile, SourceFunction, trace
from hydromechs.compiler._c_calls import c_literal
from hydromechs.compiler._c_text import c_header, c_source, c_test
from hydromechs.equations import FUNCTIONS, export_source, shape_of
from hydromechs.spatial import maximum, minimum, where

CC = shutil.which("gcc") or shutil.which("cc")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
EPS = np.finfo(float).eps

pytestmark = pytest.mark.skipif(CC is None, reason="no C compiler (gcc or cc) on this machine")


def compile_c(*arguments):
    result = subprocess.run([CC, *STRICT, *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def models():
    trees = [library.random_tree(np.random.default_rng(100 + k), max_bodies=4) for k in range(2)]
    return [library.load(name) for name in ("bluerov2_heavy_alpha5", "puma560")] + trees


def random_configuration(model, rng):
    """The initial configuration, its numbers shaken and its quaternions unit."""
    q = model.initial().q
    for body, at in zip(model.bodies, model.q_slices, strict=True):
        if body.joint.kind in ("revolute", "prismatic"):
            q[at] = rng.uniform(-2, 2)
    return q


def call(shared, name, inputs, shapes):
    """Call a C function with flat arrays; its results."""
    outs = [np.empty(shape) for shape in shapes]
    arrays = [np.ascontiguousarray(x) for x in inputs] + outs
    getattr(shared, name)(*(ctypes.c_void_p(a.ctypes.data) for a in arrays))
    return outs


NAMES = ("forward_dynamics", "inverse_dynamics", "mass_matrix", "kinematics", "forward_dynamics_in_flow")


@pytest.mark.parametrize("model", models(), ids=lambda m: f"{m.name}-{m.nv}")
def test_models(model, tmp_path):
    """Results agree to 1e-12 of the largest, accelerations to what the condition of M leaves; NaN comes through."""
    _, source, test = export_source(model, tmp_path, NAMES)
    compile_c("-O1", "-fPIC", "-c", source, "-o", tmp_path / "model.o")
    compile_c("-O1", tmp_path / "model.o", test, "-lm", "-o", tmp_path / "check")
    check = subprocess.run([tmp_path / "check"], capture_output=True, text=True)
    assert check.returncode == 0 and "BAD" not in check.stdout and "agree" in check.stdout, check.stdout
    compile_c("-shared", tmp_path / "model.o", "-lm", "-o", tmp_path / "model.so")
    shared = ctypes.CDLL(str(tmp_path / "model.so"))
    rng = np.random.default_rng(5)
    for _ in range(3):
        q = random_configuration(model, rng)
        closeness = 200 * EPS * np.linalg.cond(hm.mass_matrix(model, q))
        for name in NAMES:
            recipe = FUNCTIONS[name]
            shapes = {x: shape_of(x, model) for x in recipe.inputs}
            inputs = {x: q if x == "q" else rng.normal(size=shape) for x, shape in shapes.items()}
            expected = recipe.function(model, **inputs)
            expected = expected if isinstance(expected, tuple) else (expected,)
            results = call(shared, f"{source.stem}_{name}", inputs.values(), [y.shape for y in expected])
            tolerance = max(1e-12, closeness) if "vdot" in recipe.outputs else 1e-12
            for ours, reference in zip(results, expected, strict=True):
                scale = np.abs(reference).max(initial=0)
                np.testing.assert_allclose(ours, reference, rtol=0, atol=tolerance * scale, err_msg=name)
            if name != "mass_matrix":  # which may depend on nothing
                for x in inputs.keys() & {"v", "tau", "vdot"}:
                    broken = inputs | {x: np.full(model.nv, np.nan)}
                    results = call(shared, f"{source.stem}_{name}", broken.values(), [y.shape for y in expected])
                    assert any(np.isnan(y).any() for y in results), f"{name}: NaN in {x} is lost"


class Sphere:
    """Custom hydrodynamics, with an operation that the library's models do not use."""

    def added_mass(self, body, motion):
        return 30.0 * np.eye(6)

    def wrench(self, body, motion):
        wet = 0.5 + 0.5 * np.tanh(motion.depth / 0.2)
        return np.concatenate([wet * 5.0 * motion.a_fg - 3.0 * motion.velocity[:3], np.zeros(3)])


def test_custom_hydrodynamics(tmp_path):
    body = hm.Body(name="ball */", inertia=hm.Inertia(mass=2.0, tensor=(0.1, 0.2, 0.3, 0, 0, 0)), hydro=Sphere())
    _, source, test = export_source(hm.Model(name="math", bodies=[body]), tmp_path)
    assert source.name == "math_model.c" and "tanh(" in source.read_text()
    compile_c("-O2", source, test, "-lm", "-o", tmp_path / "check")
    result = subprocess.run([tmp_path / "check"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


def every_operation(y0, double):
    """A function with all kinds of operations, of arguments whose names C keeps for itself."""
    a, b, c = y0
    return np.array(
        [
            where(a < b, a, b), where(a <= b, c, a), where(a == b, 1.5, c), where(a != b, a, 2.5), maximum(a, b), minimum(a, -1.0),
            np.sqrt(a * a + 1e-300), np.tan(a), np.exp(b), np.log(a * a), np.tanh(c), np.arctan(b), np.sinh(a), np.cosh(b),
            np.arcsin(0.1 * a), np.arccos(0.1 * b), np.sin(a) * np.cos(a), np.sin(b), np.cos(c), abs(c), -a, a / b, (a * a) ** 0.3,
            double * a - 1e300, -0.0 * double + 1.0 / 3.0, where(c < 0.0, 0.0, 1e-320), np.arctan2(a, b),
        ]
    )  # fmt: skip


def file_of(function, shapes, name="odd", **options):
    program = trace(function, shapes, name="every", outputs=("t1",))
    return program, SourceFile(name, (SourceFunction(program, **options),), about=("*/ int x; /* ??/", "a\\", "水 °²\nnew"))


def test_every_operation(tmp_path):
    program, file = file_of(every_operation, dict(y0=(3,), double=()), purpose="*/ evil /*", notes={"t1": "100 %s ??/"})
    rng = np.random.default_rng(3)
    cases = [rng.normal(size=3) for _ in range(20)] + [np.array(x) for x in ((1.0, 1.0, 0.0), (-1.0, 2.0, -3.0))]
    cases = [(x, np.float64(rng.normal())) for x in cases]
    with np.errstate(all="ignore"):
        checks = [Case(x, program(*x), 1e-13) for x in cases]
    (tmp_path / "odd.h").write_text(c_header(file))
    (tmp_path / "odd.c").write_text(c_source(file))
    (tmp_path / "odd_test.c").write_text(c_test(file, {"every": checks}))
    for text in (c_header(file), c_source(file), c_test(file, {"every": checks})):
        assert text.isascii()
    compile_c("-O2", tmp_path / "odd.c", tmp_path / "odd_test.c", "-lm", "-o", tmp_path / "odd")
    result = subprocess.run([tmp_path / "odd"], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
    compile_c("-O2", "-fPIC", "-shared", tmp_path / "odd.c", "-lm", "-o", tmp_path / "odd.so")
    shared = ctypes.CDLL(str(tmp_path / "odd.so"))
    for x in cases:
        # entry by entry: 3 ulp for the functions of two C libraries
        np.testing.assert_allclose(call(shared, "odd_every", x, [(27,)])[0], program(*x)[0], rtol=2e-15)
    if cpp := shutil.which("g++"):
        (tmp_path / "use.cpp").write_text('#include "odd.h"\nint main() { return 0; }\n')
        subprocess.run([cpp, "-Wall", "-Wextra", "-Werror", "-pedantic", "-c", "use.cpp"], cwd=tmp_path, check=True)


def test_a_wrong_result_is_reported(tmp_path):
    """The check ends with 1 for a number that is off by 1e-11, and for NaN."""
    _, file = file_of(lambda x: 2.0 * x, dict(x=(2,)), name="wrong")
    for k, bad in enumerate((2.0 + 3e-11, np.nan)):
        (tmp_path / "wrong.h").write_text(c_header(file))
        (tmp_path / "wrong.c").write_text(c_source(file))
        (tmp_path / "test.c").write_text(c_test(file, {"every": [Case((np.array([1.0, 0.5]),), (np.array([bad, 1.0]),))]}))
        compile_c(tmp_path / "wrong.c", tmp_path / "test.c", "-lm", "-o", tmp_path / f"wrong{k}")
        result = subprocess.run([tmp_path / f"wrong{k}"], capture_output=True, text=True)
        assert result.returncode == 1 and "BAD" in result.stdout and "DIFFER" in result.stdout


def test_unused_arguments_and_results_in_place(tmp_path):
    """A parameter that nothing depends on compiles without a warning; results may overwrite arguments."""
    _, file = file_of(lambda x, y, z: np.array([x[1], x[0] + x[1], 3.0]), dict(x=(3,), y=(2,), z=(0,)), name="part")
    (tmp_path / "part.h").write_text(c_header(file))
    (tmp_path / "part.c").write_text(c_source(file))
    compile_c("-fPIC", "-shared", tmp_path / "part.c", "-o", tmp_path / "part.so")
    shared = ctypes.CDLL(str(tmp_path / "part.so"))
    x = np.array([1.0, 2.0, 9.0])
    p = ctypes.c_void_p(x.ctypes.data)
    shared.part_every(p, None, None, p)
    np.testing.assert_array_equal(x, [2.0, 3.0, 3.0])


def test_literals_are_exact():
    rng = np.random.default_rng(0)
    values = [*rng.normal(size=50), *np.exp(rng.normal(size=50, scale=200)), 5e-324, 1.7976931348623157e308, 0.0, 1e16, 0.1]
    for value in values:
        text = c_literal(float(value), "double")
        assert float(text.strip("()")) == value and re.search(r"[.e]", text)
        text = c_literal(-float(value), "float")
        assert text.strip("()").endswith("f") or "INFINITY" in text
    assert c_literal(1e-300, "float") == "1.1754944e-38f"
    assert c_literal(np.nan, "double") == "NAN" and c_literal(-np.inf, "float") == "(-INFINITY)"


@pytest.fixture
def run(monkeypatch, capsys):
    """Run `hydromechs` with arguments: status, stdout, stderr."""

    def command(*arguments):
        monkeypatch.setenv("COLUMNS", "1000")
        monkeypatch.setattr(sys, "argv", ["hydromechs", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code or 0, *capsys.readouterr()

    return command


def test_command(run, tmp_path):
    """The files are there, and the printed command compiles and runs the check; a second export writes over the first."""
    folder = tmp_path / "my export"
    for functions in ("mass_matrix", "mass_matrix,kinematics,energy,jacobian:tool"):
        name = "puma560"
        functions = functions.replace("tool", library.load(name).body_names[-1])
        status, out, err = run("export", name, "--format", "c", "--out", folder, "--functions", functions)
        assert (status, err) == (0, "")
    header = (folder / f"{name}.h").read_text()
    for body in library.load(name).body_names:
        assert f" {body} (" in header
    assert "[rad/s]" in header and "multiplications" in header and f"void {name}_energy(" in header
    line = out.splitlines()[-1].replace("cc ", f"{CC} ", 1)
    result = subprocess.run(line, shell=True, capture_output=True, text=True)
    assert result.returncode == 0 and "all results agree" in result.stdout


def test_command_errors(run, tmp_path):
    status, _, err = run("export", "puma560", "--out", tmp_path, "--functions", "forward_dynamics,inverse")
    assert status == 2 and "'inverse'" in err and "momentum" in err and "jacobian:NAME" in err
    status, _, err = run("export", "puma560", "--out", tmp_path, "--format", "fortran")
    assert status == 2 and "unknown format 'fortran'; choose one of c" in err
    (tmp_path / "file").write_text("")
    status, _, err = run("export", "puma560", "--out", tmp_path / "file" / "x", "--functions", "mass_matrix")
    assert status == 1 and f"error: cannot write {tmp_path}/file" in err
    (tmp_path / "puma560.c").write_text("int mine;\n")
    status, _, err = run("export", "puma560", "--out", tmp_path, "--functions", "mass_matrix")
    assert status == 1 and "was not written by HydroMechs" in err
    assert (tmp_path / "puma560.c").read_text() == "int mine;\n" and not (tmp_path / "puma560.h").exists()
