"""Machine code against the float reference: one lane, lanes, threads; batches, parameters, derivatives, cache."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import compiler, equations, library
from hydromechs.compiler import Argument, Compiled, Recipe, trace
from hydromechs.compiler._cache import cached
from hydromechs.compiler._llvm import object_code
from hydromechs.compiler._llvm_text import llvm_text
from hydromechs.errors import UnsupportedFeature

pytestmark = pytest.mark.optimised  # as users run it


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """A cache folder of these tests' own, so that nothing old can pass for new; tests of other files share theirs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYDROMECHS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


MODELS = [library.load("tiburon_titan2"), library.random_tree(np.random.default_rng(101), max_bodies=3)]
"""A sample; `python -m benchmarks backends --trees 100` compares the whole library and many trees."""
WORLDS = 19  # no multiple of 4 or 8


def states(model, rng, n):
    """n random states near the initial one, with unit quaternions."""
    q0 = model.initial().q
    q = np.stack([hm.integrate(model, q0, rng.normal(size=model.nv), 0.5) for _ in range(n)])
    return q, rng.normal(size=(n, model.nv)), rng.normal(size=(n, model.nv))


def programs(model, rng):
    """(name, batch arguments, options, condition) of every equation."""
    q, v, tau = states(model, rng, WORLDS)
    condition = max(np.linalg.cond(hm.mass_matrix(model, x)) for x in q)
    uniform = dict(fluid_velocity=rng.normal(size=(WORLDS, 3)), fluid_acceleration=rng.normal(size=(WORLDS, 3)))
    each = dict(
        fluid_velocity=rng.normal(size=(WORLDS, model.nb, 3)),
        fluid_acceleration=rng.normal(size=(WORLDS, model.nb, 3)),
        wrench=rng.normal(size=(WORLDS, model.nb, 6)),
    )
    yield "forward_dynamics", (q, v, tau), each, condition
    if model.nv <= 7:  # of the large ones, one program each
        yield "forward_dynamics", (q, v, tau), {}, condition
        yield "forward_dynamics", (q, v, tau), uniform, condition
    yield "inverse_dynamics", (q, v, tau), each, 1
    yield "mass_matrix", (q,), {}, 1
    yield "damping_force", (q, v), dict(fluid_velocity=uniform["fluid_velocity"]), 1
    yield "restoring_force", (q,), {}, 1
    yield "kinematics", (q, v), {}, 1
    yield "energy", (q, v), dict(fluid_velocity=uniform["fluid_velocity"]), 1
    yield "momentum", (q, v), {}, 1
    if model.nv <= 6:  # a large program
        yield "coriolis_matrix", (q, v), dict(fluid_velocity=uniform["fluid_velocity"]), 1
    yield "integrate", (q, v, rng.uniform(0, 0.1, WORLDS)), {}, 1


def assert_equal(ours, reference, tolerance):
    for x, y in zip(ours if isinstance(ours, tuple) else (ours,), reference, strict=True):
        y = np.asarray(y)
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.name}-{m.nb}-{m.nv}")
def test_every_program_on_lanes_and_threads(model, monkeypatch):
    """1e-12 relative to the largest value; accelerations may differ by rounding times the condition of M."""
    monkeypatch.setattr("hydromechs.compiler._compiled.SMALL", 1)  # share even few worlds between threads
    compiled = [hm.compile(model, lanes=1), hm.compile(model, lanes=8, threads=2)]
    compiled += [hm.compile(model, lanes=4)] if model.nv <= 7 else []
    for name, arrays, options, condition in programs(model, np.random.default_rng(1)):
        rows = [
            getattr(hm.equations, name)(model, *[a[k] for a in arrays], **{key: x[k] for key, x in options.items()})
            for k in range(WORLDS)
        ]
        rows = [r if isinstance(r, tuple) else (r,) for r in rows]
        reference = tuple(np.stack([np.asarray(r[j]) for r in rows]) for j in range(len(rows[0])))
        tolerance = max(1e-12, 20 * np.finfo(float).eps * condition)
        for dyn in compiled:
            assert_equal(getattr(dyn, name)(*arrays, **options), reference, tolerance)
        single = getattr(compiled[0], name)(*[a[0] for a in arrays], **{key: x[0] for key, x in options.items()})
        assert_equal(single, tuple(r[0] for r in reference), tolerance)


CHAIN = library.serial_chain(2)


def test_threads_share_a_large_batch():
    """Worlds that fill several blocks per thread and a rest."""
    rng = np.random.default_rng(2)
    q, v, tau = states(CHAIN, rng, 50)
    q, v, tau = (np.tile(a, (141, 1))[:7037] for a in (q, v, tau))
    one = hm.compile(CHAIN, lanes=8, threads=1).forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(hm.compile(CHAIN, lanes=8, threads=3).forward_dynamics(q, v, tau), one)
    np.testing.assert_array_equal(one[50:100], one[:50])


