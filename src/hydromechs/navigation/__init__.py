"""Navigation: from measurements to what a vehicle believes of its motion."""

from ._filter import ErrorStateFilter, Navigation
from ._log import Track, log_of
from ._navigated import Navigated
from ._navigator import Estimate, Navigator, vehicle_of

__all__ = ["ErrorStateFilter", "Estimate", "Navigated", "Navigation", "Navigator", "Track", "log_of", "vehicle_of"]
