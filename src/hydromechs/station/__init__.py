"""The operator's side: acoustic channels, the ghost of a vehicle behind a delay, looking ahead at strategies."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._channel import AcousticChannel, AcousticLink, Message

_LATER = {  # compile with CasADi and LLVM
    "Ghost": "._ghost",
    "LookAhead": "._lookahead",
    "Paths": "._lookahead",
    "SetPoint": "._lookahead",
    "Telemetry": "._ghost",
    "advance": "._ghost",
    "as_commands": "._ghost",
}

__all__ = [
    "AcousticChannel",
    "AcousticLink",
    "Ghost",
    "LookAhead",
    "Message",
    "Paths",
    "SetPoint",
    "Telemetry",
    "advance",
    "as_commands",
]

__getattr__, __dir__ = _lazy_names(__name__, _LATER)