def test_threads_after_a_fork():
    """A child process that inherits a compiled model makes threads of its own; nothing hangs."""
    dyn = hm.compile(CHAIN, lanes=8, threads=2)
    q, v = CHAIN.neutral()
    q, v = np.tile(q, (9000, 1)), np.tile(v, (9000, 1))
    expected = dyn.forward_dynamics(q, v, v)
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking with threads, which is what this is about
        child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(dyn.forward_dynamics(q, v, v), expected) else 1)
    for _ in range(600):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.1)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child hung")
    assert status == 0


def test_compiled_models_travel():
    """Pickled, as for a pool of processes, and unpickled it gives the same results."""
    dyn = hm.compile(CHAIN, lanes=4, threads=2, parameters=["world.water_density"])
    again = pickle.loads(pickle.dumps(dyn))
    q, v = CHAIN.neutral()
    np.testing.assert_array_equal(again.forward_dynamics(q, v, v), dyn.forward_dynamics(q, v, v))
    assert (again.lanes, again.threads, list(again.parameters)) == (4, 2, ["world.water_density"])


def test_nan_in_gives_nan_out():
    dyn = hm.compile(CHAIN)
    q, v = CHAIN.neutral()
    for k in range(CHAIN.nv):
        bad = v.copy()
        bad[k] = np.nan
        assert np.isnan(dyn.forward_dynamics(q, bad, v)).any()
    for at in (7, 8):
        for value in (np.nan, np.inf):
            bad = q.copy()
            bad[at] = value
            assert np.isnan(dyn.forward_dynamics(bad, v + 1.0, v)).any()
    batch = np.tile(v, (20, 1))
    batch[5] = np.nan
    out = dyn.forward_dynamics(np.tile(q, (20, 1)), batch, batch)
    assert np.isnan(out[5]).any() and np.isfinite(np.delete(out, 5, axis=0)).all()


def test_batches_broadcast_and_write_where_told():
    dyn = hm.compile(CHAIN)
    rng = np.random.default_rng(3)
    q, v, tau = states(CHAIN, rng, 6)
    full = dyn.forward_dynamics(q, v, tau)
    np.testing.assert_array_equal(
        dyn.forward_dynamics(q.reshape(2, 3, -1), v.reshape(2, 3, -1), tau.reshape(2, 3, -1)).reshape(6, -1), full
    )
    one_tau = dyn.forward_dynamics(q, v, tau[0])
    np.testing.assert_allclose(one_tau[0], full[0], rtol=1e-13)
    grid = dyn.forward_dynamics(q[:, None], v[None, :], tau[0])
    assert grid.shape == (6, 6, CHAIN.nv)
    np.testing.assert_allclose(grid[2, 4], dyn.forward_dynamics(q[2], v[4], tau[0]), rtol=1e-12)
    out = np.empty((6, CHAIN.nv))
    assert dyn.forward_dynamics(q, v, tau, out=out) is out
    np.testing.assert_array_equal(out, full)
    in_place = v.copy()  # results may replace an argument
    np.testing.assert_array_equal(dyn.forward_dynamics(q, in_place, tau, out=in_place), full)
    single = v[1].copy()
    dyn.forward_dynamics(q[1], single, tau[1], out=single)
    np.testing.assert_allclose(single, full[1], rtol=1e-12)
    assert dyn.forward_dynamics(np.empty((0, CHAIN.nq)), np.empty((0, CHAIN.nv)), np.empty((0, CHAIN.nv))).shape == (
        0,
        CHAIN.nv,
    )
    reversed_q = q[::-1]
    np.testing.assert_array_equal(dyn.forward_dynamics(reversed_q, v[::-1], tau[::-1]), full[::-1])


def test_odd_arguments_of_single_calls():
    """Lists, integers, single precision, views and wrong things go the checked way."""
    dyn = hm.compile(CHAIN)
    q, v = CHAIN.neutral()
    expected = dyn.forward_dynamics(q, v, v)
    np.testing.assert_array_equal(dyn.forward_dynamics(list(q), [0] * CHAIN.nv, tuple(v)), expected)
    np.testing.assert_array_equal(dyn.forward_dynamics(q.astype(np.float32), v.astype(int), v), expected)
    wide = np.zeros((CHAIN.nv, 3))
    np.testing.assert_array_equal(dyn.forward_dynamics(q, wide[:, 1], v), expected)
    frozen = np.zeros(CHAIN.nv)
    frozen.flags.writeable = False
    np.testing.assert_array_equal(dyn.forward_dynamics(q, frozen, v), expected)
    for call, words in (
        (lambda: dyn.forward_dynamics(q[:-1], v, v), "q must have shape (..., 9), got (8,)"),
        (lambda: dyn.forward_dynamics(q, "fast", v), "v must be an array of numbers"),
        (lambda: dyn.forward_dynamics(q, v, v, out=frozen), "out for vdot must be a writeable contiguous float64 array"),
        (lambda: dyn.forward_dynamics(q, v, v, out=np.empty(3)), "of shape (8,)"),
        (
            lambda: dyn.forward_dynamics(np.tile(q, (3, 1)), np.tile(v, (2, 1)), v),
            "batch dimensions",
        ),
        (lambda: hm.compile(CHAIN, lanes=3), "lanes is 3; use 1, 4 or 8"),
        (lambda: hm.compile(CHAIN, threads=0), "threads is 0"),
    ):
        with pytest.raises(ValueError) as error:
            call()
        assert words in str(error.value)
    with pytest.raises(KeyError, match="no frame or body 'gripper'"):
        dyn.jacobian(q, "gripper")
    with pytest.raises(TypeError, match=r"must be a hydromechs\.Model"):
        hm.compile("puma560")


