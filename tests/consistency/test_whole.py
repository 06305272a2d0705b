"""Functions of whole arrays as loops: against the same functions of floats, interpreted and in machine code on lanes."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, library
from hydromechs.actuation import ElasticJoints
from hydromechs.compiler import Argument, Compiled, Recipe

INPUTS = (Argument("t", ()), Argument("q", (6,)), Argument("y", (5,)))
OUTPUTS = (Argument("a", (5,)), Argument("q", (13,)), Argument("c", ()), Argument("d", (2, 5)), Argument("e", (3,)))
DOUBLED = compiler.trace(lambda x: 2.0 * x, {"x": (3,)}, name="doubled", outputs=("y",))


def step(t, q, y):
    """Sums, stretches, joins, a call; a result with the name of an argument."""
    (twice,) = compiler.call(DOUBLED, (q - t)[1:4])
    rows = np.stack([y, -y * 0.5])
    return 2.0 * y + t * q[:5] - 1.0, np.concatenate([np.zeros(2), q / 3.0, y]), 1.0 - t / 2.0, rows, twice


def test_wholes_equal_floats():
    loops = compiler.trace_whole(step, INPUTS, OUTPUTS, name="step")
    code = Compiled(Recipe("step", None, INPUTS, OUTPUTS, None, lambda: loops), 4, 1)
    rng = np.random.default_rng(3)
    worlds = [rng.normal(size=(6, *a.shape)) for a in INPUTS]
    batch = code(worlds)
    for k in range(6):
        one = [x[k] for x in worlds]
        for want, inside, single, side in zip(step(*one), loops(*one), code(one), batch, strict=True):
            for got in (inside, single, side[k]):
                np.testing.assert_allclose(got, want, rtol=0, atol=1e-15)


def test_what_is_no_whole_is_refused():
    for function, words in (
        (lambda t, q, y: q + y, r"arrays of shapes \(6,\) and \(5,\) do not fit together"),
        (lambda t, q, y: q[::2], "a stretch must go entry by entry"),
        (lambda t, q, y: q[1], "only stretches of arrays"),
        (lambda t, q, y: np.concatenate([q, np.arange(3.0)]), "an array of different numbers cannot be part of a whole"),
        (lambda t, q, y: y, r"a has shape \(5,\), must have \(6,\)"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            compiler.trace_whole(function, INPUTS, (Argument("a", (6,)),))


def test_the_code_of_a_step_does_not_grow_with_the_mechanism():
    """Text of the loops without their tables, for two umbilicals with springs."""

    def length(n):
        model = library.umbilical(n, length=float(n))
        springs = ElasticJoints(joints=tuple(model.body_names))
        plant = hm.Plant(model=model, components=(springs,), form="rolled")
        text = hm.Simulation(plant)._programs.stepper.march._text(8)
        return len([line for line in text.splitlines() if "constant [" not in line])

    assert length(4) == length(12)


def test_springs_in_loops_equal_straight_line_code():
    """An umbilical in a current, all that is recorded: 1e-10 of each variable's largest value."""
    model = library.umbilical(2, length=4.0)
    records = []
    for form in ("specialised", "rolled"):
        plant = hm.Plant(
            model=model,
            components=(ElasticJoints(joints=tuple(model.body_names)),),
            environment=hm.Environment(current=hm.hydro.Current(velocity=(0.5, 0.2, 0.0))),
            form=form,
        )
        records.append(hm.Simulation(plant, step=1e-3, record=0.02).run(0.1).recording)
    assert set(records[0].data_vars) == set(records[1].data_vars)
    for name, expected in records[0].data_vars.items():
        y = np.asarray(expected, dtype=float)
        scale = max(1.0, np.abs(y).max(initial=0.0))
        np.testing.assert_allclose(np.asarray(records[1][name], dtype=float), y, rtol=0, atol=1e-10 * scale, err_msg=name)
    assert records[1].elastic_energy[-1] > 0.0
