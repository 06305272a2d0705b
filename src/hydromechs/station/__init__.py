"""The operator station: a running scenario behind a page in a browser."""

from ._configuration import Catalog, Changes, Configured, configured
from ._operator import InputLog, Inputs, LiveInputs, Operator, RecordedInputs
from ._pilot import Pilot
from ._seats import Seats
from ._session import Session, fly_again
from ._station import Station
from ._telemetry import Snapshot

__all__ = [
    "Catalog",
    "Changes",
    "Configured",
    "InputLog",
    "Inputs",
    "LiveInputs",
    "Operator",
    "Pilot",
    "RecordedInputs",
    "Seats",
    "Session",
    "Snapshot",
    "Station",
    "configured",
    "fly_again",
]
