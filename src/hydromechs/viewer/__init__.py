"""Plots and reports of recordings."""

from ._plots import plot_recording, plot_variable
from ._report import write_report

__all__ = ["plot_recording", "plot_variable", "write_report"]
