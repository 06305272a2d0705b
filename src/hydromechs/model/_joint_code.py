"""Types of joints that a model file names as Python code: stand-ins until the code is run."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs.errors import CodeNotAllowed, Fault, ModelError, UnsupportedFeature
from hydromechs.registry import module_kept, reference_to
from hydromechs.values import Array

from . import joints
from ._body import Body
from ._code_call import CodeError, called, is_foreign, kind_of, named_code
from ._code_look import JOINT, class_constants, joint_fault, parameter_faults
from ._model import Model

__all__ = ["JointSpec", "joint_code_faults", "joint_type", "locked_joints", "named_joints", "run_joint_code"]

COMMON = joints.CustomJoint.data
"""Fields that a model file gives beside the parameters of a custom joint."""


@dataclass(frozen=True, kw_only=True)
class JointSpec(joints.CustomJoint):
    """A joint by the name of its class, with what it is made from.

    Until its code is run it only says how many coordinates the joint has, so that a scenario can be judged.
    """

    type: str
    """Class of the joint: "package.module:Name" or "path/file.py:Name"."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """Values of its own fields, by name."""
    locked: str = field(default="", compare=False, repr=False)
    """Location in a file, for example "rail.yaml, line 6", if the file's code is not allowed to run; otherwise empty."""

    stands_in = True

    @cached_property
    def _constants(self) -> dict[str, Any]:
        found = class_constants(self.type, ("neutral_q", "velocities", "quaternion", "unit"))
        rows = isinstance(found.get("neutral_q", ()), tuple | list)
        counts = all(type(found.get(name, 0)) is int for name in ("velocities", "quaternion"))
        return found if rows and counts and found.get("unit", "m") in ("rad", "m") else {}

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The name of the class."""
        return self.type.rpartition(":")[2]

    @property
    def neutral_q(self) -> tuple[float, ...]:  # type: ignore[override]
        """As the class writes it; one coordinate where that cannot be seen."""
        return tuple(self._constants.get("neutral_q", (0.0,)))

    @property
    def velocities(self) -> int | None:  # type: ignore[override]
        """As the class writes it."""
        return self._constants.get("velocities")

    @property
    def quaternion(self) -> int | None:  # type: ignore[override]
        """As the class writes it."""
        return self._constants.get("quaternion")

    @property
    def unit(self) -> str:  # type: ignore[override]
        """As the class writes it."""
        return self._constants.get("unit", "rad")

    def pose(self, q: Array) -> tuple[Array, Array]:
        """Nothing moves yet."""
        if np.asarray(q).dtype == object:
            raise UnsupportedFeature(f"the joint {self.type} is named, and its code has not been run; load it with code")
        return np.eye(3), np.zeros(3)

    def subspace(self, q: Array) -> Array:
        """Directions that are as good as others."""
        return np.eye(6)[:, : self.nv]

    def subspace_rate(self, q: Array, v: Array) -> Array:
        """Zero."""
        return np.zeros((6, self.nv))

    def retract(self, q: Array, u: Array) -> Array:
        """Nothing moves yet."""
        return q

    def difference(self, q: Array, q_other: Array) -> Array:
        """Nothing moves yet."""
        return np.zeros(self.nv)

    def make(self) -> joints.Joint:
        """Import the class and build the joint; raise `CodeError` for an invalid class, `CodeNotAllowed` for a locked one."""
        target = named_code(self.type, "joint", {}, "the model file", module_kept, self.locked)
        # a stand-in that names a stand-in would bypass the permission of the file
        if not (inspect.isclass(target) and issubclass(target, joints.Joint)) or issubclass(target, JointSpec):
            raise CodeError(JOINT.format(self.type, kind_of(target)))
        takes = {f.name for f in fields(target)}
        given = {name: x for name in COMMON if (x := getattr(self, name)) not in (None, 0.0, ()) or name in takes}
        out = called(self.type, target, {**given, **self.parameters})
        if (out.nq, out.nv) != (self.nq, self.nv):
            counted = f"has {out.nq} coordinates and {out.nv} velocities, but {self.nq} and {self.nv} can be seen in its class"
            raise CodeError(f"{self.type} {counted}; write neutral_q and velocities there as plain numbers")
        return out


def joint_type(joint: joints.Joint) -> str:
    """Return the type of a joint as a model file names it, without the folder, such as "rail.py:Circle"; or its class.

    Args:
        joint: The joint.
    """
    try:
        word = joint.type if isinstance(joint, JointSpec) else reference_to(type(joint), None)
    except UnsupportedFeature:
        return type(joint).__name__
    source, _, name = word.rpartition(":")
    return f"{Path(source).name if source.endswith('.py') else source}:{name}"


def _specs(body: Body) -> Iterator[tuple[tuple[str | int, ...], JointSpec]]:
    composed = isinstance(body.joint, joints.Composite)
    for k, part in enumerate(body.joint.parts):
        if isinstance(part, JointSpec):
            yield (("joint", "parts", k) if composed else ("joint",)), part


def named_joints(model: Model) -> tuple[str, ...]:
    """Classes of joints that a model names and that have not been imported.

    Args:
        model: The model.
    """
    return tuple(dict.fromkeys(spec.type for body in model.bodies for _, spec in _specs(body)))


def locked_joints(model: Model) -> list[str]:
    """Return the third-party joints of a model that are not allowed to run, each with its location in a file.

    Args:
        model: The model.
    """
    return [
        f"body {body.name!r}: {'.'.join(map(str, at))}.type {spec.type!r} in {spec.locked}"
        for body in model.bodies
        for at, spec in _specs(body)
        if spec.locked and is_foreign(spec.type)
    ]


def joint_code_faults(model: Model) -> list[Fault]:
    """What is wrong with the code of joints that a model names, as far as can be seen without running it.

    Args:
        model: The model.
    """
    out = []
    for body in model.bodies:
        for at, spec in _specs(body):
            where, missing = f"body {body.name!r}: {'.'.join(map(str, at))}", joint_fault(spec.type)
            if missing:
                out.append(Fault(("bodies", body.name, *at, "type"), f"{where}.type: {missing}"))
                continue
            for text in parameter_faults(spec.type, spec.parameters):
                out.append(Fault(("bodies", body.name, *at), f"{where}: {text}"))
    return out


def run_joint_code(model: Model) -> Model:
    """Return the model with joints in place of their references; runs their code.

    Raises `ModelError` for invalid joints, `CodeNotAllowed` if their code is not allowed to run.

    Args:
        model: The model.
    """
    if not named_joints(model):
        return model
    locked = locked_joints(model)
    if locked:
        raise CodeNotAllowed(locked)
    faults, bodies = joint_code_faults(model), []
    if faults:
        raise ModelError(model.name, faults)
    for i, body in enumerate(model.bodies):
        made: dict[Any, Any] = {}
        for at, spec in _specs(body):
            try:
                made[at] = spec.make()
            except CodeError as e:
                faults.append(Fault(("bodies", i, *at), f"body {body.name!r}: {'.'.join(map(str, at))}: {e}"))
        joint: Any = body.joint
        if isinstance(joint, joints.Composite):
            joint = joints.Composite(parts=tuple(made.get(("joint", "parts", k), p) for k, p in enumerate(joint.parts)))
        else:
            joint = made.get(("joint",), joint)
        bodies.append(replace(body, joint=joint))
    if faults:
        raise ModelError(model.name, faults)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # given when the model was read
        return replace(model, bodies=tuple(bodies))
