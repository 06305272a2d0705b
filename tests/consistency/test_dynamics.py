"""Our algorithms against each other and against symmetries, in water with current, on random trees."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.library import random_tree, serial_chain, star
from hydromechs.spatial import Path, quaternion_matrix, quaternion_product

SEEDS = range(12)


def case(seed, **options):
    """A random tree, its state and a random flow with external wrenches, uniform or per body."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, **options)
    state = model.initial()
    shape = (3,) if seed % 2 else (model.nb, 3)
    flow = dict(
        fluid_velocity=rng.normal(size=shape),
        fluid_acceleration=rng.normal(size=shape),
        wrench=rng.normal(size=(model.nb, 6)),
    )
    return rng, model, state.q, state.v, flow


def closeness(model, q):
    """Relative rounding error of accelerations: a few hundred eps times the condition of M."""
    return 200 * np.finfo(float).eps * np.linalg.cond(hm.mass_matrix(model, q))


@pytest.mark.parametrize("seed", SEEDS)
def test_inverse_of_forward_dynamics_returns_the_input(seed):
    rng, model, q, v, flow = case(seed)
    tau = 5.0 * rng.normal(size=model.nv)
    vdot = hm.forward_dynamics(model, q, v, tau, **flow)
    scale = max(np.abs(hm.inverse_dynamics(model, q, v, 0 * vdot, **flow)).max(), np.abs(tau).max())
    np.testing.assert_allclose(hm.inverse_dynamics(model, q, v, vdot, **flow), tau, rtol=0, atol=1e-10 * scale)


@pytest.mark.parametrize("seed", SEEDS)
def test_mass_matrix_equals_columns_of_inverse_dynamics(seed):
    _, model, q, v, flow = case(seed)
    M = hm.mass_matrix(model, q)
    bias = hm.inverse_dynamics(model, q, v, np.zeros(model.nv), **flow)
    columns = [hm.inverse_dynamics(model, q, v, e, **flow) - bias for e in np.eye(model.nv)]
    scale = max(np.abs(M).max(), np.abs(bias).max())  # the bias cancels
    np.testing.assert_allclose(M, np.stack(columns, axis=1), rtol=0, atol=1e-11 * scale)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


@pytest.mark.parametrize("seed", SEEDS)
def test_forward_dynamics_equals_the_dense_solve(seed):
    rng, model, q, v, flow = case(seed)
    tau = rng.normal(size=model.nv)
    bias = hm.inverse_dynamics(model, q, v, np.zeros(model.nv), **flow)
    dense = np.linalg.solve(hm.mass_matrix(model, q), tau - bias)
    ours = hm.forward_dynamics(model, q, v, tau, **flow)
    np.testing.assert_allclose(ours, dense, rtol=0, atol=closeness(model, q) * np.abs(dense).max())


def screw(axis, distance, angle):
    """Homogeneous matrix of a rotation about and a translation along coordinate `axis`, by textbook."""
    c, s = np.cos(angle), np.sin(angle)
    T = np.eye(4)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    T[[i, i, j, j], [i, j, i, j]] = c, -s, s, c
    T[axis, 3] = distance
    return T


def as_origin(m):
    """The placement of an `Mdh` by origin and roll-pitch-yaw."""
    T = screw(2, m.branch_d, m.branch_theta) @ screw(0, m.a, m.alpha) @ screw(2, m.d, m.theta)
    pitch = np.arctan2(-T[2, 0], np.hypot(T[0, 0], T[1, 0]))
    return hm.Origin(T[:3, 3], (np.arctan2(T[2, 1], T[2, 2]), pitch, np.arctan2(T[1, 0], T[0, 0])))


