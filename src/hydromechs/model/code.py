"""Python code that files name: looked at without running it, imported, called."""

from ._code_call import CodeError, called, is_foreign, kind_of, named_code
from ._code_look import (
    COMPONENT,
    CONTROLLER,
    FUNCTION,
    JOINT,
    call_faults,
    code_fault,
    component_fault,
    controller_fault,
    joint_fault,
    parameter_faults,
)
from ._joint_code import JointSpec, joint_code_faults, joint_type, locked_joints, named_joints, run_joint_code

__all__ = [
    "COMPONENT",
    "CONTROLLER",
    "FUNCTION",
    "JOINT",
    "CodeError",
    "JointSpec",
    "call_faults",
    "called",
    "code_fault",
    "component_fault",
    "controller_fault",
    "is_foreign",
    "joint_code_faults",
    "joint_fault",
    "joint_type",
    "kind_of",
    "locked_joints",
    "named_code",
    "named_joints",
    "parameter_faults",
    "run_joint_code",
]
