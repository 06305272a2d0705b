"""Arms at and near singular configurations that hold a load (thesis ch. 4) against pseudo-inverse solutions of all equations at once.

The arms are PUMA 560: joint 5 at 0 aligns the axes of joints 4 and 6 (wrist), joint 3 at atan(a_3 / d_4) − 90° stretches the elbow.
"""

import itertools
from typing import NamedTuple

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, dynamics
from hydromechs.equations import balance
from hydromechs.scenario import ModelStart, assemble
from hydromechs.spatial import Path, Turn, pivoted_solve, quaternion_from_matrix, quaternion_matrix

PUMA = hm.load("puma560")
JOINTS = [b.name for b in PUMA.bodies if isinstance(b.joint, hm.joints.Revolute)]
LOAD = hm.Model(
    name="load",
    world=PUMA.world,
    bodies=[
        hm.Body(
            name="load",
            joint=hm.joints.Free(),
            inertia=hm.Inertia(mass=4.0, com=(0.02, -0.03, 0.05), tensor=(0.12, 0.15, 0.2, 0.01, 0.02, -0.01)),
        )
    ],
)


class Arm(NamedTuple):
    """A PUMA on a base at p with axes R."""

    R: np.ndarray
    p: np.ndarray
    q: np.ndarray

    @property
    def tool(self):
        X = hm.frame_pose(PUMA, self.q, "tool")
        return self.R @ X[:3, :3], self.p + self.R @ X[:3, 3]

    @property
    def lost(self):
        """Wrench at the world's origin, in its axes, that the arm bears without any joint feeling it; and the least singular value."""
        J = hm.jacobian(PUMA, self.q, "tool")
        U, size, _ = np.linalg.svd(J)
        R, p = self.tool
        f, n = R @ U[:3, -1], R @ U[3:, -1]
        return np.concatenate([f, n + np.cross(p, f)]), size[-1]

    def facing(self, along: float, turn: float):
        """The same arm after half a turn about an axis that meets the axis of its lost wrench at a right angle: it loses the same."""
        F, _ = self.lost
        f, n = F[:3], F[3:]
        e = f / np.linalg.norm(f)
        x = np.cross(e, [0.3, 0.5, -0.8])
        x /= np.linalg.norm(x)
        axis = np.cos(turn) * x + np.sin(turn) * np.cross(e, x)
        point = np.cross(f, n) / (f @ f) + along * e
        H = 2.0 * np.outer(axis, axis) - np.eye(3)
        return Arm(H @ self.R, point + H @ (self.p - point), self.q)


def rotation(rng):
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.linalg.det(Q)


def stretched() -> float:
    """Angle of joint 3 at which the wrist is furthest from the shoulder [rad]: det J changes its sign there."""

    def determinant(q3):
        return np.linalg.det(hm.jacobian(PUMA, [0.1, 0.2, q3, 0.3, 0.9, 0.2], "tool"))

    low, high = next((a, a + 0.1) for a in np.arange(-3.1, 3.1, 0.1) if determinant(a) * determinant(a + 0.1) < 0.0)
    while high - low > 1e-16 * abs(low) and low < 0.5 * (low + high) < high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if determinant(low) * determinant(middle) > 0.0 else (low, middle)
    return low


STRETCHED = stretched()


def random_arm(rng, kind: str) -> Arm:
    """An arm that is "regular", at a "wrist" singularity or at an "elbow" one."""
    q = np.array([*rng.uniform(-1, 1, 2), STRETCHED + rng.uniform(0.8, 1.2), *rng.uniform(0.5, 1, 3)])
    if kind == "wrist":
        q[4] = 0.0
    if kind == "elbow":
        q[2] = STRETCHED
    return Arm(rotation(rng), rng.normal(size=3), q)


