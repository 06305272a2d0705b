"""Rollouts: lanes and threads against NumPy and against each other, inputs per step, records, worlds that diverge, bad input."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import dynamics, integrators
from hydromechs.worlds._mechanism import model_stepper as _stepper

EPS = np.finfo(float).eps
METHODS = ("euler", "semi_implicit_euler", "rk4", "linearly_implicit")
WORLDS = 37  # no multiple of 4 or 8; enough to be shared by 2 threads
H = 0.01


def mechanism():
    """A free vehicle with drag and full added mass, and a pod on a ball joint."""
    B = np.random.default_rng(1).normal(size=(6, 6))
    vehicle = hm.Body(
        name="vehicle",
        inertia=hm.Inertia(mass=30.0, com=(0.05, -0.03, 0.08), tensor=(2.0, 2.5, 3.0, 0.1, -0.2, 0.15)),
        hydro=hm.Hydro(
            volume=0.03,
            buoyancy_center=(-0.02, 0.01, -0.05),
            added_mass=hm.added_mass.Matrix(B @ B.T + np.diag([10, 20, 20, 1, 1, 1])),
            drag=hm.drag.Damping(linear=(5, 6, 7, 2, 2, 2), quadratic=(10, 20, 30, 2, 3, 4)),
        ),
    )
    pod = hm.Body(
        name="pod",
        parent="vehicle",
        joint=hm.joints.Ball(placement=hm.Origin((0.4, 0.1, 0.2), (0.3, -0.4, 0.5))),
        inertia=hm.Inertia(mass=4.0, com=(0.02, 0.03, 0.2), tensor=(0.2, 0.25, 0.15, 0.01, -0.02, 0.01)),
        hydro=hm.Hydro(
            volume=0.003, drag=hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1).at((0, 0, 0.2)), coefficient=0.5)
        ),
    )
    return hm.Model(name="rollout_test", bodies=[vehicle, pod])


MODEL = mechanism()


@pytest.fixture(scope="module")
def compiled():
    """The model on (lanes, threads)."""
    return {key: hm.compile(MODEL, lanes=key[0], threads=key[1]) for key in ((1, 1), (4, 1), (8, 1), (8, 2), (4, 2))}


def worlds(n=WORLDS, seed=0):
    rng = np.random.default_rng(seed)
    q0 = MODEL.neutral()[0]
    q = np.stack([hm.integrate(MODEL, q0, rng.normal(size=MODEL.nv), 0.5) for _ in range(n)])
    return q, rng.normal(size=(n, MODEL.nv)), rng.normal(size=(n, MODEL.nv))


def reference(dyn, name, q, v, inputs, steps):
    """The same steps in NumPy, with inputs by step; configurations and velocities, shape (steps + 1, ...)."""
    method = integrators.method_named(name)
    names = tuple(inputs[0])
    make = _stepper(dyn, method, names).reference
    qs, vs = [q], [v]
    for k in range(steps):
        n, part, size = float(k), 0.0, 1.0
        while isinstance(method, integrators.LinearlyImplicit) and n == k:  # it may divide a step
            n, part, size, q, v = integrators.implicit_part(make(inputs[k]), n, part, size, q, v, H, 0.0, k + 1.0)
        if n == k:
            q, v = method.step(make(inputs[k]), k * H, q, v, H)
        qs.append(q)
        vs.append(v)
    return np.array(qs), np.array(vs)


def rounding(q, v, tau, steps):
    """Bound on the difference of two roundings: n ε κ(M) of the acceleration a step, which grows by e^(L t) with L t < 1 here."""
    vdot = np.linalg.norm(hm.forward_dynamics(MODEL, q, v, tau))
    return steps * (20 * MODEL.nv * EPS * np.linalg.cond(hm.mass_matrix(MODEL, q)) * H * vdot + 20 * EPS)


@pytest.mark.parametrize("name", METHODS)
def test_compiled_rollout_is_the_reference(compiled, name):
    """Every method, with a current and wrenches, step for step."""
    compare_with_reference(compiled[1, 1], name)


@pytest.mark.optimised
def test_optimised_rollout_on_lanes_is_the_reference():
    """The code that users run: optimised, on 8 lanes, 3 of which are in use."""
    compare_with_reference(hm.compile(MODEL, lanes=8), "rk4")


def compare_with_reference(dyn, name):
    q, v, tau = worlds(3)
    current, wrench = np.array([0.4, -0.2, 0.1]), np.random.default_rng(5).normal(size=(MODEL.nb, 6))
    held = {"tau": tau, "fluid_velocity": current, "wrench": wrench}
    r = hm.rollout(dyn, q, v, held, H, 5, method=name)
    assert r.q.shape == (3, 6, MODEL.nq) and r.v.shape == (3, 6, MODEL.nv) and r.good.shape == (3,)
    np.testing.assert_allclose(r.t, H * np.arange(6), atol=EPS)
    for w in range(3):
        each = {"tau": tau[w], "fluid_velocity": current, "wrench": wrench}
        want_q, want_v = reference(dyn, name, q[w], v[w], [each] * 5, 5)
        limit = rounding(q[w], v[w], tau[w], 5)
        np.testing.assert_allclose(r.v[w], want_v, rtol=0, atol=limit)
        np.testing.assert_allclose(
            [dynamics.difference(MODEL, a, b) for a, b in zip(r.q[w], want_q, strict=True)], 0.0, atol=limit
        )


@pytest.mark.parametrize("name", METHODS)
def test_lanes_and_threads_agree(compiled, name):
    """4 and 8 lanes, one and two threads, give the same; also worlds at the end that fill no whole lane.

    Lanes may use other fused operations and trigonometry than scalars, so these agree to rounding; the number of threads changes no bit.
    """
    q, v, tau = worlds()
    results = {key: hm.rollout(dyn, q, v, tau, H, 10, method=name, record=5) for key, dyn in compiled.items()}
    one = results[1, 1]
    limit = max(rounding(*world, 10) for world in zip(q, v, tau, strict=True))
    for key, r in results.items():
        assert r.q.shape == (WORLDS, 3, MODEL.nq)
        np.testing.assert_array_equal(r.good, 10)
        np.testing.assert_allclose(r.v, one.v, rtol=0, atol=limit, err_msg=str(key))
        np.testing.assert_allclose(r.q, one.q, rtol=0, atol=limit, err_msg=str(key))
    for lanes in (4, 8):
        np.testing.assert_array_equal(results[lanes, 1].v, results[lanes, 2].v)
        np.testing.assert_array_equal(results[lanes, 1].q, results[lanes, 2].q)
    np.testing.assert_array_equal(one.q[:, 0], q)


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_a_world_does_not_depend_on_its_neighbours(compiled, lanes):
    """The same world in another place of the batch, with other worlds around it, moves alike to the last bit."""
    q, v, tau = worlds()
    dyn = compiled[lanes, 1]
    r = hm.rollout(dyn, q, v, tau, H, 10, record=10)
    order = np.random.default_rng(9).permutation(WORLDS)[:21]
    s = hm.rollout(dyn, q[order], v[order], tau[order], H, 10, record=10)
    np.testing.assert_array_equal(s.q, r.q[order])
    np.testing.assert_array_equal(s.v, r.v[order])


@pytest.mark.parametrize("key", [(1, 1), (8, 1), (8, 2)])
def test_inputs_per_step(compiled, key):
    """Inputs of every step of every world are those of that step: pieces with held inputs, joined, give the same bits."""
    q, v, _ = worlds()
    dyn, steps = compiled[key], 6
    rng = np.random.default_rng(2)
    tau, current = rng.normal(size=(WORLDS, steps, MODEL.nv)), rng.normal(size=(WORLDS, steps, 3))
    r = hm.rollout(dyn, q, v, {"tau": tau, "fluid_velocity": current}, H, steps)
    a, b = q, v
    for k in range(steps):
        piece = hm.rollout(dyn, a, b, {"tau": tau[:, k], "fluid_velocity": current[:, k]}, H, 1)
        a, b = piece.q[:, -1], piece.v[:, -1]
        np.testing.assert_array_equal(a, r.q[:, k + 1])
        np.testing.assert_array_equal(b, r.v[:, k + 1])


def test_inputs_per_step_of_one_world_and_shared_ones(compiled):
    """(steps, nv) for one world; one input held and one by step; one world's inputs for all worlds."""
    dyn, steps = compiled[8, 1], 4
    q, v, _ = worlds(5)
    rows = np.random.default_rng(3).normal(size=(steps, MODEL.nv))
    one = hm.rollout(dyn, q[0], v[0], rows, H, steps)
    assert one.q.shape == (steps + 1, MODEL.nq)
    all_ = hm.rollout(dyn, q, v, {"tau": rows[None], "fluid_velocity": (0.0, 0.0, 0.0)}, H, steps)
    np.testing.assert_allclose(all_.v[0], one.v, rtol=0, atol=rounding(q[0], v[0], rows[0], steps))
    each = hm.rollout(
        dyn, q, v, {"tau": np.broadcast_to(rows, (5, steps, MODEL.nv)), "fluid_velocity": np.zeros((5, 3))}, H, steps
    )
    np.testing.assert_array_equal(all_.v, each.v)


