"""Steps that each part of a plant bears on its own, and all of them together do not."""

from dataclasses import replace

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.actuation import drives
from hydromechs.model import joints
from hydromechs.simulation import step_limit, stiff_modes

SERVO = drives.Servo(joint="rod0", stiffness=200.0, damping=4.0)


def chain(links, *, gravity=0.0, servo=SERVO, **options):
    """Rods that stand on each other, each joint with a servo; at rest, a little bent."""
    bodies = [
        hm.Body(
            name=f"rod{k}",
            parent=f"rod{k - 1}" if k else None,
            joint=joints.Revolute(axis=(0, 1, 0), placement=hm.Origin((0, 0, -0.3 if k else 0.0))),
            inertia=hm.Inertia(mass=1.0, com=(0, 0, -0.15), tensor=(0.01, 0.01, 0.002, 0, 0, 0)),
        )
        for k in range(links)
    ]
    model = hm.Model(name="chain", bodies=bodies, world=hm.World(gravity=gravity, water_density=0.0))
    q = np.full(links, 1e-3)
    straight = dict.fromkeys((b.name for b in bodies), 0.0)
    servos = [replace(servo, joint=name) for name in straight]
    return hm.Simulation(model, components=servos, commands=straight, state=hm.State(q=q, v=np.zeros(links)), **options)


def own_limit(sim):
    """Longest step that each part bears on its own [s]."""
    return min(step_limit(mode, sim.method) for mode in stiff_modes(sim.plant, sim.state.q))


def said(run):
    return [text for text in run.messages if "the coupled parts" in text]


@pytest.mark.parametrize(("method", "steps"), [("rk4", 8), ("semi_implicit_euler", 20)])
def test_a_step_that_is_too_long_together_is_reported(method, steps):
    """The warning is correct: the motion grows, though the servos damp it; with the step that is named it does not."""
    step = 0.9 * own_limit(chain(4, integrator=method))
    run = chain(4, integrator=method, step=step, record=step).run(steps * step)
    (text,) = said(run)
    assert f"a step of {step:g} s is too long for the coupled parts" in text and "rod1" in text
    assert np.abs(run.state.v).max() > 10.0
    good = float(text.partition("use a step of ")[2].partition(" s")[0])
    run = chain(4, integrator=method, step=good, record=good).run(4 * steps * good)
    assert not said(run) and np.abs(run.state.v).max() < 0.1


def test_nothing_is_said_of_one_part_and_of_methods_that_bear_it():
    step = 0.9 * own_limit(chain(4))
    assert not said(chain(1, step=step, record=step).run(3 * step))
    assert not said(chain(4, integrator="linearly_implicit", step=step, record=step).run(3 * step))


def test_what_grows_by_nature_is_not_the_step():
    """Rods fall over faster than weak servos can hold them, by a twelfth in a step."""
    soft = drives.Servo(joint="rod0", stiffness=1.0, damping=0.2)
    step = 0.02  # of 0.14 s that the servos bear
    run = chain(2, gravity=9.81, servo=soft, step=step, record=step).run(20 * step)
    assert np.abs(run.state.q).max() > 3e-3 and not said(run)
