"""Sections of a scenario file: each expands into components or blocks, and the writer groups them back. The only such place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hydromechs import lines
from hydromechs.actuation import ExternalWrench, JointFriction, JointMotion, JointStops, Thruster
from hydromechs.actuation.drives import Drive
from hydromechs.contact import BodyContact, Holding, LinearContact, Material, PointContact, Terrain
from hydromechs.contact.ground import MATERIALS, generated, grid_on_lines, read_heights
from hydromechs.contact.terrain import HeightField
from hydromechs.errors import Fault, FieldError, ScenarioError, UnsupportedFeature
from hydromechs.model.code import is_foreign
from hydromechs.model.component import Component
from hydromechs.navigation import Navigation
from hydromechs.registry import show
from hydromechs.scenario import ComponentSpec, ControllerSpec, Scenario
from hydromechs.sensors import Sensor
from hydromechs.simulation import Block
from hydromechs.values import field_texts

from ._convert import fields_of, written
from ._emit import Block as Lines
from ._emit import Rows
from ._messages import dotted, nearest
from ._relative import relative

if TYPE_CHECKING:
    from ._scenario_read import Reader

__all__ = ["Sections", "grouped"]

SECTIONS = ("terrain", "points", "bodies", "thrusters", "joints", "external", "grasps", "tethers", "components")
"""Sections of components, in the order in which they expand."""
JOINT_KEYS = ("drive", "motion", "friction", "stops")
"""Keys of a joint in the section `joints`."""


class Sections:
    """The parts of a file, from its sections.

    Args:
        reader: Makes objects and collects problems.
        file: The file as the schema has it.
    """

    def __init__(self, reader: Reader, file: Any) -> None:
        self.reader, self.file = reader, file
        self.components: list[Component | ComponentSpec] = []
        """Components, in the order of the sections."""
        self.blocks: list[Block] = []
        """Sensors, then navigation, then the controller."""
        self.materials = {name: self._material(name, entry) for name, entry in file.materials.items()}
        self._terrain()
        self._contact()
        self._thrusters()
        self._joints()
        for i, name in enumerate(file.external):
            self._put(ExternalWrench(body=name), ("external", reader.index("external", i)))
        for section in ("grasps", "tethers", "components"):
            make = {"tethers": self._tether, "components": self._component}.get(section, reader.made)
            for i, entry in enumerate(getattr(file, section)):
                path = (section, reader.index(section, i))
                self._put(make(path, entry), path)
        reader.places["blocks",] = ("sensors",)
        for i, entry in enumerate(file.sensors):
            path = ("sensors", reader.index("sensors", i))
            self._add_block(reader.made(path, entry), path)
        if file.navigation is not None:
            self._add_block(reader.made(("navigation",), file.navigation), ("navigation",))
        if file.controller is not None:
            self._add_block(self._code(("controller",), file.controller), ("controller",))

    def _put(self, part: Any, path: tuple) -> None:
        """Add a component, and where it is in the file; None is one that could not be made."""
        if part is not None:
            self.reader.places["components", len(self.components)] = path
            self.components.append(part)

    def _add_block(self, block: Any, path: tuple) -> None:
        if block is not None:
            self.reader.places["blocks", len(self.blocks)] = path
            self.blocks.append(block)

    def equip(self, vehicles: Iterable[tuple[int, str, Scenario]]) -> None:
        """Add the components of vehicles that come with them; what the file itself has of a thruster or joint stays.

        Args:
            vehicles: Number of each in the file, the prefix of its names, and the vehicle.
        """
        own = [part for part in self.components if isinstance(part, Component)]
        taken = {part.name for part in own}
        taken |= {f"{part.joint}.motion" for part in own if isinstance(part, Drive)}  # one takes the place of the other
        taken |= {part.joint for part in own if isinstance(part, JointMotion)}
        for i, before, vehicle in vehicles:
            for part in vehicle.components:
                named = part.renamed(before) if isinstance(part, Component) else part
                if isinstance(part, Terrain) or (isinstance(named, Component) and named.name in taken):
                    continue
                self._put(named, ("models", i))
        self._sort()

    def _sort(self) -> None:
        """Put the components into the order of the sections, as a file that is written has them."""
        places = [self.reader.places["components", k] for k in range(len(self.components))]
        joints = list(dict.fromkeys(part.joint for part in self.components if _joint_key(part)))  # type: ignore[union-attr]

        def key(k: int) -> tuple[int, int, int]:
            part, section = self.components[k], SECTIONS.index(_section(self.components[k]))
            inner = _joint_key(part)
            return (section, joints.index(part.joint), JOINT_KEYS.index(inner)) if inner else (section, 0, 0)  # type: ignore[union-attr]

        order = sorted(range(len(self.components)), key=key)
        self.components = [self.components[k] for k in order]
        self.reader.places |= {("components", i): places[k] for i, k in enumerate(order)}

    # -- contact ------------------------------------------------------------------------------------------------------------

    def _terrain(self) -> None:
        for i, entry in enumerate(self.file.terrain):
            path = ("terrain", self.reader.index("terrain", i))
            self._put(self._solid(path, entry), path)
        self.solids: dict[str, Any] = {part.name: part for part in self.components}  # type: ignore[union-attr]  # terrain

    def _contact(self) -> None:
        given = {} if self.file.contact is None else fields_of(self.file.contact)
        for i, name in enumerate(given.get("points", ())):
            self._put(PointContact(frame=name), ("contact", "points", i))
        if given.get("bodies") and "material" not in given and "contact" not in self.reader.broken:
            remedy = "add it"
            text = f"contact.bodies needs contact.material, the name of one of materials; {remedy}"
            self.reader.add(Fault(("contact",), text, remedy=remedy))
        material = self._named_material(("contact", "material"), given.get("material"))
        if material is not None and not given.get("bodies"):
            text = (
                "contact.material is how bodies meet each other, but no pair of bodies can touch; name pairs in contact.bodies"
            )
            self.reader.add(Fault(("contact", "material"), text))
        for i, pair in enumerate(given.get("bodies", ()) if material is not None else ()):
            part = self.reader.make(("contact", "bodies", i), BodyContact, {"bodies": pair, "material": material})
            self._put(part, ("contact", "bodies", i))

    def _material(self, name: str, entry: Any) -> Material | None:
        path = ("materials", name)
        law = self.reader.made((*path, entry.wraps), getattr(entry, entry.wraps))
        friction = None if entry.friction is None else self.reader.made((*path, "friction"), entry.friction)
        if law is None or (friction is None and entry.friction is not None):
            return None
        return Material(law=law, friction=friction)

    def _named_material(self, path: tuple, name: str | None) -> Material | None:
        if name is None or (name not in self.materials and "materials" in self.reader.broken):
            return None
        if name not in self.materials and name in MATERIALS:
            return MATERIALS[name]
        if name not in self.materials:
            remedy = f"there are {', '.join([*self.materials, *MATERIALS])}: add it to materials, or take one of these"
            what = (
                f"{dotted(path)} is {show(name)}, but there is no such material{nearest(name, [*self.materials, *MATERIALS])}"
            )
            self.reader.add(Fault(path, f"{what}; {remedy}", name, remedy=remedy))
        return self.materials.get(name)

    def _solid(self, path: tuple, entry: Any) -> Any:
        material = self._named_material((*path, "material"), entry.material)
        if material is None:
            self.reader.broken.add("terrain")
        some = material or Material(law=LinearContact(stiffness=1.0))  # so that the faults of the solid are found, too
        inner = getattr(entry, entry.wraps)
        inside = fields_of(inner, (*path, entry.wraps))
        if inner.kind.cls is HeightField and not self._heights((*path, entry.wraps), inside):
            self.reader.broken.add("terrain")
            return None
        fields = {**inside, "name": entry.name, "material": some}
        solid = self.reader.make((*path, entry.wraps), inner.kind.cls, fields)
        return None if material is None else solid

    def _tether(self, path: tuple, entry: Any) -> Any:
        """A tether, with the terrain that it names."""
        inner, path = getattr(entry, entry.wraps), (*path, entry.wraps)
        given = fields_of(inner, path, self.reader.make)
        for k, name in enumerate(given.get("ground", ())):
            if name not in self.solids and "terrain" not in self.reader.broken:
                where = (*path, "ground", k)
                hint = nearest(name, self.solids)
                text = f"{dotted(where)} is {show(name)}, but there is no such terrain{hint}; add it to terrain"
                self.reader.add(Fault(where, text, name))
        if "ground" in given:
            given["ground"] = tuple(self.solids[name] for name in given["ground"] if name in self.solids)
        needed = {f.name for f in fields(inner.kind.cls) if f.default is MISSING}
        return (
            self.reader.make(path, inner.kind.cls, given) if given.keys() >= needed else None
        )  # an invalid part has been reported already

    def _heights(self, path: tuple, fields: dict[str, Any]) -> bool:
        """Put the heights of a file or a generator, and their grid, into the fields of a field; whether there are any."""
        file, made = fields.pop("file", None), fields.pop("generate", None)
        given_with = {key: fields.pop(key) for key in ("low", "high", "spacing") if key in fields}
        sources = [
            name
            for name, given in (("heights", fields.get("heights")), ("file", file), ("generate", made))
            if given is not None
        ]
        if len(sources) != 1:
            words = (
                "needs heights, file or generate; add one of them"
                if not sources
                else f"has {' and '.join(sources)}; keep one of them"
            )
            self.reader.add(Fault(path, f"{dotted(path)} {words}"))
            return False
        if given_with and file is None:
            words = f"has {' and '.join(given_with)}, which only go with file; leave them out"
            self.reader.add(Fault(path, f"{dotted(path)} {words}"))
            return False
        for axis in "xy" if file is None else "":
            if axis not in fields:
                remedy = f"add it: {field_texts(HeightField)[axis]}"
                self.reader.add(Fault((*path, axis), f"{dotted(path)}: the key {axis!r} is missing; {remedy}", remedy=remedy))
        if "heights" in fields or (file is None and not fields.keys() >= {"x", "y"}):
            return fields.keys() >= {"x", "y"}
        try:
            if made is not None:
                fields["x"], fields["y"], heights = generated(fields["x"], fields["y"], made)
            else:
                x, y = (fields.get(axis) for axis in "xy")
                ends = ((float(x[0]), float(x[-1])), (float(y[0]), float(y[-1]))) if x and y else None
                grid = grid_on_lines(read_heights(self.reader.folder / file, ends, **given_with), file, x, y)
                fields["x"], fields["y"], heights = np.array(grid.x).tolist(), np.array(grid.y).tolist(), grid.heights
        except FieldError as e:
            where = (*path, e.name) if file or e.name in ("x", "y") else (*path, *sources, e.name)
            self.reader.add(Fault(where, f"{dotted(where)} {e.said}", e.value, e.must))
            return False
        except ValueError as e:
            self.reader.add(Fault((*path, *sources), f"{dotted((*path, *sources))}: {e}", file or str(made)))
            return False
        fields["heights"] = heights.tolist()
        return True

    # -- actuators ----------------------------------------------------------------------------------------------------------

    def _thrusters(self) -> None:
        for i, entry in enumerate(self.file.thrusters):
            path = ("thrusters", self.reader.index("thrusters", i))
            given = fields_of(entry, path, self.reader.make)
            frames = given.pop("frames", None)
            for k, frame in enumerate([given["frame"]] if frames is None else frames):
                one = {"name": frame, **given, "frame": frame}
                thruster = self.reader.make(path, Thruster, one) if "curve" in one else None
                if thruster is None:
                    break
                self._put(thruster, path if frames is None else (*path, "frames", k))

    def _joints(self) -> None:
        for name, entry in self.file.joints.items():
            for key in JOINT_KEYS:
                value = getattr(entry, key)
                path: tuple = ("joints", name, key)
                if value is None:
                    continue
                if key == "motion" and value.wraps == "recorded_file":
                    value.recorded_file.file = str(self.reader.folder / value.recorded_file.file)
                if value == "none":
                    self._put(JointFriction(joint=name) if key == "friction" else JointStops(joint=name), ("joints", name))
                elif key == "motion":
                    motion = self.reader.made(path, value)
                    self._put(None if motion is None else JointMotion(joint=name, motion=motion), ("joints", name))
                else:
                    inner = getattr(value, value.wraps) if value.wraps else value
                    at = (*path, value.wraps) if value.wraps else path
                    given = fields_of(inner, at, self.reader.make)
                    self._put(self.reader.make(at, inner.kind.cls, {**given, "joint": name}), ("joints", name))

    # -- components and code ------------------------------------------------------------------------------------------------

    def _component(self, path: tuple, entry: Any) -> Any:
        """A component in its plain form, or one that is named by its class; those of this package are made here."""
        if entry.kind.cls is BodyContact:
            given = fields_of(entry, path, self.reader.make)
            given["material"] = self._named_material((*path, "material"), given["material"])
            return None if given["material"] is None else self.reader.make(path, BodyContact, given)
        if entry.kind.cls is not ComponentSpec:
            return self.reader.made(path, entry)
        spec = self._code(path, entry)
        if spec is None or is_foreign(spec.type) or ":" not in spec.type:
            return spec
        try:
            return spec.make(path[1])
        except ScenarioError as e:
            for fault in e.faults:
                self.reader.add(fault)
        return None

    def _code(self, path: tuple, entry: Any) -> Any:
        """A reference to Python code, with the path of its file made absolute and its place in this file."""
        file, colon, name = entry.type.rpartition(":")
        if colon and file.endswith(".py"):
            entry.type = f"{(self.reader.folder / file).absolute()}:{name}"
        spec = self.reader.made(path, entry)
        line = self.reader.document.line((*path, "type"))
        return spec if spec is None or self.reader.code else replace(spec, locked=f"{self.reader.source}, line {line}")


# -- writing ----------------------------------------------------------------------------------------------------------------


def grouped(scenario: Scenario, folder: str | Path | None) -> dict[str, Any]:
    """Return what a file writes of components and blocks, by section.

    Args:
        scenario: The scenario.
        folder: Where the file will be; paths are written relative to it. As they are unless given.
    """
    out: dict[str, Any] = {"terrain": Rows(), "contact": {}, "thrusters": Rows(), "joints": Lines(), "grasps": Rows()}
    out |= {"tethers": Rows(), "external": [], "components": Rows(), "controller": None, "sensors": Rows(), "navigation": None}
    materials = _materials(scenario)
    for i, part in enumerate(scenario.components):
        _write_component(out, i, part, materials, folder)
    for block in scenario.blocks:
        if isinstance(block, Sensor):
            out["sensors"].append(written(block, f"sensor {block.name!r}"))
        elif isinstance(block, Navigation):
            out["navigation"] = written(block) or {"read": block.read}
        elif out["controller"] is not None:
            raise UnsupportedFeature(f"block {block.name!r}: a scenario file holds one controller; join them by type together")
        else:
            out["controller"] = _written_code("controller", block, folder)
    return {"materials": Lines((name, _written_material(m)) for name, m in materials.items()), **out}


def _write_component(out: dict[str, Any], i: int, part: Any, materials: dict[str, Material], folder: str | Path | None) -> None:
    """Add a component to its section."""
    section, contact = _section(part), out["contact"]
    if section == "terrain":
        out[section].append(_written_solid(part, materials))
    elif section == "points":
        contact.setdefault(section, []).append(part.frame)
    elif section == "bodies":
        material = _name_of(part.material, materials)
        if contact.setdefault("material", material) == material:
            contact.setdefault(section, []).append(list(part.bodies))
        else:
            out["components"].append(written(part) | {"material": material})
    elif section == "thrusters":
        _write_thruster(out[section], part)
    elif section == "joints":
        key, what = _joint_key(part), f"the {_joint_key(part)} of joint {part.joint!r}"
        inner = part.motion if isinstance(part, JointMotion) else part
        none = isinstance(part, JointFriction | JointStops) and not part.acts
        out[section].setdefault(part.joint, {})[key] = "none" if none else written(inner, what)
    elif section == "external":
        out[section].append(part.body)
    elif section == "grasps" or section == "tethers":
        out[section].append(written(part, f"{section[:-1]} {part.name!r}"))
    elif isinstance(part, ComponentSpec):
        out[section].append(_written_code(f"components.{i}", part, folder))
    else:
        try:
            out[section].append(written(part, f"components.{i}"))
        except UnsupportedFeature:
            raise _not_written(f"components.{i}", part) from None


def _section(part: Any) -> str:
    """Section of a component: that in which a file is shortest."""
    if _joint_key(part):
        return "joints"
    kinds: dict[Any, str] = {
        Terrain: "terrain",
        PointContact: "points",
        BodyContact: "bodies",
        Thruster: "thrusters",
        Holding: "grasps",
    }
    kinds |= {lines.Tether | lines.HangingLine: "tethers", ExternalWrench: "external"}
    return next((section for kind, section in kinds.items() if isinstance(part, kind)), "components")


def _joint_key(part: Any) -> str:
    """Key under which a joint has a component; empty for none."""
    if isinstance(part, Drive):
        return "drive"
    if isinstance(part, JointMotion):
        return "motion" if part == JointMotion(joint=part.joint, motion=part.motion) else ""
    if isinstance(part, JointFriction):
        return "" if part.armature else "friction"
    return "stops" if isinstance(part, JointStops) else ""


def _materials(scenario: Scenario) -> dict[str, Material]:
    """A name for each material: that of the first terrain that is made of it."""
    used = [(solid.name, solid.material) for solid in scenario.parts(Terrain)]
    used += [("bodies", part.material) for part in scenario.parts(BodyContact)]
    out: dict[str, Material] = {}
    for name, material in used:
        if material not in out.values():
            while name in out:
                name += "_2"
            out[name] = material
    return out


def _name_of(material: Material, materials: dict) -> str:
    return next(name for name, m in materials.items() if m == material)


def _written_material(material: Material) -> dict[str, Any]:
    out = written(material.law, "a material")
    return out if material.friction is None else {**out, "friction": written(material.friction)}


def _written_solid(solid: Terrain, materials: dict[str, Material]) -> dict[str, Any]:
    out = {"name": solid.name, "material": _name_of(solid.material, materials)}
    shape = written(solid, f"terrain {solid.name!r}")
    return Lines(out | shape) if any(isinstance(given, Lines) for given in shape.values()) else out | shape


def _write_thruster(out: Rows, thruster: Thruster) -> None:
    """Add a thruster; those in a row that are alike and have the names of their frames are in a group."""
    given = written(thruster)
    if "frames" in given and out and out[-1] == given | {"frames": out[-1].get("frames")}:
        out[-1]["frames"] += given["frames"]
    else:
        out.append(given)


def _written_code(what: str, spec: Any, folder: str | Path | None) -> dict[str, Any]:
    """A controller or component, which must be given by the name of its class."""
    if not isinstance(spec, ControllerSpec | ComponentSpec):
        raise _not_written(what, getattr(spec, "controller", spec))
    file, colon, name = spec.type.rpartition(":")
    out = Lines(type=f"{relative(file, folder)}:{name}" if colon and file.endswith(".py") else spec.type)
    if isinstance(spec, ControllerSpec):
        out["period"] = spec.period
    if spec.parameters:
        out["parameters"] = Lines((key, _data(f"{what}.parameters.{key}", x)) for key, x in spec.parameters.items())
    return out


def _data(what: str, value: Any) -> Any:
    """Plain data of a parameter."""
    if isinstance(value, dict):
        return {str(key): _data(f"{what}.{key}", x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_data(what, x) for x in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise UnsupportedFeature(f"{what} is {value!r}; a scenario file holds numbers, texts, lists and mappings")


def _not_written(what: str, thing: Any) -> UnsupportedFeature:
    return UnsupportedFeature(
        f"{what} is {thing!r}, a Python object, which a scenario file cannot hold; "
        "put it in a module and give a ControllerSpec or ComponentSpec with its name"
    )
