"""Closed chains by operational-space inertias (thesis Table 1) against one dense system of all equations of motion and constraints."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, contact, dynamics
from hydromechs.equations import balance
from hydromechs.library import serial_chain, star
from hydromechs.library._generators import _random_hydro, _random_inertia
from hydromechs.spatial import Path, Screw, Turn, cross, rpy_from_matrix

WHOLE = (0, 1, 2, 3, 4, 5)
BALL, HINGE, SLIDER, PLANE, CYLINDER = (0, 1, 2), (0, 1, 2, 3, 4), (1, 2, 3, 4, 5), (2, 3, 4), (0, 1, 3, 4)


class Case(NamedTuple):
    """A load in the grip of trees, in a state that fits the grasps."""

    model: hm.Model
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    holdings: list

    @property
    def load(self):
        return self.model.body_index("load")


def forest(rng, trees, *, wet: bool) -> hm.Model:
    """Trees and a free body called load, whose centre of mass is not its origin."""
    bodies = []
    for k, tree in enumerate(trees):
        for b in tree.bodies:
            bodies.append(replace(b, name=f"t{k}_{b.name}", parent=None if b.parent is None else f"t{k}_{b.parent}"))
    hydro = _random_hydro(rng) if wet else None
    bodies.append(hm.Body(name="load", joint=hm.joints.Free(), inertia=_random_inertia(rng), hydro=hydro))
    return hm.Model(name="holding", bodies=bodies, world=hm.World(axes="ENU", gravity=rng.uniform(5, 12)))


def random_rotation(rng):
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Q * np.linalg.det(Q)


def configuration(rng, model):
    q = model.neutral()[0]
    for body, at in zip(model.bodies, model.q_slices, strict=True):
        if isinstance(body.joint, hm.joints.Free):
            x = rng.normal(size=4)
            q[at] = [*rng.normal(size=3), *(x / np.linalg.norm(x))]
        elif isinstance(body.joint, hm.joints.Revolute):
            q[at] = rng.uniform(-2, 2)
    return q


def gripped(rng, model, tips, rows=WHOLE) -> Case:
    """Frames at random places of the tips, met by frames of the load; a velocity that keeps them together."""
    q = configuration(rng, model)
    kin = dynamics.kinematics(model, q, np.zeros(model.nv))
    load, holdings = model.body_index("load"), []
    for k, tip in enumerate(tips):
        i = model.body_index(tip)
        R, p = random_rotation(rng), rng.uniform(-0.3, 0.3, 3)
        R_L = kin.R_WB[load].T @ kin.R_WB[i] @ R
        p_L = kin.R_WB[load].T @ (kin.p_WB[i] + kin.R_WB[i] @ p - kin.p_WB[load])
        held = rows[k] if isinstance(rows[0], tuple) else rows
        holdings.append(dynamics.Holding(i, Path((Turn(R, p),)), Path((Turn(R_L, p_L),)), held))
    v = rng.normal(size=model.nv)
    J, _ = constraint(model, q, v, holdings)
    v = v - np.linalg.pinv(J) @ (J @ v)
    return Case(model, q, v, 5.0 * rng.normal(size=model.nv), holdings)


def constraint(model, q, v, holdings):
    """J and J̇ v by public functions of the model, for frames A of the holder and B of the load that coincide now.

    Held are components of d = p_B − p_A and of the rotation, in axes of A. −ḋ = v_A − T v_B + ω_A × d, with d = 0 now, and
    d/dt (T V_B) = T V̇_B + (ω_B − ω_A) × T V_B.
    """
    rows, drift, load = [], [], "load"
    for h in holdings:
        name, (R, p) = model.body_names[h.body], h.path.pose()
        R_L, p_L = h.load_path.pose()

        def seen(name, R, p):
            J, bias = hm.jacobian(model, q, name, p), hm.equations.bias_acceleration(model, q, v, name, p)
            turned = np.kron(np.eye(2), R.T)
            return turned @ J, turned @ bias

        (J_A, b_A), (J_L, b_L) = seen(name, R, p), seen(load, R_L, p_L)
        V_A, V_L = J_A @ v, J_L @ v
        U = V_A - V_L
        carried = -np.concatenate([cross(U[3:], V_L[:3]) + cross(U[:3], V_A[3:]), cross(U[3:], V_L[3:])])
        if sum(r >= 3 for r in h.rows) == 1:  # −x_A · y_B stays 0, whose second derivative has the product of the free rates
            k = h.rows[-1] - 3
            carried[3 + k] -= U[3 + (k + 1) % 3] * U[3 + (k + 2) % 3]
        rows.append((J_A - J_L)[list(h.rows)])
        drift.append((b_A - b_L - carried)[list(h.rows)])
    return np.concatenate(rows), np.concatenate(drift)


def dense(case: Case, **flow):
    """v̇ and forces from M v̇ + Jᵀ f = M v̇_free, J v̇ = −J̇ v; and the condition number of J M⁻¹ Jᵀ."""
    model, q, v = case.model, case.q, case.v
    M, free = hm.mass_matrix(model, q), hm.forward_dynamics(model, q, v, case.tau, **flow)
    J, drift = constraint(model, q, v, case.holdings)
    c = len(J)
    x = np.linalg.solve(np.block([[M, J.T], [J, np.zeros((c, c))]]), np.concatenate([M @ free, -drift]))
    return x[: model.nv], x[model.nv :], np.linalg.cond(J @ np.linalg.solve(M, J.T))


def table_1(model, q, v, tau, holdings, **flow):
    keys = ("fluid_velocity", "fluid_acceleration", "wrench")
    b, _ = balance(model, q, v, *(flow.get(k) for k in keys))
    load = model.body_index("load")
    return dynamics.closed_chain_dynamics(model, b, tau, load, holdings)


def agree(case: Case, **flow):
    """Both solutions agree to 1e-10 of the largest acceleration, or to rounding times the condition where that is more."""
    vdot, forces, condition = dense(case, **flow)
    ours = table_1(case.model, case.q, case.v, case.tau, case.holdings, **flow)
    assert ours.vdot.dtype == float
    bound = max(1e-10, 200 * np.finfo(float).eps * condition)
    np.testing.assert_allclose(ours.vdot, vdot, rtol=0, atol=bound * np.abs(vdot).max())
    # trees come in the order of their first grasp, with all their grasps
    order = dynamics.held_trees(case.model, case.load, case.holdings)
    places, at = {}, 0
    for h in case.holdings:
        places[id(h)] = slice(at, at + len(h.rows))
        at += len(h.rows)
    for f, (_, grasps) in zip(ours.forces, order, strict=True):
        expected = np.concatenate([forces[places[id(g)]] for g in grasps])
        np.testing.assert_allclose(f, expected, rtol=0, atol=bound * np.abs(forces).max())
    return ours


def flow_of(rng, model, per_body: bool):
    shape = (model.nb, 3) if per_body else (3,)
    return {
        "fluid_velocity": rng.normal(size=shape),
        "fluid_acceleration": rng.normal(size=shape),
        "wrench": rng.normal(size=(model.nb, 6)),
    }


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_arms_of_six_joints(m, base, wet):
    rng = np.random.default_rng([m, base == "free", wet])
    model = forest(rng, [serial_chain(6, base=base, wet=wet, seed=3 + k) for k in range(m)], wet=wet)
    case = gripped(rng, model, [f"t{k}_link6" for k in range(m)])
    flow = flow_of(rng, model, per_body=m % 2 == 0)
    agree(case, **flow)


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize("n", [7, 9])
def test_arms_with_more_than_six_joints(n, wet):
    rng = np.random.default_rng([n, wet])
    model = forest(rng, [serial_chain(n, base="fixed", wet=wet, seed=k) for k in range(2)], wet=wet)
    agree(gripped(rng, model, [f"t{k}_link{n}" for k in range(2)]))


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize("base", ["fixed", "free"])
def test_long_arms_in_a_linear_number_of_operations(base, wet):
    """Both algorithms agree, with trees that branch, that end behind the grip, and that hold nothing."""
    rng = np.random.default_rng([base == "free", wet])
    arms = [serial_chain(n, base=base, wet=wet, seed=n) for n in (14, 8)]
    model = forest(rng, [*arms, star(2, 6, wet=wet), serial_chain(2, base="free", wet=wet)], wet=wet)
    case = gripped(rng, model, ["t0_link14", "t1_link7", "t2_chain1_link6"])
    flow = flow_of(rng, model, per_body=wet)
    b, _ = balance(model, case.q, case.v, *(flow[k] for k in ("fluid_velocity", "fluid_acceleration", "wrench")))
    assert dynamics.has_long_arms(model, case.load, case.holdings)
    assert not dynamics.has_long_arms(model, case.load, case.holdings[1:])
    wanted, found = (
        f(model, b, case.tau, case.load, case.holdings) for f in (dynamics.closed_chain_dynamics, dynamics.long_arm_dynamics)
    )
    np.testing.assert_allclose(found.vdot, wanted.vdot, rtol=0, atol=1e-10 * np.abs(wanted.vdot).max())
    for f, force in zip(found.forces, wanted.forces, strict=True):
        np.testing.assert_allclose(f, force, rtol=0, atol=1e-10 * np.abs(force).max())


@pytest.mark.parametrize("wet", [False, True])
def test_a_vehicle_holds_with_two_arms(wet):
    """Two grasps on one mobile tree make one chain with twelve directions; a fixed arm holds as well."""
    rng = np.random.default_rng(wet)
    trees = [star(2, 6, wet=wet, seed=5), serial_chain(6, base="fixed", wet=wet, seed=6)]
    model = forest(rng, trees, wet=wet)
    tips = ["t0_chain1_link6", "t1_link6", "t0_chain2_link6"]
    ours = agree(gripped(rng, model, tips), **flow_of(rng, model, per_body=False))
    assert [len(f) for f in ours.forces] == [12, 6]


@pytest.mark.parametrize("wet", [False, True])
def test_short_arms_on_a_vehicle(wet):
    """The vehicle's freedoms count: arms of three joints can hold in all six directions."""
    rng = np.random.default_rng(wet)
    model = forest(rng, [serial_chain(3, base="free", wet=wet, seed=k) for k in range(2)], wet=wet)
    agree(gripped(rng, model, ["t0_link3", "t1_link3"]))