def test_batches_broadcast(compiled):
    """One start for many inputs, many starts for one input, batches of two dimensions."""
    dyn = compiled[8, 1]
    q, v, tau = worlds(6)
    grid = hm.rollout(dyn, q[0], v[:3, None], tau[:2], H, 3)
    assert grid.q.shape == (3, 2, 4, MODEL.nq) and grid.good.shape == (3, 2)
    flat = hm.rollout(dyn, np.tile(q[0], (6, 1)), np.repeat(v[:3], 2, axis=0), np.tile(tau[:2], (3, 1)), H, 3)
    np.testing.assert_array_equal(grid.v.reshape(6, 4, -1), flat.v)


def test_records(compiled):
    """Every k-th step is kept, the last one always."""
    q, v, tau = worlds(9)
    full = hm.rollout(compiled[8, 1], q, v, tau, H, 10)
    some = hm.rollout(compiled[8, 1], q, v, tau, H, 9, record=3)
    np.testing.assert_allclose(some.t, [0, 0.03, 0.06, 0.09], atol=EPS)
    np.testing.assert_array_equal(some.q, full.q[:, [0, 3, 6, 9]])
    np.testing.assert_array_equal(some.good, 9)
    with pytest.raises(
        ValueError, match=r"steps is 10, must be a multiple of record \(3\), .*; take 12 steps or change record"
    ):
        hm.rollout(compiled[8, 1], q, v, tau, H, 10, record=3)


