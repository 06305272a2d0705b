"""Gradients of rollouts against differences and a closed form."""

import math

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.actuation import JointFriction, Thruster, drives, linear_curve
from hydromechs.contact import Grasp
from hydromechs.hydro import Current, Gusts
from hydromechs.model import State, added_mass, drag, joints

WATER = hm.World(gravity=9.81, water_density=1025.0)


def swimmer() -> hm.Plant:
    """A tilted vehicle with a link, thrusters with a lag, friction that slips, a current; two numbers are open."""
    hull = hm.Body(
        name="hull",
        joint=joints.Free(),
        inertia=hm.Inertia(mass=20.0, com=(0.01, 0.02, 0.03), tensor=(0.6, 0.8, 0.9, 0.01, 0.02, 0.03)),
        hydro=hm.Hydro(
            volume=0.0195,
            buoyancy_center=(0.0, 0.01, -0.04),
            added_mass=added_mass.Diagonal((8.0, 12.0, 15.0, 0.2, 0.3, 0.4)),
            drag=(drag.Damping(linear=(4.0, 5.0, 6.0, 0.5, 0.6, 0.7), quadratic=(20.0, 30.0, 40.0, 1.0, 2.0, 3.0)),),
        ),
        frames=(
            hm.Frame("fore", hm.Origin((0.3, 0.1, 0.0), (0.1, 0.2, 0.3))),
            hm.Frame("aft", hm.Origin((-0.3, 0.0, 0.1), (0.0, 1.2, 0.0))),
        ),
    )
    link = hm.Body(
        name="link",
        parent="hull",
        joint=joints.Revolute(placement=hm.Origin((0.2, 0.0, 0.1), (0.3, 0.1, 0.2)), axis=(0.0, 1.0, 0.0)),
        inertia=hm.Inertia(mass=3.0, com=(0.2, 0.0, 0.01), tensor=(0.01, 0.05, 0.05, 0.0, 0.0, 0.0)),
        hydro=hm.Hydro(
            volume=0.002, buoyancy_center=(0.2, 0.0, 0.0), added_mass=added_mass.Diagonal((0.5, 2.0, 2.0, 0.0, 0.05, 0.05))
        ),
        frames=(hm.Frame("tip", hm.Origin((0.4, 0.0, 0.05))),),
    )
    parts = [Thruster(name=f, frame=f, curve=linear_curve(60.0, 60.0), time_constant=0.1) for f in ("fore", "aft")]
    parts += [
        drives.Torque(joint="link"),
        JointFriction(joint="link", viscous=0.2, coulomb=0.3),
    ]
    return hm.Plant(
        model=hm.Model(name="swimmer", bodies=[hull, link], world=WATER),
        components=tuple(parts),
        environment=hm.Environment(current=Current(velocity=(0.2, -0.1, 0.05))),
        parameters=("hull.inertia.mass", "link.hydro.volume"),
    )


def test_gradient_of_a_thousand_steps_is_that_of_differences():
    """Commands, start, internal states and open parameters, over 1,000 steps, to 1e-6 of the largest."""
    plant, steps, h = swimmer(), 1000, 2e-3
    model, goal = plant.model, np.array([0.4, -0.3, 0.2])

    def running(t, q, v, u):
        tip = hm.frame_pose(model, q, "tip")[:3, 3] - goal
        return tip @ tip + 0.1 * (v @ v) + 1e-3 * (u @ u) + 0.01 * t * u[2]

    def final(q, v):
        tip = hm.frame_pose(model, q, "tip")[:3, 3] - goal
        return 5.0 * (tip @ tip) + v @ v

    cost = hm.RolloutCost(plant, running=running, final=final)
    rng, wave = np.random.default_rng(2), np.linspace(0.1, 6.0, steps)
    state = model.initial()
    state.q[:7] = np.r_[0.1, 0.2, 0.3, np.array([0.9, 0.2, -0.3, 0.1]) / math.sqrt(0.95)]
    state.v[:] = 0.3 * rng.normal(size=7)
    state = hm.Simulation(plant, state=state).state
    commands = np.stack([0.4 * np.sin(wave), 0.3 * np.cos(wave), 1.5 * np.sin(2.0 * wave)], axis=1)
    found = cost.gradient(state, commands, h)
    assert found.value == pytest.approx(cost.value(state, commands, h), rel=1e-12)

    def slope(along):
        """Central difference of order 4 along changes of (commands, δ, v, z, parameters)."""

        def at(e):
            du, delta, v, z, p = (e * x for x in along)
            there = State(
                q=hm.integrate(model, state.q, delta, 1.0),
                v=state.v + v,
                internal=state.internal + np.r_[z, np.zeros(len(plant.layout.causes))],
                parameters=state.parameters + p,
            )
            return cost.value(there, commands + du, h)

        e = 1e-3
        return (8.0 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12.0 * e)

    sizes = ((steps, 3), (7,), (7,), (3,), (2,))
    parts = [found.commands, found.delta, found.v, found.internal, np.array(list(found.parameters.values()))]
    for k, size in enumerate(sizes):
        along = [np.zeros(s) for s in sizes]
        along[k] = rng.normal(size=size) * (1e-5 if k == 4 else 1e-2)  # so small that friction begins to slip at the same steps
        assert float(np.sum(along[k] * parts[k])) == pytest.approx(slope(along), rel=1e-6)


def test_gradient_of_a_falling_mass():
    """A mass on a slide pushed by F: x = F t²/2m, J = x(T): ∂J/∂F_k = h (T − t_k − h/2)/m, exact in Runge-Kutta steps."""
    body = hm.Body(
        name="block",
        joint=joints.Prismatic(axis=(1.0, 0.0, 0.0)),
        inertia=hm.Inertia(mass=2.0, tensor=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    )
    model = hm.Model(name="one", bodies=[body], world=hm.World(gravity=0.0, water_density=1000.0))
    plant = hm.Plant(model=model, components=(drives.Torque(joint="block"),))
    cost = hm.RolloutCost(plant, final=lambda q, v: q[0])
    found = cost.gradient(model.initial(), np.full((10, 1), 3.0), 0.1)
    t = 0.1 * np.arange(10)
    assert found.value == pytest.approx(0.75) and found.delta == pytest.approx([1.0]) and found.v == pytest.approx([1.0])
    assert found.commands[:, 0] == pytest.approx(0.1 * (1.0 - t - 0.05) / 2.0, rel=1e-12)
    with pytest.raises(ValueError, match=r"commands have shape \(10, 2\), must have shape \(steps, 1\) for block"):
        cost.gradient(model.initial(), np.zeros((10, 2)), 0.1)


def test_what_has_no_derivatives_is_rejected():
    plant = swimmer()
    gusty = hm.Plant(
        model=plant.model,
        components=plant.components,
        environment=hm.Environment(gusts=Gusts(sigma=(0.1, 0.0, 0.0), time_constant=5.0, interval=0.5)),
    )
    with pytest.raises(ValueError, match=r"steady water.*0\.5 s"):
        hm.RolloutCost(gusty).value(plant.model.initial(), np.zeros((300, 3)), 2e-3)
    held = hm.Plant(model=plant.model, components=(Grasp(name="clamp", holder="fore", held="tip", closed=False),))
    with pytest.raises(ValueError, match="parts without derivatives"):
        hm.RolloutCost(held)
