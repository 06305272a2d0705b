"""Functions of whole arrays as loops: against the same functions of floats, interpreted and in machine code on lanes."""

from dataclasses import dataclass

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, library
from hydromechs.actuation import JointSpring
from hydromechs.compiler import Argument, Compiled, Recipe
from hydromechs.compiler._backends import NATIVE

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


def test_what_is_not_an_integer_is_rejected():
    for function, words in (
        (lambda t, q, y: q + y, r"shapes \(6,\) and \(5,\) do not broadcast"),
        (lambda t, q, y: q[::2], "a slice has step 2; use step 1"),
        (lambda t, q, y: q[1], "use slices of one-dimensional arrays"),
        (lambda t, q, y: np.concatenate([q, np.arange(3.0)]), "cannot contain an array of different numbers"),
        (lambda t, q, y: y, r"a has shape \(5,\); return an array of shape \(6,\)"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            compiler.trace_whole(function, INPUTS, (Argument("a", (6,)),))


def test_the_code_of_a_step_does_not_grow_with_the_mechanism():
    """Text of the loops without their tables, for two umbilicals with springs."""

    def length(n):
        model = library.umbilical(n, length=float(n))
        springs = JointSpring(joints=tuple(model.body_names))
        plant = hm.Plant(model=model, components=(springs,), form="rolled")
        march = hm.Simulation(plant)._programs.stepper.march
        text = NATIVE.source(march.program_on(8), march.form(8))
        return len([line for line in text.splitlines() if "constant [" not in line])

    assert length(4) == length(12)


def test_springs_in_loops_equal_straight_line_code():
    """An umbilical in a current, all that is recorded: 1e-10 of each variable's largest value."""
    model = library.umbilical(2, length=4.0)
    records = []
    for form in ("specialised", "rolled"):
        plant = hm.Plant(
            model=model,
            components=(JointSpring(joints=tuple(model.body_names)),),
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


@dataclass(frozen=True)
class Twice(hm.model.component.InJoints):
    """Two springs in the first link, one in the second."""

    name: str = "springs"

    def joint_names(self, model):
        return ["link1", "link1", "link2"]

    def numbers(self, model):
        return np.array([[3.0], [3.0], [1.0]])

    def law(self, q, v, numbers):
        return hm.model.component.Law(tau=-numbers * (q - 0.5), energy=0.5 * numbers[0] * (q[0] - 0.5) ** 2, power=0.0)


class Pushed(Twice):
    """A push besides."""

    def act(self, now, z, u):
        law, joint = super().act(now, z, u), now.joint("link2")
        return hm.Action(
            joint_forces=(*law.joint_forces, joint.force(np.array([5.0]))),
            energy=law.energy,
            power=law.power + 5.0 * joint.v[0],
        )


class Mixed(Twice):
    """Dampers in joints of different size."""

    def joint_names(self, model):
        return ["link1", "vehicle"]

    def numbers(self, model):
        return np.ones((2, 1))

    def law(self, q, v, numbers):
        return hm.model.component.Law(
            tau=-numbers[0] * np.asarray(v), energy=0.0, power=-numbers[0] * (np.asarray(v) @ np.asarray(v))
        )


class Nowhere(Twice):
    """No joints."""

    def joint_names(self, model):
        return ()

    def numbers(self, model):
        return np.zeros((0, 1))


@pytest.mark.parametrize("component", [Twice, Pushed, Mixed, Nowhere])
def test_laws_in_joints_that_a_loop_cannot_hold(component):
    """They run as all components do: the same motion, and energy that closes, whatever the form."""
    model = library.serial_chain(2)
    start = model.initial()
    ends = []
    for form in ("specialised", "rolled"):
        plant = hm.Plant(model=model, components=(component(),), form=form)
        run = hm.Simulation(plant, step=1e-3, state=hm.State(q=start.q, v=start.v + 0.3)).run(0.1)
        assert abs(run.recording.energy_residual).max() < 1e-6
        ends.append(run.state)
    np.testing.assert_allclose(ends[0].q, ends[1].q, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ends[0].v, ends[1].v, rtol=0, atol=1e-11)
