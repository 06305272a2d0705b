"""Types of a scenario file: the name of each class by family. A new component, block, law or motion gets a row here."""

from __future__ import annotations

from typing import Any

from hydromechs import contact, control, hydro, integrators, lines, sensors, walking
from hydromechs.actuation import (
    ExternalWrench,
    ForceCurve,
    JointFriction,
    JointMotion,
    JointRotor,
    JointSpring,
    JointStops,
    Thruster,
    drives,
    ideal_curve,
    linear_curve,
    motions,
    t200_curve,
)
from hydromechs.geometry import SHAPES, SHORTHAND, Mesh, Shape, height_field
from hydromechs.hybrid import ENGINES, SCHEMES, Hybrid, Scheme
from hydromechs.model.component import Component
from hydromechs.navigation import Navigation
from hydromechs.registry import Families, Family, Holder, Shorthand, members
from hydromechs.simulation import Block, Controller, PythonBlock

CURVES: dict[str, Any] = {"t200": t200_curve, "newtons": ideal_curve, "throttle": linear_curve, "table": ForceCurve}


def _short_curve(curve: ForceCurve) -> tuple[str, dict[str, Any], tuple[str, ...]] | None:
    """Function and arguments that give a curve, if there are such."""
    limits = {"forward": curve.forces[-1], "reverse": -curve.forces[0]}
    dead = {"dead_band": curve.commands[-2]} if len(curve.commands) == 4 else {}
    candidates: dict[str, list[tuple[str, dict[str, float]]]] = {
        "N": [("newtons", limits)],
        "throttle": [("throttle", limits | dead)],
        "us": [("t200", {"voltage": float(v)}) for v in range(10, 21)],
    }
    for word, values in candidates.get(curve.unit, ()):
        try:
            if CURVES[word](**values) == curve:
                return word, values, ("commands", "forces", "unit")
        except ValueError:
            continue
    return None


DRIVES = {"torque": drives.Torque, "servo": drives.Servo, "motor": drives.Motor, "hydraulic": drives.Hydraulic}
TERRAIN: dict[str, Any] = {word: kind for word, kind in SHAPES.items() if kind is not Mesh} | {"height_field": height_field}
GRASPS = {"grasp": contact.Grasp, "grip": contact.Grip}
TETHERS = {"tether": lines.Tether, "hanging_line": lines.HangingLine}
SENSORS = {
    "imu": sensors.Imu,
    "dvl": sensors.Dvl,
    "usbl": sensors.Usbl,
    "depth": sensors.DepthGauge,
    "compass": sensors.Compass,
    "encoders": sensors.JointEncoders,
    "force_torque": sensors.ForceTorque,
    "tachometer": sensors.Tachometer,
    "contact_switch": sensors.ContactSwitch,
}
CONTROLLERS: dict[str, type[Controller]] = {
    "hold_pose": control.HoldPose,
    "follow_path": control.FollowPath,
    "lqr_speed": control.LqrSpeed,
    "lqr_hold_pose": control.LqrHoldPose,
    "lqr_follow_path": control.LqrFollowPath,
    "joint_motion": control.JointTrajectory,
    "joint_control": control.JointControl,
    "computed_torque": control.ComputedTorque,
    "cartesian_motion": control.CartesianMotion,
    "task_priority": control.TaskPriority,
    "carry_load": control.CarryLoad,
    "walk": walking.Walk,
    "serpenoid": control.Serpenoid,
    "alternating_support": walking.AlternatingSupport,
    "articulated_drive": walking.ArticulatedDrive,
}
"""Controllers by the names that files have."""


def no_friction(joint: str) -> JointFriction:
    """No friction, whatever the model states.

    Args:
        joint: Name of the body that the joint carries.
    """
    return JointFriction(joint=joint)


def no_stops(joint: str) -> JointStops:
    """No stops, whatever the limits of the model are.

    Args:
        joint: Name of the body that the joint carries.
    """
    return JointStops(joint=joint)


def _none(part: Any) -> tuple[str, dict[str, Any], tuple[str, ...]] | None:
    """The type of friction and of stops that state that there are none."""
    kind: Any = type(part)
    return ("none", {}, tuple(members(kind))) if part == kind(joint=part.joint) else None


