"""Third-party robot descriptions: does each load, what is ignored, and do its dry accelerations agree with another code.

The other code reads the same file itself. Links whose inertia was repaired get the repaired one there, too, and joints
that were held because they carry no mass are locked there: their accelerations are undefined.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from hydromechs.bench.peers import import_peer
from hydromechs.equations import forward_dynamics
from hydromechs.errors import ModelError
from hydromechs.formats import Imported, import_file, is_robot_file
from hydromechs.model import Model, joints

from .dart_reading import dart_difference
from .mujoco_reading import mujoco_difference

__all__ = ["IMPORT_TOLERANCE", "READINGS", "ImportRow", "measure_imports", "pinocchio_difference", "robot_files"]

IMPORT_TOLERANCE = 1e-10
"""Largest relative difference of accelerations that passes."""
STATES = 3
"""Random states of each robot."""


class ImportRow(NamedTuple):
    """Outcome of one file."""

    file: str
    """The file."""
    format: str
    """Its format; empty where it could not be read."""
    bodies: int
    """Number of bodies."""
    dof: int
    """Degrees of freedom."""
    summary: str
    """Number of ignored, assumed and repaired entries."""
    relative: float | None
    """Largest difference of accelerations from the other code, over the largest one; None where there is no other reading."""
    problem: str
    """Reason why it was not read or not compared; empty if it was."""
    notes: tuple[str, ...]
    """Ignored, assumed or repaired entries."""


def robot_files(paths: Iterable[str | Path]) -> list[Path]:
    """Robot descriptions among files and in folders, sorted.

    Args:
        paths: Files, and folders that are searched with all within them.
    """
    found: set[Path] = set()
    for path in map(Path, paths):
        found |= {p for p in path.rglob("*") if is_robot_file(p) and p.is_file()} if path.is_dir() else {path}
    return sorted(found)


def measure_imports(files: Iterable[str | Path], **options: Any) -> Iterator[ImportRow]:
    """Read robot descriptions and compare their accelerations with the other code's.

    Args:
        files: The files.
        options: Those of `import_file`.
    """
    for file in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield _row(str(file), options)


def _row(file: str, options: dict[str, Any]) -> ImportRow:
    try:
        imported = import_file(file, **options)
    except (ModelError, OSError) as error:
        problem = error.problems[0] if isinstance(error, ModelError) else str(error)
        return ImportRow(file, "", 0, 0, "", None, problem, ())
    model, relative, problem = imported.model, None, ""
    try:
        if imported.format in READINGS and model.nv:
            relative = READINGS[imported.format](imported, np.random.default_rng(1))
        else:
            problem = "nothing moves" if not model.nv else "no other reading of this format"
    except (ValueError, RuntimeError) as error:  # the other code does not read it
        problem = str(error).splitlines()[0]
    notes = tuple(map(str, imported.notes))
    return ImportRow(file, imported.format, model.nb, model.nv, imported.summary(), relative, problem, notes)


def pinocchio_difference(imported: Imported, rng: np.random.Generator) -> float:
    """Largest difference of accelerations from Pinocchio's on its own reading of a URDF, over the largest acceleration.

    The base is tilted, positions and velocities are random; the joint forces are those of random accelerations.

    Args:
        imported: What we have read.
        rng: Random numbers.
    """
    pin = import_peer("pinocchio")
    model, free = imported.model, None
    for body in model.bodies:
        if body.parent is None and isinstance(body.joint, joints.Free):
            free = body.name
    base = [pin.JointModelFreeFlyer()] if free else []
    text = _with_mended(imported)
    peer = pin.buildModelFromXML(text, *base) if text else pin.buildModelFromUrdf(imported.source, *base)
    peer = _locked(pin, peer, imported)
    carried = dict(imported.joint_bodies) | ({"root_joint": free} if free else {})
    worst, data = 0.0, peer.createData()
    for _ in range(STATES):
        q, v, qp, vp, rate = _states(pin, model, peer, carried, rng)
        tau_p = pin.rnea(peer, data, qp, vp, rng.standard_normal(peer.nv))
        tau = np.zeros(model.nv)
        for body, ours, theirs, _ in _joints(model, peer, carried):
            tau[ours] = rate[body].T @ tau_p[theirs]
        a = forward_dynamics(model, q, v, tau)
        a_p = pin.aba(peer, data, qp, vp, tau_p)
        scale = max(float(np.abs(a_p).max()), 1e-300)
        for body, ours, theirs, _ in _joints(model, peer, carried):
            want = rate[body] @ a[ours] + _drift(model, body, q, v)
            worst = float(np.maximum(worst, np.abs(want - a_p[theirs]).max() / scale))  # keeps NaN
    return worst


def _locked(pin: Any, peer: Any, imported: Imported) -> Any:
    """Their model with the joints locked that we hold."""
    moving = {body.name for body in imported.model.bodies if body.joint.nv}
    held = [joint for joint, body in imported.joint_bodies.items() if body not in moving and peer.existJointName(joint)]
    return pin.buildReducedModel(peer, [peer.getJointId(j) for j in held], pin.neutral(peer)) if held else peer


def _with_mended(imported: Imported) -> str:
    """The text of the file with the repaired inertias; empty where there are none."""
    mended = {note.element for note in imported.notes if note.kind == "repaired" and note.element.startswith("link ")}
    bodies = {body.name: body for body in imported.model.bodies if f"link {body.name!r}" in mended}
    if not bodies:
        return ""
    root = ElementTree.parse(imported.source).getroot()  # read before by a parser that rejects entities
    for link in root.findall("link"):
        body = bodies.get((link.get("name") or "").strip())
        if body is not None:
            for inertial in link.findall("inertial"):
                link.remove(inertial)
            inertial = ElementTree.SubElement(link, "inertial")
            ElementTree.SubElement(inertial, "origin", xyz=" ".join(map(repr, body.inertia.com)), rpy="0 0 0")
            ElementTree.SubElement(inertial, "mass", value=repr(body.inertia.mass))
            names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
            row = {k: repr(float(x)) for k, x in zip(names, body.inertia.tensor, strict=True)}
            ElementTree.SubElement(inertial, "inertia", row)
    return ElementTree.tostring(root, encoding="unicode")


def _joints(model: Model, peer: Any, carried: dict[str, Any]) -> Iterator[tuple[str, slice, slice, slice]]:
    """Body, our velocities, their velocities and their coordinates of each joint that moves."""
    for name, j in ((n, i) for i, n in enumerate(peer.names) if i):
        if name not in carried:
            raise ValueError(f"the other code has a joint {name!r} that we do not have")
        ours = model.v_slices[model.body_index(carried[name])]
        joint = peer.joints[j]
        theirs, coordinates = slice(joint.idx_v, joint.idx_v + joint.nv), slice(joint.idx_q, joint.idx_q + joint.nq)
        if ours.stop - ours.start != joint.nv:
            raise ValueError(
                f"joint {name!r} has {joint.nv} degrees of freedom in the other code, not {ours.stop - ours.start}"
            )
        yield carried[name], ours, theirs, coordinates


def _states(pin: Any, model: Model, peer: Any, carried: dict[str, Any], rng: np.random.Generator) -> tuple:
    """A random state as both codes write it, and of each body the matrix from our velocities to theirs."""
    q, v = model.neutral()
    v = rng.standard_normal(model.nv)
    qp, vp, rate = pin.neutral(peer), np.zeros(peer.nv), {}
    for name, ours, theirs, at in _joints(model, peer, carried):
        body = model.bodies[model.body_index(name)]
        mine = model.q_slices[model.body_index(name)]
        rate[name] = np.eye(ours.stop - ours.start)
        if isinstance(body.joint, joints.Free):
            x = rng.standard_normal(7)
            x[3:] /= np.linalg.norm(x[3:])
            q[mine], qp[at] = x, [*x[:3], *x[4:], x[3]]
        elif isinstance(body.joint, joints.Composite):
            x = rng.uniform(-1.0, 1.0, 3)
            c, s = np.cos(x[2]), np.sin(x[2])
            q[mine], qp[at] = x, [x[0], x[1], c, s]
            rate[name] = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])  # their velocity is in the body's axes
        else:
            angle = rng.uniform(-1.0, 1.0)
            q[mine], qp[at] = angle, [angle] if at.stop - at.start == 1 else [np.cos(angle), np.sin(angle)]
        vp[theirs] = rate[name] @ v[ours]
    return q, v, qp, vp, rate


def _drift(model: Model, name: str, q: np.ndarray, v: np.ndarray) -> Any:
    """Rate of the matrix from our velocities to theirs, times our velocities; of planar joints only, shape (nv,)."""
    i = model.body_index(name)
    if not isinstance(model.bodies[i].joint, joints.Composite):
        return 0.0
    (_, _, angle), (x, y, w) = q[model.q_slices[i]], v[model.v_slices[i]]
    c, s = np.cos(angle), np.sin(angle)
    return w * np.array([-s * x + c * y, -c * x - s * y, 0.0])


READINGS: dict[str, Callable[[Imported, np.random.Generator], float]] = {
    "URDF": pinocchio_difference,
    "SDF": dart_difference,
    "MJCF": mujoco_difference,
}
"""Other codes that read a format themselves, as the difference of our accelerations from theirs."""