def test_jacobian_of_a_frame():
    model = library.load("tiburon_titan2")
    dyn = hm.compile(model)
    q, _, _ = states(model, np.random.default_rng(4), 5)
    J = dyn.jacobian(q, "tool", (0.1, 0.2, 0.3))
    np.testing.assert_allclose(J[3], hm.jacobian(model, q[3], "tool", (0.1, 0.2, 0.3)), atol=1e-13)


NAMES = (
    "world.water_density",
    "link1.inertia.mass",
    "link1.inertia.com",
    "link1.hydro.added_mass.0.matrix",
    "link2.hydro.drag.0.coefficient",
)


def test_parameters_stay_open():
    """A compiled model with other numbers equals the model built with them; batches of parameters work."""
    dyn = hm.compile(CHAIN, parameters=NAMES)
    rng = np.random.default_rng(5)
    q, v, tau = states(CHAIN, rng, 3)
    np.testing.assert_allclose(dyn.forward_dynamics(q, v, tau), hm.compile(CHAIN).forward_dynamics(q, v, tau), rtol=1e-10)
    A = rng.normal(size=(6, 6))
    values = dict(zip(NAMES, (990.0, 3.0, (0.1, 0.2, 0.3), A @ A.T, 2.0), strict=True))
    link1, link2 = CHAIN.bodies[1:]
    changed = hm.Model(
        bodies=[
            CHAIN.bodies[0],
            replace(
                link1,
                inertia=replace(link1.inertia, mass=3.0, com=(0.1, 0.2, 0.3)),
                hydro=replace(link1.hydro, added_mass=hm.added_mass.Matrix(A @ A.T)),
            ),
            replace(link2, hydro=replace(link2.hydro, drag=(replace(link2.hydro.drag[0], coefficient=2.0),))),
        ],
        world=replace(CHAIN.world, water_density=990.0),
    )
    for k in range(3):
        expected = hm.forward_dynamics(changed, q[k], v[k], tau[k])
        np.testing.assert_allclose(
            dyn.forward_dynamics(q[k], v[k], tau[k], parameters=values), expected, rtol=0, atol=1e-11 * np.abs(expected).max()
        )
    many = dyn.forward_dynamics(q[0], v[0], tau[0], parameters={"world.water_density": np.linspace(900, 1100, 9)})
    assert many.shape == (9, CHAIN.nv) and len(np.unique(many[:, 0])) == 9
    with pytest.raises(KeyError, match=r"no open parameter 'colour'; available: none; list open parameters in hm\.compile"):
        hm.compile(CHAIN).forward_dynamics(q[0], v[0], tau[0], parameters={"colour": 1.0})
    with pytest.raises(KeyError, match="no open parameter 'colour'"):
        dyn.forward_dynamics(q, v, tau, parameters={"colour": 1.0})
    with pytest.raises(KeyError, match=r"'link1\.inertia\.weight'.*mass, com, tensor"):
        hm.compile(CHAIN, parameters=["link1.inertia.weight"])
    with pytest.raises(KeyError, match=r"link1\.inertia.*mass, com, tensor"):
        hm.compile(CHAIN, parameters=["link1.inertia"])


def difference(function, x, h=1e-3):
    """Jacobian by central differences of sixth order."""
    columns = []
    for k in range(len(x)):
        e = np.eye(len(x))[k] * h
        d = [np.asarray(function(x + j * e)) - np.asarray(function(x - j * e)) for j in (1, 2, 3)]
        columns.append((45 * d[0] - 9 * d[1] + d[2]) / (60 * h))
    return np.stack(columns, axis=-1)


