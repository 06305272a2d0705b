"""Reynolds and Strouhal numbers of a recorded flow, and lock-in of vortices on modes."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.hydro import Current
from hydromechs.model.flexible import Beam, WetSection
from hydromechs.simulation import flow_numbers, strouhal_number

RADIUS, NU = 0.04, 1.3e-6


def boom(counts=(2, 0, 0)):
    beam = Beam(length=4.0, mass=12.0, bending_y=4000.0, counts=counts, water=WetSection(radius=RADIUS, drag=0.0))
    arm = hm.Body(name="arm", joint=hm.joints.Fixed(), flexible=beam)
    return hm.Model(name="boom", bodies=[arm], world=hm.World(gravity=0.0, kinematic_viscosity=NU))


def flowing(z):
    environment = hm.Environment(current=Current(velocity=(0.7, 0.0, z)))
    return hm.Simulation(boom(), environment=environment, step=0.01)


@pytest.mark.parametrize("reynolds, expected", [(40.0, 0.0), (100.0, 0.167), (1e3, 0.209), (1e5, 0.212)])
def test_strouhal_number_of_a_cylinder(reynolds, expected):
    """Roshko 1954: 0.167 at Re = 100, 0.21 for thousands, no vortices below 47."""
    assert strouhal_number(reynolds) == pytest.approx(expected, abs=1e-3)


def test_flow_across_a_cylinder():
    """The flow along its axis does not count."""
    sim = flowing(0.25)
    numbers = flow_numbers(sim.model, sim.run(0.1).recording)
    assert len(numbers) == 8 and all(n.shape == "cylinder" for n in numbers)
    n = numbers[0]
    assert n.reynolds == pytest.approx(0.25 * 2 * RADIUS / NU, rel=1e-9)
    assert n.frequency == pytest.approx(n.strouhal * 0.25 / (2 * RADIUS), rel=1e-12)


@pytest.mark.parametrize("speed, locked", [(0.05, False), (0.25, True), (0.5, False)])
def test_modes_warn_of_lock_in(speed, locked, recwarn):
    """The first mode has 0.534 Hz: reduced velocities of 1.2, 5.9 and 11.7."""
    sim = flowing(speed)
    found = hm.modes(sim)
    texts = [str(w.message) for w in recwarn if "lock in" in str(w.message)]
    assert bool(texts) == locked
    flow = flow_numbers(sim.model, sim.run(0.1).recording)
    assert found.lock_in(flow) == tuple(texts)
    assert not locked or ("arm.tip.y1" in texts[0] and "0.53" in texts[0] and len(texts) == 1)
    reduced = np.array([speed / (m.natural_frequency * 2 * RADIUS) for m in found.oscillating])
    assert bool(((reduced >= 4) & (reduced <= 8)).any()) == locked