@pytest.mark.parametrize("wet", [False, True])
@pytest.mark.parametrize("rows", [BALL, HINGE, SLIDER, PLANE, CYLINDER, (4,), (0, 5)])
def test_grasps_with_free_directions(rows, wet):
    """The load turns and slides in the grip; the free directions carry no force."""
    rng = np.random.default_rng([*rows, wet])
    model = forest(rng, [serial_chain(6, base=b, wet=wet, seed=9) for b in ("fixed", "free")], wet=wet)
    case = gripped(rng, model, ["t0_link6", "t1_link6"], [rows, WHOLE])
    J, _ = constraint(model, case.q, case.v, [case.holdings[0]._replace(rows=WHOLE)])
    assert np.abs(J @ case.v).max() > 0.1  # it does move in the free directions
    ours = agree(case)
    assert [len(f) for f in ours.forces] == [len(rows), 6]


@pytest.mark.parametrize("rows", [BALL, HINGE, SLIDER, CYLINDER, PLANE, (0,), (1, 2), (0, 5)])
def test_the_constraint_holds_along_the_motion(rows):
    """The rate of what is held, along the motion that the accelerations give, has no slope: by differences, without J̇ v."""
    rng = np.random.default_rng(list(rows))
    model = forest(rng, [serial_chain(6, base="free", wet=True, seed=9)], wet=True)
    case = gripped(rng, model, ["t0_link6"], rows)
    vdot = table_1(*case).vdot
    (h,) = case.holdings

    def slip(dt):
        q = hm.integrate(model, case.q, case.v + 0.5 * dt * vdot, dt)
        kin = dynamics.kinematics(model, q, case.v + dt * vdot)
        (R, p_A), (_, p_B) = h.path.pose(), h.load_path.pose()
        R_A, R_L, V_A, V_L = kin.R_WB[h.body], kin.R_WB[case.load], kin.V[h.body], kin.V[case.load]
        d = kin.p_WB[case.load] + R_L @ p_B - kin.p_WB[h.body] - R_A @ p_A
        v_A = R_A @ (V_A[:3] + np.cross(V_A[3:], p_A)) + np.cross(R_A @ V_A[3:], d)
        v_B = R_L @ (V_L[:3] + np.cross(V_L[3:], p_B))
        w = R_L @ V_L[3:] - R_A @ V_A[3:]
        out = np.concatenate([(R_A @ R).T @ (v_B - v_A), (R_A @ R).T @ w])
        if sum(r >= 3 for r in rows) == 1:  # about z: d/dt (−x_A · y_B)
            k = rows[-1] - 3
            x, y = (R_A @ R)[:, (k + 1) % 3], (R_L @ h.load_path.pose()[0])[:, (k + 2) % 3]
            out[3 + k] = -np.cross(R_A @ V_A[3:], x) @ y - x @ np.cross(R_L @ V_L[3:], y)
        return out[list(rows)]

    step = 1e-4
    slope = (slip(step) - slip(-step)) / (2 * step)
    # the difference's own error is of the order of step² times a third derivative
    assert np.abs(slope).max() < 1e-6 * np.abs(vdot).max()