@pytest.mark.parametrize("key", [(1, 1), (4, 1), (8, 1), (8, 2)])
@pytest.mark.parametrize("bad", ["NaN force at step 4", "infinite start", "force too large"])
def test_a_diverging_world_touches_no_other(compiled, key, bad):
    """It stays at its last finite state, its number of good steps reports when; every other world has the same bits as without it."""
    q, v, tau = worlds(20)
    tau = np.repeat(tau[:, None], 8, axis=1)
    want = hm.rollout(compiled[key], q, v, tau, H, 8)
    broken_v, broken = v.copy(), tau.copy()
    if bad == "NaN force at step 4":
        broken[10, 4, 2] = np.nan
        last = 4
    elif bad == "infinite start":
        broken_v[10, 3] = np.inf
        last = 0
    else:
        broken[10, 2:, 1] = 1e306
        last = 2
    got = hm.rollout(compiled[key], q, broken_v, broken, H, 8)
    others = np.arange(20) != 10
    np.testing.assert_array_equal(got.q[others], want.q[others])
    np.testing.assert_array_equal(got.v[others], want.v[others])
    assert np.all(got.good[others] == 8)
    if bad == "force too large":
        assert last <= got.good[10] < 8
        assert np.isfinite(got.q[10]).all()
    elif bad == "NaN force at step 4":
        # it is frozen from there on, also where the forces are good again
        assert got.good[10] == 4
        np.testing.assert_array_equal(got.v[10, :5], want.v[10, :5])
        np.testing.assert_array_equal(got.v[10, 5:], np.broadcast_to(got.v[10, 4], (4, MODEL.nv)))
    else:
        assert got.good[10] == 0


def test_results_do_not_share_memory(compiled):
    """A second rollout leaves the first one's arrays alone, and the start too."""
    q, v, tau = worlds(9)
    q0, v0 = q.copy(), v.copy()
    first = hm.rollout(compiled[8, 1], q, v, tau, H, 3)
    kept = first.q.copy(), first.v.copy()
    hm.rollout(compiled[8, 1], q, -v, tau, H, 3)
    np.testing.assert_array_equal(first.q, kept[0])
    np.testing.assert_array_equal(first.v, kept[1])
    np.testing.assert_array_equal(q, q0)
    np.testing.assert_array_equal(v, v0)


def test_galilean_invariance(compiled):
    """In a steady current, seen by an observer who drifts along, all is as in still water: drag, added mass, Munk moments.

    The velocity of the current turns in body axes, which RK4 follows to its order: the difference is of order h⁴.
    """
    U = np.array([0.7, -0.4, 0.3])
    q, v, tau = worlds(1)
    R = hm.frame_pose(MODEL, q[0], "vehicle")[:3, :3]
    moving = v[0].copy()
    moving[:3] += R.T @ U
    off = []
    for h, steps in ((0.02, 50), (0.01, 100), (0.005, 200)):
        still = hm.rollout(compiled[1, 1], q[0], v[0], tau[0], h, steps)
        drift = hm.rollout(compiled[1, 1], q[0], moving, {"tau": tau[0], "fluid_velocity": U}, h, steps)
        carried = still.q[-1].copy()
        carried[:3] += steps * h * U
        off.append(np.abs(dynamics.difference(MODEL, drift.q[-1], carried)).max())
    orders = np.log2(np.array(off[:-1]) / off[1:])
    assert np.all(orders > 3.5) and off[-1] < 1e-8, (off, orders)