def test_derivatives_of_programs():
    """Jacobians, products with vectors from both sides, with respect to states and parameters, to 1e-9."""
    dyn = hm.compile(CHAIN, parameters=["world.water_density", "link1.inertia.com"])
    rng = np.random.default_rng(6)
    q, v, tau = (a[0] for a in states(CHAIN, rng, 1))
    numeric = difference(lambda x: hm.forward_dynamics(CHAIN, q, x, tau), v)
    exact = dyn.differentiate("forward_dynamics", "v")(q, v, tau)
    np.testing.assert_allclose(exact, numeric, rtol=0, atol=1e-9 * np.abs(numeric).max())
    of_q, of_tau = dyn.differentiate("inverse_dynamics", ("q", "vdot"))(q, v, tau)
    np.testing.assert_allclose(of_tau, hm.mass_matrix(CHAIN, q), rtol=0, atol=1e-12 * np.abs(of_tau).max())
    angles = difference(lambda x: hm.inverse_dynamics(CHAIN, np.concatenate([q[:7], x]), v, tau), q[7:])
    np.testing.assert_allclose(of_q[:, 7:], angles, rtol=0, atol=1e-9 * np.abs(angles).max())
    direction, weight = rng.normal(size=(2, CHAIN.nv))
    np.testing.assert_allclose(dyn.jvp("forward_dynamics", "v")(q, v, tau, direction), exact @ direction, rtol=1e-10)
    np.testing.assert_allclose(dyn.vjp("forward_dynamics", "v")(q, v, tau, weight), weight @ exact, rtol=1e-9, atol=1e-9)
    com = np.array(CHAIN.bodies[1].inertia.com)
    by_com = dyn.differentiate("forward_dynamics", "link1.inertia.com")(q, v, tau)
    numeric = difference(lambda x: dyn.forward_dynamics(q, v, tau, parameters={"link1.inertia.com": x}), com)
    np.testing.assert_allclose(by_com, numeric, rtol=0, atol=1e-9 * np.abs(numeric).max())
    batch = dyn.differentiate("forward_dynamics", "v")(np.tile(q, (5, 1)), np.tile(v, (5, 1)), tau)
    assert batch.shape == (5, CHAIN.nv, CHAIN.nv)
    with pytest.raises(KeyError, match="no input 'x'; available: q, v, tau"):
        dyn.differentiate("forward_dynamics", "x")
    with pytest.raises(KeyError, match="no equation 'fly'"):
        dyn.program("fly")


def test_linearize_is_the_derivative_on_the_manifold():
    """d/dt (δ, δv) against differences of the flow itself, for free, ball and composite joints."""
    for seed in (103, 107, 111):
        model = library.random_tree(np.random.default_rng(seed), max_bodies=3)
        dyn = hm.compile(model)
        q, v, tau = (a[0] for a in states(model, np.random.default_rng(7), 1))
        A, B = dyn.linearize(q, v, tau)
        n, zero = model.nv, np.zeros(model.nv)
        lower = difference(lambda d: hm.forward_dynamics(model, hm.integrate(model, q, d, 1.0), v, tau), zero)  # noqa: B023
        condition = np.linalg.cond(hm.mass_matrix(model, q))
        scale = np.abs(lower).max()
        np.testing.assert_allclose(A[n:, :n], lower, rtol=0, atol=max(1e-9, 1e-13 * condition) * scale)
        np.testing.assert_allclose(B[n:], np.linalg.inv(hm.mass_matrix(model, q)), rtol=1e-9, atol=1e-12 * condition)
        np.testing.assert_array_equal(A[:n, n:], np.eye(n))
        # a small displacement carried along by the motion: q(h) ⊕ δ(h) after the step h, from q ⊕ δ
        h, d = 1e-4, 1e-4 * np.random.default_rng(8).normal(size=n)
        start = hm.integrate(model, q, d, 1.0)
        end, moved = hm.integrate(model, q, v, h), hm.integrate(model, start, v, h)
        predicted = hm.integrate(model, end, d + h * (A[:n, :n] @ d), 1.0)
        # the error is of second order in h and in d
        assert np.abs(predicted - moved).max() < 1e-10


def test_linearize_of_a_hovering_vehicle_has_its_zero_modes():
    """A neutral vehicle at rest: position and heading are free, roll and pitch swing, velocities decay."""
    vehicle = library.load("tiburon_titan2").bodies[0]
    level = replace(vehicle.hydro, buoyancy_center=(0, 0, -0.3), volume=vehicle.inertia.mass / 1025.0)
    vehicle = replace(vehicle, hydro=level, inertia=replace(vehicle.inertia, com=(0, 0, 0)))
    model = hm.Model(bodies=[vehicle])
    q, v = model.neutral()
    A, _ = hm.compile(model).linearize(q, v, v)
    assert np.isfinite(A).all()
    np.testing.assert_allclose(A[6:, [0, 1, 2, 5]], 0, atol=1e-12)  # nothing depends on position and heading
    values = np.linalg.eigvals(A)
    assert (np.abs(values) < 1e-6).sum() == 4
    stiffness = A[6:, 3:5]
    assert stiffness[3, 0] < 0 and stiffness[4, 1] < 0
    assert (values.real < 1e-9).all()


class OwnDrag:
    """The example of the documentation: Stokes and quadratic drag, buoyancy that fades above the surface."""

    def added_mass(self, body, motion):
        return np.diag([0.3 * motion.density * 1e-3] * 3 + [0.0] * 3)

    def wrench(self, body, motion):
        from hydromechs.spatial import maximum, norm

        v = motion.velocity[:3]
        wet = 0.5 + 0.5 * np.tanh(motion.depth)
        drag = -(0.1 + 2.0 * norm(v)) * v
        lift = maximum(v[0], 0.0) * np.exp(-v[1] * v[1])
        return np.concatenate([wet * 2e-3 * motion.density * motion.a_fg + drag, [lift, 0.0 * lift, 0.1 * np.arctan(lift)]])


