"""Recorded quaternions: the sign follows from the configuration, never jumps, and is the same after a resume."""

from dataclasses import dataclass

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.dynamics import kinematics, retract
from hydromechs.hybrid._steps import same_signs
from hydromechs.library import random_tree
from hydromechs.model import joints
from hydromechs.simulation._layout import Orientations
from hydromechs.spatial import quaternion_matrix


def rotations(model, q):
    return np.array([np.stack(kinematics(model, x, np.zeros(model.nv)).R_WB) for x in q], dtype=float)


@pytest.mark.parametrize("seed", range(3))
def test_signs_never_jump_and_do_not_depend_on_the_way(seed):
    """Every joint type turns by several turns, tilted; a body on the world has the quaternion of its joint."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, max_bodies=8, wet=False)
    q, v = [model.initial().q], 2.0 * rng.normal(size=model.nv)
    for _ in range(80):
        q.append(retract(model, q[-1], 0.1 * v))
    path, R, found = np.array(q), rotations(model, q), Orientations(model)
    whole = found(R, path)
    assert (np.sum(whole[1:] * whole[:-1], axis=-1) > 0.0).all()
    assert (whole[..., 0] < 0.0).any()  # it has turned so far that w ≥ 0 would jump
    assert np.array_equal(found(R[50:], path[50:]), whole[50:])
    back = np.array([[quaternion_matrix(x) for x in row] for row in whole])
    assert np.abs(back - R).max() < 1e-12
    for k, body in enumerate(model.bodies):
        if isinstance(body.joint, joints.Free) and body.parent is None and body.joint.placement == hm.Origin():
            assert whole[:, k] == pytest.approx(path[:, model.q_slices[k]][:, 3:], abs=1e-12)


@dataclass(frozen=True, kw_only=True)
class Wheel(joints.CustomJoint):
    """Turns about y by three times its coordinate."""

    def pose(self, q):
        c, s = np.cos(3.0 * q[0]), np.sin(3.0 * q[0])
        return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]), np.zeros(3)

    def subspace(self, q):
        return np.array([[0.0], [0.0], [0.0], [0.0], [3.0], [0.0]])

    def subspace_rate(self, q, v):
        return np.zeros((6, 1))


def test_a_joint_of_a_users_own_counts_with_w_above_zero():
    """So the sign is a function of the configuration there, too; what it carries follows."""
    rod = hm.Inertia(mass=2.0, tensor=(0.1, 0.2, 0.2, 0.0, 0.0, 0.0))
    model = hm.Model(
        name="own",
        bodies=[
            hm.Body(name="hull", joint=joints.Free(), inertia=rod),
            hm.Body(name="wheel", parent="hull", joint=Wheel(placement=hm.Origin((0.1, 0, 0), (0.2, 0, 0))), inertia=rod),
            hm.Body(name="arm", parent="wheel", joint=joints.Revolute(axis=(0, 0, 1)), inertia=rod),
        ],
    )
    q = np.array(
        [retract(model, model.initial().q, t * np.array([0, 0, 0, 0.5, 0.2, 2.0, 1.0, 0.7])) for t in np.arange(0, 6, 0.1)]
    )
    R, found = rotations(model, q), Orientations(model)
    whole = found(R, q)
    back = np.array([[quaternion_matrix(x) for x in row] for row in whole])
    assert np.abs(back - R).max() < 1e-12 and np.array_equal(found(R[40:], q[40:]), whole[40:])
    assert (whole[0, :, 0] >= 0.0).all() and (np.sum(whole[:, 0] * q[:, 3:7], axis=-1) > 0.0).all()


def test_all_that_is_recorded_is_the_same_after_a_resume():
    rod = hm.Inertia(mass=2.0, com=(0.1, 0.02, 0.0), tensor=(0.1, 0.2, 0.3, 0.0, 0.0, 0.0))
    hull = hm.Body(name="hull", joint=joints.Free(velocity=(0.1, 0, 0, 0.05, 0, 3.0)), inertia=rod)
    arm = hm.Body(name="arm", parent="hull", joint=joints.Revolute(axis=(0, 0.6, 0.8), velocity=0.2), inertia=rod)
    sim = hm.Simulation(hm.Model(name="spin", bodies=[hull, arm]), step=0.01, record=0.1)
    ds = sim.run(3.0).recording
    assert np.sum(ds.orientation.values[:, 0] * ds.q.values[:, 3:7], axis=-1) == pytest.approx(np.ones(31), abs=1e-9)
    sim.reset()
    middle = sim.run(2.5).state
    sim.reset(middle)
    later = sim.run(0.5).recording
    assert ds.orientation.values[25, 0, 0] < 0.0
    for name in ("q", "v", "position", "orientation", "velocity", "acceleration"):
        assert np.array_equal(ds[name].values[25:], later[name].values), name
    assert np.array_equal(sim.observe()["orientation"], later.orientation.values[-1])


def test_engines_that_give_quaternions_of_either_sign_do_not_make_them_jump():
    model = random_tree(np.random.default_rng(1), max_bodies=8, kinds=("ball", "revolute"), wet=False)
    q = model.initial().q
    turned = q.copy()
    for at, body in zip(model.q_slices, model.bodies, strict=True):
        if isinstance(body.joint, joints.Free | joints.Ball):
            turned[at.stop - 4 : at.stop] *= -1.0
    assert not np.array_equal(turned, q) and np.array_equal(same_signs(model, turned, q), q)
