"""An umbilical's stiffness: a clamped beam bends and twists as closed forms say, at rest and swinging; its springs keep energy."""

import math

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import dynamics, equations, library
from hydromechs.actuation import JointSpring
from hydromechs.integrators import RungeKutta4
from hydromechs.model.component import Now, StillWater
from hydromechs.simulation import step_faults

L, EI, GJ, MASS, DIAMETER = 3.0, 40.0, 25.0, 0.9, 0.04
POLAR = 0.5 * MASS * (0.5 * DIAMETER) ** 2
"""Moment of inertia about its axis per length [kg·m]."""


def beam(n, damping=0.0):
    """A clamped beam along the vertical, in vacuum and without weight."""
    line = library.umbilical(
        n,
        length=L,
        diameter=DIAMETER,
        mass_per_length=MASS,
        bending_stiffness=EI,
        torsion_stiffness=GJ,
        damping=damping,
    )
    bodies = [hm.Body(name=b.name, parent=b.parent, joint=b.joint, inertia=b.inertia, frames=b.frames) for b in line.bodies]
    return hm.Model(name="beam", world=hm.World(axes="NED", gravity=1e-9), bodies=bodies)


def turned(model, axis, angles):
    """Configuration with joints turned about one axis of their bodies."""
    q, _ = model.neutral()
    for part, a in zip(model.joint_parts.values(), angles, strict=True):
        q[part.q] = np.concatenate([[math.cos(a / 2)], math.sin(a / 2) * np.eye(3)[axis]])
    return q


def spring_torques(model, q):
    """Joint forces of the springs, at rest, shape (nv,)."""
    springs = JointSpring(joints=tuple(b.name for b in model.bodies))
    v = np.zeros(model.nv)
    action = springs.act(Now(model, 0.0, q, v, dynamics.kinematics(model, q, v), StillWater(None)), {}, {})
    return np.concatenate([tau for _, tau in action.joint_forces])


def of_joints(model):
    """Stiffness, shape (n, 3)."""
    return np.array([b.joint.stiffness for b in model.bodies])


def unbalanced(model, q, wrench):
    """Accelerations under a wrench on the last body, over those without springs."""
    all_wrenches = np.zeros((model.nb, 6))
    all_wrenches[-1] = wrench
    v = np.zeros(model.nv)
    with_springs, without = (
        equations.forward_dynamics(model, q, v, tau, wrench=all_wrenches) for tau in (spring_torques(model, q), v)
    )
    return np.abs(with_springs).max() / np.abs(without).max()


def test_a_cantilever_bends_by_p_l3_over_3_ei():
    """A load P at the end: the springs balance it, to the square of the angles, and the end gives way by P L³/3EI (1 + 1/2n²)."""
    load = 0.02
    for n in (4, 8, 16):
        model = beam(n)
        s = L / n * np.arange(n)  # of the joints from the clamp
        angles = load * (L - s) / of_joints(model)[:, 1]
        q = turned(model, 1, -angles)
        at = model.locate("end")
        X = equations.kinematics(model, q, np.zeros(model.nv)).X_WB[at.body]
        p = X[:3, :3] @ at.p + X[:3, 3]
        exact = load * L**3 / (3.0 * EI)
        assert np.abs(p[0]) == pytest.approx(exact * (1.0 + 0.5 / n**2), rel=1e-4)
        F = X[:3, :3].T @ (load * np.sign(p[0]) * np.array([1.0, 0.0, 0.0]))
        assert unbalanced(model, q, np.concatenate([F, np.cross(at.p, F)])) < 1e-4


def test_a_torque_at_the_end_twists_it_by_t_l_over_gj():
    """T L/GJ at the middle of the last segment, by large angles too, to rounding; the springs balance it."""
    torque, n = 12.0, 8  # 1.35 rad
    model = beam(n)
    q = turned(model, 0, torque / of_joints(model)[:, 0])
    R = equations.kinematics(model, q, np.zeros(model.nv)).X_WB[-1][:3, :3]
    R0 = equations.kinematics(model, model.neutral()[0], np.zeros(model.nv)).X_WB[-1][:3, :3]
    twist = np.arccos((np.trace(R0.T @ R) - 1.0) / 2.0)
    assert twist == pytest.approx(torque * (L - 0.5 * L / n) / GJ, rel=1e-12)
    assert unbalanced(model, q, [0, 0, 0, torque, 0, 0]) < 1e-10