def test_custom_hydrodynamics_compiles_to_lanes():
    body = hm.Body(name="b", inertia=hm.Inertia(mass=1.0, com=(0.1, 0.2, 0.3), tensor=(1, 1, 1, 0, 0, 0)), hydro=OwnDrag())
    model = hm.Model(bodies=[body])
    q, v, tau = states(model, np.random.default_rng(9), 11)
    reference = np.stack([hm.forward_dynamics(model, *x) for x in zip(q, v, tau, strict=True)])
    for lanes in (1, 4, 8):
        np.testing.assert_allclose(
            hm.compile(model, lanes=lanes).forward_dynamics(q, v, tau), reference, rtol=1e-11, atol=1e-12
        )


def test_sine_and_cosine_in_the_code():
    """Within 1.5 units in the last place of the correctly rounded value up to 1e5 rad, NaN beyond the numbers."""
    mpmath = pytest.importorskip("mpmath", reason="needs mpmath for correctly rounded values")
    inputs = (Argument("x", ()),)
    outputs = (Argument("s", ()), Argument("c", ()))
    function = Compiled(Recipe("sincos_test", lambda x: (np.sin(x[()]), np.cos(x[()])), inputs, outputs, "sincos"), 8, 1)
    rng = np.random.default_rng(10)
    x = np.concatenate(
        [rng.uniform(-10, 10, 1500), rng.uniform(-1e5, 1e5, 1500), np.arange(-40, 40) * np.pi / 4, [0.0, 1e-300, 1e-9]]
    )
    mpmath.mp.prec = 120
    for ours, exact in zip(function([x]), (mpmath.sin, mpmath.cos), strict=True):
        truth = [exact(mpmath.mpf(float(a))) for a in x]
        error = [
            abs(mpmath.mpf(float(y)) - t) / mpmath.mpf(float(np.spacing(abs(float(t)) or 1e-300)))
            for y, t in zip(ours, truth, strict=True)
        ]
        # next to a zero of the function the reduction of the angle itself is right to 2e-33·n only
        big = [e for e, t in zip(error, truth, strict=True) if abs(t) > 1e-12]
        assert max(big) < 1.5
    assert all(np.isnan(y).all() for y in function([np.array([np.nan, np.inf, -np.inf])]))


def test_programs_print_count_and_hash():
    program = trace(lambda a, b: a * b + 0.0 * a + a * b, {"a": (2,), "b": (2,)}, name="f", outputs=("y",))
    assert "f(a[2], b[2]) -> y[2]" in str(program) and "mul" in str(program)
    assert program.count().multiplications == 2 and program.count().additions == 2 and program.count().papers == (2, 2)
    other = trace(lambda a, b: a * b + a, {"a": (2,), "b": (2,)}, name="f", outputs=("y",))
    assert program.hash != other.hash
    assert program.hash == trace(lambda a, b: a * b + b * a, {"a": (2,), "b": (2,)}, name="f", outputs=("y",)).hash
    np.testing.assert_allclose(program([1, 2], [3, 4])[0], [6, 16])


def test_casadi_functions_for_optimal_control():
    f = hm.compile(CHAIN).casadi("forward_dynamics")
    q, v, tau = (a[0] for a in states(CHAIN, np.random.default_rng(11), 1))
    np.testing.assert_allclose(np.array(f(q, v, tau)).ravel(), hm.forward_dynamics(CHAIN, q, v, tau), rtol=1e-11)
    assert f.name_in() == ["q", "v", "tau"]


def test_cache_entries_are_checked_and_rebuilt(tmp_path, monkeypatch):
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))
    made = []

    def build():
        made.append(1)
        return b"code"

    assert cached("k", build) == b"code" and cached("k", build) == b"code" and len(made) == 1
    entry = next(tmp_path.glob("*.o"))
    for damage in (b"", entry.read_bytes()[:-1], entry.read_bytes() + b"x", b"garbage" * 100):
        entry.write_bytes(damage)
        before = len(made)
        assert cached("k", build) == b"code" and len(made) == before + 1
    assert not list(tmp_path.glob("*.part"))
    monkeypatch.setenv("HYDROMECHS_CACHE", "/proc/nowhere")  # cannot be written: no cache, no error
    assert cached("k", build) == b"code"


