"""Conversion of MJCF actuators to joint drives, and to thrusters if they push on a site.

A joint actuator in MuJoCo has a length l = g q and a force f(ctrl, l, l̇), and exerts τ = g f, where g is the gear:

    motor     f = ctrl                              drives.Torque, the command is τ
    position  f = kp (ctrl − l) − kv l̇              drives.Servo with g² kp and g² kv, the command is q = ctrl/g;
                                                    a damping ratio ζ gives the damping 2 ζ √(g² kp M₀)
    velocity  f = kv (ctrl − l̇)                     drives.Servo with g² kv alone, the command is the rate of its target
    general   one of these, depending on gaintype and biastype

A site actuator exerts g f at the site, where the gear g is a force and a moment in site axes. A pure force becomes a
thruster.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np

from hydromechs.actuation import JointRotor, Thruster, drives, ideal_curve
from hydromechs.equations import mass_matrix
from hydromechs.model import Model, joints
from hydromechs.model.component import Component

from ._mjcf_document import ACTUATORS, Document, Item
from ._mjcf_pose import Settings


class Frames(Protocol):
    """Creator of thruster frames."""

    def thrust_frame(self, site: str, direction: np.ndarray) -> str | None:
        """Return the name of a frame at a site with its x axis along a direction; None if the site does not exist."""


def read_actuators(
    document: Document, settings: Settings, names: Mapping[str, str], kinds: Mapping[str, joints.Joint], frames: Frames
) -> tuple[list[Component], dict[str, float]]:
    """Return the drives of actuated joints, and damping ratios of servos by joint; other actuators are noted as ignored.

    `names` maps joint names of the file to joint names of the model, and `kinds` maps the latter to joints. `frames` creates
    frames at sites.
    """
    out: dict[str, Component] = {}
    ratios: dict[str, float] = {}
    for section in document.section("actuator"):
        for element in section.all(*ACTUATORS):
            item = document.item(element)
            if item.text("site") and not item.text("joint"):
                why = _thruster(item, settings, frames, out)
            else:
                why = _read(item, settings, names, kinds, out, ratios)
            if why:
                item.left_out(why, "the actuator has no effect; add a drive or a thruster")
    return list(out.values()), ratios


def set_damping_ratios(model: Model, components: list[Component], ratios: Mapping[str, float]) -> list[Component]:
    """Return the components, with damping 2 ζ √(k M₀) of servos with a damping ratio ζ.

    M₀ = 1/(M⁻¹)ᵢᵢ is the inertia in the joint while all other joints move freely, at the initial configuration, with armature
    and without water, as in MuJoCo.
    """
    if not ratios:
        return components
    dry = replace(model, bodies=tuple(replace(body, hydro=None) for body in model.bodies))
    M = mass_matrix(dry, model.initial().q)
    for c in components:
        if isinstance(c, JointRotor):
            dofs = model.joint_part(c.joint).v
            M[dofs, dofs] += c.inertia * np.eye(dofs.stop - dofs.start)
    mobility = np.diag(np.linalg.inv(M))
    damping = {j: 2.0 * ratio / math.sqrt(mobility[model.joint_part(j).v.start]) for j, ratio in ratios.items()}
    return [
        replace(c, damping=damping[c.joint] * math.sqrt(c.stiffness))
        if isinstance(c, drives.Servo) and c.joint in ratios
        else c
        for c in components
    ]


def _read(
    item: Item,
    settings: Settings,
    names: Mapping[str, str],
    kinds: Mapping[str, joints.Joint],
    out: dict[str, Component],
    ratios: dict[str, float],
) -> str:
    """Add the drive of an actuator; return the reason if the actuator is ignored."""
    written = item.text("joint") or item.text("jointinparent")
    if not written:
        for name in ("tendon", "site", "slidersite", "body"):
            if target := item.text(name):
                return f"the actuator acts on the {name} {target!r}"
        return "the actuator has no target"
    if written not in names:
        item.fault(f"the joint {written!r} does not exist", written, "correct the name")
        return ""
    joint = names[written]
    if not isinstance(kinds[joint], joints.Revolute | joints.Prismatic):
        return f"the actuator drives the {kinds[joint].kind} joint {written!r}"
    if joint in out:
        return f"joint {written!r} already has an actuator"
    gear = (item.row("gear", 1, 6) or (1.0,))[0]
    if gear == 0.0:
        return "the gear of the actuator is 0"
    if item.text("dyntype", "none") != "none" or item.number("timeconst", 0.0):
        return f"the actuator has internal state, dyntype {item.text('dyntype')!r}"
    gains = _gains(item)
    if isinstance(gains, str):
        return gains
    gain, stiffness, damping = gains
    force = _highest(item, "forcerange", "forcelimited", settings)
    limit = abs(gear) * force
    ctrl = _highest(item, "ctrlrange", "ctrllimited", settings)
    if not all(x > 1e-100 for x in (limit, abs(gear * gain) * ctrl, gear * gear)):
        return f"gear {gear:g} and gain {gain:g} produce no force"
    if stiffness == 0.0 and damping == 0.0:
        limit = min(limit, abs(gear * gain) * ctrl)
        drive: drives.Drive = drives.Torque(joint=joint, limit=limit)
        if gear * gain != 1.0:
            what = f"gear {gear:g}" + (f", gain {gain:g}" if gain != 1.0 else "")
            item.note("assumed", what, f"the command of the drive is the joint force, {gear * gain:g} times ctrl")
    else:
        drive = drives.Servo(joint=joint, stiffness=gear * gear * stiffness, damping=gear * gear * damping, limit=limit)
        if item.tag == "position" and (ratio := item.number("dampratio", 0.0)) > 0.0:
            ratios[joint] = ratio
        if gear != 1.0:
            item.note("assumed", f"gear {gear:g}", "the command of the servo is the joint position, ctrl divided by gear")
        if stiffness == 0.0:
            item.note(
                "assumed", "a velocity servo", "imported as a servo without stiffness, whose command is the rate of the target"
            )
        elif math.isfinite(ctrl):
            what = f"ctrlrange={item.text('ctrlrange')!r}"
            item.left_out(what, "only the joint limits restrict the target of the servo", of="ctrlrange")
    out[joint] = drive
    return ""


def _thruster(item: Item, settings: Settings, frames: Frames, out: dict[str, Component]) -> str:
    """Add the thruster of an actuator that pushes on a site; return the reason if the actuator is ignored."""
    site, gear = item.text("site"), np.zeros(6)
    row = item.row("gear", 1, 6) or (1.0,)
    gear[: len(row)] = row
    if item.text("refsite") or gear[3:].any() or not gear[:3].any():
        return f"the actuator exerts a torque, no force, or uses refsite, at site {site!r}"
    if item.text("dyntype", "none") != "none":
        return f"the actuator has internal state, dyntype {item.text('dyntype')!r}"
    gains = _gains(item)
    if isinstance(gains, str) or any(gains[1:]) or not gains[0]:
        return gains if isinstance(gains, str) else "the force depends on the length of the actuator"
    ctrl = item.row("ctrlrange", 2, 2)
    word = item.word("ctrllimited", ("true", "false", "auto"), "auto")
    if ctrl is None or word == "false" or (word == "auto" and not settings.autolimits):
        return f"the actuator at site {site!r} lacks the ctrlrange that a thruster requires"
    push = gains[0] * gear[:3]
    force = float(np.linalg.norm(push))
    name = item.element.attributes.get("name") or f"{site}.thruster"
    if not ctrl[0] <= 0.0 <= ctrl[1] or not 1e-100 < force * (ctrl[1] - ctrl[0]) < 1e100 or name in out:
        return f"ctrlrange={item.text('ctrlrange')!r} with a force of {force:g} N, or a duplicate name"
    frame = frames.thrust_frame(site, push / force)
    if frame is None:
        item.fault(f"the site {site!r} does not exist", site, "correct the name")
        return ""
    out[name] = Thruster(name=name, frame=frame, curve=ideal_curve(force * ctrl[1], -force * ctrl[0]))
    if force != 1.0:
        item.note("assumed", f"gear {force:g}", f"the command of the thruster is the thrust in newtons, {force:g} times ctrl")
    return ""


def _gains(item: Item) -> tuple[float, float, float] | str:
    """Return gain, stiffness and damping of f = gain ctrl − stiffness l − damping l̇, or the reason if f has another form."""
    if item.tag == "motor":
        return 1.0, 0.0, 0.0
    if item.tag == "position":
        kp, kv = item.number("kp", 1.0), item.number("kv", 0.0)
        return "the gains of the actuator are negative" if kp < 0.0 or kv < 0.0 else (kp, kp, kv)
    if item.tag == "velocity":
        kv = item.number("kv", 1.0)
        return "the gain of the actuator is negative" if kv < 0.0 else (kv, 0.0, kv)
    if item.tag != "general":
        return f"no drive is equivalent to a {item.tag}"
    gaintype, biastype = item.text("gaintype", "fixed"), item.text("biastype", "none")
    gain = (*(item.row("gainprm", 1, 10) or (1.0,)), 0.0, 0.0)
    bias = (*(item.row("biasprm", 1, 10) or (0.0,)), 0.0, 0.0)
    if gaintype != "fixed" or biastype not in ("none", "affine"):
        return f"gaintype {gaintype!r}, biastype {biastype!r}"
    if biastype == "none" or not any(bias):
        return gain[0], 0.0, 0.0
    if bias[0] or bias[1] > 0.0 or bias[2] > 0.0 or gain[0] not in (-bias[1], -bias[2]) or (bias[1] and gain[0] != -bias[1]):
        return f"gainprm {item.text('gainprm')!r} and biasprm {item.text('biasprm')!r} do not form a servo"
    return gain[0], -bias[1], -bias[2]


def _highest(item: Item, name: str, limited: str, settings: Settings) -> float:
    """Return the maximum absolute value of a control or force range; infinite without a range."""
    row, word = item.row(name, 2, 2), item.word(limited, ("true", "false", "auto"), "auto")
    if word == "false" or row is None or (word == "auto" and not (settings.autolimits and any(row))):
        return math.inf
    high = max(map(abs, row))
    if row[0] != -row[1]:
        done = f"the larger end limits both directions: {high:g}"
        item.note("assumed", f"{name}={item.text(name)!r}", done, of=name)
    return high if high > 0.0 else math.inf
