"""Navigation: from measurements to what a vehicle believes of its motion."""

from ._filter import ErrorStateFilter, Estimate, Navigation, Navigator, vehicle_of
from ._log import Track, log_of

__all__ = ["ErrorStateFilter", "Estimate", "Navigation", "Navigator", "Track", "log_of", "vehicle_of"]
