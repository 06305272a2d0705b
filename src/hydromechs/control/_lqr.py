"""Linear-quadratic servo design with integral action, loop margins, and uncontrollable or unobservable modes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopMargins:
    """Margins of one loop broken at the plant input, with all other loops closed."""

    gain_db: float
    """Gain margin: smallest gain increase or decrease that causes oscillation [dB]; infinite if none does, 0 if unstable."""
    phase_deg: float
    """Phase margin: smallest phase lag that causes oscillation [°]; infinite if none does."""
    crossover: float
    """Gain-crossover frequency of the phase margin [rad/s]; NaN without crossover."""
    return_difference: float
    """Smallest |1 + L(iω)|, which guarantees a phase margin of 2 asin(½ |1 + L|)."""


@dataclass(frozen=True, kw_only=True)
class LqrDesign:
    """Servo LQR with margins: u = K_x (x_ref − x) + K_i ∫(r − C x) dt for ẋ = A x + B u."""

    A: np.ndarray
    """State matrix, shape (n, n)."""
    B: np.ndarray
    """Input matrix, shape (n, m)."""
    C: np.ndarray
    """Output matrix of the controlled outputs y = C x, shape (p, n)."""
    K_x: np.ndarray
    """Gains of the states, shape (m, n)."""
    K_i: np.ndarray
    """Gains of the integrals, shape (m, p)."""
    inputs: tuple[str, ...]
    """Names of the inputs."""
    margins: tuple[LoopMargins, ...] = ()
    """Margins of the loop of each input."""

    @property
    def poles(self) -> np.ndarray:
        """Closed-loop poles [rad/s], shape (n + p,)."""
        A, B, _ = _augmented(self.A, self.B, self.C)
        return np.linalg.eigvals(A - B @ np.hstack([self.K_x, -self.K_i]))

    @property
    def gain_margin_db(self) -> float:
        """Smallest gain margin over all loops [dB]."""
        return min(m.gain_db for m in self.margins)

    @property
    def phase_margin_deg(self) -> float:
        """Smallest phase margin over all loops [°]."""
        return min(m.phase_deg for m in self.margins)

    @property
    def words(self) -> str:
        """Return the smallest margins as text."""
        if not self.phase_margin_deg:
            return "unstable with the actuator lag and the command period"
        gain, phase = (
            self.inputs[min(range(len(self.inputs)), key=lambda k: getattr(self.margins[k], name))]
            for name in ("gain_db", "phase_deg")
        )
        return f"minimum loop margins: gain {self.gain_margin_db:.1f} dB ({gain}), phase {self.phase_margin_deg:.1f}° ({phase})"

    def __str__(self) -> str:
        rows = [f"{'loop':8} {'gain margin':>12} {'phase margin':>13} {'at':>12}"]
        for name, m in zip(self.inputs, self.margins, strict=True):
            rows.append(f"{name:8} {m.gain_db:9.1f} dB {m.phase_deg:11.1f} ° {m.crossover:6.2f} rad/s")
        slowest = self.poles.real.max()
        return "\n".join([*rows, f"slowest pole {slowest:.3g} 1/s, fastest {np.abs(self.poles).max():.3g} rad/s"])


def _augmented(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the plant augmented by integrators ξ̇ = −C x of the controlled outputs."""
    n, m, p = A.shape[0], B.shape[1], C.shape[0]
    return np.block([[A, np.zeros((n, p))], [-C, np.zeros((p, p))]]), np.vstack([B, np.zeros((p, m))]), n


SMALL = 1e-8
"""Minimum relative singular value of a controllable or observable mode."""


def _blind(A: np.ndarray, B: np.ndarray) -> list[tuple[complex, np.ndarray]]:
    """Return unstable eigenvalues and left eigenvectors of modes that B does not reach (Popov-Belevitch-Hautus test)."""
    out = []
    scale = max(float(np.linalg.norm(A, 2)), 1e-12)
    sizes = np.linalg.norm(B, axis=0)
    directions = B[:, sizes > 0.0] / sizes[sizes > 0.0]  # reachability does not depend on the units of the columns of B
    for pole in np.linalg.eigvals(A):
        if pole.real < -SMALL * scale:
            continue  # it decays on its own
        test = np.hstack([A - pole * np.eye(len(A)), scale * directions])
        left, sizes, _ = np.linalg.svd(test)
        if sizes[-1] <= SMALL * scale:
            out.append((complex(pole), left[:, -1].conj()))
    return out


