"""Bodies that owe their inertia to the water: fine under water, impossible in air."""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library
from hydromechs.model import dry_faults

WATER = hm.Hydro(volume=0.005, added_mass=hm.added_mass.Diagonal((5.0, 6.0, 7.0, 0.5, 0.6, 0.7)))
SOLID = (1.0, 1.2, 1.5, 0.0, 0.0, 0.0)


def float_with(mass, tensor, *others):
    return hm.Model(
        name="float", bodies=(hm.Body(name="hull", inertia=hm.Inertia(mass=mass, tensor=tensor), hydro=WATER), *others)
    )


def test_point_mass_in_water_has_no_rotation_in_air():
    """A point mass with added mass is accepted, moves well under water, and has a singular inertia without it."""
    model = float_with(5.0, (0.0,) * 6)
    q, v = model.neutral()
    assert np.isfinite(hm.forward_dynamics(model, q, v, v)).all()
    faults = dry_faults(model)
    assert [f.path[:2] for f in faults] == [("bodies", 0)]
    for words in ("body 'hull'", "free joint moves no inertia", "mass 5 kg", "free surface"):
        assert words in faults[0].text


def test_all_bodies_are_listed():
    """Each of two bodies that owe their inertia to the water, not only the first."""
    arm = hm.Body(name="arm", parent="hull", joint=hm.joints.Revolute(), hydro=WATER)
    tool = hm.Body(name="tool", parent="hull", joint=hm.joints.Prismatic(), hydro=WATER)
    good = hm.Body(name="good", parent="hull", joint=hm.joints.Revolute(), inertia=hm.Inertia(mass=1.0, tensor=SOLID))
    faults = dry_faults(float_with(5.0, SOLID, arm, good, tool))
    assert [f.path[1] for f in faults] == [1, 3] or [f.path[1] for f in faults] == [3, 1]


def test_massless_link_that_carries_mass_is_no_error():
    """All bodies that a joint carries count, not only its own."""
    link = hm.Body(name="link", parent="hull", joint=hm.joints.Revolute(), hydro=WATER)
    place = hm.Origin((0.3, 0.0, 0.0))
    ball = hm.Body(
        name="ball", parent="link", joint=hm.joints.Fixed(placement=place), inertia=hm.Inertia(mass=1.0, tensor=SOLID)
    )
    assert dry_faults(float_with(5.0, SOLID, link, ball)) == []


@pytest.mark.parametrize("name", library.names())
def test_library_models_can_leave_the_water(name):
    assert dry_faults(library.load(name)) == []


@pytest.mark.parametrize("seed", range(5))
def test_random_trees_can_leave_the_water(seed):
    assert dry_faults(library.random_tree(np.random.default_rng(seed))) == []


class Own:
    """Hydrodynamics of a user, with all the inertia there is."""

    def added_mass(self, body, motion):
        return np.eye(6)

    def wrench(self, body, motion):
        return np.zeros(6)


def test_custom_hydrodynamics_does_not_count_in_air():
    model = hm.Model(bodies=(hm.Body(name="b", hydro=Own()),))
    assert len(dry_faults(model)) == 1
