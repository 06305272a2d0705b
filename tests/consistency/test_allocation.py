"""Thrust allocation against scipy's bounded least squares, optimality conditions, and virtual power."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import lsq_linear

import hydromechs as hm
from hydromechs.actuation import Allocator, Thruster, allocate, allocation_matrix, ideal_curve
from hydromechs.spatial import Path, Turn

EPS = np.finfo(float).eps


def vehicle():
    """A hull with a tilted fixed mount, a fixed part on that, and an arm."""
    inertia = hm.Inertia(mass=10.0, com=(0.1, 0.0, 0.0), tensor=(1.0, 1.1, 1.2, 0.0, 0.0, 0.0))
    frame = lambda name, xyz, rpy: hm.Frame(name, hm.Origin(xyz, rpy))  # noqa: E731
    return hm.Model(
        name="sub",
        bodies=[
            hm.Body(
                name="hull", joint=hm.joints.Free(), inertia=inertia, frames=[frame("bow", (1.0, 0.2, -0.3), (0.3, -0.4, 0.9))]
            ),
            hm.Body(
                name="mount",
                parent="hull",
                joint=hm.joints.Fixed(placement=hm.Origin((0.5, -0.4, 0.1), (0.2, 0.7, -1.1))),
                inertia=inertia,
                frames=[frame("side", (0.0, 0.3, 0.1), (0.0, 0.0, 1.5707963267948966))],
            ),
            hm.Body(
                name="pod",
                parent="mount",
                joint=hm.joints.Fixed(placement=hm.Origin((0.1, 0.2, 0.3), (-0.5, 0.1, 0.4))),
                inertia=inertia,
                frames=[frame("lift", (0.2, 0.0, 0.0), (0.0, -0.8, 0.2))],
            ),
            hm.Body(
                name="arm",
                parent="hull",
                joint=hm.joints.Revolute(),
                inertia=inertia,
                frames=[frame("tool", (1, 0, 0), (0, 0, 0))],
            ),
        ],
    )


def thrusters(*frames):
    return [Thruster(name=f"t_{frame}", frame=frame, curve=ideal_curve(40.0, 30.0)) for frame in frames]


def test_columns_have_the_power_of_their_thrust():
    """B_kᵀ V is the speed of thruster k along its thrust, for any motion of the hull, by passing the motion on."""
    model = vehicle()
    B = allocation_matrix(model, thrusters("bow", "side", "lift"), "hull")
    rng = np.random.default_rng(5)
    for _ in range(20):
        V = rng.normal(size=6)
        V_mount = Path(model.steps[1]).motion(V)
        V_pod = Path(model.steps[2]).motion(V_mount)
        for k, (name, V_body) in enumerate([("bow", V), ("side", V_mount), ("lift", V_pod)]):
            origin = model.frames[name][1].origin
            along = Path((Turn(origin.R, np.array(origin.xyz)),)).motion(V_body)[0]
            assert abs(B[:, k] @ V - along) <= 30 * EPS * np.linalg.norm(V)  # three products of rotations
    # about another body of the same rigid whole the power is the same
    B_pod = allocation_matrix(model, thrusters("bow", "side", "lift"), "pod")
    np.testing.assert_allclose(B.T @ V, B_pod.T @ V_pod, atol=60 * EPS * np.linalg.norm(V))


def test_a_body_is_a_place_for_a_thruster():
    """Robot files have a link for each thruster, and often no frames."""
    model = vehicle()
    with_frame = replace(model, bodies=tuple(replace(b, frames=(*b.frames, hm.Frame(f"{b.name}_own"))) for b in model.bodies))
    B = allocation_matrix(model, thrusters("pod", "mount"), "hull")
    np.testing.assert_array_equal(B, allocation_matrix(with_frame, thrusters("pod_own", "mount_own"), "hull"))
    sim = hm.Simulation(model, components=thrusters("pod"), commands={"t_pod": 1.0})
    np.testing.assert_allclose(sim.observe()["force_thrust"][model.body_index("pod")], [1, 0, 0, 0, 0, 0], atol=1e-12)


def test_frames_that_do_not_fit():
    with pytest.raises(ValueError, match="'t_tool'.*on body 'arm', which moves relative to 'hull'"):
        allocation_matrix(vehicle(), thrusters("bow", "tool"), "hull")
    with pytest.raises(ValueError, match="sub has no frame or body 'stern'; available: bow, side, lift, tool, hull"):
        allocation_matrix(vehicle(), thrusters("stern"), "hull")
    with pytest.raises(KeyError, match="no body 'ship'"):
        allocation_matrix(vehicle(), thrusters("bow"), "ship")


def test_bluerov_allocates_exactly_within_limits():
    model = hm.load("bluerov2_heavy_alpha5")
    B = allocation_matrix(model, thrusters(*(f"thruster_{k}" for k in range(1, 9))), "vehicle")
    wanted = np.array([10.0, -5.0, 8.0, 0.5, -0.4, 1.0])
    given = allocate(B, wanted, -30.0, 40.0)
    # condition number of B below 20
    np.testing.assert_allclose(B @ given.forces, wanted, atol=1e3 * EPS * 13.0)
    assert not given.saturated.any()
    np.testing.assert_allclose(given.forces, np.linalg.lstsq(B, wanted, rcond=None)[0], atol=1e3 * EPS * 40.0)  # least norm
    hard = allocate(B, 20 * wanted, -30.0, 40.0)
    assert hard.saturated.any() and np.linalg.norm(hard.residual) > 1.0


def random_case(rng):
    n = int(rng.integers(1, 11))
    B = rng.normal(size=(6, n))
    if rng.random() < 0.4:  # planar: no heave, roll, pitch
        B[2:5] = 0.0
    if rng.random() < 0.3 and n > 2:  # two thrusters on one axis
        B[:, 1] = B[:, 0]
    lower, upper = -rng.uniform(0.1, 3.0, size=n), rng.uniform(0.1, 3.0, size=n)
    if rng.random() < 0.2:  # one of them has failed
        lower[0] = upper[0] = 0.0
    weights = rng.choice([0.0, 0.3, 1.0, 4.0], size=6) if rng.random() < 0.4 else np.ones(6)
    return B, rng.normal(size=6) * rng.choice([0.5, 3.0, 30.0]), lower, upper, weights


def test_against_scipy():
    """Same residual as scipy's, same forces as scipy's with a small weight on them, both where limits act and where not."""
    rng = np.random.default_rng(6)
    acted = 0
    for _ in range(400):
        B, tau, lower, upper, weights = random_case(rng)
        f, residual, saturated = allocate(B, tau, lower, upper, weights)
        assert (f >= lower).all() and (f <= upper).all()
        np.testing.assert_allclose(residual, tau - B @ f, atol=100 * EPS * (1 + np.abs(tau).max()))
        A, b = weights[:, None] * B, weights * tau
        moving = lower < upper
        if not moving.any():
            continue
        other = lsq_linear(A[:, moving], b, (lower[moving], upper[moving]), tol=1e-14)
        scale = np.linalg.norm(b) + np.linalg.norm(A)
        assert np.linalg.norm(A @ f - b) <= np.sqrt(2 * other.cost) + 1e-9 * scale  # ours is the least one
        # slopes: none where free, outward at a limit
        slope = A.T @ (b - A @ f)
        free = (f > lower) & (f < upper)
        tolerance = 1e-8 * np.linalg.norm(A) * scale  # the weight of 1e-5 on f, squared, and rounding
        assert np.abs(slope[free]).max(initial=0.0) <= tolerance
        assert slope[moving & (f <= lower)].max(initial=0.0) <= tolerance
        assert slope[moving & (f >= upper)].min(initial=0.0) >= -tolerance
        # least forces: the unique solution with a weight w on f differs by (w/σ)², σ the least singular value of the free ones
        w = 1e-4 * np.linalg.norm(A)
        regular = lsq_linear(
            np.vstack([A, w * np.eye(len(f))])[:, moving],
            np.append(b, 0 * f),
            (lower[moving], upper[moving]),
            method="bvls",
            tol=1e-15,
            max_iter=500,
        )
        values = np.linalg.svd(A[:, free], compute_uv=False) if free.any() else np.ones(1)
        least = values[values > 1e-9 * values.max()].min(initial=np.inf)
        np.testing.assert_allclose(f[moving], regular.x, rtol=0, atol=10 * (w / least) ** 2 * np.linalg.norm(f) + 1e-9)
        acted += bool(saturated[moving].any())
    assert 100 < acted < 390


def test_saturated_marks_those_at_a_limit():
    B = np.eye(6)[:, :3]
    given = allocate(B, [5.0, -5.0, 0.5, 0.0, 0.0, 2.0], -1.0, 2.0)
    assert given.saturated.tolist() == [True, True, False]
    np.testing.assert_allclose(given.forces, [2.0, -1.0, 0.5], atol=4 * EPS)
    np.testing.assert_allclose(given.residual, [3.0, -4.0, 0.0, 0.0, 0.0, 2.0], atol=8 * EPS)


def test_weights_report_what_matters():
    """One thruster, off the axis: all surge, or no yaw."""
    B = np.array([[1.0, 0.0, 0.0, 0.0, 0.0, 0.5]]).T
    wanted = [4.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert allocate(B, wanted, -9.0, 9.0, [1, 1, 1, 1, 1, 0]).forces[0] == pytest.approx(4.0, rel=8 * EPS)
    assert allocate(B, wanted, -9.0, 9.0).forces[0] == pytest.approx(4.0 / 1.25, rel=8 * EPS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((6, 2)), [1.0, -1.0], [2.0, -2.0]), r"lower\[1\] is -1 N, must be at most upper\[1\], -2 N"),
        ((np.ones(6), -1.0, 1.0), r"B has shape \(6,\)"),
        ((np.full((6, 2), np.nan), -1.0, 1.0), "B contains numbers that are not finite"),
        ((np.ones((6, 2)), -1.0, 1.0, [-1.0] * 6), "weights is .* must be at least 0"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Allocator(*arguments)
    with pytest.raises(ValueError, match="must be 6 finite numbers"):
        Allocator(np.ones((6, 2)), -1.0, 1.0)([1.0, np.nan, 0, 0, 0, 0])
