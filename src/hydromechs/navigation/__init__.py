"""Navigation: estimation of vehicle motion from sensor measurements."""

from ._navigation import ErrorStateFilter, NavigatedSuite, Navigation
from ._navigator import Estimate, Navigator, Track, log_of
from ._sensing import Sensing
from ._vehicle import vehicle_of

__all__ = [
    "ErrorStateFilter",
    "Estimate",
    "NavigatedSuite",
    "Navigation",
    "Navigator",
    "Sensing",
    "Track",
    "log_of",
    "vehicle_of",
]