@pytest.mark.parametrize("seed", range(5))
def test_mdh_branch_and_origin_descriptions_agree(seed):
    """One tree in water, placed by MDH with branch, by plain MDH on a fixed body that has the branch, and by origin and axis."""
    rng = np.random.default_rng(seed)
    vehicle, *links = star(3, 3, seed=seed).bodies
    branch, carried, origin = [vehicle], [vehicle], [vehicle]
    for link in links:
        kind = hm.joints.Revolute if rng.random() < 0.6 else hm.joints.Prismatic
        b, t, a, alpha, d, theta = rng.uniform(-0.5, 0.5, 6) * [1, 6, 1, 6, 1, 6]
        mdh = hm.Mdh(branch_d=b, branch_theta=t, a=a, alpha=alpha, d=d, theta=theta)
        branch.append(replace(link, joint=kind(placement=mdh)))
        origin.append(replace(link, joint=kind(placement=as_origin(mdh), axis=(0, 0, 1))))
        mount = f"{link.name}_mount"
        carried.append(hm.Body(name=mount, parent=link.parent, joint=hm.joints.Fixed(placement=hm.Mdh(d=b, theta=t))))
        carried.append(replace(link, parent=mount, joint=kind(placement=hm.Mdh(a=a, alpha=alpha, d=d, theta=theta))))
    model = hm.Model(bodies=branch)
    q, _ = model.neutral()
    q[3:7] = (x := rng.normal(size=4)) / np.linalg.norm(x)
    q[7:] = rng.uniform(-2, 2, model.nq - 7)
    v, tau = rng.normal(size=(2, model.nv))
    flow = dict(fluid_velocity=rng.normal(size=3), fluid_acceleration=rng.normal(size=3))
    expected = hm.forward_dynamics(model, q, v, tau, **flow)
    tolerance = closeness(model, q) * np.abs(expected).max()
    for bodies in (carried, origin):
        ours = hm.forward_dynamics(hm.Model(bodies=bodies), q, v, tau, **flow)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=tolerance)


