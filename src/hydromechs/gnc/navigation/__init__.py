"""Navigation: from measurements to what a vehicle believes of its motion."""

from ._filter import ErrorStateFilter, Estimate, Navigator
from ._log import Track, log_of

__all__ = ["ErrorStateFilter", "Estimate", "Navigator", "Track", "log_of"]