def test_frequencies_of_bending_and_torsion_converge_to_those_of_a_clamped_beam():
    """ω = (π/2L) √(GJ/I_p) in torsion, ω = 1.8751² √(EI/m)/L² in bending; the errors fall as 1/n²."""
    torsion = math.pi / (2.0 * L) * math.sqrt(GJ / POLAR)
    bending = 1.875104**2 * math.sqrt(EI / MASS) / L**2
    errors = []
    for n in (6, 12):
        model = beam(n)
        M = np.array(equations.mass_matrix(model, model.neutral()[0]), dtype=float)
        root = np.sqrt(of_joints(model).ravel())
        modes = np.sqrt(np.linalg.eigvalsh(root[:, None] * np.linalg.inv(M) * root))
        slow = np.sort(modes)[:2]
        spin = np.sqrt(np.linalg.eigvalsh((root[:, None] * np.linalg.inv(M) * root)[::3, ::3]))[0]
        assert slow[0] == pytest.approx(slow[1], rel=1e-9)  # bending about y and z
        errors.append([slow[0] / bending - 1.0, spin / torsion - 1.0])
    assert np.abs(errors[1]).max() < 0.01
    np.testing.assert_allclose(np.abs(errors[0]) / np.abs(errors[1]), 4.0, atol=0.5)


@pytest.fixture(scope="module")
def swinging():
    """A beam of six segments, bent and twisted at the start, rolled and specialised."""
    model = beam(6)
    q = model.neutral()[0]
    for k, part in enumerate(model.joint_parts.values()):
        phi = np.array([0.05 * math.cos(k), 0.02, -0.03])
        half = 0.5 * np.linalg.norm(phi)
        q[part.q] = np.concatenate([[math.cos(half)], math.sin(half) * phi / (2.0 * half)])
    start = hm.State(q=q, v=np.zeros(model.nv))
    springs = hm.Simulation(model, record=0.01).plant.components
    plant = hm.Plant(model=model, components=springs, form="rolled")
    return hm.Simulation(plant, state=start, step=5e-5, record=2e-3).run(0.5).recording


def test_springs_keep_the_energy_that_is_put_into_them(swinging):
    """No damping, no water: kinetic and elastic energy exchange, and their sum stays but for what rk4 takes of fast torsion."""
    total = (swinging.kinetic_energy_body + swinging.elastic_energy).values
    assert swinging.kinetic_energy_body.max() > 0.2 * total[0]
    assert np.abs(total - total[0]).max() < 1e-5 * total[0]
    assert np.abs(swinging.energy_residual).max() < 1e-5 * total[0]


def test_a_step_that_is_too_long_for_the_springs_is_rejected():
    """ω of the fastest mode of all joints together, which is above that of any joint alone."""
    model = beam(6)
    M = np.array(equations.mass_matrix(model, model.neutral()[0]), dtype=float)
    root = np.sqrt(of_joints(model).ravel())
    fastest = math.sqrt(np.linalg.eigvalsh(root[:, None] * np.linalg.inv(M) * root)[-1])
    sim = hm.Simulation(model, step=1e-2, record=0.1)
    (text,) = step_faults(sim.plant, model.neutral()[0], RungeKutta4(), 1e-2)
    assert f"too stiff for a step of 0.01 s with rk4; the rate of {fastest:.3g} 1/s" in text


def test_ball_joints_alone_can_have_springs():
    inertia = hm.Inertia(mass=1.0, tensor=(1.0, 1.0, 1.0, 0, 0, 0))
    with pytest.raises(hm.ModelError, match="stiffness"):
        hm.Model(name="m", bodies=[hm.Body(name="b", joint=hm.joints.Ball(stiffness=(1.0, -1.0, 0.0)), inertia=inertia)])
    with pytest.raises(ValueError, match="joint 'module2': the model has no stiffness for this joint; set stiffness"):
        hm.Simulation(library.snake(3), components=[JointSpring(joints=("module2",))])
