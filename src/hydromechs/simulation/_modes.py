"""Modes of a plant about an equilibrium: frequencies, damping ratios, shapes."""

import math
import warnings
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.linalg

from hydromechs.model import Model, State

from ._linearize import Linearization, linearize, simulation_at
from ._plant import Plant
from ._simulation import Simulation
from ._vortices import FlowNumbers, flow_numbers, lock_in

NEUTRAL = 1e-7
"""Eigenvalue over the largest below which it counts as 0: a double eigenvalue has an error of the square root of rounding."""
UNDAMPED = 1e-6
"""Damping ratio within which a mode counts as undamped: the uncertainty of differences of rates."""
SHARE = 0.1
"""Participation in a mode above which a name is listed."""


class Mode(NamedTuple):
    """A motion x(t) = Re(shape e^{λ t})."""

    eigenvalue: complex
    """λ [1/s]; of a complex pair, the one with Im λ ≥ 0."""
    shape: np.ndarray
    """Deviations of all states, complex; the largest displacement is 1, shape (n,)."""
    share: dict[str, float]
    """Participation of each degree of freedom and internal state, by name, their sum 1: |left · right eigenvector|, whatever
    the units."""
    neutral: bool
    """True if λ is 0 within rounding: neither a restoring nor a destabilising force."""

    @property
    def natural_frequency(self) -> float:
        """|λ| / 2π [Hz]."""
        return 0.0 if self.neutral else abs(self.eigenvalue) / (2.0 * math.pi)

    @property
    def frequency(self) -> float:
        """Im λ / 2π, of the damped oscillation [Hz]; 0 for one that does not oscillate."""
        return 0.0 if self.neutral else self.eigenvalue.imag / (2.0 * math.pi)

    @property
    def damping_ratio(self) -> float:
        """−Re λ / |λ|: 1 without oscillation, below 0 if it grows; nan for a neutral one."""
        return math.nan if self.neutral else -self.eigenvalue.real / abs(self.eigenvalue)

    @property
    def time_constant(self) -> float:
        """−1 / Re λ, the time to decay to 1/e [s]; negative if it grows, infinite for a neutral one."""
        return math.inf if self.neutral or self.eigenvalue.real == 0.0 else -1.0 / self.eigenvalue.real

    @property
    def grows(self) -> bool:
        """True if it leads away from the equilibrium, by more than rounding."""
        return self.damping_ratio < -UNDAMPED

    @property
    def who(self) -> tuple[str, ...]:
        """Names of coordinates with a tenth or more, the largest first; at least one."""
        ordered = sorted(self.share, key=lambda name: -self.share[name])
        return tuple(name for k, name in enumerate(ordered) if k == 0 or self.share[name] >= SHARE)

    def __repr__(self) -> str:
        if self.neutral:
            return f"<Mode of {', '.join(self.who)}: neutral>"
        return (
            f"<Mode of {', '.join(self.who)}: {self.natural_frequency:.4g} Hz, damping ratio {self.damping_ratio:.3g}, "
            f"time constant {self.time_constant:.3g} s>"
        )


class Modes(NamedTuple):
    """All modes of a linear system."""

    modes: tuple[Mode, ...]
    """The modes, slowest first; one for each complex pair."""
    linearization: Linearization
    """The linear system."""

    @property
    def oscillating(self) -> tuple[Mode, ...]:
        """Oscillatory modes."""
        return tuple(mode for mode in self.modes if mode.frequency > 0.0)

    def lock_in(self, flow: Sequence[FlowNumbers]) -> tuple[str, ...]:
        """Return warnings about modes on which vortex shedding could lock in, in a flow from `simulation.flow_numbers`."""
        return lock_in(self.linearization.model, self.modes, flow)

    @property
    def stable(self) -> bool:
        """True if no mode grows; neutral ones are allowed."""
        return not any(mode.grows for mode in self.modes)


