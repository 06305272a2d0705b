"""Energy ledger of a run: stored energies and work at the start, and their changes since then."""

from collections.abc import Mapping

import numpy as np

from hydromechs.recording import STORED_ENERGIES

from ._layout import Layout


def size(layout: Layout) -> int:
    """Return the length of `State.energy_ledger`."""
    return len(STORED_ENERGIES) + len(layout.causes)


def accounted(layout: Layout, x: np.ndarray) -> np.ndarray:
    """Return the integrated work of each cause from velocities and internal states `x` [J], shape (..., nc)."""
    return x[..., x.shape[-1] - len(layout.causes) :]


def begun(layout: Layout, x: np.ndarray, observed: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the ledger of a run that starts at an instant, as in `State.energy_ledger`.

    `x`: velocities and internal states at the start, shape (nv + nz,). `observed`: stored energies at the start [J], keyed by
    name.
    """
    return np.concatenate([*(np.atleast_1d(observed[name]) for name in STORED_ENERGIES), accounted(layout, x)])


def unknown(layout: Layout) -> np.ndarray:
    """Return the ledger of a state without a recording, with unknown stored energies and zero work."""
    return np.concatenate([np.full(len(STORED_ENERGIES), np.nan), np.zeros(len(layout.causes))])


def audited(
    layout: Layout, ledger: np.ndarray, x: np.ndarray, observed: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the work of each cause and the energy residual since the start of the ledger [J], shapes (..., nc) and (...).

        residual = Σ (E − E_0) − Σ (W − W_0)   over stored energies E and causes of work W

    `ledger`: start values, as in `State.energy_ledger`. `observed`: stored energies [J], keyed by name, shape (...) each.
    """
    stored, before = np.split(ledger, [len(STORED_ENERGIES)])
    work = accounted(layout, x) - before
    change = sum(observed[name] - start for name, start in zip(STORED_ENERGIES, stored, strict=True))
    return work, change - work.sum(axis=-1)
