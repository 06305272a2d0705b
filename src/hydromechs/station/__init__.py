"""Operator station: a running scenario controlled from a page, with acoustic channels, ghosts and look-ahead."""

from hydromechs._lazy import lazy_names as _lazy_names

from ._channel import AcousticChannel, AcousticLink, Message

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {  # compile with CasADi and LLVM
        "._camera": ("camera_place",),
        "._configuration": ("Catalog", "Changes", "Configured", "configured"),
        "._delayed": ("Delayed",),
        "._ghost": ("Ghost", "Telemetry", "advance", "as_commands"),
        "._helm": ("HELM_MODES", "Helm", "OperatorInputs", "carrier", "helmed", "steered_joints"),
        "._lookahead": ("LookAhead", "Outlook", "Predictions", "SetPoint", "Strategies"),
        "._operator": ("InputLog", "Inputs", "LiveInputs", "Operator", "RecordedInputs"),
        "._pilot": ("Pilot",),
        "._gate": ("Seats",),
        "._session": ("Session", "fly_again", "piloted"),
        "._station": ("Station",),
        "._telemetry": ("Snapshot", "thruster_plan"),
    },
)

__all__ = ["AcousticChannel", "AcousticLink", "Message", *_later]