def modes(what: Simulation | Plant | Model | Linearization, *, state: State | None = None, tolerance: float = 1e-6) -> Modes:
    """Return the modes of a plant about an equilibrium: A shape = λ shape, with A of `linearize`.

    They hold for small deviations with the commands held: quadratic drag has no slope at rest, sticking friction is a
    spring, a contact is as stiff as on its touching side. With closed grasps and prescribed motions of joints
    the modes are those of the remaining freedom.

    Args:
        what: A simulation, with its current state; a plant or a model; or the result of `linearize`.
        state: As for `linearize`.
        tolerance: Maximum rate of a velocity or an internal state at which the state counts as an equilibrium [SI/s].

    Raises:
        ValueError: The state is not an equilibrium; or grasps are closed or motions prescribed while it moves.
    """
    sim = None
    if isinstance(what, Linearization):
        system = what
    else:
        sim = simulation_at(what, state)
        system = linearize(sim)
    _check(system, tolerance)
    corners = [name for name in system.corners if name not in system.commands]
    if corners:
        warnings.warn(
            f"modes: the slopes on the two sides of {', '.join(corners)} differ, for example where friction starts to slip "
            f"or a "
            "contact to touch; the modes are those of one side, and may differ at a nearby state",
            stacklevel=2,
        )
    T = system.basis
    values, left, right = scipy.linalg.eig(T.T @ system.A @ T, left=True, right=True)
    largest = float(np.abs(values).max(initial=0.0))
    still = np.abs(values) <= NEUTRAL * max(largest, 1.0)
    order = [k for k in np.argsort(np.abs(values), kind="stable") if values[k].imag >= 0.0 or still[k]]
    found = [_mode(system, complex(values[k]), T @ left[:, k], T @ right[:, k], bool(still[k])) for k in order]
    if sim is not None and sim.plant.environment.current is not None:
        flow = flow_numbers(system.model, {name: np.asarray(x)[None] for name, x in sim.observe().items()})
        for text in lock_in(system.model, found, flow):
            warnings.warn(text, stacklevel=2)
    return Modes(tuple(found), system)


def _check(system: Linearization, tolerance: float) -> None:
    """Raise `ValueError` for a state that is not an equilibrium."""
    names, nv = system.states[system.model.nv :], system.model.nv
    off = np.flatnonzero(~(np.abs(system.rates) <= tolerance))
    if off.size:
        worst = off[np.argsort(-np.abs(system.rates[off]), kind="stable")][:4]
        shown = ", ".join(f"{names[k].removeprefix('rate.')} ({system.rates[k]:.3g})" for k in worst)
        raise ValueError(
            f"modes: the state at t = {system.state.t:g} s is not an equilibrium: {len(off)} rates are above {tolerance:g}, "
            f"the largest of {shown}; find one with hm.trim (on the command line, --trim), or simulate until it settles"
        )
    if system.basis.shape[1] < len(system.A) and np.abs(system.state.v).max(initial=0.0) > tolerance:
        fastest = system.model.coordinate_names[1][int(np.argmax(np.abs(system.state.v[:nv])))]
        raise ValueError(
            f"modes: {fastest} moves, and grasps are closed or motions prescribed; then modes need a state at rest"
        )


def _mode(system: Linearization, value: complex, left: np.ndarray, right: np.ndarray, neutral: bool) -> Mode:
    """Return a mode from its eigenvalue and eigenvectors, shape (n,) each."""
    nv = system.model.nv
    displaced = right[:nv] if np.abs(right[:nv]).max(initial=0.0) > 0.0 else right
    shape = right / displaced[int(np.argmax(np.abs(displaced)))]
    part = np.abs(left.conj() * right)
    part = part / part.sum()
    both = [*(part[:nv] + part[nv : 2 * nv]), *part[2 * nv :]]
    names = [*system.model.coordinate_names[1], *system.states[2 * nv :]]
    share = dict(zip(names, map(float, both), strict=True))
    return Mode(eigenvalue=value, shape=shape, share=share, neutral=neutral)
