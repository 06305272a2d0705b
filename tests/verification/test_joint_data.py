"""Damping and limits that a model gives its ball and composite joints act in every simulation, and drives act on them."""

import math

import numpy as np
import pytest

import hydromechs as hm

INERTIA = hm.Inertia(mass=2.0, tensor=(0.5, 0.5, 0.5, 0, 0, 0))


def one(joint):
    """A body whose centre of mass is on the joint, so that weight does nothing about it."""
    return hm.Model(name="one", world=hm.World(axes="ENU"), bodies=[hm.Body(name="b", joint=joint, inertia=INERTIA)])


def test_damping_of_a_ball_joint_acts():
    """ω = ω_0 exp(−d t / I) about every axis."""
    start = (0.3, -0.2, 0.5)
    run = hm.Simulation(one(hm.joints.Ball(velocity=start, damping=0.4)), step=0.005).run(1.0)
    np.testing.assert_allclose(run.state.v, np.array(start) * math.exp(-0.8), rtol=1e-8)


def test_limit_of_a_ball_joint_acts_about_any_axis():
    run = hm.Simulation(one(hm.joints.Ball(velocity=(0.6, -0.5, 0.7), limit=0.4, damping=0.1)), record=0.01).run(6.0)
    angle = 2.0 * np.arccos(np.clip(np.abs(run.recording.q.values[:, 0]), 0.0, 1.0))
    assert 0.4 < angle.max() < 0.45


def test_drive_of_a_ball_joint_leads_it_to_a_rotation():
    sim = hm.Simulation(one(hm.joints.Ball()), components=[hm.drives.Servo(joint="b", stiffness=40.0, damping=9.0)], step=0.005)
    sim.command = {"b.x": 0.3, "b.y": -0.2, "b.z": 0.4}
    q = sim.run(5.0).state.q
    turned = 2.0 * math.acos(q[0]) / np.linalg.norm(q[1:]) * q[1:]
    np.testing.assert_allclose(turned, [0.3, -0.2, 0.4], atol=1e-6)


def test_damping_and_limits_of_the_parts_of_a_composite_joint_act():
    """v = v_0 exp(−c t / m) along, ω = ω_0 exp(−d t / I) about; then the stop along ends the way."""
    parts = (
        hm.joints.Prismatic(axis=(1, 0, 0), velocity=0.5, damping=3.0),
        hm.joints.Revolute(axis=(0, 0, 1), velocity=0.8, damping=0.3),
    )
    v = hm.Simulation(one(hm.joints.Composite(parts=parts)), step=0.005).run(1.0).state.v
    np.testing.assert_allclose(v, [0.5 * math.exp(-1.5), 0.8 * math.exp(-0.6)], rtol=1e-8)
    stopped = (hm.joints.Prismatic(axis=(1, 0, 0), velocity=0.5, limits=(-0.1, 0.1), damping=0.5), parts[1])
    run = hm.Simulation(one(hm.joints.Composite(parts=stopped)), record=0.01).run(3.0)
    way = run.recording.q.values[:, 0]
    assert 0.1 < way.max() < 0.13
    servo = hm.Simulation(
        one(hm.joints.Composite(parts=parts)),
        components=[hm.drives.Servo(joint="b.2", stiffness=40.0, damping=9.0)],
        step=0.005,
    )
    assert servo.run(5.0).state.q[1] == pytest.approx(0.0, abs=1e-6)
