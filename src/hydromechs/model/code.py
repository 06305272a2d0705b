"""Python code that files name: looked at without running it, imported, called."""

from ._code_call import CodeError, called, named_code
from ._code_look import COMPONENT, FUNCTION, JOINT, call_faults, code_fault, component_fault, joint_fault, parameter_faults
from ._joint_code import JointSpec, joint_code_faults, named_joints, run_joint_code

__all__ = [
    "COMPONENT",
    "FUNCTION",
    "JOINT",
    "CodeError",
    "JointSpec",
    "call_faults",
    "called",
    "code_fault",
    "component_fault",
    "joint_code_faults",
    "joint_fault",
    "named_code",
    "named_joints",
    "parameter_faults",
    "run_joint_code",
]
