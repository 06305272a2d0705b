"""Programs for one world at a time: sums and operations in another order, sines side by side, the same numbers."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler
from hydromechs.compiler import Argument, Compiled, Recipe, trace
from hydromechs.compiler._short_waits import FUSED, LATENCY, short_waits
from hydromechs.dynamics import velocity_force
from hydromechs.spatial import force_cross, skew

EPS = np.finfo(float).eps
INNER = trace(lambda x: np.array([np.sin(x[0]) * x[1], x[0] - x[1]]), {"x": (2,)}, name="inner")


def sums(x):
    """Sums with terms of both signs, known early and late, some of them results of a call."""
    y = compiler.call(INNER, np.array([x[0] / x[1], x[2]]))[0]
    late = np.sqrt(x[0] * x[0] + 1.0) / (x[1] + 3.0)
    shared = x[3] * x[4]
    return np.array(
        [
            late + x[0] * x[1] + (x[2] * x[3] - (x[4] - x[5] * x[0])) + y[0] * y[1],
            -(late * y[0]) - x[1] * x[2] - shared,
            shared + shared - (-x[0] - x[1]),
            x[5] - late - y[1],
        ]
    )


def longest_chain(program):
    """Cycles along the longest chain of operations that wait for each other, with products fused into sums."""
    operations, known = program.operations, []
    for op in operations:
        at = [known[x] for x in (op.a, op.b) if x >= 0]
        fused = [x for x in (op.a, op.b) if op.kind in ("add", "sub") and operations[x].kind == "mul"]
        late = max(at, default=0) + LATENCY.get(op.kind, 20)
        if fused:
            k = max(fused, key=lambda x: known[x])
            others = [known[x] for x in (op.a, op.b) if x != k]
            late = min(late, max(known[k] - LATENCY["mul"], *others) + FUSED) if others else late
        known.append(late)
    return max(known[x] for row in program.results for x in row)


def operands(program, op):
    return [x for row in program.calls[op.value].arguments for x in row] if op.kind == "call" else [op.a, op.b]


@pytest.fixture(scope="module")
def tree():
    """Forward dynamics of a vehicle with an arm in water."""
    return hm.compile(hm.load("tiburon_titan2")).program("forward_dynamics")


def test_sums_in_the_order_of_their_terms():
    """The same numbers to rounding, with no product or sum more, operands before what needs them; calls stay calls."""
    program, rng = trace(sums, {"x": (6,)}), np.random.default_rng(0)
    ordered, _ = short_waits(program)
    assert ordered.count() == program.count() and len(ordered.calls) == len(program.calls) == 1
    for k, op in enumerate(ordered.operations):
        assert all(x < k for x in operands(ordered, op))
    for x in rng.normal(size=(20, 6)):
        np.testing.assert_allclose(ordered(x)[0], program(x)[0], rtol=1e-13, atol=1e-13)


def test_a_sum_waits_for_its_last_term_only():
    """The term that is known last is added last, wherever it stands."""
    program = trace(lambda x: np.sqrt(x[0]) + x[1] * x[2] + x[3] * x[4] + x[5] * x[6] + x[7], {"x": (8,)})
    assert longest_chain(program) >= LATENCY["sqrt"] + 3 * FUSED
    assert longest_chain(short_waits(program).program) == LATENCY["sqrt"] + LATENCY["add"]


def test_forward_dynamics_has_a_shorter_chain(tree):
    """A sixth less of waiting at least in a whole mechanism, the same accelerations."""
    ordered, rng = short_waits(tree).program, np.random.default_rng(1)
    assert longest_chain(ordered) < 5 / 6 * longest_chain(tree)
    assert ordered.count().multiplications == tree.count().multiplications
    given = [rng.normal(size=a.shape) for a in tree.inputs]
    np.testing.assert_allclose(ordered(*given)[0], tree(*given)[0], rtol=1e-11, atol=1e-12)


def test_sines_and_roots_abreast(tree):
    """Angles of joints go together, four at a time, and roots of one body; operands come before the first that needs one."""
    program, abreast = short_waits(tree)
    rows = {what: sorted(len(row) for row in {r for (w, _), r in abreast.items() if w == what}) for what in ("sine", "root")}
    assert rows == {"sine": [2, 4], "root": [4] * 6}
    for k, op in enumerate(program.operations):
        what = {"sin": "sine", "cos": "sine", "sqrt": "root"}.get(op.kind)
        assert what is None or max(abreast[what, op.a]) < k


def test_what_is_known_later_does_not_hold_up():
    """An angle that needs another's sine, and a root far behind another, are computed on their own."""
    program = trace(lambda x: np.array([np.sin(np.cos(x[0]) + x[1]), np.cos(x[1]), np.sin(x[2])]), {"x": (3,)})
    assert {len(row) for row in short_waits(program).abreast.values()} == {3}
    far = trace(lambda x: np.array([np.sqrt(x[0]), np.sqrt(1.0 / (1.0 / x[1] + x[0]))]), {"x": (2,)})
    assert not short_waits(far).abreast


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7])
def test_sines_and_roots_on_one_lane(n):
    """As NumPy's, of any number of angles, nested ones too; NaN and infinity give NaN in their own place alone."""

    def function(x):
        inner = np.sin(x) * np.cos(x[::-1] + 0.25)
        return np.array([np.sin(inner + x), np.cos(x), np.sqrt(x * x), np.sqrt(np.sqrt(1.0 + inner * inner))])

    shape = (Argument("x", (n,)),), (Argument("y", (4, n)),)
    code = Compiled(Recipe("functions", function, *shape, None), 1, 1)
    x = np.random.default_rng(n).uniform(-3.0, 3.0, size=(9, n))
    np.testing.assert_allclose(code([x])[0], np.stack([function(row) for row in x]), rtol=0, atol=4 * EPS)
    x[0, 0], x[1, -1] = np.nan, np.inf
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(np.isnan(code([x])[0]), np.isnan(np.stack([function(row) for row in x])))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("offset", [0.0, 0.7])
def test_velocity_force_of_bodies_along_an_axis(axis, offset):
    """Terms that cancel are omitted: −V ×* (I V) all the same, with fewer products than the general one."""
    rng = np.random.default_rng(axis)
    h, V = offset * np.eye(3)[axis], rng.normal(size=6)
    a, d = np.full(3, 3.0), np.full(3, 2.0)
    a[axis], d[axis] = 2.5, 0.1
    I = np.block([[np.diag(a), -skew(h)], [skew(h), np.diag(d)]])
    np.testing.assert_allclose(velocity_force(I, V), -force_cross(V, I @ V), rtol=1e-14, atol=1e-14)
    special, general = (
        trace(f, {"V": (6,)}).count() for f in (lambda V: velocity_force(I, V), lambda V: -force_cross(V, I @ V))
    )
    assert special.multiplications < general.multiplications and special.additions < general.additions
