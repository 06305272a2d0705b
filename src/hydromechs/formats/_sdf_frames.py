"""Frames of an SDF: nested models, `relative_to`, attached frames, all in world axes at zero joint positions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from hydromechs.spatial import matrix_from_rpy, quaternion_matrix
from hydromechs.values import nearest

from ._imported import Findings
from ._pose import IDENTITY, Pose
from ._xml import Element, is_true


@dataclass(slots=True, eq=False)
class Scope:
    """Scope of names: a world or a model."""

    element: Element
    name: str
    """Name, prefixed with the names of the enclosing models: "rov::arm"; empty for the world."""
    parent: Scope | None = None
    """Enclosing model or world."""
    links: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, Element] = field(default_factory=dict)
    frames: dict[str, Element] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    shifted: Pose = IDENTITY
    """Pose of the model in its parent, from `<include>`."""
    poses: dict[str, Pose] = field(default_factory=dict)

    def full(self, name: str) -> str:
        """Return a name prefixed with the names of the enclosing models."""
        return f"{self.name}::{name}" if self.name else name


def scope_of(element: Element, name: str, parent: Scope | None, findings: Findings) -> Scope:
    """Collect the names in a world or model after replacement of `<include>` elements; duplicate names are errors."""
    scope = Scope(element, name, parent)
    seen: dict[str, int] = {}
    for child in element.all("link", "joint", "frame", "model"):
        own = child.attributes.get("name", "").strip()
        if not own:
            findings.fault(child, f"a <{child.tag}> of {name or 'the world'!r} has no name", remedy="give it one")
            continue
        if own in seen:
            words = f"{child.tag} {own!r} has the same name as the element on line {seen[own]}"
            findings.fault(child, words, own, "rename one of them")
            continue
        seen[own] = child.line
        if child.tag == "model":
            scope.models[own] = scope_of(child, scope.full(own), scope, findings)
        else:
            {"link": scope.links, "joint": scope.joints, "frame": scope.frames}[child.tag][own] = child
    return scope


def merged(model: Element) -> list[Element]:
    """Return the parts of a model that `<include merge="true">` adds directly to the including model.

    As in SDFormat, a frame `_merged__NAME__model__` replaces `__model__`. The frame has the pose of the include and is
    attached to the canonical link.
    """
    proxy = f"_merged__{model.attributes.get('name', '').strip()}__model__"
    first = model.first("link")
    link = model.attributes.get("canonical_link", "").strip() or ("" if first is None else first.attributes.get("name", ""))
    pose = model.first("pose") or Element("pose", model.line, text="0 0 0 0 0 0", file=model.file)
    if not pose.attributes.get("relative_to", "").strip():
        pose.attributes["relative_to"] = "__model__"
    parts = [child for child in model.children if child.tag not in ("pose", "static", "self_collide")]
    for child in parts:
        for element in child.walk() if child.tag != "model" else ():
            for key, value in element.attributes.items():
                if key in ("relative_to", "attached_to", "expressed_in") and value.strip() == "__model__":
                    element.attributes[key] = proxy
            if element.tag in ("parent", "child") and element.text.strip() == "__model__":
                element.text = proxy
        if child.tag in ("link", "model") or (child.tag == "frame" and "attached_to" not in child.attributes):
            own = child.first("pose")
            if own is None:
                own = Element("pose", child.line, text="0 0 0 0 0 0", file=child.file)
                child.children = [own, *child.children]
            if not own.attributes.get("relative_to", own.attributes.get("frame", "")).strip():  # Gazebo also writes it empty
                own.attributes["relative_to"] = proxy
    return [Element("frame", model.line, {"name": proxy, "attached_to": link}, [pose], file=model.file), *parts]


def pose_of(element: Element | None, findings: Findings, owner: str) -> Pose:
    """Return the numbers in the `<pose>` of an element; the identity without a `<pose>`."""
    pose = None if element is None else element.first("pose")
    if pose is None or not pose.text:
        return IDENTITY
    if pose.attributes.get("rotation_format", "euler_rpy") == "quat_xyzw":
        x = findings.numbers(pose.text, 7, pose, f"{owner}: pose (x y z, quaternion x y z w)", (0.0,) * 6 + (1.0,))
        quaternion = np.array([x[6], *x[3:6]])
        length = float(np.linalg.norm(quaternion))
        if length < 1e-9:
            findings.fault(pose, f"{owner}: the quaternion is zero", pose.text)
            return IDENTITY
        return Pose(np.array(x[:3]), quaternion_matrix(quaternion / length))
    x = findings.numbers(pose.text, 6, pose, f"{owner}: pose (x y z, roll pitch yaw)", (0.0,) * 6)
    rpy = np.array(x[3:])
    if is_true(pose.attributes.get("degrees", "")):
        rpy = np.radians(rpy)
    return Pose(np.array(x[:3]), matrix_from_rpy(tuple(map(float, rpy))))


def _forget(scope: Scope) -> None:
    scope.poses.clear()
    for model in scope.models.values():
        _forget(model)


def _reference(scope: Scope, name: str) -> tuple[str, Element, str] | None:
    """Return kind, element and default reference of the pose of a link, frame or joint; None for other names."""
    if name in scope.links:
        return "link", scope.links[name], "__model__"
    if name in scope.frames:
        return "frame", scope.frames[name], scope.frames[name].attributes.get("attached_to", "").strip() or "__model__"
    if name in scope.joints:
        return "joint", scope.joints[name], scope.joints[name].text_of("child") or "__model__"
    return None


class Frames:
    """Finder of poses and links by name in a scope."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def inside(self, scope: Scope, name: str) -> tuple[Scope, str] | None:
        """Return scope and short name of a name with `::`; None if one of the models does not exist."""
        *models, last = name.split("::")
        for model in models:
            if model not in scope.models:
                return None
            scope = scope.models[model]
        return (scope.models[last], "__model__") if last in scope.models else (scope, last)

    def model_pose(self, scope: Scope) -> Pose:
        """Return the pose of a model in the world."""
        return self.pose(scope, "__model__", scope.element)

    def pose(self, scope: Scope, name: str, at: Element) -> Pose:
        """Return the world pose of a link, joint, frame or model named in a scope; errors have the line of `at`."""
        chain: dict[tuple[int, str], Scope] = {}  # frames from the wanted one to one with a known pose
        while True:
            if name in ("world", "__root__"):
                pose = IDENTITY
                break
            found = self.inside(scope, name)
            if found is None or (found[1] != "__model__" and _reference(*found) is None):
                names = [*scope.links, *scope.frames, *scope.joints, *scope.models]
                words = f"there is no frame {name!r} in {scope.name or 'the world'!r}; available: {', '.join(names[:20])}"
                self.findings.fault(at, words, name)
                pose = IDENTITY
                break
            inner, last = found
            if last in inner.poses or (last == "__model__" and inner.parent is None):
                pose = inner.poses.get(last, IDENTITY)
                break
            key = (id(inner), last)
            if key in chain:
                words = f"the pose of {inner.full(last)!r} depends on itself: its relative_to references form a cycle"
                self.findings.fault(inner.element, words, last, "change one of them")
                pose = IDENTITY
                break
            chain[key] = inner
            scope, name, at = self._base(inner, last)
        for (_, last), inner in reversed(chain.items()):
            pose = inner.poses[last] = self._placed(inner, last, pose)
        return pose

    def _base(self, scope: Scope, name: str) -> tuple[Scope, str, Element]:
        """Return scope and name of the frame relative to which a pose is given, and the element that names this frame."""
        reference = _reference(scope, name)
        element, default = (scope.element, "__model__") if reference is None else reference[1:]
        where = (scope.parent or scope) if reference is None else scope
        pose = element.first("pose")
        given = "" if pose is None else pose.attributes.get("relative_to", pose.attributes.get("frame", "")).strip()
        return where, given or default, pose if pose is not None and given else element

    def _placed(self, scope: Scope, name: str, base: Pose) -> Pose:
        """Return the world pose of a frame, given that of the frame relative to which it is specified."""
        f, reference = self.findings, _reference(scope, name)
        if reference is not None:
            kind, element, _ = reference
            return base @ pose_of(element, f, f"{kind} {scope.full(name)!r}")
        element = scope.element
        pose = base @ scope.shifted @ pose_of(element, f, f"model {scope.name!r}")
        placed = element.attributes.get("placement_frame", "")
        if placed:
            _forget(scope)
            scope.poses["__model__"] = IDENTITY  # poses within the model, to find that frame in it
            within = self.pose(scope, placed, element)
            _forget(scope)
            pose = pose @ within.inverse
        return pose

    def link(self, scope: Scope, name: str, at: Element, depth: int = 0) -> str | None:
        """Return the full name of the link to which a link, frame or model resolves.

        The result is "world" for the world, and None with an error if the link does not exist. `depth` is the number of frames
        resolved so far.
        """
        if name in ("world", "__root__"):
            return "world"
        found = self.inside(scope, name)
        if found is not None and depth < 100:
            inner, last = found
            if last == "__model__":
                canonical = inner.element.attributes.get("canonical_link", "").strip() or next(iter(inner.links), "")
                return self.link(inner, canonical, at, depth + 1) if canonical else None
            reference = _reference(inner, last)
            if reference is not None:
                kind, _, held = reference
                return inner.full(last) if kind == "link" else self.link(inner, held, at, depth + 1)
        if depth >= 100:
            self.findings.fault(at, f"frame {name!r}: more than 100 frames attached to each other; attach it to a link", name)
            return None
        inside = [f"{model}::{link}" for model, inner in scope.models.items() for link in inner.links]
        words = (
            f"there is no link {name!r} in {scope.name or 'the world'!r}{nearest(name, [*scope.links, *scope.frames, *inside])}"
        )
        self.findings.fault(at, words, name)
        return None