def servo_lqr(
    A: np.ndarray,
    B: np.ndarray,
    C: np.ndarray,
    *,
    state_limits: ArrayLike,
    integral_limits: ArrayLike,
    input_limits: ArrayLike,
    states: Sequence[str],
    inputs: Sequence[str],
    outputs: Sequence[str],
) -> LqrDesign:
    """Return gains that minimise ∫ (xᵀ Q x + ξᵀ Q_i ξ + uᵀ R u) dt with ẋ = A x + B u and ξ̇ = r − C x, by Bryson's rule.

        Q = diag(1/x_max²),   Q_i = diag(1/ξ_max²),   R = diag(1/u_max²),   [K_x, −K_i] = R⁻¹ B̄ᵀ P,
        Āᵀ P + P Ā − P B̄ R⁻¹ B̄ᵀ P + Q̄ = 0,     Ā = [[A, 0], [−C, 0]],   B̄ = [B; 0]

    Args:
        C: Output matrix of the controlled outputs, shape (p, n).
        state_limits: x_max, acceptable deviation of each state, infinite without limit, shape (n,).
        integral_limits: ξ_max, acceptable integrals, shape (p,).
        input_limits: u_max, acceptable inputs, shape (m,).
        states: Names of the states, for messages.
        inputs: Names of the inputs.
        outputs: Names of the controlled outputs.

    Raises:
        ValueError: A mode that does not decay is uncontrollable or unobservable in the cost.
    """
    from scipy.linalg import solve_continuous_are  # slow to import and rarely needed

    A_, B_, n = _augmented(A, B, C)
    names = [*states, *(f"integral of {name}" for name in outputs)]
    weights = 1.0 / np.concatenate([np.asarray(state_limits, dtype=float), np.asarray(integral_limits, dtype=float)])
    driven = "remove the outputs of the mode from `controlled`, or add an actuator"
    faults = [("is uncontrollable because no actuator acts on", driven, *found) for found in _blind(A_, B_)]
    weighted = "set a finite limit for at least one of these states"
    faults += [("is unobservable because no limit is set for", weighted, *found) for found in _blind(A_.T, np.diag(weights))]
    if faults:
        words, remedy, pole, vector = faults[0]
        size = np.abs(vector)
        parts = ", ".join(names[k] for k in np.argsort(-size) if size[k] > 0.3 * size.max())
        rate = f"{pole.real:.3g}" + (f" ± {abs(pole.imag):.3g}i" if abs(pole.imag) > 1e-9 else "")
        raise ValueError(f"the mode at {rate} 1/s {words} {parts}; {remedy}")
    R = np.diag(1.0 / np.asarray(input_limits, dtype=float) ** 2)
    P = solve_continuous_are(A_, B_, np.diag(weights**2), R)
    K = np.linalg.solve(R, B_.T @ P)
    return LqrDesign(A=A, B=B, C=C, K_x=K[:, :n], K_i=-K[:, n:], inputs=tuple(inputs))


def loop_margins(design: LqrDesign, *, lag: float = 0.0, delay: float = 0.0, points: int = 3000) -> tuple[LoopMargins, ...]:
    """Return the margins of the loop of each input, from the frequency response L_k(iω) with all other loops closed.

        L(iω) = (K_x + K_i C/iω) (iω − A)⁻¹ B e^(−iω T)/(1 + iω τ),    1 + L_k = 1/[(1 + L)⁻¹]_kk  (Schur complement)

    The gain margin is evaluated at crossings of the negative real axis by L_k, the phase margin at |L_k| = 1 (Nyquist). If lag
    and delay make the closed loop unstable, both are 0. Instability is detected by encirclements of the origin by det(1 + L),
    relative to the locus without lag and delay, det(1 + L) = Π (iω − λ_closed)/(iω − λ_open).

    `design`: gains and plant; `lag`: time constant τ of the actuators [s]; `delay`: dead time T of the loop [s], which is
    half a period of a sampled controller plus the computing time.
    """
    A, B, C = design.A, design.B, design.C
    m = B.shape[1]
    closed, opened = design.poles, np.concatenate([np.linalg.eigvals(A), np.zeros(len(C))])
    poles = np.abs(closed)
    w = np.geomspace(
        max(poles.min(), 1e-4) * 1e-3, max(poles.max(), 1.0 / max(lag, delay, 1e-6) if lag or delay else 0.0) * 1e2, points
    )
    s = 1j * w[:, None, None]
    states = np.linalg.solve(s * np.eye(len(A)) - A, np.broadcast_to(B.astype(complex), (points, *B.shape)))
    loop = (design.K_x + design.K_i @ C / s) @ states * (np.exp(-s * delay) / (1.0 + s * lag))
    ideal = np.prod((s[:, 0] - closed) / (s[:, 0] - opened), axis=1)
    turned = np.unwrap(np.angle(np.linalg.det(np.eye(m) + loop) / ideal))
    if abs(turned[-1] - turned[0]) > 0.5 * np.pi:
        return (LoopMargins(gain_db=0.0, phase_deg=0.0, crossover=np.nan, return_difference=0.0),) * m
    sensitivity = np.linalg.inv(np.eye(m) + loop)
    return tuple(_margins(w, 1.0 / sensitivity[:, k, k] - 1.0) for k in range(m))


def _margins(w: np.ndarray, L: np.ndarray) -> LoopMargins:
    def crossings(f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = np.flatnonzero(np.diff(np.sign(f)) != 0)
        return at, f[at] / (f[at] - f[at + 1])

    at, part = crossings(L.imag)
    real = L.real[at] + part * (L.real[at + 1] - L.real[at])
    gains = np.abs(20.0 * np.log10(-real[real < -1e-9])) if (real < -1e-9).any() else np.array([np.inf])
    at, part = crossings(np.abs(L) - 1.0)
    angle = np.angle(-(L[at] + part * (L[at + 1] - L[at])))  # from the negative real axis, above 0 if lag remains
    phases = np.where(angle > 0.0, angle, angle + 2.0 * np.pi)
    k = int(np.argmin(phases)) if len(phases) else -1
    return LoopMargins(
        gain_db=float(gains.min()),
        phase_deg=float(np.degrees(phases[k])) if k >= 0 else np.inf,
        crossover=float(w[at[k]]) if k >= 0 else np.nan,
        return_difference=float(np.abs(1.0 + L).min()),
    )