@pytest.mark.skipif(sys.platform == "win32", reason="no file locks there")
def test_what_several_ask_for_at_once_is_built_once(tmp_path, monkeypatch):
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))
    start, made, got = threading.Barrier(4), [], []

    def build():
        made.append(1)
        time.sleep(0.1)
        return b"code"

    def ask():
        start.wait()
        got.append(cached("k", build))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [b"code"] * 4 and len(made) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["k.o"]  # and the lock is gone
    with pytest.raises(ZeroDivisionError):
        cached("other", lambda: b"%d" % (1 // 0))
    assert cached("other", build) == b"code"  # a build that fails lets go of its lock


def test_a_damaged_cache_does_not_harm_a_model(tmp_path, monkeypatch):
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))
    q, v = CHAIN.neutral()
    expected = hm.compile(CHAIN).forward_dynamics(q, v, v)
    for entry in tmp_path.glob("*.o"):
        entry.write_bytes(entry.read_bytes()[: len(entry.read_bytes()) // 2])
    np.testing.assert_array_equal(hm.compile(CHAIN).forward_dynamics(q, v, v), expected)


def test_four_processes_start_together_on_an_empty_cache(tmp_path):
    code = (
        "import numpy as np, hydromechs as hm; from hydromechs.library import serial_chain; m = serial_chain(1); q, v = m.neutral();"
        "print(repr(hm.compile(m).forward_dynamics(q, v + 0.1, v).tolist()))"
    )
    environment = {**os.environ, "HYDROMECHS_CACHE": str(tmp_path / "new"), "OMP_NUM_THREADS": "1"}
    running = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    results = {p.communicate(timeout=300)[0] for p in running}
    assert all(p.returncode == 0 for p in running) and len(results) == 1
    assert len(list((tmp_path / "new").glob("*.o"))) == 1


def test_code_that_is_compiled_quickly_is_other_code_with_the_same_results(tmp_path, monkeypatch):
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))
    q, v, tau = (a[0] for a in states(CHAIN, np.random.default_rng(12), 1))
    optimised = hm.compile(CHAIN).forward_dynamics(q, v, tau)
    monkeypatch.setenv("HYDROMECHS_OPTIMISE", "0")
    np.testing.assert_allclose(hm.compile(CHAIN).forward_dynamics(q, v, tau), optimised, rtol=1e-11)
    assert len({file.stat().st_size for file in tmp_path.glob("*.o")}) == 2


def test_other_numbers_are_other_code(tmp_path, monkeypatch):
    monkeypatch.setenv("HYDROMECHS_CACHE", str(tmp_path))
    q, v = CHAIN.neutral()
    first = hm.compile(CHAIN).forward_dynamics(q, v, v)
    heavier = hm.Model(
        bodies=[replace(CHAIN.bodies[0], inertia=replace(CHAIN.bodies[0].inertia, mass=1000.0)), *CHAIN.bodies[1:]]
    )
    assert not np.allclose(hm.compile(heavier).forward_dynamics(q, v, v), first)
    assert len(list(tmp_path.glob("*.o"))) == 2


RACE = """
import threading, numpy as np, hydromechs as hm
model = hm.load("puma560")
q, v = model.neutral()
Q, V = np.tile(q, (400, 1)), np.tile(v, (400, 1))
for trial in range(4):
    dyn = hm.compile(model)
    start, results = threading.Barrier(6), []
    def work():
        start.wait()
        for _ in range(20):
            results.append(dyn.forward_dynamics(Q, V, V)[7].tobytes() + dyn.forward_dynamics(q, v, v).tobytes()[:0])
    threads = [threading.Thread(target=work) for _ in range(6)]
    [t.start() for t in threads]; [t.join() for t in threads]
    assert len(set(results)) == 1 and len(results) == 120
print("good")
"""

INTERRUPTED = """
import signal, threading, numpy as np, hydromechs as hm
model = hm.load("puma560")
dyn = hm.compile(model, threads=2)
q, v = model.neutral()
Q, V = np.tile(q, (40000, 1)), np.tile(v, (40000, 1))
expected = dyn.forward_dynamics(Q, V, V)
class Stop(Exception): pass
def stop(*_): raise Stop
signal.signal(signal.SIGALRM, stop)
count = 0
for k in range(60):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0003 + 0.0001 * k)
        for _ in range(50):
            dyn.forward_dynamics(Q, V, V)
    except Stop:
        count += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
assert np.array_equal(dyn.forward_dynamics(Q, V, V), expected)
print("good", count)
"""


@pytest.mark.parametrize("code", [RACE, INTERRUPTED], ids=["race", "interrupted"])
def test_threads_and_signals_do_not_crash(code):
    """First calls from many threads at once, and signals in the middle of a shared batch; in a process of its own."""
    result = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and "good" in result.stdout, result.stderr


def test_functions_outlive_what_made_them():
    """A function pointer keeps its machine code alive."""
    import gc

    recipe = Recipe("twice", lambda x: 2.0 * x, (Argument("x", (3,)),), (Argument("y", (3,)),), "twice")
    single = Compiled(recipe, 1, 1).single()
    gc.collect()
    y = np.empty(3)
    assert single(np.arange(3.0), y) is True
    np.testing.assert_array_equal(y, [0, 2, 4])


