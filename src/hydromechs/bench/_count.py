"""Operation counts of the algorithms for a model, and cross-checks of results with other codes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hydromechs.equations import bias_acceleration, forward_dynamics, inverse_dynamics, jacobian, mass_matrix, operation_count
from hydromechs.library import random_tree
from hydromechs.model import Hydro, Model

from ._machine import relative_difference
from .peers import DartPeer, MujocoPeer, PinocchioPeer, import_peer

ALGORITHMS = {
    "articulated_body": "forward dynamics",
    "inverse_dynamics": "inverse dynamics",
    "composite_body": "mass matrix",
    "kinematics": "poses and velocities",
}
"""Descriptions of the algorithms of `hm.equations.operation_count`, keyed by name."""

KINDS = ("multiplications", "divisions", "square_roots", "additions", "sines_cosines", "others")
"""Kinds of counted operations."""


def model_counts(model: Model) -> dict[str, dict[str, int]]:
    """Return the operation counts of every algorithm for a model, by algorithm and kind."""
    counts = {name: operation_count(model, name) for name in ALGORITHMS}
    return {name: {kind: getattr(count, kind) for kind in KINDS} for name, count in counts.items()}


TOLERANCE = 1e-10
"""Maximum relative difference of a passed comparison."""


class Difference(NamedTuple):
    """Difference between two codes on one tree."""

    code: str
    quantity: str
    """Compared quantity."""
    relative: float
    """Largest difference divided by the largest value [-]."""
    condition: float
    """Condition number of the mass matrix [-], which amplifies rounding errors of accelerations."""


def compare_with_added_mass(rng: np.random.Generator) -> Iterator[Difference]:
    """Compare a random tree with full 6×6 added masses, random state, joint forces and wrenches with DART."""
    model = random_tree(rng)
    bare = [replace(b, hydro=replace(b.hydro, volume=0.0, drag=())) for b in model.bodies if isinstance(b.hydro, Hydro)]
    model = Model(name=model.name, world=model.world, bodies=tuple(bare))
    state = model.initial()
    tau, wrench = 5.0 * rng.normal(size=model.nv), 5.0 * rng.normal(size=(model.nb, 6))
    vdot = forward_dynamics(model, state.q, state.v, tau, wrench=wrench)
    ours = np.stack(
        [jacobian(model, state.q, b) @ vdot + bias_acceleration(model, state.q, state.v, b) for b in model.body_names]
    )
    theirs = DartPeer(model).body_accelerations(state.q, state.v, tau, wrench)
    condition = float(np.linalg.cond(mass_matrix(model, state.q)))
    yield Difference("DART", "accelerations with added mass", relative_difference(theirs, ours), condition)


def compare_dry(rng: np.random.Generator) -> Iterator[Difference]:
    """Compare a dry random tree in a random state with Pinocchio and MuJoCo."""
    model = random_tree(rng, wet=False)
    state = model.initial()
    tau, vdot = 5.0 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    forward = forward_dynamics(model, state.q, state.v, tau)
    inverse = inverse_dynamics(model, state.q, state.v, vdot)
    M = mass_matrix(model, state.q)
    condition = float(np.linalg.cond(M))
    for name, peer in (("Pinocchio", PinocchioPeer(model)), ("MuJoCo", MujocoPeer(model))):
        theirs = {
            "forward dynamics": (peer.forward_dynamics(state.q, state.v, tau), forward),
            "inverse dynamics": (peer.inverse_dynamics(state.q, state.v, vdot), inverse),
            "mass matrix": (peer.mass_matrix(state.q), M),
        }
        for quantity, (found, ours) in theirs.items():
            yield Difference(name, quantity, relative_difference(found, ours), condition)


class Crosscheck(NamedTuple):
    """Result of a cross-check on many trees."""

    trees: int
    found: dict[tuple[str, str], list[Difference]]
    """Differences, keyed by code and quantity."""

    @property
    def passed(self) -> bool:
        """True if all differences are within the tolerance."""
        return all(d.relative <= TOLERANCE for differences in self.found.values() for d in differences)


def crosscheck(trees: int, seed: int, *, track: Callable[[list], Iterable] = iter) -> Crosscheck:
    """Compare random trees with DART, Pinocchio and MuJoCo; `track` wraps the iteration, for a progress bar."""
    for name in ("dartpy", "pinocchio", "mujoco"):  # report missing packages before the work starts
        import_peer(name)
    found: dict[tuple[str, str], list[Difference]] = {}
    for rng in track(np.random.default_rng(seed).spawn(trees)):
        for difference in (*compare_with_added_mass(rng), *compare_dry(rng)):
            found.setdefault((difference.code, difference.quantity), []).append(difference)
    return Crosscheck(trees, found)
