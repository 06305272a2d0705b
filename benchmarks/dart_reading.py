"""Accelerations of an SDF in DART's own reading of it, with the inertia that `<fluid_added_mass>` gives its links."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from xml.etree import ElementTree

import numpy as np

from hydromechs.bench.peers import import_peer
from hydromechs.equations import forward_dynamics
from hydromechs.formats import Imported
from hydromechs.hybrid import swap
from hydromechs.model import Model, joints
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix, quaternion_matrix

__all__ = ["dart_difference"]

STATES = 3
"""Random states of each robot."""


def dart_difference(imported: Imported, rng: np.random.Generator) -> float:
    """Largest difference of accelerations from DART's on its own reading of an SDF, over the largest acceleration.

    Roots are tilted and move, positions, velocities and joint forces are random. It compares joints of one coordinate, and the
    roots that are free; ball joints are at rest at their zero, and not compared, since DART has other axes for them. It is dry
    but for `<fluid_added_mass>`, which is read here separately.

    Args:
        imported: What we have read; without buoyancy and drag.
    """
    dart = import_peer("dartpy")
    model = imported.model
    with _quiet(), tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "model.sdf")
        _model_alone(imported).write(file)
        skeleton = dart.utils.SdfParser.readSkeleton(file)
    if skeleton is None:
        raise ValueError("DART does not read it")
    nodes = {skeleton.getBodyNode(i).getName(): skeleton.getBodyNode(i) for i in range(skeleton.getNumBodyNodes())}
    added = _added_masses(imported.source)
    skeleton.setGravity([0.0, 0.0, 0.0])  # weights act as forces, on the rigid masses alone
    weights = []
    order = [3, 4, 5, 0, 1, 2]  # DART's vectors are angular first
    for name, node in nodes.items():
        joint, inertia = node.getParentJoint(), node.getInertia()
        for k in range(joint.getNumDofs()):
            joint.setSpringStiffness(k, 0.0)
            joint.setDampingCoefficient(k, 0.0)
        weight = model.world.gravity * inertia.getMass() * np.array([0.0, 0.0, -1.0])
        weights.append((node, weight, np.array(inertia.getLocalCOM())))
        if name in added:
            both = dart.dynamics.Inertia()
            with _quiet():  # it warns that no rigid body has such a tensor
                both.setSpatialTensor(np.array(inertia.getSpatialTensor()) + added[name][np.ix_(order, order)])
            node.setInertia(both)
    places = list(_places(model, skeleton, nodes))
    return max(_one_state(dart, model, skeleton, nodes, weights, places, rng) for _ in range(STATES))


def _places(model: Model, skeleton: Any, nodes: dict[str, Any]) -> Iterator[tuple[int, Any]]:
    """Index of each of our bodies that moves, and their joint."""
    for i, body in enumerate(model.bodies):
        if not body.joint.nv:
            continue
        if body.name not in nodes:
            raise ValueError(f"DART has no link {body.name!r}")
        joint = nodes[body.name].getParentJoint()
        if joint.getNumDofs() != body.joint.nv:
            raise ValueError(f"the joint of {body.name!r} has {joint.getNumDofs()} degrees of freedom in DART")
        if not isinstance(body.joint, joints.Free | joints.Revolute | joints.Prismatic | joints.Ball):
            raise ValueError(f"the {body.joint.kind} joint of {body.name!r} has other coordinates in DART")
        yield i, joint
    moving = sum(body.joint.nv for body in model.bodies)
    if moving != skeleton.getNumDofs():
        raise ValueError(f"DART has {skeleton.getNumDofs()} degrees of freedom, not {moving}")


def _one_state(
    dart: Any, model: Model, skeleton: Any, nodes: dict[str, Any], weights: list, places: list, rng: np.random.Generator
) -> float:
    q, v = model.neutral()
    tau = np.zeros(model.nv)
    skeleton.clearExternalForces()
    for i, joint in places:
        at, along = model.q_slices[i], model.v_slices[i]
        n = along.stop - along.start
        if n == 1:
            q[at], v[along], tau[along] = rng.uniform(-1.0, 1.0), rng.standard_normal(), rng.standard_normal()
            joint.setPositions(q[at])
            joint.setVelocities(v[along])
            joint.setForces(tau[along])
        elif n == 3:
            joint.setPositions(np.zeros(3))
            joint.setVelocities(np.zeros(3))
            joint.setForces(np.zeros(3))
        else:
            x = rng.standard_normal(4)
            x /= np.linalg.norm(x)
            T = dart.math.Isometry3()
            T.set_rotation(quaternion_matrix(x))
            T.set_translation(rng.standard_normal(3))
            joint.setPositions(dart.dynamics.FreeJoint.convertToPositions(T))
            joint.setVelocities(rng.standard_normal(6))
            joint.setForces(np.zeros(6))
    for i, joint in places:
        if joint.getNumDofs() == 6:
            node = nodes[model.bodies[i].name]
            there = node.getWorldTransform()
            q[model.q_slices[i]] = [*there.translation(), *quaternion_from_matrix(there.rotation())]
            v[model.v_slices[i]] = swap(np.asarray(node.getSpatialVelocity()))
    for node, weight, com in weights:
        node.addExtForce(weight, com, False, True)
    skeleton.computeForwardDynamics()
    a = forward_dynamics(model, q, v, tau)
    theirs = np.zeros(model.nv)
    for i, joint in places:
        along = model.v_slices[i]
        if joint.getNumDofs() == 1:
            theirs[along] = joint.getAccelerations()
        elif joint.getNumDofs() == 3:
            a[along] = 0.0
        else:
            theirs[along] = swap(np.asarray(nodes[model.bodies[i].name].getSpatialAcceleration()))
    return float(np.abs(a - theirs).max() / max(np.abs(theirs).max(), 1e-300))


def _model_alone(imported: Imported) -> Any:
    """The only model of a file, outside of its world and without shapes, which DART takes long to load or stumbles over.

    Inertias that we have repaired are those of the repaired model, so that both codes have the same robot.
    """
    root = ElementTree.parse(imported.source).getroot()  # read before by a parser that rejects entities
    mended = {note.element for note in imported.notes if note.kind == "repaired" and "kg·m²" in note.value}
    models = root.findall("model") or root.findall("world/model")
    if len(models) != 1 or models[0].findall("model"):
        raise ValueError("DART reads one model, without models within it")
    for link in models[0].findall("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
        name = link.get("name", "")
        for inertial in link.findall("inertial"):
            if f"link {name!r}" in mended and _rewritten(inertial, imported.model, name):
                continue
            _turn(inertial)
    alone = ElementTree.Element("sdf", root.attrib)
    alone.append(models[0])
    return ElementTree.ElementTree(alone)


def _rewritten(inertial: Any, model: Model, name: str) -> bool:
    """Write the inertia of our body into an `<inertial>`; whether it has one."""
    body = model.bodies[model.body_index(name)]
    if not body.inertia.mass:
        return False
    frame = model.frames.get(f"{name}_origin")  # where the link's origin is, if not at the body's
    p = np.array(body.inertia.com) - (np.array(frame[1].origin.xyz) if frame else 0.0)
    for child in inertial.findall("pose") + inertial.findall("mass") + inertial.findall("inertia"):
        inertial.remove(child)
    ElementTree.SubElement(inertial, "pose").text = " ".join(map(repr, [*map(float, p), 0.0, 0.0, 0.0]))
    ElementTree.SubElement(inertial, "mass").text = repr(body.inertia.mass)
    tensor = ElementTree.SubElement(inertial, "inertia")
    for key, moment in zip(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), body.inertia.tensor, strict=True):
        ElementTree.SubElement(tensor, key).text = repr(float(moment))
    return True


def _turn(inertial: Any) -> None:
    """Write the tensor of an `<inertial>` in the link's axes: DART reads the place of its pose, but not the axes."""
    pose, tensor = inertial.find("pose"), inertial.find("inertia")
    x = [float(word) for word in (pose.text or "").split()] if pose is not None else []
    if tensor is None or not any(x[3:]):
        return
    I = np.zeros((3, 3))
    places = {"ixx": (0, 0), "iyy": (1, 1), "izz": (2, 2), "ixy": (0, 1), "ixz": (0, 2), "iyz": (1, 2)}
    for key, (i, j) in places.items():
        I[i, j] = I[j, i] = float(tensor.findtext(key, "0"))
    R = matrix_from_rpy(tuple(x[3:]))
    I = R @ I @ R.T
    pose.text = " ".join(map(repr, [*x[:3], 0.0, 0.0, 0.0]))
    for key, (i, j) in places.items():
        child = tensor.find(key)
        (ElementTree.SubElement(tensor, key) if child is None else child).text = repr(float(I[i, j]))


def _added_masses(source: str) -> dict[str, np.ndarray]:
    """`<fluid_added_mass>` by link, about its origin, linear first, shape (6, 6) each."""
    out = {}
    for link in ElementTree.parse(source).getroot().iter("link"):
        for added in link.findall("inertial/fluid_added_mass"):
            A = np.zeros((6, 6))
            for child in added:
                i, j = ("xyzpqr".index(letter) for letter in child.tag)
                A[i, j] = A[j, i] = float(child.text or "0")
            out[link.get("name", "")] = A
    return out


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what DART prints about meshes that it does not find."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = os.dup(1), os.dup(2)
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        yield
    finally:
        for k, old in enumerate(saved, start=1):
            os.dup2(old, k)
            os.close(old)
        os.close(nothing)