def test_single_calls_reject_what_they_cannot_read():
    """Anything but writeable float64 arrays of the exact shape and number is rejected, and no reference is lost or kept."""
    recipe = Recipe("twice", lambda x: 2.0 * x, (Argument("x", (3,)),), (Argument("y", (3,)),), "twice")
    single = Compiled(recipe, 1, 1).single()
    x, y, frozen = np.arange(3.0), np.full(3, 7.0), np.full(3, 7.0)
    frozen.flags.writeable = False
    before = [sys.getrefcount(thing) for thing in (True, False, x, y, np.ndarray)]
    wrong = [
        (),
        (x,),
        (x, y, y),
        (None, y),
        ([0.0, 1.0, 2.0], y),
        (x.astype(np.float32), y),
        (x, frozen),
        (np.arange(6.0)[::2], y),
    ]
    for arguments in wrong * 1000:
        assert single(*arguments) is False
    with pytest.raises(TypeError):
        single(x=x)
    assert (y == 7).all() and (frozen == 7).all()
    for _ in range(1000):
        single(x, y)
    after = [sys.getrefcount(thing) for thing in (True, False, x, y, np.ndarray)]
    assert max(abs(b - a) for a, b in zip(before, after, strict=True)) < 100


@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_results_across_arguments(lanes):
    """An `out` that overlaps an argument otherwise than exactly does not disturb other worlds."""
    dyn = hm.compile(CHAIN, lanes=lanes)
    q, v, tau = states(CHAIN, np.random.default_rng(12), 21)
    expected = dyn.forward_dynamics(q, v, tau)
    shifted = np.concatenate([tau, tau[:1]])
    np.testing.assert_allclose(dyn.forward_dynamics(q, v, shifted[:21], out=shifted[1:]), expected, rtol=1e-12)
    shared = np.tile(tau[3], (21, 1))
    expected = dyn.forward_dynamics(q, v, tau[3])
    np.testing.assert_allclose(dyn.forward_dynamics(q, v, shared[0], out=shared), expected, rtol=1e-12)


def test_flows_that_could_mean_worlds_or_bodies():
    """As many worlds as bodies: the caller must say; with other numbers of worlds rows are bodies."""
    dyn = hm.compile(CHAIN)
    rng = np.random.default_rng(13)
    q, v, tau = states(CHAIN, rng, 3)
    flow = rng.normal(size=(3, 3))
    with pytest.raises(
        ValueError, match=r"could mean 3 worlds or 3 bodies; use shape \(3, 1, 3\) for worlds or \(1, 3, 3\) for bodies"
    ):
        dyn.forward_dynamics(q, v, tau, fluid_velocity=flow)
    worlds = dyn.forward_dynamics(q, v, tau, fluid_velocity=flow[:, None])
    bodies = dyn.forward_dynamics(q, v, tau, fluid_velocity=flow[None])
    for k in range(3):
        np.testing.assert_allclose(
            worlds[k], hm.forward_dynamics(CHAIN, q[k], v[k], tau[k], fluid_velocity=flow[k]), rtol=1e-10
        )
        np.testing.assert_allclose(bodies[k], hm.forward_dynamics(CHAIN, q[k], v[k], tau[k], fluid_velocity=flow), rtol=1e-10)
    two = dyn.forward_dynamics(q[:2], v[:2], tau[:2], fluid_velocity=flow)
    np.testing.assert_allclose(two, bodies[:2], rtol=1e-12)
    np.testing.assert_allclose(dyn.forward_dynamics(q[0], v[0], tau[0], fluid_velocity=flow), bodies[0], rtol=1e-10)


def test_flow_of_one_body_in_one_world():
    """No error if both meanings are the same."""
    model = library.serial_chain(0)
    dyn = hm.compile(model)
    q, v, tau = states(model, np.random.default_rng(15), 1)
    flow = np.array([[0.3, 0.2, 0.1]])
    expected = hm.forward_dynamics(model, q[0], v[0], tau[0], fluid_velocity=flow[0])
    np.testing.assert_allclose(dyn.forward_dynamics(q, v, tau, fluid_velocity=flow)[0], expected, rtol=1e-11)
    np.testing.assert_allclose(dyn.forward_dynamics(q[0], v[0], tau[0], fluid_velocity=flow), expected, rtol=1e-11)


class Scaled(hm.drag.ShapeDrag):
    """A custom drag element, whose equation is not in this package."""

    strength = 1.0

    def wrench(self, V_r, density):
        return -self.strength * V_r


def test_own_elements_are_known_by_their_trace(monkeypatch):
    """The same model with another equation in a custom element is other code, also from a filled cache."""
    element = Scaled(shape=hm.geometry.Sphere(radius=0.1), coefficient=1.0)
    body = hm.Body(name="b", inertia=hm.Inertia(mass=1.0, tensor=(1, 1, 1, 0, 0, 0)), hydro=hm.Hydro(drag=element))
    model = hm.Model(bodies=[body], world=hm.World(gravity=0.0))
    q, v = model.neutral()
    v[0] = 1.0
    results = []
    for strength in (1.0, 2.0):
        monkeypatch.setattr(Scaled, "strength", strength)
        results.append(hm.compile(model).forward_dynamics(q, v, 0 * v)[0])
    np.testing.assert_allclose(results, [-1.0, -2.0])


