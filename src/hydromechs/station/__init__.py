"""The operator station: a running scenario behind a page; acoustic channels, ghosts behind a delay, looking ahead."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._channel import AcousticChannel, AcousticLink, Message

_LATER = {  # compile with CasADi and LLVM
    "Catalog": "._configuration",
    "Changes": "._configuration",
    "Configured": "._configuration",
    "Delayed": "._delayed",
    "Ghost": "._ghost",
    "InputLog": "._operator",
    "Inputs": "._operator",
    "LiveInputs": "._operator",
    "LookAhead": "._lookahead",
    "Operator": "._operator",
    "Outlook": "._strategies",
    "Paths": "._lookahead",
    "Pilot": "._pilot",
    "RecordedInputs": "._operator",
    "Seats": "._seats",
    "Session": "._session",
    "SetPoint": "._lookahead",
    "Snapshot": "._telemetry",
    "Station": "._station",
    "Strategies": "._strategies",
    "Telemetry": "._ghost",
    "advance": "._ghost",
    "as_commands": "._ghost",
    "configured": "._configuration",
    "fly_again": "._session",
}

__all__ = [
    "AcousticChannel",
    "AcousticLink",
    "Catalog",
    "Changes",
    "Configured",
    "Delayed",
    "Ghost",
    "InputLog",
    "Inputs",
    "LiveInputs",
    "LookAhead",
    "Message",
    "Operator",
    "Outlook",
    "Paths",
    "Pilot",
    "RecordedInputs",
    "Seats",
    "Session",
    "SetPoint",
    "Snapshot",
    "Station",
    "Strategies",
    "Telemetry",
    "advance",
    "as_commands",
    "configured",
    "fly_again",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
