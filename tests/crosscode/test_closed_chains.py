"""Closed chains, dry, against Pinocchio's proximal solver of constraint dynamics with six-dimensional contacts."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import dynamics
from hydromechs.bench.peers import PinocchioPeer
from hydromechs.equations import balance
from hydromechs.library import serial_chain, star
from hydromechs.spatial import Path, Turn

TOLERANCE = 1e-9
"""Relative to the largest acceleration or force; the arms here are not singular, and differences are below 1e-12."""


def held_load(rng, trees) -> hm.Model:
    bodies = [
        replace(b, name=f"t{k}_{b.name}", parent=None if b.parent is None else f"t{k}_{b.parent}")
        for k, tree in enumerate(trees)
        for b in tree.bodies
    ]
    inertia = hm.Inertia(mass=4.0, com=tuple(rng.uniform(-0.2, 0.2, 3)), tensor=(0.3, 0.4, 0.5, 0.02, -0.03, 0.04))
    bodies.append(hm.Body(name="load", joint=hm.joints.Free(), inertia=inertia))
    return hm.Model(name="held", bodies=bodies, world=hm.World(axes="ENU", gravity=9.7))


class Held:
    """A state in which frames of the tips meet frames of the load and stay together."""

    def __init__(self, rng, model, tips):
        self.model, self.load = model, model.body_index("load")
        q = model.neutral()[0]
        for body, at in zip(model.bodies, model.q_slices, strict=True):
            if isinstance(body.joint, hm.joints.Free):
                x = rng.normal(size=4)
                q[at] = [*rng.normal(size=3), *(x / np.linalg.norm(x))]
            else:
                q[at] = rng.uniform(-2, 2, at.stop - at.start)
        kin = dynamics.kinematics(model, q, np.zeros(model.nv))
        L, rows, self.places, self.holdings = self.load, [], [], []
        for tip in tips:
            i = model.body_index(tip)
            Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            R, p = Q * np.linalg.det(Q), rng.uniform(-0.3, 0.3, 3)
            R_L = kin.R_WB[L].T @ kin.R_WB[i] @ R
            p_L = kin.R_WB[L].T @ (kin.p_WB[i] + kin.R_WB[i] @ p - kin.p_WB[L])
            self.places.append((i, R, p, R_L, p_L))
            self.holdings.append(dynamics.Holding(i, Path((Turn(R, p),)), Path((Turn(R_L, p_L),))))
            J_A, J_L = hm.jacobian(model, q, tip, p), hm.jacobian(model, q, "load", p_L)
            rows.append(np.kron(np.eye(2), R.T) @ J_A - np.kron(np.eye(2), R_L.T) @ J_L)
        J, v = np.concatenate(rows), rng.normal(size=model.nv)
        self.q, self.v = q, v - np.linalg.pinv(J) @ (J @ v)
        self.tau = 5.0 * rng.normal(size=model.nv)

    def ours(self, solver):
        b, _ = balance(self.model, self.q, self.v)
        return solver(self.model, b, self.tau, self.load, self.holdings)


def pinocchio(held: Held):
    """v̇ by `constraintDynamics`, and the forces of the holders on the load, each in the axes of its grasp."""
    peer = PinocchioPeer(held.model)
    pin, model = peer.pin, peer.model

    def joint(i):
        return model.getJointId(held.model.body_names[i])

    contacts, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for i, R, p, R_L, p_L in held.places:
        places = (joint(i), pin.SE3(R, p), joint(held.load), pin.SE3(R_L, p_L))
        contacts.append(pin.RigidConstraintModel(pin.ContactType.CONTACT_6D, model, *places, pin.LOCAL))
        datas.append(contacts[-1].createData())
    data = model.createData()
    four = int(pin.__version__.split(".")[0]) >= 4
    pin.initConstraintDynamics(model, data, contacts, *((datas,) if four else ()))
    settings = pin.ProximalSettings(1e-13, 0.0, 200)
    given = (peer.at.q(held.q), peer.at.v(held.q, held.v), peer.at.tau(held.q, held.tau))
    vdot = pin.constraintDynamics(model, data, *given, contacts, datas, settings)
    return peer.at.our_vdot(held.q, held.v, vdot), [np.array(d.contact_force.vector) for d in datas]


@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_arms_that_hold_a_load(seed, m, base):
    rng = np.random.default_rng([seed, m, base == "free"])
    model = held_load(rng, [serial_chain(6, base=base, wet=False, seed=10 * seed + k) for k in range(m)])
    held = Held(rng, model, [f"t{k}_link6" for k in range(m)])
    vdot, forces = pinocchio(held)
    for ours in (held.ours(dynamics.closed_chain_dynamics), held.ours(dynamics.singular_chain_dynamics)[0]):
        np.testing.assert_allclose(ours.vdot, vdot, rtol=0, atol=TOLERANCE * np.abs(vdot).max())
        largest = max(np.abs(f).max() for f in ours.forces)
        for f, theirs in zip(ours.forces, forces, strict=True):
            # theirs is the force on the first body of the pair, the holder
            np.testing.assert_allclose(-f, theirs, rtol=0, atol=TOLERANCE * largest)


@pytest.mark.parametrize("n", [6, 7])
def test_two_arms_of_one_vehicle(n):
    rng = np.random.default_rng(n)
    model = held_load(rng, [star(2, n, wet=False, seed=n)])
    held = Held(rng, model, [f"t0_chain1_link{n}", f"t0_chain2_link{n}"])
    vdot, _ = pinocchio(held)
    ours = held.ours(dynamics.closed_chain_dynamics)
    np.testing.assert_allclose(ours.vdot, vdot, rtol=0, atol=TOLERANCE * np.abs(vdot).max())