def test_parameters_that_make_no_sense():
    body = replace(CHAIN.bodies[0], name="x.1")
    model = hm.Model(bodies=[body, replace(body, name="x-1"), replace(body, name="x_1")])
    names = ["x.1.inertia.mass", "x-1.inertia.mass", "x_1.inertia.mass"]
    dyn = hm.compile(model, parameters=names)
    q, v = model.neutral()
    assert np.isfinite(dyn.forward_dynamics(q, v, v)).all() and len(set(dyn.casadi("forward_dynamics").name_in())) == 6
    link = "link1.hydro.drag.0"
    for wanted, error, words in (
        ([f"{link}.end_coefficient"], KeyError, "is not set"),
        (["link1.joint.damping"], KeyError, "has no effect on the equations"),
        (["world.axes"], KeyError, "is not a number but a str"),
        (["hull.inertia.mass"], KeyError, "unknown name 'hull'"),
        (["link1.inertia.com", "link1.inertia.com.0"], ValueError, "refer to the same number or overlap"),
    ):
        with pytest.raises(error) as raised:
            hm.compile(CHAIN, parameters=wanted)
        assert words in str(raised.value)
    assert list(hm.compile(CHAIN, parameters="link1.inertia.mass").parameters) == ["link1.inertia.mass"]
    q, v = CHAIN.neutral()
    with pytest.raises(hm.UnsupportedFeature, match=rf"{link}\.shape\.origin\.xyz determines the structure"):
        hm.compile(CHAIN, parameters=[f"{link}.shape.origin.xyz"]).forward_dynamics(q, v, v)
    derivative = hm.compile(CHAIN, parameters=["link1.inertia.mass"]).differentiate("forward_dynamics", "v")
    with pytest.raises(KeyError, match=r"no open parameter 'link1\.inertia\.mas'"):
        derivative(q, v, v, parameters={"link1.inertia.mas": 1.0})
    with pytest.raises(TypeError, match="got 2 arrays; pass q, v, tau"):
        derivative(q, v)


def test_derivatives_of_other_results_and_inputs():
    dyn = hm.compile(CHAIN)
    q, v, tau = (a[0] for a in states(CHAIN, np.random.default_rng(14), 1))
    u = np.array([0.3, 0.2, 0.1])
    exact = dyn.differentiate("forward_dynamics", "fluid_velocity", inputs=["fluid_velocity"])(q, v, tau, u)
    numeric = difference(lambda x: hm.forward_dynamics(CHAIN, q, v, tau, fluid_velocity=x), u)
    np.testing.assert_allclose(exact, numeric, rtol=0, atol=1e-9 * np.abs(numeric).max())
    velocities = dyn.differentiate("kinematics", "v", output="V_WB_B")(q, v)
    np.testing.assert_allclose(velocities[12:18], hm.jacobian(CHAIN, q, "link2"), atol=1e-12)
    with pytest.raises(KeyError, match="no optional input 'wind'"):
        dyn.program("forward_dynamics", ["wind"])


def test_no_home_no_cache(monkeypatch):
    """Without a home folder, as in some containers, things work uncached; an empty variable counts as unset."""
    from hydromechs.compiler import _cache

    monkeypatch.setenv("HYDROMECHS_CACHE", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(_cache.Path, "home", staticmethod(nowhere))
    assert cached("k", lambda: b"code") == b"code"


def test_a_model_without_motion():
    fixed = hm.Model(bodies=[replace(CHAIN.bodies[0], joint=hm.joints.Fixed())])
    dyn = hm.compile(fixed)
    none = np.empty(0)
    A, B = dyn.linearize(none, none, none)
    assert (
        dyn.forward_dynamics(none, none, none).shape == (0,)
        and dyn.mass_matrix(none).shape == (0, 0)
        and A.shape == B.shape == (0, 0)
    )


def test_operations_without_a_translation_are_named():
    """Operations that no back end supports raise an error instead of giving a wrong number."""
    import casadi

    from hydromechs.compiler import Symbol

    with pytest.raises(hm.UnsupportedFeature, match="is not supported"):
        trace(lambda x: np.array([Symbol(casadi.erf(x[0].sx))]), {"x": (1,)})


@pytest.mark.skipif(compiler.native_lanes() != 8, reason="needs AVX-512, whose vectors fill a line of the cache")
def test_vectors_wait_on_an_aligned_stack():
    """Else they lie across two lines of the cache in most processes, which takes a fifth more time."""
    model = library.load("tiburon_titan2")
    aligned = bytes.fromhex("4883e4c0")  # and rsp, -64
    program = hm.compile(model).program("forward_dynamics")
    assert aligned in object_code(llvm_text(program, 8))
    assert aligned in object_code(llvm_text(equations.RolledTree(model).forward_dynamics(), 8))


def test_programs_that_no_one_would_wait_for_are_rejected():
    with pytest.raises(
        UnsupportedFeature, match=r"3.0 million operations is too long to compile; .*use rk4 with a shorter step"
    ):
        object_code(";\n" * 3_000_001)