def test_a_tree_that_holds_nothing_moves_alone():
    rng = np.random.default_rng(4)
    model = forest(
        rng, [serial_chain(6, base="fixed", wet=True, seed=1), serial_chain(2, base="free", wet=True, seed=2)], wet=True
    )
    agree(gripped(rng, model, ["t0_link6"]))


@pytest.mark.parametrize("wet", [False, True])
def test_floats_and_traces_agree(wet):
    rng = np.random.default_rng(wet)
    model = forest(rng, [serial_chain(6, base="fixed", wet=wet, seed=k) for k in range(2)], wet=wet)
    case = gripped(rng, model, ["t0_link6", "t1_link6"], [WHOLE, HINGE])
    shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}

    def everything(q, v, tau):
        out = table_1(model, q, v, tau, case.holdings)
        return out.vdot, *out.forces

    program = compiler.trace(everything, shapes, name="closed_chains")
    expected = everything(case.q, case.v, case.tau)
    _, _, condition = dense(case)
    for ours, theirs in zip(program(case.q, case.v, case.tau), expected, strict=True):
        bound = 20 * np.finfo(float).eps * condition
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=bound * np.abs(theirs).max())


def framed(case: Case, free) -> tuple[hm.Model, list[contact.Grasp]]:
    """The same with frames and grasps in place of holdings."""

    def frame(name, path):
        R, p = path.pose()
        return hm.Frame(name, hm.Origin(tuple(p), tuple(rpy_from_matrix(R))))

    frames: dict = {}
    for k, h in enumerate(case.holdings):
        frames.setdefault(case.model.body_names[h.body], []).append(frame(f"hand{k}", h.path))
        frames.setdefault("load", []).append(frame(f"grip{k}", h.load_path))
    bodies = tuple(replace(b, frames=tuple(frames.get(b.name, ()))) for b in case.model.bodies)
    grasps = [contact.Grasp(name=f"g{k}", holder=f"hand{k}", held=f"grip{k}", free=x) for k, x in enumerate(free)]
    return replace(case.model, bodies=bodies), grasps


