"""What acts in the joints of a model: drives as the caller says, friction and stops as the caller or the model says."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from hydromechs import equations
from hydromechs.actuation import drives
from hydromechs.model import Model, State, joints

from ._plant import JointActuation

__all__ = ["joint_actuation"]

STOP_FREQUENCY = 2.0 * math.pi * 5.0
"""Natural frequency of stops that the model gives limits for but no stiffness [rad/s]."""


def joint_actuation(model: Model, driven: Mapping, friction: Mapping, stops: Mapping, state: State | None) -> tuple:
    """What acts in each joint: drives as given; friction and stops as given, or as the model says."""
    for what, mapping in (("drives", driven), ("friction", friction), ("stops", stops)):
        for name in mapping:
            if name not in model.body_names:
                raise KeyError(f"{what}: no joint {name!r} in {model.name}; joints have the names of their bodies")
    out, inertia = [], None
    for body in model.bodies:
        joint = body.joint
        if not isinstance(joint, joints.Revolute | joints.Prismatic):
            if body.name in driven or body.name in friction or body.name in stops:
                raise ValueError(
                    f"joint of body {body.name!r} is {joint.kind}; drives, friction and stops need a revolute or prismatic one"
                )
            continue
        rub = friction.get(body.name)
        if rub is None and body.name not in friction and (joint.damping or joint.friction):
            rub = drives.Friction(viscous=joint.damping, coulomb=joint.friction)
        end = stops.get(body.name)
        if end is None and body.name not in stops and joint.limits is not None:
            if inertia is None:
                q = model.initial().q if state is None else state.q
                inertia = np.diag(np.array(equations.mass_matrix(model, q), dtype=float))
            m = float(inertia[model.v_slices[model.body_index(body.name)].start])
            lower, upper = joint.limits
            if math.isfinite(lower) or math.isfinite(upper):
                k = float(f"{m * STOP_FREQUENCY**2:.3g}")
                end = drives.Stops(lower=lower, upper=upper, stiffness=k, damping=float(f"{1.4 * m * STOP_FREQUENCY:.3g}"))
        drive = driven.get(body.name)
        if drive is not None or rub is not None or end is not None:
            out.append(JointActuation(joint=body.name, drive=drive, friction=rub, stops=end))
    return tuple(out)