def test_errors(compiled):
    dyn = compiled[1, 1]
    q, v, tau = worlds(2)
    for arguments, options, kind, message in (
        ((q[:, :3], v, tau, H, 3), {}, ValueError, r"q must have shape \(\.\.\., 11\), got \(2, 3\)"),
        ((q, v[:, :2], tau, H, 3), {}, ValueError, r"v must have shape \(\.\.\., 9\)"),
        ((q, v, tau[:, :2], H, 3), {}, ValueError, r"tau must have shape \(\.\.\., 9\), got \(2, 2\)"),
        ((q, v, np.zeros((2, 5, 9)), H, 3), {}, ValueError, "has 5 rows for 3 steps"),
        ((q, v, np.zeros((2, 2, 3, 9)), H, 3), {}, ValueError, "has too many dimensions for the batch"),
        ((q, v, {"torque": tau}, H, 3), {}, KeyError, "unknown input 'torque'; available: tau"),
        ((q, v, tau, 0.0, 3), {}, ValueError, "dt is 0, must be finite and > 0"),
        ((q, v, tau, np.nan, 3), {}, ValueError, "dt is nan"),
        ((q, v, tau, H, 0), {}, ValueError, "steps is 0, must be an integer of at least 1"),
        ((q, v, tau, H, 2.5), {}, ValueError, "steps is 2.5"),
        ((q, v, tau, H, 3), {"record": True}, ValueError, "record is True"),
        ((q, v, tau, H, 3), {"method": "rk5"}, ValueError, "no integrator 'rk5'"),
        ((q, v, tau, H, 3), {"method": "dormand_prince"}, ValueError, "equal steps"),
        ((q, v, tau[:1].repeat(3, axis=0), H, 2), {}, ValueError, "shape|broadcast|batch"),
    ):
        with pytest.raises(kind, match=message):
            hm.rollout(dyn, *arguments, **options)
    with pytest.raises(KeyError, match="unknown open parameter 'vehicle.inertia.mass'"):
        hm.rollout(dyn, q, v, tau, H, 1, parameters={"vehicle.inertia.mass": 3.0})
    with pytest.raises(TypeError, match="pass a compiled model"):
        hm.rollout(MODEL, q, v, tau, H, 1)


def test_open_parameters_differ_between_worlds():
    """A rollout with a mass of each world is the rollout of models that have these masses."""
    q, v, tau = worlds(3)
    name = "vehicle.inertia.mass"
    masses = np.array([1.0, 1.3, 2.0]) * MODEL.bodies[0].inertia.mass
    got = hm.rollout(hm.compile(MODEL, parameters=[name], lanes=1), q, v, tau, H, 5, parameters={name: masses})
    for k, mass in enumerate(masses):
        body = replace(MODEL.bodies[0], inertia=replace(MODEL.bodies[0].inertia, mass=float(mass)))
        model = hm.Model(name="other", bodies=[body, *MODEL.bodies[1:]], world=MODEL.world)
        want = hm.rollout(hm.compile(model, lanes=1), q[k], v[k], tau[k], H, 5)
        np.testing.assert_allclose(got.q[k], want.q, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(got.v[k], want.v, rtol=1e-10, atol=1e-12)


def test_no_worlds(compiled):
    """An empty batch gives empty arrays."""
    r = hm.rollout(compiled[8, 2], np.zeros((0, MODEL.nq)), np.zeros((0, MODEL.nv)), np.zeros(MODEL.nv), H, 3)
    assert r.q.shape == (0, 4, MODEL.nq) and r.good.shape == (0,)


@pytest.mark.parametrize("method", ["rk4", "semi_implicit_euler", "b2pc5"])
def test_currents_that_bend_within_a_step(method):
    """A table's time, gusts and a start off the grid: each step ends its parts where the slope changes, as in `Simulation`."""
    ball = hm.Body(
        name="ball",
        inertia=hm.Inertia(mass=10.0, tensor=(0.1, 0.1, 0.1, 0, 0, 0)),
        hydro=hm.Hydro(
            volume=10.0 / 1025.0,
            added_mass=hm.added_mass.Diagonal((5, 5, 5, 0, 0, 0)),
            drag=hm.drag.Damping(linear=(3, 3, 3, 1, 1, 1), quadratic=(9, 9, 9, 1, 1, 1)),
        ),
    )
    model = hm.Model(bodies=[ball])
    table = hm.hydro.Current(times=(0.0, 0.1013, 0.1027, 0.5), velocities=((0, 0, 0), (0.5, 0, 0), (0.2, 0.4, 0), (0, 0, 0.1)))
    plant = hm.Plant(model=model, environment=hm.hydro.Environment(current=table))
    got = hm.rollout(plant, model.initial().q, np.zeros(6), {}, 0.01, 30, method=method)
    fine = hm.Simulation(plant, step=1e-4, integrator="rk4").run(0.3).state
    allowed = 3e-4 if method == "semi_implicit_euler" else 3e-6
    np.testing.assert_allclose(got.v[-1], fine.v, atol=allowed)
    assert got.good == 30
