"""The helical joint: a nut on a screw in closed form, against Pinocchio's, and on every back end like other joints."""

from __future__ import annotations

import math

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.bench.peers import PinocchioPeer
from hydromechs.formats import dumps, loads
from hydromechs.library import random_tree

EPS = np.finfo(float).eps
MASS, INERTIA, PITCH = 3.0, 0.02, 0.04


def nut(**joint) -> hm.Model:
    """A nut with its centre of mass on the axis of an upright screw."""
    world = hm.World(axes="ENU", gravity=9.81)
    body = hm.Body(
        name="nut",
        joint=hm.joints.Helical(pitch=PITCH, axis=(0, 0, 2), **joint),
        inertia=hm.Inertia(mass=MASS, com=(0.0, 0.0, 0.05), tensor=(0.03, 0.03, INERTIA, 0, 0, 0)),
    )
    return hm.Model(name="nut", world=world, bodies=[body])


def test_a_nut_runs_down_a_screw():
    """θ̈ = −m g h / (I + m h²), h = pitch/2π; after t it has sunk by h θ."""
    h = PITCH / (2.0 * math.pi)
    expected = -MASS * 9.81 * h / (INERTIA + MASS * h * h)
    model = nut()
    assert hm.forward_dynamics(model, [0.3], [2.0], [0.0])[0] == pytest.approx(expected, rel=4 * EPS)
    assert hm.mass_matrix(model, [0.3])[0, 0] == pytest.approx(INERTIA + MASS * h * h, rel=4 * EPS)
    run = hm.Simulation(model, step=0.01).run(2.0)
    theta = 0.5 * expected * 4.0
    assert run.state.q[0] == pytest.approx(theta, rel=1e-12)
    assert run.recording.position.sel(body="nut", xyz="z")[-1].item() == pytest.approx(h * theta, rel=1e-12)
    assert float(np.abs(run.recording.energy_residual).max()) < 1e-10


def test_friction_drive_and_limits_act_in_it():
    """A servo holds it, damping is received, and the stop ends its way."""
    held = hm.Simulation(nut(), components=[hm.drives.Servo(joint="nut", stiffness=50.0, damping=2.0)], step=0.002).run(4.0)
    assert held.state.q[0] == pytest.approx(-MASS * 9.81 * PITCH / (2 * math.pi) / 50.0, rel=1e-3)
    damped = hm.Simulation(nut(damping=0.5), step=0.002).run(5.0)
    assert damped.state.v[0] == pytest.approx(-MASS * 9.81 * PITCH / (2 * math.pi) / 0.5, rel=1e-3)
    stopped = hm.Simulation(nut(limits=(-1.0, 1.0), damping=0.1), step=0.001).run(8.0)
    assert stopped.state.q[0] == pytest.approx(-1.0, abs=0.02) and abs(stopped.state.v[0]) < 1e-3


def tree() -> hm.Model:
    """A tilted tree of helical joints along coordinate axes and along none, between others, in general position."""
    rng = np.random.default_rng(5)
    bodies = list(random_tree(rng, max_bodies=1, kinds=("free",)).bodies)
    axes = [(0, 0, 1), (0, -2, 0), tuple(rng.normal(size=3)), (0, 0, 1), (1, 0, 0)]
    placements = [hm.Origin(rng.uniform(-1, 1, 3), rng.uniform(-2, 2, 3)) for _ in axes]
    placements[3] = hm.Mdh(a=0.3, alpha=0.7, d=0.2, theta=0.5)
    parents = [0, 1, 1, 2, 4]
    donors = iter(random_tree(np.random.default_rng(k), max_bodies=1, kinds=("free",)).bodies[0] for k in range(9))
    for axis, placement, parent in zip(axes, placements, parents, strict=True):
        donor = next(donors)
        joint = hm.joints.Helical(placement=placement, axis=axis, pitch=float(rng.uniform(-1.5, 1.5)))
        bodies.append(
            hm.Body(name=f"b{len(bodies)}", parent=bodies[parent].name, joint=joint, inertia=donor.inertia, hydro=donor.hydro)
        )
    donor = next(donors)
    parts = (hm.joints.Helical(axis=(0.3, 1, 0), pitch=0.7), hm.joints.Revolute(axis=(0, 0, 1)))
    bodies.append(hm.Body(name="last", parent="b2", joint=hm.joints.Composite(parts=parts), inertia=donor.inertia))
    return hm.Model(name="screws", bodies=bodies)


def state(model, seed=3):
    rng = np.random.default_rng(seed)
    q = rng.uniform(-2, 2, model.nq)
    q[3:7] /= np.linalg.norm(q[3:7])
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def test_against_pinocchio():
    model = tree()
    dry = hm.Model(
        name="dry",
        world=model.world,
        bodies=[hm.Body(name=b.name, parent=b.parent, joint=b.joint, inertia=b.inertia) for b in model.bodies],
    )
    peer = PinocchioPeer(dry)
    q, v, tau = state(dry)
    scale = 1e3 * EPS  # rounding over some hundred operations
    for ours, theirs in (
        (hm.mass_matrix(dry, q), peer.mass_matrix(q)),
        (hm.inverse_dynamics(dry, q, v, tau), peer.inverse_dynamics(q, v, tau)),
        (hm.forward_dynamics(dry, q, v, tau), peer.forward_dynamics(q, v, tau)),
    ):
        np.testing.assert_allclose(
            ours, theirs, rtol=0, atol=scale * np.abs(theirs).max() * np.linalg.cond(peer.mass_matrix(q))
        )


def test_forward_undoes_inverse_in_water_compiled_and_in_floats():
    model = tree()
    q, v, vdot = state(model)
    tau = hm.inverse_dynamics(model, q, v, vdot)
    tolerance = 1e3 * EPS * np.linalg.cond(np.array(hm.mass_matrix(model, q), dtype=float)) * np.abs(vdot).max()
    np.testing.assert_allclose(hm.forward_dynamics(model, q, v, tau), vdot, atol=tolerance)
    compiled = hm.compile(model)
    np.testing.assert_allclose(compiled.forward_dynamics(q, v, tau), vdot, atol=tolerance)


def test_configurations_and_files():
    """A constant velocity leads from one configuration to another; a file keeps the joint."""
    from hydromechs.dynamics import difference, displacement, integrate, retract

    model = tree()
    q, v, _ = state(model)
    there = integrate(model, q, v, 0.3)
    np.testing.assert_allclose(displacement(model, q, there), 0.3 * v, atol=1e-13)
    np.testing.assert_allclose(retract(model, q, difference(model, q, there)), there, atol=1e-13)
    again = loads(dumps(model))
    assert [b.joint for b in again.bodies] == [b.joint for b in model.bodies]
    with pytest.raises(hm.ModelError, match="pitch"):
        hm.Model(
            bodies=[
                hm.Body(
                    name="b", joint=hm.joints.Helical(pitch=math.nan), inertia=hm.Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0))
                )
            ]
        )


def test_third_party_engines_reject_it():
    plant = hm.Simulation(nut()).plant
    for engine in ("mujoco", "dart", "bullet"):
        assert f"joint 'nut': engine {engine!r} has no helical joint" in hm.hybrid.Hybrid(engine=engine).faults(plant)[0]
