"""Rolled programs, a loop over the bodies of a tree, against floats and against specialised ones."""

import os

import numpy as np
import pytest

import hydromechs as hm
from hydromechs import library

WORLDS = 11  # no multiple of 4 or 8
MODELS = [
    library.load("tiburon_titan2"),
    library.serial_chain(4, base="fixed", wet=False),
    library.random_tree(np.random.default_rng(103), max_bodies=5),
]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """A cache folder of this test run's own, so that nothing old can pass for new."""
    os.environ["HYDROMECHS_CACHE"] = str(tmp_path_factory.mktemp("cache"))


def states(model, rng, n):
    q0 = model.initial().q
    q = np.stack([hm.integrate(model, q0, rng.normal(size=model.nv), 0.5) for _ in range(n)])
    return q, rng.normal(size=(n, model.nv)), rng.normal(size=(n, model.nv))


def tolerance(model, q):
    """Rounding, times the condition of the inertia where a system is solved."""
    return max(1e-12, 20 * np.finfo(float).eps * np.linalg.cond(hm.mass_matrix(model, q)))


@pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.name}-{m.nb}-{m.nv}")
def test_rolled_equals_floats(model):
    """Forward dynamics with the water uniform, with one row for each body, and with wrenches; one lane and eight."""
    rng = np.random.default_rng(1)
    q, v, tau = states(model, rng, WORLDS)
    options = [
        {},
        dict(fluid_velocity=rng.normal(size=3), fluid_acceleration=rng.normal(size=3)),
        dict(
            fluid_velocity=rng.normal(size=(1, model.nb, 3)),
            fluid_acceleration=rng.normal(size=(1, model.nb, 3)),
            wrench=rng.normal(size=(1, model.nb, 6)),
        ),
    ]
    one, lanes = hm.compile(model, lanes=1, form="rolled"), hm.compile(model, lanes=8, form="rolled")
    for given in options:
        rows = {k: x[0] if np.ndim(x) == 3 else x for k, x in given.items()}
        expected = np.stack([hm.forward_dynamics(model, q[k], v[k], tau[k], **rows) for k in range(WORLDS)])
        scale = max(1.0, np.abs(expected).max()) * max(tolerance(model, x) for x in q)
        np.testing.assert_allclose(lanes.forward_dynamics(q, v, tau, **given), expected, rtol=0, atol=scale)
        single = one.forward_dynamics(q[0], v[0], tau[0], **rows)
        np.testing.assert_allclose(single, expected[0], rtol=0, atol=scale)
