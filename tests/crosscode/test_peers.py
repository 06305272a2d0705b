"""Accelerations, joint forces and mass matrices against DART, Pinocchio and MuJoCo, which nobody here wrote.

The whole comparison, 1,000 trees, is the command `hydromechs crosscheck`; this is a sample of it.
"""

import numpy as np
import pytest

from hydromechs.cli._crosscheck import TOLERANCE, compare_dry, compare_with_added_mass

SAMPLE = 40


@pytest.mark.parametrize("compare", [compare_with_added_mass, compare_dry])
def test_random_trees(compare):
    """All joint types, branching, tilted bases, full 6×6 added mass on every body."""
    for rng in np.random.default_rng(0).spawn(SAMPLE):
        for difference in compare(rng):
            assert difference.relative < TOLERANCE, difference
