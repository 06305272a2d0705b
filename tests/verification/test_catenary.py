"""The elastic catenary: that it ends where it should, from slack to stretched, soft to stiff, at all slopes."""

import math

import numpy as np
import pytest

from hydromechs import lines
from hydromechs.compiler import Compiled, Recipe, trace
from hydromechs.compiler._callee import Argument

SLOPES = np.radians(np.concatenate([np.arange(-85.0, 86.0, 5.0), [-89.99, -89.0, 89.0, 89.99, 89.9999]]))
APART = np.concatenate(
    [[1e-3, 0.1, 0.5], 1.0 - np.logspace(-0.5, -12.0, 30), [1.0], 1.0 + np.logspace(-12.0, -math.log10(3), 30)]
)
SOFT = 10.0 ** np.arange(-8.0, 0.5)


def spans(H, V_A, V_B, k):
    """x and z of B of lines of length 1 and weight k with EA = 1 (Irvine 1981), in a form that does not cancel.

    asinh(V_B/H) − asinh(V_A/H) = 2 atanh(w L/(T_A + T_B)), T_B − T_A = w L (V_A + V_B)/(T_A + T_B)
    """
    both = np.hypot(H, V_A) + np.hypot(H, V_B)
    straight = np.minimum(k / both, 0.5)
    spread = np.where(k < 0.5 * both, 2.0 * np.arctanh(straight), np.arcsinh(V_B / H) - np.arcsinh(V_A / H))
    return H / k * spread + H, (V_A + V_B) / both + 0.5 * (V_A + V_B)


def test_it_ends_where_it_should_from_slack_to_stretched_by_a_third():
    """wL/EA from 1e-8 to 1, compiled, 23,000 lines: to 20 roundings of the length."""

    def pull(x, z, k):
        return np.array(lines.catenary_pull(x[()], z[()], 1.0, k[()], 1.0))

    program = trace(pull, {"x": (), "z": (), "k": ()}, name="pull")
    inputs, outputs = tuple(Argument(name, ()) for name in "xzk"), (Argument("result0", (3,)),)
    compiled = Compiled(Recipe("pull", None, inputs, outputs, None), 4, 1, program)
    slope, apart, k = (a.ravel() for a in np.meshgrid(SLOPES, APART, SOFT))
    x, z = apart * np.cos(slope), apart * np.sin(slope)
    H, V_A, V_B = compiled([x, z, k])[0].T
    far, high = spans(H, V_A, V_B, k)
    worst = np.argmax(np.hypot(far - x, high - z))
    assert np.hypot(far - x, high - z)[worst] < 20 * np.finfo(float).eps, (k[worst], slope[worst], apart[worst])
    np.testing.assert_allclose(V_B - V_A, k, rtol=0, atol=1e-15 * np.abs(V_B).max())


@pytest.mark.parametrize("stretch", [1.0001, 1.0005, 1.001])
def test_a_stiff_line_that_is_stretched_has_the_tension_of_a_spring(stretch):
    """100 m of EA = 2e7 N, 60° up: far from slack, T in its middle is EA times the stretch, less 1/24 (wL cos/T)²."""
    x, z = 100.0 * stretch * math.cos(math.pi / 3), 100.0 * stretch * math.sin(math.pi / 3)
    H, V_A, V_B = lines.catenary_pull(x, z, 100.0, 10.0, 2e7)
    T = math.hypot(H, 0.5 * (V_A + V_B))
    sag = (1000.0 * math.cos(math.pi / 3) / T) ** 2 / 24.0
    assert pytest.approx(2e7 * (stretch - 1.0 + sag), rel=5e-3) == T  # the next term is (wL/T)² of the second


def test_its_pull_has_no_step_at_the_vertical():
    """H goes to 0 with the distance, in proportion where the line is taut: T x/L."""
    for x in (0.0, 1e-9, 1e-7, 1e-4, 1e-2):
        taut = lines.catenary_pull(x, 10.1, 10.0, 2.0, 1e4)
        assert pytest.approx(x / (10.0 * np.log(taut.V_B / taut.V_A) / 20.0 + 10.0 / 1e4), rel=1e-3) == taut.H
        slack = lines.catenary_pull(x, 5.0, 10.0, 2.0, 1e4)
        assert (slack.H == 0.0) == (x == 0.0) and 0.0 <= slack.H <= x
    far, high = lines.catenary_shape(lines.catenary_pull(0.0, 5.0, 10.0, 2.0, 1e4), np.array([5.0, 10.0]), 2.0, 1e4)
    np.testing.assert_allclose(far, 0.0)
    assert high[-1] == pytest.approx(5.0)
