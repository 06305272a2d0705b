"""Our equations against other codes on random trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hydromechs.equations import bias_acceleration, forward_dynamics, inverse_dynamics, jacobian, mass_matrix
from hydromechs.library import random_tree
from hydromechs.model import Model

from .peers import DartPeer, MujocoPeer, PinocchioPeer, import_peer

__all__ = ["Difference", "compare_dry", "compare_with_added_mass", "print_crosscheck"]

TOLERANCE = 1e-10
"""Largest relative difference that passes."""


class Difference(NamedTuple):
    """How far two codes are apart on one tree."""

    code: str
    """The other code."""
    quantity: str
    """What was compared."""
    relative: float
    """Largest difference over the largest value."""
    condition: float
    """Condition number of the mass matrix, which multiplies rounding errors of accelerations."""


def _relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))


def compare_with_added_mass(rng: np.random.Generator) -> Iterator[Difference]:
    """A random tree with a full 6×6 added mass on every body, random state, joint forces and wrenches, against DART."""
    model = random_tree(rng)
    bare = [replace(b, hydro=replace(b.hydro, volume=0.0, drag=())) for b in model.bodies]
    model = Model(name=model.name, world=model.world, bodies=bare)
    state = model.initial()
    tau, wrench = 5.0 * rng.normal(size=model.nv), 5.0 * rng.normal(size=(model.nb, 6))
    vdot = forward_dynamics(model, state.q, state.v, tau, wrench=wrench)
    ours = np.stack(
        [jacobian(model, state.q, b) @ vdot + bias_acceleration(model, state.q, state.v, b) for b in model.body_names]
    )
    theirs = DartPeer(model).body_accelerations(state.q, state.v, tau, wrench)
    condition = float(np.linalg.cond(mass_matrix(model, state.q)))
    yield Difference("DART", "accelerations with added mass", _relative(theirs, ours), condition)


def compare_dry(rng: np.random.Generator) -> Iterator[Difference]:
    """A dry random tree at a random state against Pinocchio and MuJoCo."""
    model = random_tree(rng, wet=False)
    state = model.initial()
    tau, vdot = 5.0 * rng.normal(size=model.nv), rng.normal(size=model.nv)
    forward = forward_dynamics(model, state.q, state.v, tau)
    inverse = inverse_dynamics(model, state.q, state.v, vdot)
    M = mass_matrix(model, state.q)
    condition = float(np.linalg.cond(M))
    for name, peer in (("Pinocchio", PinocchioPeer(model)), ("MuJoCo", MujocoPeer(model))):
        yield Difference(name, "forward dynamics", _relative(peer.forward_dynamics(state.q, state.v, tau), forward), condition)
        yield Difference(name, "inverse dynamics", _relative(peer.inverse_dynamics(state.q, state.v, vdot), inverse), condition)
        yield Difference(name, "mass matrix", _relative(peer.mass_matrix(state.q), M), condition)


def print_crosscheck(trees: int, seed: int, console: Console) -> bool:
    """Compare on `trees` random trees and print the largest differences; whether all are within the tolerance."""
    for name in ("dartpy", "pinocchio", "mujoco"):  # what is missing is said before the work starts
        import_peer(name)
    found: dict[tuple[str, str], list[Difference]] = {}
    for rng in track(np.random.default_rng(seed).spawn(trees), description="comparing", console=console):
        for difference in (*compare_with_added_mass(rng), *compare_dry(rng)):
            found.setdefault((difference.code, difference.quantity), []).append(difference)
    table = Table(title=f"{trees} random trees of up to 12 bodies, all joint types", box=None)
    for column in ("code", "quantity", "largest difference", "median", "condition at the largest", "within 1e-10"):
        table.add_column(column)
    for (code, quantity), differences in found.items():
        worst = max(differences, key=lambda d: d.relative)
        median = float(np.median([d.relative for d in differences]))
        good = "yes" if worst.relative <= TOLERANCE else "NO"
        table.add_row(code, quantity, f"{worst.relative:.2e}", f"{median:.1e}", f"{worst.condition:.1e}", good)
    console.print(table)
    return all(d.relative <= TOLERANCE for differences in found.values() for d in differences)
