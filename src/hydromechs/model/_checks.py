"""Errors of a model description, each with body or joint, value and fix; topological order of bodies."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from hydromechs.errors import Fault
from hydromechs.geometry import Box, Cylinder, Ellipsoid, Origin, Placed, Sphere
from hydromechs.spatial import tensor_matrix
from hydromechs.values import field_faults, field_texts, is_finite, plain, unit_in

from . import added_mass, drag
from ._added_mass_matrix import total_added_mass
from ._body import Body, Frame, Hydro, HydroModel, Inertia
from ._placement import Mdh
from .joints import TYPES, Composite, Fixed, Joint

ADDED_MASS_SIGN = "use positive added mass, the opposite sign of Fossen's X_u̇ < 0"
"""Usual cause of negative added mass, as a hint in messages."""
LARGEST = 1e100
"""Maximum entry of an inertia; larger entries must be typing errors, and their products may overflow."""
TOO_LARGE = f"too large (the maximum entry of an inertia is {LARGEST:g}); correct the number"


def header_faults(model: Any) -> list[Fault]:
    """Check name, description and sources."""
    out = []
    if not isinstance(model.name, str) or not model.name.strip():
        out.append(Fault(("name",), f"the name of the model is {model.name!r}, must be a text that is not blank"))
    if not isinstance(model.description, str):
        out.append(Fault(("description",), f"the description of the model is {model.description!r}, must be a text"))
    for key in sorted(key for key, n in Counter(key for key, _ in model.sources).items() if n > 1):
        out.append(Fault(("sources", key), f"sources have {key!r} twice; put both sources into one text"))
    return out


def world_faults(world: object) -> list[Fault]:
    """Check axes, gravity and water of the world."""
    if not all(hasattr(world, name) for name in ("axes", "gravity", "water_density")):
        return [Fault(("world",), f"world is {world!r}, must be a World", world, "must be a World")]
    remedies = {"gravity": "the axes define the vertical"}
    return [_value_fault(("world",), name, world, f"world: {name}", must, remedies) for name, _, must in field_faults(world)]


def _value_fault(path: tuple, name: str, thing: Any, label: str, must: str, remedies: dict[str, str], which: int = 0) -> Fault:
    """Describe an invalid field; the unit is read from the docstring of the field (`which` selects one of several units)."""
    value = getattr(thing, name)
    kind: Any = type(thing)
    unit = (unit_in(field_texts(kind).get(name, "")).split(" or ") * 2)[which]
    shown = f"{plain(value)} {unit}".rstrip() if isinstance(value, int | float | tuple) else repr(value)
    remedy = remedies.get(name, "") or remedies.get(must, "")
    return Fault((*path, name), f"{label} is {shown}, {must}{'; ' if remedy else ''}{remedy}", value, must, remedy)


class _Collector:
    def __init__(self, index: int, body: Body) -> None:
        self.index, self.name = index, body.name
        self.found: list[Fault] = []

    def add(self, path: tuple, text: str) -> None:
        self.found.append(Fault(("bodies", self.index, *path), f"body {self.name!r}: {text}"))

    def fault(self, path: tuple, value: object, must: str, remedy: str = "") -> None:
        """Record an error about an invalid value."""
        text = f"body {self.name!r}: {_dotted(path)} is {plain(value)}, {must}{'; ' if remedy else ''}{remedy}"
        self.found.append(Fault(("bodies", self.index, *path), text, value, must, remedy))

    def fields(self, path: tuple, thing: object, remedies: dict[str, str] | None = None, which: int = 0) -> None:
        """Check the fields of a dataclass against their annotations; `remedies` are keyed by field or requirement."""
        for name, _, must in field_faults(thing):
            label = f"body {self.name!r}: {_dotted((*path, name))}"
            self.found.append(_value_fault(("bodies", self.index, *path), name, thing, label, must, remedies or {}, which))

    def placement(self, path: tuple, placement: object, kinds: tuple[type, ...] = (Origin,)) -> None:
        """Check that a placement is an instance of one of `kinds`, with finite numbers."""
        if isinstance(placement, kinds):
            self.fields(path, placement)
        else:
            names = " or ".join(f"an {kind.__name__}" for kind in kinds)
            self.add(path, f"{_dotted(path)} is {placement!r}, must be {names}")


def _dotted(path: tuple) -> str:
    return ".".join(str(p) for p in path)


@np.errstate(over="ignore", invalid="ignore")
def body_faults(index: int, body: Any) -> list[Fault]:
    """Return the errors of one body; `index` is the position of the body in the file."""
    if not isinstance(body, Body):
        return [Fault(("bodies", index), f"bodies[{index}] is {body!r}, must be a Body")]
    c = _Collector(index, body)
    if not isinstance(body.name, str) or not body.name.strip() or body.name != body.name.strip() or body.name == "world":
        c.add(("name",), "the name must be a text without leading or trailing blanks, and must not be 'world'")
    _joint(c, ("joint",), body.joint)
    _inertia(c, body.inertia)
    if isinstance(body.hydro, Hydro):
        carried = isinstance(body.joint, Fixed)  # counts as part of its carrier
        _hydro(c, body.hydro, None if carried else body.inertia, [shape.name for shape in body.shapes])
    elif body.hydro is not None and (isinstance(body.hydro, type) or not isinstance(body.hydro, HydroModel)):
        c.add(("hydro",), f"hydro is {body.hydro!r}, must be a Hydro, or an object with the methods added_mass and wrench")
    for i, frame in enumerate(body.frames):
        if not isinstance(frame, Frame) or not isinstance(frame.name, str) or frame.name.strip() in ("", "world"):
            c.add(("frames", i), f"frame {frame!r} must be a Frame with a name other than 'world'")
        else:
            c.placement(("frames", frame.name), frame.origin)
    for shape in body.shapes:
        c.placement(("shapes", shape.name, "origin"), shape.origin)
    for name in [name for name, n in Counter(shape.name for shape in body.shapes).items() if n > 1]:
        c.add(("shapes", name), f"shapes: the name {name!r} is used twice; rename one of the shapes")
    return c.found


def _joint(c: _Collector, path: tuple, joint: Any) -> None:
    if isinstance(joint, Composite):
        if path != ("joint",):
            c.add(path, f"{_dotted(path)}: a composite joint cannot be a part of another joint; list the inner parts directly")
            return
        if not joint.parts:
            c.add(path, "a composite joint has no parts; add a part, or use type 'fixed'")
        for i, part in enumerate(joint.parts):
            _joint(c, (*path, "parts", i), part)
        total = sum(p.nv for p in joint.parts if isinstance(p, Joint))
        if total > 6:
            c.add(path, f"the parts of the joint have {total} degrees of freedom, the maximum is 6; remove parts")
        return
    if not isinstance(joint, Joint):
        known = ", ".join(kind.__name__ for kind in TYPES.values())
        c.add(path, f"{_dotted(path)} is {joint!r}, must be {known}, Composite or derived from hydromechs.joints.Joint")
        return
    if isinstance(joint, Fixed) and path != ("joint",):
        c.add(path, f"{_dotted(path)}: a fixed joint cannot be a part; set the origin of the next part instead")
    c.placement((*path, "placement"), joint.placement, (Origin, Mdh))
    before = len(c.found)
    c.fields(path, joint, which=1 if joint.unit == "m" else 0)
    for below, text in joint.problems(_dotted(path)):
        c.add((*path, *below), text)
    if len(c.found) == before:
        for text in joint.disagreements():
            c.add(path, f"{_dotted(path)}: {text}")


def _inertia(c: _Collector, inertia: Any) -> None:
    if not isinstance(inertia, Inertia):
        c.add(("inertia",), f"inertia is {inertia!r}, must be an Inertia")
        return
    c.fields(("inertia",), inertia)
    if not is_finite(inertia.tensor):
        return
    if is_finite((inertia.mass, inertia.com)) and not is_small(inertia.matrix):
        values = f"mass {plain(inertia.mass)} kg, com {plain(inertia.com)} m or tensor {plain(inertia.tensor)} kg·m²"
        c.add(("inertia",), f"{values} is {TOO_LARGE}")
        return
    a, b, d = np.linalg.eigvalsh(tensor_matrix(inertia.tensor))
    moments = f"principal moments {a:.4g}, {b:.4g}, {d:.4g} kg·m² of the tensor"
    if a < -1e-9 * max(abs(d), abs(a)):
        c.add(("inertia", "tensor"), f"{moments} must be ≥ 0; correct the tensor")
    elif a + b < d * (1 - 1e-9):
        c.add(
            ("inertia", "tensor"),
            f"{moments} break the triangle inequality (the two smaller moments must sum to at least the largest); "
            "use the order xx yy zz xy xz yz, about the centre of mass",
        )
    elif inertia.mass == 0 and d > 0:
        c.add(("inertia", "tensor"), f"the mass is 0 but the tensor is not ({moments}); set the mass, or omit both")


def _hydro(c: _Collector, hydro: Hydro, inertia: Inertia | None, shapes: list[str]) -> None:
    c.fields(("hydro",), hydro)
    refers: list[tuple[tuple, str]] = [(("hydro", "buoyancy", i), name) for i, name in enumerate(hydro.buoyancy)]
    for key in ("added_mass", "drag"):
        named = enumerate(getattr(e, "shape", None) for e in getattr(hydro, key))
        refers += [(("hydro", key, i, "shape"), name) for i, name in named if isinstance(name, str)]
    for path, name in refers:
        if name not in shapes:
            must = f"must be the name of a shape of the body ({', '.join(shapes) or 'it has none'})"
            c.found.append(
                Fault(("bodies", c.index, *path), f"body {c.name!r}: {_dotted(path)} is {name!r}, {must}", name, must)
            )
    if hydro.buoyancy and hydro.volume and not hydro.derived:
        c.add(("hydro", "buoyancy"), "hydro has both buoyancy and volume; keep one of them")
    clean = True
    for i, element in enumerate(hydro.added_mass):
        before = len(c.found)
        _added_mass(c, ("hydro", "added_mass", i), element)
        clean = clean and len(c.found) == before
    numbers = (e for e in hydro.added_mass if clean and isinstance(e, added_mass.Matrix | added_mass.Diagonal))
    given = total_added_mass(numbers, 0.0)
    shaped = any(isinstance(e, added_mass.ShapeAddedMass) for e in hydro.added_mass)
    if clean and not is_small(given):
        c.add(("hydro", "added_mass"), f"added mass has an entry of {np.abs(given).max():.6g}, {TOO_LARGE}")
        clean = False
    if not isinstance(inertia, Inertia) or not is_finite((inertia.mass, inertia.com, inertia.tensor)):
        inertia = None  # its errors are reported elsewhere
    if clean and inertia is not None and is_small(inertia.matrix) and given.any() and not shaped:
        scale = np.abs(given).max()
        lowest = float(np.linalg.eigvalsh(given + inertia.matrix)[0])
        if lowest < -1e-9 * scale:
            c.add(
                ("hydro", "added_mass"),
                f"the sum of added mass and rigid inertia has the eigenvalue {lowest:.4g}, must be positive definite; "
                f"{ADDED_MASS_SIGN}",
            )
    for i, resisting in enumerate(hydro.drag):
        path = ("hydro", "drag", i)
        _element(c, path, resisting, {"must be finite and at least 0": drag.DRAG_SIGN})
        for fault in resisting.problems(_dotted(path)):
            c.found.append(replace(fault, path=("bodies", c.index, *path, *fault.path), text=f"body {c.name!r}: {fault.text}"))


def is_small(I: np.ndarray) -> bool:
    """True if products of the entries stay finite."""
    return bool(np.abs(I).max(initial=0.0) <= LARGEST)


def _element(c: _Collector, path: tuple, element: Any, remedies: dict[str, str] | None = None) -> None:
    """Check the fields that all added mass and drag elements share, and their origin or shape."""
    c.fields(path, element, remedies)
    if hasattr(element, "origin"):
        c.placement((*path, "origin"), element.origin)
    if hasattr(element, "placed"):
        solid = element.shape if isinstance(element.shape, Placed) else element.placed
        if isinstance(element.shape, Placed):
            c.placement((*path, "shape", "origin"), element.shape.origin)
        any_shape = isinstance(element, drag.SurfaceDrag)
        if solid is not None and not any_shape and not isinstance(solid.shape, Box | Sphere | Cylinder | Ellipsoid):
            must = "must be a box, sphere, cylinder or ellipsoid; set a separate shape for the element"
            c.add((*path, "shape"), f"{_dotted((*path, 'shape'))} is a {solid.shape.word}, {must}")


def _added_mass(c: _Collector, path: tuple, element: object) -> None:
    _element(c, path, element)
    if isinstance(element, added_mass.Matrix) and is_finite(element.matrix):
        A = np.array(element.matrix)
        if not np.allclose(A, A.T, rtol=1e-9, atol=1e-12 * np.abs(A).max()):
            i, j = np.unravel_index(np.argmax(np.abs(A - A.T)), (6, 6))
            c.add(
                (*path, "matrix"),
                f"added mass is not symmetric: entry ({i + 1}, {j + 1}) is {A[i, j]:.6g}, entry ({j + 1}, {i + 1}) is "
                f"{A[j, i]:.6g}; correct one entry, or set both to the mean",
            )


MANY = 40
"""Maximum number of names in a message."""


def tree_faults(links: list[tuple], frames: list[list[str]]) -> list[Fault]:
    """Return the errors of body names, parents and frame names.

    `links` contains (name, parent) of each body, with None for unreadable values and for the world as parent. `frames`
    contains the frame names of each body.
    """
    out = []
    if not links:
        out.append(Fault(("bodies",), "the model has no bodies; add at least one body"))
    names = [name for name, _ in links if isinstance(name, str)]
    known = ", ".join(map(repr, names[:MANY])) + (", ..." if len(names) > MANY else "")
    there = set(names)
    seen: set[str] = set()
    for i, (name, parent) in enumerate(links):
        if not isinstance(name, str):
            continue
        if name in seen:
            out.append(Fault(("bodies", i, "name"), f"body {name!r}: the name is used twice; rename one of the bodies"))
        seen.add(name)
        if parent is not None and parent not in there:
            text = f"body {name!r}: the parent {parent!r} does not exist; bodies are {known}"
            out.append(Fault(("bodies", i, "parent"), text))
    frame_names: set[str] = set()
    for i, body_frames in enumerate(frames):
        for frame in body_frames:
            if frame in seen or frame in frame_names:
                text = f"body {links[i][0]!r}: frame {frame!r} has the same name as a body or another frame; rename this frame"
                out.append(Fault(("bodies", i, "frames"), text))
            frame_names.add(frame)
    return out + _rings(links)


def _rings(links: list[tuple]) -> list[Fault]:
    """Return one error for each cycle of bodies that are their own ancestors."""
    place = {name: i for i, (name, _) in reversed(list(enumerate(links))) if isinstance(name, str)}
    out, done = [], set()
    for at, _ in links:
        walk: dict[str, None] = {}  # keeps its order
        while isinstance(at, str) and at in place and at not in done:
            done.add(at)
            walk[at] = None
            at = links[place[at]][1]
        if isinstance(at, str) and at in walk:
            names = list(walk)
            ring = " → ".join([*names[names.index(at) :], at])
            text = f"body {at!r}: the parents form a loop ({ring}); attach one of these bodies to the world"
            out.append(Fault(("bodies", place[at], "parent"), text))
    return out


def topological_order(links: list[tuple[str, str | None]]) -> list[int]:
    """Return the indices of the bodies with parents first, otherwise in their original order."""
    index = {name: i for i, (name, _) in enumerate(links)}
    order: list[int] = []
    done: set[int] = set()
    for start in range(len(links)):
        chain, i = [], start
        while i not in done:
            chain.append(i)
            done.add(i)
            parent = links[i][1]
            if parent is None:
                break
            i = index[parent]
        order += reversed(chain)
    return order