def test_the_grasps_of_a_simulation_say_the_same():
    """`dynamics.joined_rows` between two frames gives the accelerations of Table 1, for frames that are apart in free directions."""
    rng = np.random.default_rng(12)
    model = forest(
        rng, [serial_chain(6, base="fixed", wet=True, seed=1), serial_chain(3, base="free", wet=True, seed=2)], wet=True
    )
    case = gripped(rng, model, ["t0_link6", "t1_link3"], [WHOLE, HINGE])
    model, grasps = framed(case, [(), ("rz",)])
    kin = dynamics.kinematics(model, case.q, case.v)
    rows = [dynamics.joined_rows(model, kin, g) for g in grasps]
    for g, r in zip(grasps, rows, strict=True):
        assert max(dynamics.joined_misfit(r, g)) < 1e-14
    vdot = table_1(*case).vdot
    J, bias = np.concatenate([r.J for r in rows]), np.concatenate([r.bias for r in rows])
    np.testing.assert_allclose(J @ case.v, 0.0, atol=1e-13)
    _, _, condition = dense(case)
    bound = max(1e-10, 200 * np.finfo(float).eps * condition)
    np.testing.assert_allclose(J @ vdot + bias, 0.0, atol=bound * np.abs(vdot).max())


# -- compiled -------------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def held():
    """Two short arms on vehicles in water with a load; one of them holds it by a hinge, and its second grasp is listed first."""
    rng = np.random.default_rng(5)
    model = forest(rng, [serial_chain(2, base="free", wet=True, seed=k) for k in range(2)], wet=True)
    case = gripped(rng, model, ["t1_link2", "t0_link2"], [HINGE, WHOLE])
    model, grasps = framed(case, [("rz",), ()])
    return case._replace(model=model), grasps, hm.compile(model, lanes=4)


