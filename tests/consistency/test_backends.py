"""The interface of back ends: one class and one row are enough for worlds, exports and commands."""

import numpy as np
import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs import compiler, library
from hydromechs.cli._main import app
from hydromechs.compiler import BACKENDS, NATIVE, TARGETS, Arrays, Backend, Form, trace
from hydromechs.compiler._operations import KINDS
from hydromechs.equations import FORMATS, export_source


class Interpreter(Backend):
    """Evaluates the operations of a program one by one, world after world."""

    key = target = "interpreter"
    about = "one operation at a time"

    def source(self, program, form, precision="float64"):
        return str(self._straight(program))

    def arrays(self, precision):
        return Arrays()

    def caller(self, code, precision):
        def call(arrays):
            worlds = max(len(x) for x in arrays)
            rows = [code.traced(*(x[k if len(x) > 1 else 0] for x in arrays)) for k in range(worlds)]
            return [np.array(column) for column in zip(*rows, strict=True)]

        return call

    def marcher(self, march, precision):
        def go(state, inputs, frozen, steps, stride):
            good = np.zeros(len(state[0]))
            for k in np.flatnonzero(~frozen):
                for _ in range(steps):
                    new = march.traced(*(x[k] for x in state), *(x[k if len(x) > 1 else 0] for x in inputs))
                    for x, y in zip(state, new, strict=True):
                        x[k] = y
                    good[k] += 1
            return [np.zeros((len(x), 0, *x.shape[1:])) for x in state], good

        return go


def test_one_class_and_one_row_run_worlds(monkeypatch):
    """Worlds on a back end that the package does not know: as the CPU, to rounding."""
    monkeypatch.setitem(TARGETS, "interpreter", Interpreter())
    model = library.load("bluerov2_heavy_alpha5")
    ends = []
    for target in (NATIVE.target, "interpreter"):
        worlds = hm.Worlds(model, 2, step=1e-2, method="semi_implicit_euler", target=target)
        worlds.v[:] = 0.1 * np.arange(model.nv)
        worlds.step(np.ones(model.nv), 3)
        assert f" s, {target}>" in repr(worlds) and not worlds.frozen.any()
        ends.append(np.concatenate([worlds.q, worlds.v, worlds.t[:, None]], axis=1))
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-11)
    with pytest.raises(
        hm.UnsupportedFeature, match=r"'b4pc5' is .* target 'interpreter' does not support; use one of euler.*rk4"
    ):
        hm.Worlds(model, 1, method="b4pc5", target="interpreter")
    with pytest.raises(ValueError, match="precision is 'float32', which target 'interpreter' does not support; use 'float64'"):
        hm.Worlds(model, 1, precision="float32", target="interpreter")


def test_back_ends_write_the_same_program():
    program = trace(lambda x: np.sqrt(x * x + 2.0), {"x": (3,)}, name="roots")
    for key, backend in BACKENDS.items():
        assert backend.key == key and "sqrt" in backend.source(program, Form())
    assert {"llvm", "c"} == set.intersection(*(set(kind.dialects) for kind in KINDS.values()))


def test_what_a_back_end_cannot_do_names_it():
    """Only some make machine code, run worlds or write files."""
    with pytest.raises(hm.UnsupportedFeature, match="back end 'c' does not run worlds"):
        BACKENDS["c"].arrays("float64")
    with pytest.raises(hm.UnsupportedFeature, match="back end 'cuda' does not write files"):
        BACKENDS["cuda"].files(compiler.SourceFile("x", ()), {})
    with pytest.raises(hm.UnsupportedFeature, match="back end 'interpreter' does not generate machine code"):
        Interpreter().build("", Form())
    with pytest.raises(ValueError, match="target is 'wasm', must be one of cpu, cuda"):
        hm.Worlds(library.load("puma560"), 1, target="wasm")
    with pytest.raises(ValueError, match="format is 'cuda', must be one of c"):
        export_source(library.load("puma560"), "nowhere", format="cuda")


def test_lists_in_help_texts_are_those_of_the_table():
    shown = " ".join(CliRunner().invoke(app, ["bench", "worlds", "--help"]).output.split())
    for name, backend in TARGETS.items():
        assert f"{name}: {backend.about}" in shown
    shown = " ".join(CliRunner().invoke(app, ["export", "--help"]).output.split())
    for key in FORMATS:
        assert f"{key}: {BACKENDS[key].about}" in shown
