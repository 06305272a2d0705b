"""Stops that follow from the model's limits: as hard as they can be for the default step, in chains too."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.actuation import JointStops, drives
from hydromechs.integrators import method_named
from hydromechs.model import joints
from hydromechs.simulation import step_faults, step_limit, stiff_modes

SLOW, FAST, ZETA = 2.0 * np.pi * 5.0, 2.0 * np.pi * 72.0, 0.7


def chain(n, *, first=None, **joint) -> hm.Model:
    """Rods of 0.2 m one behind the other, about z and y in turn beyond the third."""
    rod = hm.Inertia(mass=1.0, com=(0.1, 0.01, 0.0), tensor=(0.002, 0.005, 0.004, 0.0, 0.0, 0.0))
    bodies = [hm.Body(name="root", joint=first or joints.Free(position=(0, 0, 2.0)), inertia=rod)]
    for k in range(n):
        axis = (0, 1, 0) if k > 2 and k % 2 else (0, 0, 1)
        hinge = joints.Revolute(placement=hm.Origin((0.2, 0, 0)), axis=axis, limits=(-0.5, 0.6), **joint)
        bodies.append(hm.Body(name=f"l{k}", parent=bodies[-1].name, joint=hinge, inertia=rod))
    return hm.Model(name="chain", bodies=bodies)


def stops_of(sim) -> dict[str, JointStops]:
    return {c.joint: c for c in sim.plant.components if isinstance(c, JointStops)}


@pytest.mark.parametrize("n", [1, 3, 8, 25])
@pytest.mark.parametrize("first", [joints.Free(), joints.Fixed()], ids=["free", "fixed"])
def test_the_default_step_carries_all_stops_of_a_chain(n, first):
    """Each on its own by every method for fixed steps; all at once by rk4, whose limit is 2.78 and by the trace the sum of all."""
    model = chain(n, first=first)
    sim = hm.Simulation(model)
    for method in map(method_named, ("rk4", "euler", "semi_implicit_euler")):
        assert min(step_limit(mode, method) for mode in stiff_modes(sim.plant, sim.state.q)) > 1e-3
    M = np.array(hm.mass_matrix(model, sim.state.q), dtype=float)
    at = [model.joint_part(name).v.start for name in stops_of(sim)]
    S = np.eye(model.nv)[:, at]
    K, C = (S @ np.diag([getattr(c, name) for c in stops_of(sim).values()]) @ S.T for name in ("stiffness", "damping"))
    all_at_once = np.block([[np.zeros_like(M), np.eye(model.nv)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    assert np.abs(np.linalg.eigvals(all_at_once)).max() * 1e-3 < 2.6


def test_stops_are_at_5_hz_with_the_others_locked_or_at_72_hz_with_these_free():
    """Whichever is softer. Rotors count, those of drives and those that friction needs; the state does not."""
    model = chain(8, damping=8.0)
    bent = model.initial()
    bent.q[7:] = 0.4
    servos = [drives.Motor(joint="l3", resistance=1.0, torque_constant=0.05, gear_ratio=60.0, rotor_inertia=1e-4)]
    sim = hm.Simulation(model, components=[*servos])
    assert sim.plant.components == hm.Simulation(model, components=[*servos], state=bent).plant.components
    rotors = {c.joint: c.armature for c in sim.plant.components if c.name.endswith(".friction") and c.armature}
    assert rotors and "l3" not in rotors
    M = np.array(hm.mass_matrix(model, model.initial().q), dtype=float)
    for name, rotor in (rotors | {"l3": servos[0].armature}).items():
        M[model.joint_part(name).v, model.joint_part(name).v] += rotor
    locked, free = np.diag(M), 1.0 / np.diag(np.linalg.inv(M))
    for name, c in stops_of(sim).items():
        k = model.joint_part(name).v.start
        assert c.stiffness == pytest.approx(min(locked[k] * SLOW**2, free[k] * FAST**2), rel=6e-3)  # three digits
        assert c.damping == pytest.approx(2.0 * ZETA * min(locked[k] * SLOW, free[k] * FAST), rel=6e-3)


def test_a_chain_that_is_thrown_against_its_stops_stays_near_them():
    model = chain(4)
    state = model.initial()
    state.v[6:] = 3.0
    ds = hm.Simulation(model, state=state, record=0.01).run(1.5).recording
    beyond = np.maximum(ds.q.values[:, 7:] - 0.6, -0.5 - ds.q.values[:, 7:])
    assert 0.0 < beyond.max() < 0.05


def test_a_step_that_is_too_long_for_default_stops_reports_that_these_are_defaults():
    rk4 = method_named("rk4")
    sim = hm.Simulation(chain(6))
    words = "these defaults"
    assert all(words in text and "'l" in text for text in step_faults(sim.plant, sim.state.q, rk4, 0.01)[:5])
    own = hm.Simulation(chain(6), components=[drives.JointStops(joint="l2", lower=-0.5, upper=0.6, stiffness=1e5)])
    first = step_faults(own.plant, own.state.q, rk4, 0.01)[0]
    assert (
        first.startswith("stops of joint 'l2' is too stiff for a step of 0.01 s")
        and "use a shorter step, soften it, or" in first
    )