class Held(NamedTuple):
    """Arms and load in a state that fits the grasps."""

    model: hm.Model
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    holdings: list
    J: np.ndarray
    drift: np.ndarray

    def open_chains(self):
        return dynamics.open_chains(*self._arguments())

    def solve(self, **options):
        return dynamics.singular_chain_dynamics(*self._arguments(), **options)

    def _arguments(self):
        b, _ = balance(self.model, self.q, self.v)
        load = self.model.body_index("load.load")
        return self.model, b, self.tau, load, self.holdings

    def pseudo_inverse(self):
        """v̇ = v̇_free − M⁻¹ Jᵀ (J M⁻¹ Jᵀ)⁺ (J v̇_free + J̇ v), and the forces of least norm."""
        M = hm.mass_matrix(self.model, self.q)
        free = hm.forward_dynamics(self.model, self.q, self.v, self.tau)
        A = self.J @ np.linalg.solve(M, self.J.T)
        f = np.linalg.pinv(A, rcond=1e-12, hermitian=True) @ (self.J @ free + self.drift)
        return free - np.linalg.solve(M, self.J.T @ f), f

    def balanced(self, vdot, forces) -> float:
        """Largest residual of M (v̇ − v̇_free) + Jᵀ f, over the largest force."""
        M = hm.mass_matrix(self.model, self.q)
        free = hm.forward_dynamics(self.model, self.q, self.v, self.tau)
        f = np.concatenate(forces)
        return np.abs(M @ (vdot - free) + self.J.T @ f).max() / np.abs(f).max()


def held(arms, pose, *, q_dot=None, still: bool = False, seed: int = 0) -> Held:
    """The load at a pose, gripped by the tools where they are. Rates: random ones that fit, none, or `q_dot` of the first arm."""
    rng = np.random.default_rng(seed)
    starts = [
        ModelStart(
            model=PUMA, name=f"a{k}", position=tuple(a.p), orientation=tuple(quaternion_from_matrix(a.R)),
            joints=dict(zip(JOINTS, a.q.tolist(), strict=True)),
        )
        for k, a in enumerate(arms)
    ]  # fmt: skip
    R_L, p_L = pose
    starts.append(ModelStart(model=LOAD, name="load", position=tuple(p_L), orientation=tuple(quaternion_from_matrix(R_L))))
    model, state = assemble(starts)
    kin = dynamics.kinematics(model, state.q, np.zeros(model.nv))
    load = model.body_index("load.load")
    holdings, rows = [], []
    for k in range(len(arms)):
        i, frame = model.frames[f"a{k}.tool"]
        R, p = frame.origin.R, np.array(frame.origin.xyz)
        R_g = kin.R_WB[load].T @ kin.R_WB[i] @ R
        p_g = kin.R_WB[load].T @ (kin.p_WB[i] + kin.R_WB[i] @ p - kin.p_WB[load])
        holdings.append(dynamics.Holding(i, Path((Turn(R, p),)), Path((Turn(R_g, p_g),))))
        on_load = np.kron(np.eye(2), R_g.T)
        rows.append((hm.jacobian(model, state.q, f"a{k}.tool"), on_load @ hm.jacobian(model, state.q, "load.load", p_g)))
    J = np.concatenate([a - b for a, b in rows])
    v = np.zeros(model.nv)
    if q_dot is not None:  # the first arm leads, the load follows, regular arms follow the load
        v[:6] = q_dot
        v[-6:] = np.linalg.solve(rows[0][1][:, -6:], rows[0][0][:, :6] @ q_dot)
        for k, (J_k, X_k) in enumerate(rows[1:], start=1):
            v[6 * k : 6 * k + 6] = np.linalg.solve(J_k[:, 6 * k : 6 * k + 6], X_k[:, -6:] @ v[-6:])
    elif not still:
        v = rng.normal(size=model.nv)
        v = v - np.linalg.pinv(J, rcond=1e-10) @ (J @ v)
    drift = []
    for k, h in enumerate(holdings):
        R_g, p_g = h.load_path.pose()
        on_load = np.kron(np.eye(2), R_g.T) @ hm.equations.bias_acceleration(model, state.q, v, "load.load", p_g)
        drift.append(hm.equations.bias_acceleration(model, state.q, v, f"a{k}.tool") - on_load)
    return Held(model, state.q, v, 5.0 * rng.normal(size=model.nv), holdings, J, np.concatenate(drift))