def test_compiled_chains_agree_with_the_dense_solution(held):
    case, grasps, dyn = held
    flow = flow_of(np.random.default_rng(1), case.model, per_body=False)
    vdot, forces, condition = dense(case, **flow)
    bound = max(1e-10, 200 * np.finfo(float).eps * condition)
    given = {"load": "load", "grasps": grasps, **flow}
    one = dyn.closed_chain_dynamics(case.q, case.v, case.tau, **given)
    np.testing.assert_allclose(one.vdot, vdot, rtol=0, atol=bound * np.abs(vdot).max())
    assert one.forces.shape == (2, 6) and one.forces[0, 5] == 0.0
    expected = np.append(forces[:5], [0.0, *forces[5:]]).reshape(2, 6)
    np.testing.assert_allclose(one.forces, expected, rtol=0, atol=bound * np.abs(forces).max())
    plain = hm.equations.closed_chain_dynamics(case.model, case.q, case.v, case.tau, **given)
    np.testing.assert_allclose(plain.forces, one.forces, rtol=0, atol=bound * np.abs(forces).max())
    # a batch on lanes: torques of their own
    tau = case.tau + np.arange(5)[:, None]
    out = np.empty((5, case.model.nv)), np.empty((5, 2, 6))
    many = dyn.closed_chain_dynamics(case.q, case.v, tau, **given, out=out)
    assert many.vdot is out[0]
    for k in range(5):
        alone = dyn.closed_chain_dynamics(case.q, case.v, tau[k], **given)
        for ours, theirs in zip(many, alone, strict=True):
            np.testing.assert_allclose(ours[k], theirs, rtol=0, atol=1e-12 * np.abs(theirs).max())


def test_derivatives_and_source_of_compiled_chains(held, tmp_path):
    case, grasps, dyn = held
    chain = hm.equations.HeldLoad("load", tuple(grasps))
    slope = dyn.jvp(chain, "v")
    direction, h = np.random.default_rng(2).normal(size=case.model.nv), 1e-4
    ahead, behind = (
        dyn.closed_chain_dynamics(case.q, case.v + x * direction, case.tau, load="load", grasps=grasps).vdot for x in (h, -h)
    )
    ours = slope(case.q, case.v, case.tau, direction)
    # accelerations are quadratic in v while no drag changes its sign: central differences are exact but for rounding
    np.testing.assert_allclose(ours, (ahead - behind) / (2 * h), rtol=0, atol=1e-6 * np.abs(ours).max())
    header, source, _ = hm.equations.export_source(case.model, tmp_path, [chain])
    assert "closed_chain_dynamics" in header.read_text() and source.stat().st_size > 1000


