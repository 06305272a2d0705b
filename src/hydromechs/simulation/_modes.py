"""Modes of a plant about an equilibrium: frequencies, damping ratios and mode shapes."""

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
"""Eigenvalue, relative to the largest, that is treated as 0 [-]; double eigenvalues have errors of √(rounding error)."""
UNDAMPED = 1e-6
"""Magnitude of the damping ratio below which a mode is undamped, given the uncertainty of finite differences [-]."""
SHARE = 0.1
"""Minimum participation of listed coordinates [-]."""


class Mode(NamedTuple):
    """Mode with the motion x(t) = Re(shape e^{λ t})."""

    eigenvalue: complex
    """Eigenvalue λ [1/s], with Im λ ≥ 0 for a complex pair."""
    shape: np.ndarray
    """Complex deviations of all states, normalised to a largest displacement of 1, shape (n,)."""
    share: dict[str, float]
    """Participation factors of degrees of freedom and internal states [-], keyed by name.

    They are products |left · right eigenvector| with the sum 1, which do not depend on units.
    """
    neutral: bool
    """True if λ is 0 within rounding error, so that there is neither a restoring nor a destabilising force."""

    @property
    def natural_frequency(self) -> float:
        """Natural frequency |λ| / 2π [Hz]."""
        return 0.0 if self.neutral else abs(self.eigenvalue) / (2.0 * math.pi)

    @property
    def frequency(self) -> float:
        """Frequency Im λ / 2π of the damped oscillation [Hz]; 0 for a mode that does not oscillate."""
        return 0.0 if self.neutral else self.eigenvalue.imag / (2.0 * math.pi)

    @property
    def damping_ratio(self) -> float:
        """Damping ratio −Re λ / |λ| [-]: 1 without oscillation, negative for a growing mode, NaN for a neutral mode."""
        return math.nan if self.neutral else -self.eigenvalue.real / abs(self.eigenvalue)

    @property
    def time_constant(self) -> float:
        """Time constant −1 / Re λ of the decay to 1/e [s]; negative for a growing mode, infinite for a neutral mode."""
        return math.inf if self.neutral or self.eigenvalue.real == 0.0 else -1.0 / self.eigenvalue.real

    @property
    def grows(self) -> bool:
        """True if the mode grows by more than rounding error."""
        return self.damping_ratio < -UNDAMPED

    @property
    def who(self) -> tuple[str, ...]:
        """Names of coordinates with a participation of at least 0.1, or the largest one, in descending order."""
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
    """Set of all modes of a linear system."""

    modes: tuple[Mode, ...]
    """Modes in ascending order of frequency; one mode for each complex pair."""
    linearization: Linearization
    """Linear system of the modes."""

    @property
    def oscillating(self) -> tuple[Mode, ...]:
        """Modes that oscillate."""
        return tuple(mode for mode in self.modes if mode.frequency > 0.0)

    def lock_in(self, flow: Sequence[FlowNumbers]) -> tuple[str, ...]:
        """Return warnings about modes that may lock in with vortex shedding. `flow`: result of `simulation.flow_numbers`."""
        return lock_in(self.linearization.model, self.modes, flow)

    @property
    def stable(self) -> bool:
        """True if no mode grows; neutral modes are permitted."""
        return not any(mode.grows for mode in self.modes)


def modes(what: Simulation | Plant | Model | Linearization, *, state: State | None = None, tolerance: float = 1e-6) -> Modes:
    """Return the modes of a plant about an equilibrium: A shape = λ shape, with A from `linearize`.

    The modes are valid for small deviations with constant commands: quadratic drag has zero slope at rest, sticking friction
    is a spring, and a contact has the stiffness of its touching side. Closed grasps and prescribed joint motions restrict the
    modes to the remaining degrees of freedom.

    Args:
        what: A simulation with its current state, a plant, a model, or a result of `linearize`.
        state: Operating point, as for `linearize`.
        tolerance: Maximum rate of velocities and internal states at an equilibrium [SI/s].

    Raises:
        ValueError: The state is not an equilibrium, or it moves while grasps are closed or motions are prescribed.
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
            f"modes: the one-sided slopes of {', '.join(corners)} differ, for example at the onset of slip or contact; the "
            "modes apply to one side, so check them at nearby states",
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
    """Raise `ValueError` if the operating point is not an equilibrium."""
    names, nv = system.states[system.model.nv :], system.model.nv
    off = np.flatnonzero(~(np.abs(system.rates) <= tolerance))
    if off.size:
        worst = off[np.argsort(-np.abs(system.rates[off]), kind="stable")][:4]
        shown = ", ".join(f"{names[k].removeprefix('rate.')} ({system.rates[k]:.3g})" for k in worst)
        raise ValueError(
            f"modes: the state at t = {system.state.t:g} s is not an equilibrium: {len(off)} rates exceed {tolerance:g}, "
            f"the largest being {shown}; use hm.trim (on the command line, --trim), or simulate until the plant settles"
        )
    if system.basis.shape[1] < len(system.A) and np.abs(system.state.v).max(initial=0.0) > tolerance:
        fastest = system.model.coordinate_names[1][int(np.argmax(np.abs(system.state.v[:nv])))]
        raise ValueError(
            f"modes: {fastest} moves while grasps are closed or motions are prescribed; use a state without motion"
        )


def _mode(system: Linearization, value: complex, left: np.ndarray, right: np.ndarray, neutral: bool) -> Mode:
    """Return the mode of an eigenvalue with its left and right eigenvectors, shape (n,) each."""
    nv = system.model.nv
    displaced = right[:nv] if np.abs(right[:nv]).max(initial=0.0) > 0.0 else right
    shape = right / displaced[int(np.argmax(np.abs(displaced)))]
    part = np.abs(left.conj() * right)
    part = part / part.sum()
    both = [*(part[:nv] + part[nv : 2 * nv]), *part[2 * nv :]]
    names = [*system.model.coordinate_names[1], *system.states[2 * nv :]]
    share = dict(zip(names, map(float, both), strict=True))
    return Mode(eigenvalue=value, shape=shape, share=share, neutral=neutral)
