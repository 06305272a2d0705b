"""Draw the sweep `sinking_chains`: `python docs/pictures/make_sweeps.py [FOLDER]` writes docs/pictures/sweeps.png.

It runs the sweep, or takes the results from the folder of a sweep.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib

from hydromechs.sweeps import Local, load_results, load_sweep, run_sweep

matplotlib.use("Agg")


def main(results: str = "") -> None:
    """Draw where the chains are after 6 s."""
    import matplotlib.pyplot as plt

    with tempfile.TemporaryDirectory() as folder:
        if not results:
            run_sweep(load_sweep("sinking_chains"), folder, executor=Local())
        dataset = load_results(results or folder)
    done = dataset.where(dataset.status == 1, drop=True)
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.6), constrained_layout=True, sharey=True)
    for ax, name, label in ((axes[0], "pitch", "pitch at the start [deg]"), (axes[1], "mass", "mass of the first link [kg]")):
        points = ax.scatter(done[name], done.drift, c=done.depth, s=14, cmap="viridis_r")
        ax.set(xlabel=label)
        ax.grid(alpha=0.3)
    axes[0].set(ylabel="drift of the first link after 6 s [m]")
    figure.colorbar(points, ax=axes, label="its depth then [m]")
    figure.savefig(Path(__file__).parent / "sweeps.png", dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
