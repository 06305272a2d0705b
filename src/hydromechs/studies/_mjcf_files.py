"""MJCF files that others wrote, against MuJoCo's own reading of the same file."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import dynamics, equations
from hydromechs.actuation import JointRotor
from hydromechs.errors import ModelError
from hydromechs.formats import Imported, import_file
from hydromechs.model import joints
from hydromechs.model.component import Now, StillWater
from hydromechs.simulation import Plant
from hydromechs.spatial import quaternion_matrix

__all__ = ["TOLERANCE", "MjcfComparison", "compare_mjcf", "mjcf_files"]

TOLERANCE = 1e-10
"""Relative difference of accelerations up to which two readings of a file agree."""
PACKAGES = ("dm_control", "gymnasium", "pybullet_data")
"""Packages with MJCF files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MjcfComparison:
    """One file, read by both."""

    file: str
    """The file."""
    nv: int = 0
    """Degrees of freedom."""
    relative: float = np.nan
    """Largest difference of accelerations, each over the largest acceleration of its joint axis [-]."""
    notes: str = ""
    """How much was left out, guessed or mended."""
    refused: str = ""
    """Why we cannot read it; empty where we can."""
    refused_there: str = ""
    """Why MuJoCo cannot read it; empty where it can."""

    @property
    def agrees(self) -> bool:
        """Whether both read it and agree, and something moves."""
        return self.nv > 0 and self.relative < TOLERANCE


def mjcf_files() -> Iterator[Path]:
    """The files with a <worldbody> of all packages that are installed."""
    for package in PACKAGES:
        found = importlib.util.find_spec(package)
        if found is not None and found.origin:
            for path in sorted(Path(found.origin).parent.rglob("*.xml")):
                text = path.read_text(errors="replace")
                if "<mujoco" in text and "<worldbody" in text:
                    yield path


def compare_mjcf(path: str | os.PathLike, states: int = 5, folders: tuple[str, ...] = ()) -> MjcfComparison:
    """Dry accelerations of a file in random states, ours and MuJoCo's.

    MuJoCo runs without contacts, constraints, actuators, springs, damping and fluid; its armature counts, and gravity.

    Args:
        path: The file.
        states: How many states are tried.
        folders: Folders outside that of the file from which meshes may come.
    """
    import mujoco  # another program

    ours = there = None
    refused = refused_there = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ours = import_file(path, folders=folders)
        except ModelError as error:
            refused = error.problems[0]
        try:
            there = mujoco.MjModel.from_xml_path(os.fspath(path))
        except ValueError as error:
            refused_there = str(error).splitlines()[0]
        if ours is None or there is None:
            return MjcfComparison(file=os.fspath(path), refused=refused, refused_there=refused_there)
        relative = _difference(ours, mujoco, there, states)
    return MjcfComparison(file=os.fspath(path), nv=ours.model.nv, relative=relative, notes=ours.summary())


def _difference(ours: Imported, mujoco: Any, there: Any, states: int) -> float:
    """Largest difference of accelerations, each over the largest of its axis; NaN where the degrees of freedom differ."""
    model = replace(ours.model, bodies=tuple(replace(body, hydro=None) for body in ours.model.bodies))
    rotors = tuple(c for c in ours.components if isinstance(c, JointRotor))
    armature = Plant(model=model, components=rotors).armature
    if (model.nq, model.nv) != (there.nq, there.nv):
        return np.nan
    off = mujoco.mjtDisableBit
    for name in ("CONTACT", "CONSTRAINT", "ACTUATION", "SPRING", "DAMPER", "PASSIVE"):
        there.opt.disableflags |= int(getattr(off, f"mjDSBL_{name}", 0))
    there.opt.density = there.opt.viscosity = 0.0
    data, rng = mujoco.MjData(there), np.random.default_rng(7)
    worst, largest = np.zeros(model.nv), np.zeros(model.nv)
    for _ in range(states):
        q, v, tau = rng.uniform(-1.0, 1.0, model.nq), rng.uniform(-1.0, 1.0, model.nv), rng.uniform(-1.0, 1.0, model.nv)
        for part in model.joint_parts.values():
            if isinstance(part.joint, joints.Free | joints.Ball):
                q[part.q.stop - 4 : part.q.stop] /= np.linalg.norm(q[part.q.stop - 4 : part.q.stop])
        b = equations.balance(model, q, v, None, None, None)
        now, total = Now(model, 0.0, q, v, b.kin, StillWater(None)), tau.copy()
        for force in (force for c in rotors for force in c.act(now, {}, {}).joint_forces):
            total[force.dofs] += force.tau
        vdot = dynamics.articulated_body(model, b.kin, b.bias, total, b.inertia, b.force, armature)
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
        for part in model.joint_parts.values():
            if isinstance(part.joint, joints.Free):  # MuJoCo has the linear velocity in world axes
                R, at = quaternion_matrix(q[part.q][3:]), slice(part.v.start, part.v.start + 3)
                data.qvel[at], data.qfrc_applied[at] = R @ v[at], R @ tau[at]
                vdot[at] = R @ (vdot[at] + np.cross(v[part.v][3:], v[at]))
        mujoco.mj_forward(there, data)
        worst, largest = np.maximum(worst, np.abs(vdot - data.qacc)), np.maximum(largest, np.abs(data.qacc))
    return float(np.max(worst / np.where(largest > 0.0, largest, 1.0), initial=0.0))