_JOINT = ("joint",)
_TERRAIN = Holder(contact.Terrain, "shape", Shape)
_PRESETS = {name: (device.kind, device.fields) for name, device in sensors.DEVICES.items()}

FAMILIES = Families(
    [
        Family(
            name="component",
            base=Component,
            table={
                "thruster": Thruster,
                **DRIVES,
                "joint_motion": JointMotion,
                "joint_friction": JointFriction,
                "joint_stops": JointStops,
                "joint_spring": JointSpring,
                "joint_rotor": JointRotor,
                "external_wrench": ExternalWrench,
                **TERRAIN,
                "point_contact": contact.PointContact,
                "body_contact": contact.BodyContact,
                **GRASPS,
                **TETHERS,
                "lifted_line": lines.LiftedLine,
            },
            open_to_users=True,
            by_name=True,
            holder=_TERRAIN,
            shorthand=SHORTHAND,
        ),
        Family(
            name="block",
            base=Block,
            table={**SENSORS, "error_state_filter": Navigation, **CONTROLLERS},
            open_to_users=True,
            presets=_PRESETS,
            holder=Holder(PythonBlock, "controller", Controller, functions=True),
            by_name=True,
        ),
        Family(name="sensor", base=sensors.Sensor, table=SENSORS, open_to_users=True, presets=_PRESETS),
        Family(name="terrain", base=contact.Terrain, table=TERRAIN, open_to_users=True, holder=_TERRAIN, shorthand=SHORTHAND),
        Family(name="grasp", base=contact.Holding, table=GRASPS, open_to_users=True),
        Family(name="tether", base=lines.Tether | lines.HangingLine, table=TETHERS),
        Family(name="drive", base=drives.Drive, table=DRIVES, open_to_users=True, known=_JOINT),
        Family(
            name="friction",
            base=JointFriction,
            table={"friction": JointFriction, "none": no_friction},
            default="friction",
            known=_JOINT,
            shorthand=Shorthand(shorten=_none),
        ),
        Family(
            name="stops",
            base=JointStops,
            table={"stops": JointStops, "none": no_stops},
            default="stops",
            known=_JOINT,
            shorthand=Shorthand(shorten=_none),
        ),
        Family(
            name="motion",
            base=motions.Motion,
            table={
                "sine": motions.Sine,
                "steady": motions.Steady,
                "recorded": motions.Recorded,
                "recorded_file": motions.recorded_file,
            },
            open_to_users=True,
        ),
        Family(name="curve", base=ForceCurve, table=CURVES, shorthand=Shorthand(shorten=_short_curve)),
        Family(
            name="law",
            base=contact.ContactLaw,
            table={"linear": contact.LinearContact, "nonlinear": contact.NonlinearContact},
            open_to_users=True,
        ),
        Family(
            name="top",
            base=lines.TopPoint,
            table={"frame": lines.FramePoint, "swaying": lines.SwayingPoint, "riding": lines.RidingPoint},
            open_to_users=True,
        ),
        Family(
            name="profile",
            base=hydro.Uniform | hydro.PowerLaw | hydro.DepthTable,
            table={"uniform": hydro.Uniform, "power_law": hydro.PowerLaw, "table": hydro.DepthTable},
        ),
        Family(
            name="wave",
            base=hydro.RegularWave | hydro.PiersonMoskowitzSea | hydro.JonswapSea,
            table={
                "regular": hydro.RegularWave,
                "jonswap": hydro.JonswapSea,
                "pierson_moskowitz": hydro.PiersonMoskowitzSea,
            },
        ),
        Family(name="surface", base=hydro.FreeSurface, table={"free": hydro.FreeSurface}),
        Family(name="gait", base=walking.Gait, table=walking.GAITS, open_to_users=True),
        Family(
            name="support_gait",
            base=walking.SupportGait,
            table={"equal_steps": walking.SupportGait},
            default="equal_steps",
            open_to_users=True,
        ),
        Family(name="task", base=control.KinematicTask, table=control.TASKS, open_to_users=True),
        Family(
            name="integrator",
            base=integrators.Integrator,
            table={**integrators.METHODS, "sliding_block": integrators.SlidingBlock},
        ),
        Family(name="scheme", base=Scheme, table=SCHEMES),
        Family(name="engine", base=Hybrid, table=dict.fromkeys(ENGINES, Hybrid), type_field="engine"),
    ]
)
"""All families of a scenario file."""