def turned_axes_joint(axis):
    """A revolute joint about `axis` on a tilted origin."""
    return hm.joints.Revolute(axis=axis, placement=hm.Origin((0.1, -0.2, 0.3), (0.4, -0.5, 0.6)))


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, -2, 0), (1, 2, -3)])
def test_revolute_axis_matches_a_rodrigues_rotation(axis):
    """Every way to place a revolute axis gives the pose of the textbook formula and spins about that axis."""
    from hydromechs.spatial import axis_rotation

    body = hm.Body(
        name="b", joint=turned_axes_joint(axis), inertia=hm.Inertia(mass=1, com=(0.1, 0.2, 0.3), tensor=(1, 1, 1, 0, 0, 0))
    )
    X, V = hm.kinematics(hm.Model(bodies=[body]), [0.7], [1.3])
    unit = np.array(axis) / np.linalg.norm(axis)
    R = body.joint.placement.R @ axis_rotation(unit, 0.7)
    np.testing.assert_allclose(X[0, :3, :3], R, atol=1e-15)
    np.testing.assert_allclose(X[0, :3, 3], [0.1, -0.2, 0.3], atol=1e-16)
    np.testing.assert_allclose(V[0], [0, 0, 0, *(1.3 * unit)], atol=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_composite_joint_equals_a_chain_with_light_links(seed):
    """A composition has the accelerations of a chain of bodies whose links between weigh next to nothing."""
    rng = np.random.default_rng(seed)
    parts = (
        hm.joints.Revolute(axis=rng.normal(size=3), placement=hm.Origin(rng.normal(size=3), rng.normal(size=3))),
        hm.joints.Prismatic(axis=rng.normal(size=3), placement=hm.Origin(rng.normal(size=3), rng.normal(size=3))),
        hm.joints.Ball(placement=hm.Origin(rng.normal(size=3), rng.normal(size=3))),
    )
    light = hm.Inertia(mass=1e-9, tensor=(1e-9, 1e-9, 1e-9, 0, 0, 0))
    heavy = hm.Inertia(mass=3.0, com=rng.normal(size=3), tensor=(4, 5, 6, 0.1, 0.2, 0.3))
    one = hm.Model(bodies=[hm.Body(name="b", joint=hm.joints.Composite(parts=parts), inertia=heavy)])
    chain = [
        hm.Body(name=f"b{k}", parent=f"b{k - 1}" if k else None, joint=p, inertia=heavy if k == 2 else light)
        for k, p in enumerate(parts)
    ]
    q = np.concatenate([rng.normal(size=2), (x := rng.normal(size=4)) / np.linalg.norm(x)])
    v, tau = rng.normal(size=(2, 5))
    expected = hm.forward_dynamics(one, q, v, tau)
    # the light links change the result by their share of the mass, times the condition of M
    scale = 1e-8 * np.linalg.cond(hm.mass_matrix(one, q)) * np.abs(expected).max()
    np.testing.assert_allclose(hm.forward_dynamics(hm.Model(bodies=chain), q, v, tau), expected, rtol=0, atol=scale)


def test_fixed_bodies_are_merged_and_keep_their_frames():
    """A chain with fixed bodies equals the one where their inertia and shape are part of their carrier."""
    rng = np.random.default_rng(5)
    place = hm.Origin((0.2, -0.3, 0.4), (0.5, 0.6, -0.7))
    model = serial_chain(3)
    pod = hm.Body(
        name="pod", parent="link2", joint=hm.joints.Fixed(placement=place),
        inertia=hm.Inertia(mass=2.0, com=(0.1, 0.2, 0.3), tensor=(0.3, 0.4, 0.5, 0.01, 0.02, 0.03)),
        hydro=hm.Hydro(volume=0.003, buoyancy_center=(0.1, 0, 0), drag=(hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1), coefficient=0.5),)),
    )  # fmt: skip
    split = hm.Model(bodies=[*model.bodies, pod])
    link = model.bodies[2]
    X = Path(place.steps(2))
    total = link.inertia.matrix + X.inertia_back(pod.inertia.matrix)
    mass = total[0, 0]
    com = np.array([total[5, 1], total[3, 2], total[4, 0]]) / mass
    tensor = total[3:, 3:] - mass * (com @ com * np.eye(3) - np.outer(com, com))
    volume = link.hydro.volume + 0.003
    center = (
        link.hydro.volume * np.array(link.hydro.buoyancy_center) + 0.003 * (np.array(place.xyz) + place.R @ [0.1, 0, 0])
    ) / volume
    sphere = hm.drag.ShapeDrag(shape=hm.geometry.Sphere(radius=0.1).at(place.xyz), coefficient=0.5)
    whole = replace(
        link,
        inertia=hm.Inertia(mass=mass, com=com, tensor=(*np.diag(tensor), tensor[0, 1], tensor[0, 2], tensor[1, 2])),
        hydro=replace(link.hydro, volume=volume, buoyancy_center=center, drag=(*link.hydro.drag, sphere)),
    )
    merged = hm.Model(bodies=[*model.bodies[:2], whole, model.bodies[3]])
    q, _ = model.neutral()
    q[7:] = rng.normal(size=3)
    v, tau = rng.normal(size=(2, model.nv))
    flow = dict(fluid_velocity=(0.3, 0.2, 0.1), fluid_acceleration=(0.1, 0.2, 0.3))
    expected = hm.forward_dynamics(merged, q, v, tau, **flow)
    np.testing.assert_allclose(
        hm.forward_dynamics(split, q, v, tau, **flow), expected, rtol=0, atol=closeness(merged, q) * np.abs(expected).max()
    )
    X_WB, V = hm.kinematics(split, q, v)
    i, link2 = split.body_index("pod"), split.body_index("link2")
    np.testing.assert_allclose(
        X_WB[i], X_WB[link2] @ np.block([[place.R, np.array(place.xyz)[:, None]], [0, 0, 0, 1]]), atol=1e-14
    )
    np.testing.assert_allclose(V[i], X.motion(V[link2]), atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_jacobian_and_its_derivative(seed):
    """J v is the velocity of the point; d/dt (J v) = J v̇ + J̇ v by a central difference along the motion."""
    rng, model, q, v, _ = case(seed)
    vdot, point, name = rng.normal(size=model.nv), rng.normal(size=3), f"frame{model.nb - 1}"
    body = model.frames[name][0]
    R = model.frames[name][1].origin.R
    V = hm.kinematics(model, q, v).V_WB_B
    on_body = np.array(model.frames[name][1].origin.xyz) + R @ point
    expected = np.concatenate([R.T @ (V[body][:3] + np.cross(V[body][3:], on_body)), R.T @ V[body][3:]])
    np.testing.assert_allclose(hm.jacobian(model, q, name, point) @ v, expected, rtol=0, atol=1e-12)

    def velocity(h):
        # the motion with constant v̇ to second order, symmetric in h
        q_h = hm.integrate(model, q, v + 0.5 * h * vdot, h)
        return hm.jacobian(model, q_h, name, point) @ (v + h * vdot)

    h = 1e-4
    derivative = (8 * (velocity(h) - velocity(-h)) - (velocity(2 * h) - velocity(-2 * h))) / (12 * h)
    ours = hm.jacobian(model, q, name, point) @ vdot + hm.equations.bias_acceleration(model, q, v, name, point)
    # the path is right to h² only, which leaves an error of the size h² times third derivatives
    np.testing.assert_allclose(ours, derivative, rtol=0, atol=1e-5 * max(1.0, np.abs(ours).max()))


@pytest.mark.parametrize("seed", range(5))
def test_moving_and_turning_the_world_changes_nothing(seed):
    """A base moved anywhere and turned about the vertical, with the flow turned too, has the same accelerations."""
    rng = np.random.default_rng(seed)
    model = star(2, 2, seed=seed)
    q, _ = model.neutral()
    q[:3], q[3:7], q[7:] = rng.normal(size=3), (x := rng.normal(size=4)) / np.linalg.norm(x), rng.normal(size=4)
    v, tau = rng.normal(size=(2, model.nv))
    u, a = rng.normal(size=(2, 3))
    turn = np.array([np.cos(0.6), 0, 0, np.sin(0.6)])
    R = quaternion_matrix(turn)
    moved = q.copy()
    moved[:3] = R @ q[:3] + rng.normal(size=3)
    moved[3:7] = quaternion_product(turn, q[3:7])
    expected = hm.forward_dynamics(model, q, v, tau, fluid_velocity=u, fluid_acceleration=a)
    ours = hm.forward_dynamics(model, moved, v, tau, fluid_velocity=R @ u, fluid_acceleration=R @ a)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=closeness(model, q) * np.abs(expected).max())


