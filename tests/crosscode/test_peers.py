"""Accelerations, joint forces and mass matrices against DART, Pinocchio and MuJoCo, which nobody here wrote.

The whole comparison, 1,000 trees, is the command `hydromechs crosscheck`; this is a sample of it.
"""

import numpy as np
import pytest

import hydromechs as hm
from hydromechs.bench._count import TOLERANCE, compare_dry, compare_with_added_mass
from hydromechs.hybrid import placement_pose

SAMPLE = 16


@pytest.mark.parametrize("compare", [compare_with_added_mass, compare_dry])
def test_random_trees(compare):
    """All joint types, branching, tilted bases, full 6×6 added mass on every body."""
    for rng in np.random.default_rng(0).spawn(SAMPLE):
        for difference in compare(rng):
            assert difference.relative < TOLERANCE, difference


@pytest.mark.parametrize("seed", range(10))
def test_placements(seed):
    """The poses that the other codes get, made from elementary matrices, are those of our bodies at zero."""
    rng = np.random.default_rng(seed)
    names = ("a", "alpha", "d", "theta", "branch_d", "branch_theta")
    for place in (hm.Origin(*rng.uniform(-3, 3, (2, 3))), hm.Mdh(**dict(zip(names, rng.uniform(-3, 3, 6), strict=True)))):
        body = hm.Body(
            name="b", joint=hm.joints.Revolute(placement=place), inertia=hm.Inertia(mass=1, tensor=(1, 1, 1, 0, 0, 0))
        )
        ours = hm.kinematics(hm.Model(bodies=[body]), [0.0], [0.0]).X_WB[0]
        np.testing.assert_allclose(placement_pose(body.joint), ours, rtol=0, atol=1e-14)
