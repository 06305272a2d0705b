"""The same numbers from floats and from a trace with symbols."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import hydro, library
from hydromechs import spatial as sp
from hydromechs.compiler import Symbol, symbols, trace
from hydromechs.dynamics import velocity_force


def assert_same(function, arguments, tolerance=1e-13):
    """`function(**arguments)` with floats equals its trace at the same numbers, relative to the largest result."""
    arguments = {k: np.asarray(x, dtype=float) for k, x in arguments.items()}
    expected = function(**arguments)
    traced = trace(function, {k: x.shape for k, x in arguments.items()})
    results = traced(*arguments.values())
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, reference in zip(results, expected, strict=True):
        reference = np.ravel(np.asarray(reference, dtype=float))
        np.testing.assert_allclose(
            np.array(ours).ravel(), reference, rtol=0, atol=tolerance * max(1.0, np.abs(reference).max(initial=0))
        )


rng = np.random.default_rng(1)
a, b, p = rng.normal(size=(3, 3))
V, W, F = rng.normal(size=(3, 6))
q1, q2 = (x / np.linalg.norm(x) for x in rng.normal(size=(2, 4)))
A = (lambda B: B @ B.T + np.eye(6))(rng.normal(size=(6, 6)))
SPATIAL = {
    "any_of": (lambda a, b: sp.any_of([a[0] > b[0], a[1] > b[1]]), dict(a=a, b=b)),
    "smallest_angle": (lambda a: sp.smallest_angle(7.0 * a[0]), dict(a=a)),
    "cross": (lambda a, b: sp.cross(a, b), dict(a=a, b=b)),
    "skew": (lambda a: sp.skew(a), dict(a=a)),
    "norm": (lambda a: sp.norm(a), dict(a=a)),
    "planar_rotation": (lambda a: sp.planar_rotation(1, np.cos(a[0]), np.sin(a[0])), dict(a=a)),
    "quaternion_matrix": (lambda q: sp.quaternion_matrix(q), dict(q=q1)),
    "quaternion_product": (lambda q, r: sp.quaternion_product(q, r), dict(q=q1, r=q2)),
    "quaternion_exp": (lambda a: sp.quaternion_exp(a), dict(a=a)),
    "rotation_between": (lambda q, r: sp.rotation_between(q, r), dict(q=q1, r=q2)),
    "turn_between": (lambda q, r: sp.turn_between(q, r), dict(q=q1, r=q2)),
    "turning_rate": (lambda a, b: sp.turning_rate(a, b), dict(a=a, b=b)),
    "motion_cross": (lambda V, W: sp.motion_cross(V, W), dict(V=V, W=W)),
    "force_cross": (lambda V, F: sp.force_cross(V, F), dict(V=V, F=F)),
    "tensor_matrix": (lambda F: sp.tensor_matrix(F), dict(F=F)),
    "rigid_inertia": (lambda m, a, F: sp.rigid_inertia(m, a, sp.tensor_matrix(F)), dict(m=2.0, a=a, F=F)),
    "shift_motion": (lambda V, p: sp.shift_motion(V, p), dict(V=V, p=p)),
    "shift_wrench": (lambda F, p: sp.shift_wrench(F, p), dict(F=F, p=p)),
    "shift_inertia": (lambda A, p: sp.shift_inertia(A, p), dict(A=A, p=p)),
    "pose_matrix": (lambda q, p: sp.pose_matrix(sp.quaternion_matrix(q), p), dict(q=q1, p=p)),
    "where": (lambda a, b: sp.where(a[0] < b[0], a[1], b[1]), dict(a=a, b=b)),
    "maximum": (lambda a, b: np.array([sp.maximum(x, y) for x, y in zip(a, b, strict=True)]), dict(a=a, b=b)),
    "minimum": (lambda a, b: np.array([sp.minimum(x, y) for x, y in zip(a, b, strict=True)]), dict(a=a, b=b)),
    "ldl": (lambda A, F: sp.ldl(A).solve(F), dict(A=A, F=F)),
    "clamp": (lambda a: np.array([sp.clamp(x, -0.5, 0.4) for x in a]), dict(a=a)),
    "floor": (lambda a: np.array([sp.floor(x) for x in a]), dict(a=a)),
    "positive_part": (lambda a: np.array([sp.positive_part(x) for x in a]), dict(a=a)),
    "symmetric_matrix": (lambda A: sp.symmetric_matrix(lambda i, j: A[i, j] * A[j, i]), dict(A=A)),
    "nearest_integer": (lambda a: np.array([sp.nearest_integer(x) for x in a]), dict(a=a)),
    "lookup": (lambda a: np.array([sp.lookup((3.0, 5.0, 8.0), 1.0 + 2.0 * x) for x in a]), dict(a=a)),
    "stick_slip": (lambda a, b: sp.stick_slip(7.0, 2.0, 1.5, a, b), dict(a=a, b=b)),
    "stick_slip.sticks": (lambda a, b: sp.stick_slip(7.0, 2.0, 100.0, a, b), dict(a=a, b=b)),
}


def path_of(q, p, a):
    return sp.Path(
        (
            sp.Screw(0, a[0], np.cos(a[1]), np.sin(a[1])),
            sp.Shift(p),
            sp.Turn(sp.quaternion_matrix(q), a),
            sp.Screw(2, 0.3, 0.6, 0.8),
        )
    )


SPATIAL |= {
    "path.motion": (lambda q, p, a, V: path_of(q, p, a).motion(V), dict(q=q1, p=p, a=a, V=V)),
    "path.rotate": (lambda q, p, a: path_of(q, p, a).rotate(p), dict(q=q1, p=p, a=a)),
    "path.force_back": (lambda q, p, a, F: path_of(q, p, a).force_back(F), dict(q=q1, p=p, a=a, F=F)),
    "path.inertia_back": (lambda q, p, a, A: path_of(q, p, a).inertia_back(A), dict(q=q1, p=p, a=a, A=A)),
    "path.pose": (lambda q, p, a: path_of(q, p, a).pose(), dict(q=q1, p=p, a=a)),
}
OF_CONSTANTS = {
    "PivotedSolution",
    "pivoted_solve",
    "axis_frame",
    "axis_rotation",
    "cos_sin",
    "matrix_from_rpy",
    "principal_axes",
    "quaternion_from_matrix",
    "rpy_from_matrix",
}
"""Functions that only ever see the constants of a model, whose zeros they look for."""


@pytest.mark.parametrize("name", SPATIAL)
def test_spatial_functions(name):
    assert_same(*SPATIAL[name])


def test_choices_pass_nan_on():
    for f in (sp.maximum, sp.minimum):
        program = trace(lambda a, b, f=f: f(a[()], b[()]), {"a": (), "b": ()})
        for x, y in ((np.nan, 0.0), (0.0, np.nan)):
            assert np.isnan(f(x, y)) and np.isnan(program(x, y)[0])


def test_every_spatial_function_is_traced():
    covered = {n.split(".")[0] for n in SPATIAL} | OF_CONSTANTS | {"Ldl", "Path", "Screw", "Shift", "TURN_SERIES", "Turn"}
    assert set(sp.__all__) == covered - {"path"}


DRAG = [
    hm.drag.ShapeDrag(shape=hm.geometry.Cylinder.between((0.1, 0.2, 0.3), (0.5, -0.4, 0.9), radius=0.1), coefficient=1.1),
    hm.drag.ShapeDrag(
        shape=hm.geometry.Cylinder.along("y", -0.2, 0.7, radius=0.1), coefficient=1.1, end_coefficient=0.0, points=6
    ),
    hm.drag.ShapeDrag(
        shape=hm.geometry.Box(size=(0.5, 0.6, 0.7)).at((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), coefficient=(0.9, 1.0, 1.2)
    ),
    hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.2).at((0.1, 0.2, 0.3)), coefficient=0.5),
    hm.drag.ShapeDrag(
        shape=hm.geometry.Ellipsoid(axes=(0.5, 0.3, 0.2)).at((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)), coefficient=(0.1, 0.5, 0.7)
    ),
    hm.drag.Damping(linear=A, quadratic=np.arange(1.0, 7.0), coupled={"Y|r|v": 2.0, "N|v|r": 3.0}),
    hm.drag.Foil(
        area=0.1,
        lift_slope=4.0,
        drag_parallel=0.01,
        drag_normal=1.2,
        position=(-1, 0.2, 0.1),
        chord=(1, 0.1, 0),
        normal=(0, 0, 1),
    ),
]


@pytest.mark.parametrize("element", DRAG, ids=lambda e: type(e).__name__)
def test_drag_elements(element):
    assert_same(lambda V: element.wrench(V, 1025.0), dict(V=V))


def test_forces_of_added_mass():
    assert_same(lambda A, V: velocity_force(A, V), dict(A=A, V=V))
    assert_same(lambda A, a: hydro.fluid_acceleration_force(A, (2.0, np.array([0.1, 0.2, 0.3])), a), dict(A=A, a=a))


@pytest.mark.parametrize("model", [*library.names()[::3], *range(6)])
def test_equations_of_models(model):
    """Every public function of a model, drawn at random by its seed or from the library.

    Each third model of the library: `tests/library/test_models.py` compiles and runs all of them. Accelerations lose digits to the condition of M in both ways alike.
    """
    if isinstance(model, str):
        model = library.load(model)
    else:
        model = library.random_tree(np.random.default_rng(model), max_bodies=6)
    rng = np.random.default_rng(7)
    state = model.initial()
    v, tau = rng.normal(size=(2, model.nv))
    flow = dict(
        fluid_velocity=rng.normal(size=3),
        fluid_acceleration=rng.normal(size=(model.nb, 3)),
        wrench=rng.normal(size=(model.nb, 6)),
    )
    qv = dict(q=state.q, v=v)
    condition = np.linalg.cond(hm.mass_matrix(model, state.q))
    assert_same(
        lambda q, v, tau, **flow: hm.forward_dynamics(model, q, v, tau, **flow),
        dict(**qv, tau=tau, **flow),
        tolerance=max(1e-13, 10 * np.finfo(float).eps * condition),
    )
    assert_same(lambda q, v, vdot, **flow: hm.inverse_dynamics(model, q, v, vdot, **flow), dict(**qv, vdot=tau, **flow))
    assert_same(lambda q: hm.mass_matrix(model, q), dict(q=state.q))
    assert_same(lambda q, v: tuple(hm.kinematics(model, q, v)), qv)
    assert_same(lambda q: hm.jacobian(model, q, model.body_names[-1], (0.1, 0.2, 0.3)), dict(q=state.q))
    assert_same(lambda q, v: hm.equations.bias_acceleration(model, q, v, model.body_names[-1]), qv)
    assert_same(lambda q, v, u: tuple(hm.energy(model, q, v, fluid_velocity=u)), dict(**qv, u=np.ones(3)))
    assert_same(lambda q, v, u: hm.equations.momentum(model, q, v, fluid_velocity=u), dict(**qv, u=np.ones(3)))
    assert_same(lambda q, v, dt: hm.integrate(model, q, v, dt), dict(**qv, dt=0.01))


def test_symbols_fold_zeros_and_reject_branches():
    """Zeros and ones of a mechanism leave no operation; a branch on a symbol is an error that reports what to do."""
    x, y = symbols("x", (2,))
    assert (0.0 * x).constant == 0.0
    assert (x - x).constant == 0.0
    assert repr(1.0 * x + 0.0) == repr(x)
    assert repr(np.array([0.0, 2.0]) @ np.array([x, y])) == repr(2.0 * y)
    assert float(x**0) == 1.0
    zero = 0.0 * x
    assert (
        zero + y is y
        and y - zero is y
        and -zero is zero
        and repr(zero - y) == repr(-y)
        and repr(1.0 - zero) == repr(zero + 1.0)
    )
    for array in (zero * np.array([x, 2.0]), np.array([x, 2.0]) * zero):  # NumPy broadcasts over what is no scalar
        assert array.shape == (2,) and all(entry.constant == 0.0 for entry in array)
    for array in (zero + np.array([3.0, y]), np.array([3.0, y]) - zero, -(zero - np.array([3.0, y]))):
        assert array.shape == (2,) and repr(array[1]) == repr(y) and float(array[0]) == 3.0
    with pytest.raises(TypeError, match="must not branch"):
        if x > y:
            pass
    with pytest.raises(TypeError, match="no value during tracing"):
        float(x)
    with pytest.raises(TypeError, match="must not branch"):
        assert x == y
    assert isinstance(np.sqrt(x), Symbol) and isinstance(np.arctan2(x, y), Symbol) and isinstance(np.hypot(x, 1.0), Symbol)