@pytest.mark.parametrize("seed", range(5))
def test_ned_and_enu_descriptions_agree(seed):
    """The same vehicle in a z-up world, turned by 180° about x, has the same accelerations."""
    rng = np.random.default_rng(seed)
    ned = star(2, 2, seed=seed)
    enu = hm.Model(bodies=ned.bodies, world=hm.World(axes="ENU"))
    q, _ = ned.neutral()
    q[:3], q[3:7], q[7:] = rng.normal(size=3), (x := rng.normal(size=4)) / np.linalg.norm(x), rng.normal(size=4)
    flip = np.array([0.0, 1.0, 0.0, 0.0])
    q_up = q.copy()
    q_up[:3] = q[:3] * [1, -1, -1]
    q_up[3:7] = quaternion_product(flip, q[3:7])
    v, tau = rng.normal(size=(2, ned.nv))
    u = rng.normal(size=3)
    expected = hm.forward_dynamics(ned, q, v, tau, fluid_velocity=u)
    ours = hm.forward_dynamics(enu, q_up, v, tau, fluid_velocity=u * [1, -1, -1])
    np.testing.assert_allclose(ours, expected, rtol=0, atol=closeness(ned, q) * np.abs(expected).max())
    assert hm.energy(ned, q, v).total == pytest.approx(hm.energy(enu, q_up, v).total, rel=1e-12)


def test_a_forest_is_its_trees():
    """Two trees in one model move as each on its own; bodies may stand in any order in the file."""
    rng = np.random.default_rng(8)
    a, b = star(1, 2, seed=1), serial_chain(2, base="fixed", seed=2)
    rename = lambda body: replace(body, name="b_" + body.name, parent=body.parent and "b_" + body.parent)  # noqa: E731
    both = hm.Model(bodies=[*reversed([rename(x) for x in b.bodies]), *a.bodies])
    assert [x.name for x in both.bodies] == ["b_link1", "b_link2", "vehicle", "chain1_link1", "chain1_link2"]
    q_a, _ = a.neutral()
    q_a[7:] = rng.normal(size=2)
    q_b, v_a, v_b = rng.normal(size=2), rng.normal(size=a.nv), rng.normal(size=2)
    together = hm.forward_dynamics(both, np.concatenate([q_b, q_a]), np.concatenate([v_b, v_a]), np.zeros(both.nv))
    np.testing.assert_array_equal(together[:2], hm.forward_dynamics(b, q_b, v_b, np.zeros(2)))
    np.testing.assert_array_equal(together[2:], hm.forward_dynamics(a, q_a, v_a, np.zeros(a.nv)))


def test_uniform_flow_equals_the_same_flow_per_body():
    rng, model, q, v, _ = case(3)
    u, a = rng.normal(size=(2, 3))
    one = hm.forward_dynamics(model, q, v, np.zeros(model.nv), fluid_velocity=u, fluid_acceleration=a)
    each = hm.forward_dynamics(
        model, q, v, np.zeros(model.nv), fluid_velocity=np.tile(u, (model.nb, 1)), fluid_acceleration=np.tile(a, (model.nb, 1))
    )
    np.testing.assert_allclose(one, each, rtol=0, atol=closeness(model, q) * np.abs(one).max())


def test_pose_of_a_frame():
    rng, model, q, _, _ = case(4)
    name = "frame0"
    body, frame = model.frames[name]
    X = hm.kinematics(model, q, np.zeros(model.nv)).X_WB[body]
    expected = X @ np.block([[frame.origin.R, np.array(frame.origin.xyz)[:, None]], [0, 0, 0, 1]])
    np.testing.assert_allclose(hm.frame_pose(model, q, name), expected, atol=1e-14)
    np.testing.assert_array_equal(
        hm.frame_pose(model, q, model.body_names[0]), hm.kinematics(model, q, 0 * rng.normal(size=model.nv)).X_WB[0]
    )
