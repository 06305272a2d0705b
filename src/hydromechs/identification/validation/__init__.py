"""Validation: fits of a model to some trials and predictions of held-out trials."""

from ._baseline import Decay, StaticBalance, decay_of
from ._campaign import Campaign, RecordedTrial, read_campaign
from ._compare import compare_variants
from ._logs import LogFile, euler_angles, read_log
from ._report import channel_cells, found_cells, report_of, write_validation
from ._study import ValidationStudy, load_validation_study, validation_json_schema
from ._validate import Fitted, Iteration, Predicted, Validation, validate
from ._variants import Variant, varied

__all__ = [
    "Campaign",
    "Decay",
    "Fitted",
    "Iteration",
    "LogFile",
    "Predicted",
    "RecordedTrial",
    "StaticBalance",
    "Validation",
    "ValidationStudy",
    "Variant",
    "channel_cells",
    "compare_variants",
    "decay_of",
    "euler_angles",
    "found_cells",
    "load_validation_study",
    "read_campaign",
    "read_log",
    "report_of",
    "validate",
    "validation_json_schema",
    "varied",
    "write_validation",
]
