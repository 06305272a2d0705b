"""Plots and reports of recordings."""

from ._compare import plot_comparison
from ._plots import plot_recording, plot_variable
from ._report import write_report
from ._style import figure

__all__ = ["figure", "plot_comparison", "plot_recording", "plot_variable", "write_report"]
