"""Bodies: inertia, hydrodynamic data, frames and shapes of one rigid body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Protocol, get_args, runtime_checkable

import numpy as np

from hydromechs.errors import FieldError
from hydromechs.geometry import Origin, Placed
from hydromechs.registry import Hidden, Inline, Ref, Required
from hydromechs.spatial import rigid_inertia, tensor_matrix
from hydromechs.values import NotNegative, Vector3, Vector6, convert_fields

from ._body_shape import BodyShape, named_shapes
from .added_mass import AddedMassElement
from .drag import DragElement
from .flexible import Beam, ModalLink
from .joints import Composite, Free, Joint


@dataclass(frozen=True, slots=True, kw_only=True)
class Inertia:
    """Mass, centre of mass and moment of inertia of a rigid body."""

    mass: NotNegative
    """Mass [kg]."""
    com: Vector3 = (0.0, 0.0, 0.0)
    """Centre of mass from the body origin, in body axes [m], shape (3,)."""
    tensor: Vector6 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    """Moment of inertia about the centre of mass, in body axes: xx yy zz xy xz yz [kg·m²], shape (6,)."""

    def __post_init__(self) -> None:
        shape = np.shape(np.array(self.tensor, dtype=object))
        if len(shape) > 1:
            raise FieldError("inertia.tensor", self.tensor, f"must be six numbers, xx yy zz xy xz yz; got shape {shape}")
        convert_fields(self, "inertia")

    @property
    def matrix(self) -> np.ndarray:
        """6×6 inertia about the body origin, linear first [kg, kg·m, kg·m²], shape (6, 6)."""
        return rigid_inertia(self.mass, np.array(self.com), tensor_matrix(self.tensor))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hydro:
    """Hydrodynamic data of a body: buoyancy, added mass and drag. The equations are in `hydromechs.hydro`."""

    volume: NotNegative = 0.0
    """Displaced volume [m³]; buoyancy = water density · volume · gravity."""
    buoyancy_center: Vector3 = (0.0, 0.0, 0.0)
    """Centre of buoyancy from the body origin, in body axes [m], shape (3,)."""
    added_mass: tuple[AddedMassElement, ...] = ()
    """Elements of added mass, whose matrices are summed [kg, kg·m, kg·m²]."""
    drag: tuple[DragElement, ...] = ()
    """Elements of drag and damping, whose wrenches are summed [N, N·m]."""
    buoyancy: tuple[str, ...] = ()
    """Names of the shapes of the body that displace water, in place of `volume` and `buoyancy_center`; overlaps count twice."""
    derived: Annotated[bool, Hidden()] = field(default=False, repr=False, compare=False)
    """True if volume and centre of buoyancy follow from `buoyancy`; set by the body."""

    def __post_init__(self) -> None:
        convert_fields(self, "hydro")
        for name, kinds in (("added_mass", get_args(AddedMassElement)), ("drag", DragElement)):
            value = getattr(self, name)
            elements = tuple(value) if isinstance(value, list | tuple) else (value,)
            for element in elements:
                if not isinstance(element, kinds):
                    raise ValueError(f"hydro.{name} contains {element!r}; use elements of hydromechs.{name}")
            object.__setattr__(self, name, elements)
        names = (self.buoyancy,) if isinstance(self.buoyancy, str) else tuple(self.buoyancy)
        object.__setattr__(self, "buoyancy", names)

    @property
    def own_shapes(self) -> dict[str, Placed]:
        """Inline shapes of elements, keyed by the path of the element, such as "drag.0"."""
        elements = [(f"{key}.{k}", e) for key in ("added_mass", "drag") for k, e in enumerate(getattr(self, key))]
        return {key: e.shape for key, e in elements if isinstance(getattr(e, "shape", None), Placed)}

    def on(self, shapes: Iterable[BodyShape]) -> Hydro:
        """Return the data with shape references resolved to the shapes of a body; unknown names stay unresolved."""
        known = {shape.name: Placed(shape=shape.shape, origin=shape.origin) for shape in shapes}
        new: dict[str, Any] = {}
        for name in ("added_mass", "drag"):
            elements = getattr(self, name)
            if any(isinstance(getattr(e, "shape", None), str) for e in elements):
                new[name] = tuple(replace(e, placed=known.get(e.shape)) if hasattr(e, "placed") else e for e in elements)
        wet = [known[name].integrals() for name in self.buoyancy if name in known]
        if wet and (self.derived or not self.volume):
            volume = sum(part.volume for part in wet)
            center = sum((part.volume / volume * part.center for part in wet), np.zeros(3))
            new |= {"volume": volume, "buoyancy_center": tuple(center.tolist()), "derived": True}
        return replace(self, **new) if new else self


@runtime_checkable
class HydroModel(Protocol):
    """Custom hydrodynamics of a `Body` in place of `Hydro`, written in NumPy operations on a `hydromechs.hydro.WetMotion`."""

    def added_mass(self, body: Body, motion: Any) -> np.ndarray:
        """Return the added mass about the body origin in body axes, linear first [kg, kg·m, kg·m²], shape (6, 6), symmetric."""

    def wrench(self, body: Body, motion: Any) -> np.ndarray:
        """Return the wrench of all other hydrodynamic forces about the body origin, in body axes [N, N·m], shape (6,)."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A named frame on a body, such as an end effector, a sensor or a thruster mount."""

    name: str
    """Name, unique in the model."""
    origin: Annotated[Origin, Inline()] = field(default_factory=Origin)
    """Pose of the frame on the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """One rigid body and the joint that carries it."""

    name: str
    """Name, unique in the model; not "world"."""
    parent: Annotated[str, Ref("body")] | None = None
    """Name of the parent body; the world if omitted or "world"."""
    joint: Annotated[Joint | Composite, Required()] = None  # type: ignore[assignment]  # None becomes a joint in __post_init__
    """Joint between the body and its parent."""
    inertia: Inertia = field(default_factory=lambda: Inertia(mass=0.0))
    """Mass properties; omitted for a massless body that only carries other bodies."""
    hydro: Hydro | HydroModel | None = None
    """Hydrodynamics; the body is dry if omitted."""
    frames: tuple[Frame, ...] = ()
    """Frames on the body, with names unique in the model [m, rad]."""
    shapes: tuple[BodyShape, ...] = ()
    """Shapes keyed by name, each with roles: contact, wetting, appearance."""

    flexible: Beam | ModalLink | None = None
    """Flexible link on the body; sections and the tip, "NAME.tip", become bodies. The body is rigid if omitted."""

    def __post_init__(self) -> None:
        if self.parent == "world":
            object.__setattr__(self, "parent", None)
        if self.joint is None:
            if self.parent is not None:
                raise ValueError(f"body {self.name!r} has a parent but no joint; set one of hydromechs.joints")
            object.__setattr__(self, "joint", Free())
        for name in ("frames", "shapes"):
            value = getattr(self, name)
            if not isinstance(value, list | tuple):
                raise ValueError(f"body {self.name!r}: {name} is {value!r}, must be a list")
            object.__setattr__(self, name, tuple(value))
        object.__setattr__(self, "shapes", named_shapes(self.shapes))
        if isinstance(self.hydro, Hydro):
            object.__setattr__(self, "hydro", self.hydro.on(self.shapes))
