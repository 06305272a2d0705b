"""Draw the learning curve of examples/train_station_keeping.py: `python docs/pictures/draw_learning.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hydromechs.viewer import figure

DOCS = Path(__file__).parents[1]


def main() -> None:
    """Return and distance at the end of episodes over the actions taken."""
    rows = np.genfromtxt(DOCS / "data" / "station_keeping_curve.csv", delimiter=",", names=True)
    with figure(DOCS / "pictures" / "learning_curve.png", height=3.6) as fig:
        top, bottom = fig.subplots(2, 1, sharex=True)
        top.plot(rows["steps"] / 1000, rows["mean_return"], color="#0072b2")
        top.axhline(200, color="#5b6770", linestyle="--", linewidth=0.8)
        top.set(
            ylabel="return",
            title="Station keeping: return, and distance at the end, of the last hundred episodes",
            ylim=(0, 210),
        )
        bottom.plot(rows["steps"] / 1000, rows["distance_m"], color="#d55e00")
        bottom.set(ylabel="distance [m]", xlabel="thousand actions, in 64 worlds together", yscale="log")


if __name__ == "__main__":
    main()