def test_count_of_closed_chains():
    rng = np.random.default_rng(0)
    model = forest(rng, [serial_chain(6, base="fixed", wet=False, seed=k) for k in range(2)], wet=False)
    count = hm.equations.operation_count(model, "closed_chain").papers
    grasps = [contact.Grasp(name=f"g{k}", holder=f"t{k}_link6", held="load") for k in range(2)]
    assert count == hm.equations.operation_count(model, hm.equations.HeldLoad("load", tuple(grasps))).papers
    # two arms cost less than half of the thesis's four (Table 2) and the 6 × 6 of the load
    assert count[0] <= 7187 / 2 + 99 and count[1] <= 6242 / 2 + 62
    with pytest.raises(ValueError, match="no arms"):
        hm.equations.operation_count(serial_chain(2, base="fixed", wet=False), "closed_chain")


def test_what_holds_nothing_or_too_much_is_named(held):
    case, grasps, dyn = held
    for call in (dyn.closed_chain_dynamics, lambda *a, **k: hm.equations.closed_chain_dynamics(case.model, *a, **k)):
        with pytest.raises(ValueError, match="nothing holds 'load'"):
            call(case.q, case.v, case.tau, load="load", grasps=[])
    with pytest.raises(ValueError, match="'g0' holds 'grip0'"):
        dyn.closed_chain_dynamics(case.q, case.v, case.tau, load="t0_vehicle", grasps=grasps)
    twice = [*grasps, replace(grasps[1], name="again")]
    with pytest.raises(ValueError, match="8 degrees of freedom but holds 12 directions"):
        dyn.closed_chain_dynamics(case.q, case.v, case.tau, load="load", grasps=twice)


# -- operation counts -----------------------------------------------------------------------------------------------------------


def test_operation_count_of_four_arms():
    """Thesis Table 2 for m = 4, N = 6: [7187, 6242]; ours is [6916, 5360]. MDH parameters of general size, principal axes of the load."""
    rng = np.random.default_rng(0)
    bodies = []
    for k in range(4):
        for b in serial_chain(6, base="fixed", wet=False, seed=3 + k).bodies:
            bodies.append(replace(b, name=f"t{k}_{b.name}", parent=None if b.parent is None else f"t{k}_{b.parent}"))
    inertia = hm.Inertia(mass=4.0, tensor=(0.1, 0.2, 0.3, 0, 0, 0))
    model = hm.Model(name="four_arms", bodies=[*bodies, hm.Body(name="load", joint=hm.joints.Free(), inertia=inertia)])
    holdings = []
    for k in range(4):
        a, alpha, d, theta = rng.uniform(0.1, 0.4), rng.uniform(0.3, 1.2), rng.uniform(0.1, 0.4), rng.uniform(-2, 2)
        steps = Screw(2, -d, np.cos(theta), -np.sin(theta)), Screw(0, -a, np.cos(alpha), -np.sin(alpha))  # eq. 2.27
        holdings.append(dynamics.Holding(model.body_index(f"t{k}_link6"), Path(()), Path(steps)))
    shapes = {"q": (model.nq,), "v": (model.nv,), "tau": (model.nv,)}
    program = compiler.trace(lambda q, v, tau: table_1(model, q, v, tau, holdings).vdot, shapes, name="four_arms")
    M, A = program.count().papers
    assert M <= 7187 and A <= 6242, (M, A)