POSE = (quaternion_matrix([0.8, 0.36, -0.48, 0.0]), np.array([0.1, 0.2, -0.3]))
KINDS = [
    ("wrist", "regular", "regular", "regular"),
    ("regular", "elbow", "regular", "regular"),
    ("regular", "wrist", "elbow", "regular"),
    ("elbow", "elbow", "regular", "regular"),
    ("wrist", "regular", "wrist", "elbow"),
    ("elbow", "wrist", "elbow", "wrist"),
]


@pytest.mark.parametrize("kinds", KINDS, ids="-".join)
@pytest.mark.parametrize("seed", range(2))
def test_singular_arms_of_four(kinds, seed):
    """One, two, three and all four arms are singular, each in a direction of its own: all is unique."""
    rng = np.random.default_rng([seed, KINDS.index(kinds)])
    arms = [random_arm(rng, kind) for kind in kinds]
    for arm, kind in zip(arms, kinds, strict=True):
        assert (arm.lost[1] < 1e-14) == (kind != "regular")
    case = held(arms, POSE, seed=seed)
    chains, *_ = case.open_chains()
    condition = dynamics.condition_numbers(chains)
    assert [c > 1e14 for c in condition] == [kind != "regular" for kind in kinds]
    motion, solution = case.solve()
    expected, least = case.pseudo_inverse()
    assert solution.free == 0
    np.testing.assert_allclose(motion.vdot, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    np.testing.assert_allclose(np.concatenate(motion.forces), least, rtol=0, atol=1e-7 * np.abs(least).max())
    assert case.balanced(motion.vdot, motion.forces) < 1e-11
    np.testing.assert_allclose(case.J @ motion.vdot, -case.drift, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("kind", ["wrist", "elbow"])
@pytest.mark.parametrize("together", [2, 3])
@pytest.mark.parametrize("others", [0, 1])
def test_lost_directions_that_coincide(kind, together, others):
    """Arms that lose the same wrench can press against each other as they like: accelerations are unique, forces are not."""
    rng = np.random.default_rng([together, others, kind == "wrist"])
    first = random_arm(rng, kind)
    arms = [first, first.facing(0.4, 0.3), first.facing(0.7, 1.1)][:together]
    F, _ = first.lost
    for arm in arms[1:]:
        G, size = arm.lost
        assert size < 1e-14
        np.testing.assert_allclose(G * (F @ G / (G @ G)), F, atol=1e-12)
    arms += [random_arm(rng, "regular") for _ in range(others)]
    case = held(arms, POSE, still=True)
    motion, solution = case.solve()
    expected, least = case.pseudo_inverse()
    assert solution.free == together - 1
    np.testing.assert_allclose(motion.vdot, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    assert case.balanced(motion.vdot, motion.forces) < 1e-11
    # as many force components are zero as are free, of the arms after the first singular one
    f = np.concatenate(motion.forces)
    assert np.sum(f == 0.0) == together - 1 and np.sum(np.concatenate(motion.forces[1:]) == 0.0) == together - 1
    # what differs from the forces of least norm is a force that no joint and no load feels
    assert np.abs(case.J.T @ (f - least)).max() < 1e-9 * np.abs(f).max() and np.abs(f - least).max() > 1e-3
    assert np.linalg.norm(least) <= np.linalg.norm(f)


def test_a_moving_pair_needs_one_more_condition():
    """At rest two facing arms have a solution; at most velocities that fit the grasps they have none: the second derivative does not.

    The thesis' proof of existence (4.36) takes it for granted that both tips can have the load's acceleration.
    """
    rng = np.random.default_rng(5)
    first = random_arm(rng, "elbow")
    case = held([first, first.facing(0.4, 0.3)], POSE)
    vdot, _ = case.pseudo_inverse()
    assert np.abs(case.J @ case.v).max() < 1e-13
    assert np.abs(case.J @ vdot + case.drift).max() > 1e-2


@pytest.mark.parametrize("joint", [4, 2])
def test_accelerations_are_continuous_through_a_singularity(joint):
    """A joint of the leading arm goes through the singularity, at a rate: through the change of algorithm, and exactly on it."""
    rng = np.random.default_rng(joint)
    others = [random_arm(rng, "regular") for _ in range(2)]
    base, q_dot = random_arm(rng, "regular"), rng.normal(size=6)
    place = {4: 0.0, 2: STRETCHED}[joint]

    def at(s):
        q = base.q.copy()
        q[joint] = place + s
        case = held([Arm(base.R, base.p, q), *others], POSE, q_dot=q_dot)
        motion, _ = case.solve()
        chains, *_ = case.open_chains()
        expected, _ = case.pseudo_inverse()
        np.testing.assert_allclose(motion.vdot, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
        return motion.vdot, dynamics.condition_numbers(chains)[0]

    middle, worst = at(0.0)
    size = np.abs(middle).max()
    assert worst > 1e14
    # far away, next to it, and on both sides of the threshold 1e8 of the condition number
    sizes = 10.0 ** np.array([-12.0, -6.0, -4.0, -3.0, -2.0, -1.0])
    sides = {s: at(s) for s in np.concatenate([-sizes, sizes])}
    slope = max(np.abs(sides[s][0] - middle).max() / abs(s) for s in (-1e-2, 1e-2))
    for s, (vdot, _) in sides.items():
        # what a smooth function may change over s; beside it the rounding of the ill-conditioned arms
        assert abs(s) > 0.05 or np.abs(vdot - middle).max() < 1.5 * slope * abs(s) + 1e-7 * size, s
    conditions = np.array([c for _, c in sides.values()])
    assert (conditions > 1e8).any() and (conditions < 1e8).any()
    # fine sampling: no jump beyond the smooth change of a step
    grid = np.linspace(-2e-3, 2e-3, 9)
    values = np.array([at(s)[0] for s in grid])
    steps = np.abs(np.diff(values, axis=0)).max(axis=1)
    assert steps.max() < 1.5 * np.median(steps) + 1e-7 * size
    assert np.abs(np.diff(values, n=2, axis=0)).max() < 0.05 * np.median(steps) + 1e-7 * size


def test_condition_numbers_find_singular_arms():
    """The condition of Λ⁻¹ grows with the inverse square of the distance from the singularity; the threshold decides."""
    rng = np.random.default_rng(3)
    arms = [random_arm(rng, "regular") for _ in range(3)]
    found = []
    for s in (1e-2, 1e-3, 1e-4, 1e-5):
        q = arms[0].q.copy()
        q[4] = s
        case = held([arms[0]._replace(q=q), *arms[1:]], POSE)
        chains, *_ = case.open_chains()
        condition = dynamics.condition_numbers(chains)
        assert (condition[1:] < 1e8).all()
        found.append(condition[0])
    np.testing.assert_allclose(np.diff(np.log10(found)), 2.0, atol=0.05)
    loose, tight = case.solve(threshold=1e4)[1], case.solve(threshold=1e18)[1]
    np.testing.assert_allclose(loose.a_r, tight.a_r, rtol=0, atol=1e-5 * np.abs(loose.a_r).max())
    chain = chains[0]._replace(mobility=np.diag([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]))
    assert dynamics.condition_numbers([chain])[0] == np.inf


def test_more_chains_may_be_declared_singular_than_are():
    rng = np.random.default_rng(8)
    case = held([random_arm(rng, kind) for kind in ("wrist", "regular", "elbow", "regular")], POSE)
    chains, I_r, f_r = case.open_chains()
    least = dynamics.load_solution(chains, I_r, f_r, [0, 2])
    size = np.abs(np.concatenate(least.forces)).max()
    for extra in ([1], [3], [1, 3]):
        for order in itertools.permutations([0, 2, *extra]):
            more = dynamics.load_solution(chains, I_r, f_r, order)
            np.testing.assert_allclose(more.a_r, least.a_r, rtol=0, atol=1e-9 * np.abs(least.a_r).max())
            for f, expected in zip(more.forces, least.forces, strict=True):
                np.testing.assert_allclose(f, expected, rtol=0, atol=1e-8 * size)
            assert more.free == 0 and 0.0 < more.pivot <= 1.0
    assert dynamics.load_solution(chains, I_r, f_r, [0]).free == 0


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3, 1e5], ids=lambda s: f"1/{s:g} m")
def test_units_of_length_do_not_decide_what_is_free(unit):
    """Two chains that both lose one rotation and hardly move in another, on a ship: in any unit of length the same is free.

    With T = diag(s, s, s, 1, 1, 1) on accelerations, forces change by T⁻¹, mobilities to T Λ⁻¹ T, inertia to T⁻¹ I T⁻¹. All is
    diagonal, so that each direction is alone: a (I + 1/m₁ + 1/m₂) = f + x₁/m₁ + x₂/m₂.
    """
    m = np.array([[1.0, 0.5, 2.0, 1e-7, 0.0, 3.0], [0.7, 1.5, 1.0, 2e-7, 0.0, 1.0]])
    x = np.array([[0.3, -0.2, 0.1, 0.5, 0.0, 0.2], [0.1, 0.4, -0.6, -0.3, 0.0, 0.7]])
    inertia, f_r = np.array([1.0, 2.0, 3.0, 1e7, 5.0, 2.0]), np.array([1.0, -2.0, 0.5, 3.0, 0.0, 1.0])
    T, bare = np.array([unit] * 3 + [1.0] * 3), dict(dofs=(), factor=None, pushed=None, W=None, paths=())
    chains = [
        dynamics.OpenChain(mobility=np.diag(T * row * T), acceleration=T * xk, onto=np.eye(6), directions=np.eye(6), **bare)
        for row, xk in zip(m, x, strict=True)
    ]
    found = dynamics.load_solution(chains, np.diag(inertia / T**2), f_r / T, [0, 1])
    assert found.free == 1
    at = m[0] > 0.0
    a = (f_r + (x / np.where(at, m, np.inf)).sum(axis=0)) / (inertia + (1.0 / np.where(at, m, np.inf)).sum(axis=0))
    # rounding of the elimination, in which mobility is 1e-7 of others at worst
    np.testing.assert_allclose((found.a_r / T)[at], a[at], rtol=1e-8)
    np.testing.assert_allclose((T * found.forces[1])[at], ((x[1] - a) / np.where(at, m[1], 1.0))[at], rtol=1e-7)


# -- two arms without detection -----------------------------------------------------------------------------------------------


def at_the_load(chains):
    """Λ⁻¹ and ẍ of whole grasps at the load's origin: X⁻¹ Λ⁻¹ X⁻ᵀ, X⁻¹ ẍ."""
    out = []
    for chain in chains:
        X = np.linalg.inv(chain.onto)
        out.append((X @ chain.mobility @ X.T, X @ chain.acceleration))
    return out


@pytest.mark.parametrize("kinds", [("regular", "regular"), ("wrist", "regular"), ("regular", "elbow"), ("wrist", "elbow")])
def test_method_two_needs_no_detection(kinds):
    rng = np.random.default_rng(11)
    case = held([random_arm(rng, kind) for kind in kinds], POSE)
    chains, _, f_r = case.open_chains()
    (m1, x1), (m2, x2) = at_the_load(chains)
    I_r = np.array([4.0, 4.0, 4.0, 0.12, 0.15, 0.2])
    a_r, f1, f2 = dynamics.dual_arm_without_detection(m1, m2, x1, x2, I_r, f_r)
    # eq. 4.3 as a whole
    one, none = np.eye(6), np.zeros((6, 6))
    A = np.block([[m1, none, one], [none, m2, one], [one, one, -np.diag(I_r)]])
    x = np.linalg.lstsq(A, np.concatenate([x1, x2, -f_r]), rcond=1e-13)[0]
    np.testing.assert_allclose(a_r, x[12:], rtol=0, atol=1e-7 * np.abs(a_r).max())
    np.testing.assert_allclose(np.concatenate([f1, f2]), x[:12], rtol=0, atol=1e-7 * np.abs(x[:12]).max())
    if kinds == ("regular", "regular"):
        for ours, theirs in zip(dynamics.dual_arm(m1, m2, x1, x2, I_r, f_r), (a_r, f1, f2), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8 * np.abs(x[:12]).max())


# -- the pivoted solver -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", range(7))
def test_pivoted_elimination(rank):
    """Rank, a solution with zeros, and b met; compiled code does the same to the last bits."""
    rng = np.random.default_rng(rank)
    B = rng.normal(size=(7, rank))
    A, b = B @ B.T, B @ rng.normal(size=rank)
    x, found, _ = pivoted_solve(A, b)
    assert found == rank and np.sum(x == 0.0) >= 7 - rank
    # rounding of a few sums, times the condition of A on its range
    np.testing.assert_allclose(A @ x, b, atol=1e-9 * max(1.0, np.abs(b).max()))
    program = compiler.trace(lambda A, b: compiler.solve_semidefinite(A, b), {"A": (7, 7), "b": (7,)}, name="semidefinite")
    recipe = compiler.Recipe(
        "semidefinite", lambda A, b: compiler.solve_semidefinite(A, b),
        (compiler.Argument("A", (7, 7)), compiler.Argument("b", (7,))),
        (compiler.Argument("x", (7,)), compiler.Argument("rank", ()), compiler.Argument("pivot", ())), None,
    )  # fmt: skip
    ours = compiler.Compiled(recipe, 1, 1).single_results(A, b)
    for got, interpreted in zip(ours, program(A, b), strict=True):
        np.testing.assert_allclose(got, interpreted, rtol=1e-9, atol=1e-9)
    assert ours[1] == rank


def test_two_singular_chains_compiled():
    """`load_solution` traces: with the compiled solver it is code, and free components come out of it as well."""
    rng = np.random.default_rng(6)
    first = random_arm(rng, "elbow")
    case = held([first, first.facing(0.4, 0.3), random_arm(rng, "regular")], POSE, still=True)
    chains, I_r, f_r = case.open_chains()

    def solution(m0, m1, m2, x, f):
        given = [c._replace(mobility=m, acceleration=x[k]) for k, (c, m) in enumerate(zip(chains, (m0, m1, m2), strict=True))]
        s = dynamics.load_solution(given, I_r, f, [0, 1], compiler.solve_semidefinite)
        return s.a_r, np.concatenate(s.forces), np.asarray(s.free), np.asarray(s.pivot)

    shapes = (("m0", (6, 6)), ("m1", (6, 6)), ("m2", (6, 6)), ("x", (3, 6)), ("f", (6,)))
    outputs = (("a_r", (6,)), ("forces", (18,)), ("free", ()), ("pivot", ()))
    recipe = compiler.Recipe(
        "two_singular",
        solution,
        tuple(compiler.Argument(*a) for a in shapes),
        tuple(compiler.Argument(*a) for a in outputs),
        None,
    )
    given = [c.mobility for c in chains] + [np.stack([c.acceleration for c in chains]), f_r]
    expected = solution(*given)
    ours = compiler.Compiled(recipe, 1, 1).single_results(*given)
    assert ours[2] == expected[2] == 1.0
    np.testing.assert_allclose(ours[0], expected[0], rtol=0, atol=1e-9 * np.abs(expected[0]).max())
    np.testing.assert_allclose(ours[1], expected[1], rtol=0, atol=1e-8 * np.abs(expected[1]).max())