@pytest.mark.parametrize("method, most", [(dynamics.dual_arm, (512, 416)), (dynamics.dual_arm_without_detection, (374, 284))])
def test_operation_count_of_two_arms(method, most):
    """Thesis Tables 8 and 9, from symmetric Λ⁻¹ to the load's acceleration and both forces."""

    def symmetric(A):
        return np.array([[A[min(i, j), max(i, j)] for j in range(6)] for i in range(6)])

    I_r = np.array([4.0, 4.0, 4.0, 0.1, 0.2, 0.3])
    shapes = {"A": (6, 6), "B": (6, 6), "x": (6,), "y": (6,), "f": (6,)}
    program = compiler.trace(lambda A, B, x, y, f: method(symmetric(A), symmetric(B), x, y, I_r, f), shapes, name="dual_arm")
    count = program.count().papers
    assert count[0] <= most[0] and count[1] <= most[1], count


# -- what bad input gets --------------------------------------------------------------------------------------------------------


def test_a_load_with_joints_is_rejected():
    model = forest(np.random.default_rng(0), [serial_chain(6, base="free", wet=False)], wet=False)
    load = model.body_index("t0_vehicle")
    with pytest.raises(ValueError, match="'t0_vehicle' must be a single free body"):
        dynamics.held_trees(model, load, [])
    with pytest.raises(ValueError, match="'t0_link3' must be a single free body"):
        dynamics.held_trees(model, model.body_index("t0_link3"), [])


def test_a_load_cannot_hold_itself():
    model = forest(np.random.default_rng(0), [serial_chain(6, base="fixed", wet=False)], wet=False)
    load = model.body_index("load")
    with pytest.raises(ValueError, match="connects load 'load' to itself"):
        dynamics.held_trees(model, load, [dynamics.Holding(load, Path(()), Path(()))])


def test_an_arm_with_too_few_joints_is_rejected():
    """Five joints cannot hold six directions and move as the load does; they can hold five of them."""
    rng = np.random.default_rng(1)
    model = forest(rng, [serial_chain(5, base="fixed", wet=False, seed=k) for k in range(2)], wet=False)
    with pytest.raises(ValueError, match="tree of 't0_link1' has 5 degrees of freedom but holds 6 directions"):
        table_1(*gripped(rng, model, ["t0_link5", "t1_link5"]))
    agree(gripped(rng, model, ["t0_link5", "t1_link5"], HINGE))


def test_a_load_without_inertia_is_rejected():
    with pytest.raises(hm.ModelError, match="'load'"):
        hm.Model(name="none", bodies=[hm.Body(name="load", joint=hm.joints.Free(), inertia=hm.Inertia(mass=0.0))])


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("rows", [(WHOLE, HINGE), (WHOLE, WHOLE)])
def test_constraints_of_a_load_are_solved_by_chains(rows, opened, monkeypatch):
    """The same forces as by full pivoting of all rows together; open grasps have none."""
    from hydromechs.equations import _constraints

    rng = np.random.default_rng(21)
    model = forest(rng, [serial_chain(6, base="fixed", wet=False, seed=k) for k in range(2)], wet=False)
    case = gripped(rng, model, ["t0_link6", "t1_link6"], list(rows))
    model, grasps = framed(case, [("rz",) if r == HINGE else () for r in rows])
    kin = dynamics.kinematics(model, case.q, case.v)
    constraints = [dynamics.joined_constraint(model, kin, g, 1.0 - (opened and k == 1))[0] for k, g in enumerate(grasps)]
    M, free = hm.mass_matrix(model, case.q), hm.forward_dynamics(model, case.q, case.v, case.tau)
    assert _constraints._chains(M, constraints) is not None
    groups = hm.equations.constraint_groups(model, constraints)
    ours = hm.equations.constrained(M, case.v, free, constraints, groups)
    monkeypatch.setattr(_constraints, "_chains", lambda M, constraints: None)
    pivoted = hm.equations.constrained(M, case.v, free, constraints, groups)
    np.testing.assert_allclose(ours.change, pivoted.change, rtol=0, atol=1e-10 * np.abs(pivoted.change).max())
    for f, g in zip(ours.forces, pivoted.forces, strict=True):
        np.testing.assert_allclose(f, g, rtol=0, atol=1e-9 * np.abs(np.concatenate(pivoted.forces)).max())
    assert not opened or not np.any(ours.forces[1])
