"""Sections of a scenario file, which `_scenario_read` expands: keys, order, and grouping in written files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from hydromechs.actuation import ExternalWrench, JointFriction, JointMotion, JointStops, Thruster
from hydromechs.actuation.drives import Drive
from hydromechs.actuation.motions import Motion
from hydromechs.contact import (
    MATERIALS,
    BodyContact,
    CollisionGroup,
    ContactExclusion,
    Holding,
    Material,
    PointContact,
    Terrain,
)
from hydromechs.errors import UnsupportedFeature
from hydromechs.hybrid import Hybrid
from hydromechs.hydro import Environment
from hydromechs.integrators import Integrator, RungeKutta4
from hydromechs.lines import HangingLine, Tether
from hydromechs.model.component import Component
from hydromechs.recording import WARNING_KINDS, Check
from hydromechs.registry import ByName, Inline, Pattern, Required, Writer
from hydromechs.scenario import FAMILIES, Randomisation, Scenario, WorldSettings
from hydromechs.sensors import Sensor
from hydromechs.simulation import Block, Event
from hydromechs.values import Bound, Checked, Finite, Positive, Vector3, Vector4, Vector6, check_fields

from ._file_kinds import FILE_KINDS
from ._write import Block as Lines

SCENARIO_KEY, SCENARIO_VERSION = FILE_KINDS["scenario"].key, FILE_KINDS["scenario"].version
"""First key of a scenario file, and the supported version."""
SECTIONS = (
    *("terrain", "points", "bodies", "groups", "exclude", "thrusters", "joints", "external", "grasps", "tethers"),
    "components",
)
"""Component sections in the order of expansion, which determines the layout of a compiled program."""
JOINT_KEYS: dict[str, type] = {"drive": Drive, "motion": Motion, "friction": JointFriction, "stops": JointStops}
"""Keys of a joint in the section `joints`, with their types."""


# -- keys of the sections ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class ModelKeys(Checked):
    """Model of a scenario and its initial state. Omitted keys default to the values in the model."""

    name: str
    """Name in the scenario. In a scenario with several models, the name is the prefix of all names: "rov.gripper"."""
    model: str = ""
    """Name of a library model, or path of a model file relative to the scenario file."""
    plant: str = ""
    """Alternative to model: name of a library vehicle with its actuators, or path of a scenario file with one model.
    Components of the scenario file are included; thrusters and joints of this file override them."""
    mount: str = ""
    """Frame or body of another model that carries this model, such as rov.arm_mount.

    A free root is fixed to the frame; any other root joint, such as a turntable, moves relative to the frame. Excludes
    position, orientation and velocity.
    """
    position: Vector3 | None = None
    """Position in world axes [m], of the free root or, for a model without one, of the base that carries the roots."""
    heading_deg: Finite | None = None
    """Heading [°], with zero roll and pitch. Excludes rpy_deg and quaternion."""
    rpy_deg: Vector3 | None = None
    """Roll, pitch, yaw [°]. Excludes heading_deg and quaternion."""
    quaternion: Vector4 | None = None
    """Unit quaternion (w, x, y, z), body to world. Excludes heading_deg and rpy_deg."""
    velocity: Vector6 | None = None
    """Velocity of the free root, in body axes [m/s, rad/s]."""
    joints: Mapping[str, Any] = field(default_factory=dict)
    """Initial joint positions, keyed by name of the body that the joint carries: a number [rad or m], or {rpy_deg: [...]}
    or {quaternion: [...]} for a ball joint; body.2 is the second part of a composite joint."""
    joint_velocities: Mapping[str, Any] = field(default_factory=dict)
    """Initial joint velocities, keyed by the name of the carried body: a number [rad/s or m/s], or three numbers for a
    ball joint, in body axes [rad/s]."""


@dataclass(frozen=True, kw_only=True)
class ContactKeys:
    """Contacts in addition to those between shapes of bodies and terrain."""

    points: tuple[str, ...] = ()
    """Names of frames, such as feet, whose origins are contact points with terrain."""
    bodies: tuple[Any, ...] = ()
    """Pairs of bodies with contact between them."""
    groups: tuple[Any, ...] = ()
    """Collision groups: lists of bodies that can all touch each other, or all for every body with shapes for contact. Bodies
    that a joint connects do not touch."""
    exclude: tuple[Any, ...] = ()
    """Pairs of bodies of the groups that do not touch each other."""
    material: Annotated[Material | None, ByName()] = None
    """Material of contacts between bodies: one of materials, or concrete, rock, sand, mud, steel, rubber."""


@dataclass(frozen=True, kw_only=True)
class ThrusterKeys:
    """One thruster, or several identical thrusters."""

    frames: tuple[str, ...] = ()
    """Frames of several identical thrusters, which have the names of their frames; replaces frame."""
    thruster: Annotated[Thruster | None, Inline()] = None
    """Properties of the thruster; its frame defaults to its name."""


@dataclass(frozen=True, kw_only=True)
class JointKeys:
    """Drive, prescribed motion, friction and stops of a joint."""

    drive: Drive | None = None
    """Drive of the joint; none if omitted."""
    motion: Motion | None = None
    """Motion prescribed as a function of time; none if omitted. Excludes a drive."""
    friction: JointFriction | None = None
    """Friction of the joint, or none. Defaults to the friction in the model."""
    stops: JointStops | None = None
    """Stops of the joint, or none. Defaults to soft stops at the limits in the model."""


@dataclass(frozen=True, kw_only=True)
class RunKeys:
    """Settings of a run."""

    integrator: Integrator = field(default_factory=RungeKutta4)
    """Integrator."""
    engine: Hybrid | None = None
    """Third-party physics engine; defaults to the engine of HydroMechs."""
    step: Positive = Scenario.step
    """Step size of the integrator or engine [s]."""
    record: Positive = Scenario.record
    """Time between two samples of the recording, an integer multiple of the step [s]."""
    duration: Annotated[Positive, Required()] = Scenario.duration
    """Duration of the simulation [s]."""
    seed: Annotated[int, Bound(least=0, whole=True)] = 0
    """Random seed of gusts, waves and sensors."""

    def __post_init__(self) -> None:
        check_fields(self, "run")


@dataclass(frozen=True, kw_only=True)
class ScenarioFile:
    """Mission: models in water with forces and actuators, duration, and checks."""

    name: str
    """Name of the scenario."""
    title: str = ""
    """One-line description of the mission."""
    description: str = ""
    """Explanation of the purpose of the mission."""
    models: tuple[ModelKeys, ...]
    """Models with their initial states."""
    world: WorldSettings | None = None
    """Gravity and water density of the scenario. If omitted, gravity and water density of all models must be equal."""
    environment: Environment = field(default_factory=Environment)
    """Water: surface, current, gusts and waves."""
    materials: tuple[tuple[str, Material], ...] = ()
    """Materials of surfaces."""
    terrain: tuple[Terrain, ...] = ()
    """Fixed terrain with contact."""
    contact: ContactKeys = field(default_factory=ContactKeys)
    """Contacts in addition to those between shapes and terrain."""
    thrusters: tuple[tuple[str, ThrusterKeys], ...] = ()
    """Thrusters on frames."""
    joints: tuple[tuple[str, JointKeys], ...] = ()
    """Drives, prescribed motions, friction and stops of joints, keyed by name of the body that the joint carries."""
    external: tuple[str, ...] = ()
    """Names of bodies with external wrenches."""
    grasps: tuple[Holding, ...] = ()
    """Rigid grasps and soft grips."""
    tethers: tuple[Tether | HangingLine, ...] = ()
    """Tethers to a ship or to another body."""
    components: tuple[Component, ...] = ()
    """Components without shorthand; the component sections above are shorthand for this section."""
    sensors: tuple[Sensor, ...] = ()
    """Sensors; shorthand for blocks."""
    blocks: tuple[Block, ...] = ()
    """Sensors, navigation filter and controllers."""
    commands: tuple[tuple[str, Finite], ...] = ()
    """Initial commands, keyed by actuator name [unit of the actuator]."""
    events: tuple[Event, ...] = ()
    """Events to detect during the run."""
    randomisation: Randomisation | None = None
    """Random variation between learning episodes; no effect on other runs."""
    run: Annotated[RunKeys, Required()] = field(default_factory=RunKeys)
    """Settings of the run."""
    checks: tuple[Check, ...] = ()
    """Checks of the recording."""
    expected_warnings: tuple[
        Annotated[str, Pattern("|".join(WARNING_KINDS), f"must be one of {', '.join(WARNING_KINDS)}")], ...
    ] = ()
    """Kinds of warnings expected in the mission, for example joint_stop if a joint reaches its stop as intended."""


# -- order -------------------------------------------------------------------------------------------------------------


def section_of(part: Any) -> str:
    """Return the section of a component that gives the shortest file."""
    if _joint_key(part):
        return "joints"
    kinds: dict[Any, str] = {
        Terrain: "terrain",
        PointContact: "points",
        BodyContact: "bodies",
        CollisionGroup: "groups",
        ContactExclusion: "exclude",
        Thruster: "thrusters",
        ExternalWrench: "external",
        Holding: "grasps",
        Tether | HangingLine: "tethers",
    }
    return next((section for kind, section in kinds.items() if isinstance(part, kind)), "components")


def _joint_key(part: Any) -> str:
    """Return the key of a joint that contains a component; empty if no key does."""
    if isinstance(part, Drive):
        return "drive"
    if isinstance(part, JointMotion):
        return "motion" if part == JointMotion(joint=part.joint, motion=part.motion) else ""
    if isinstance(part, JointFriction):
        return "" if part.armature else "friction"
    return "stops" if isinstance(part, JointStops) else ""


def in_order(parts: Iterable[Component]) -> list[Component]:
    """Return components in the order of the sections; components of a joint are adjacent."""
    parts = list(parts)
    joints: list[Any] = list(dict.fromkeys(part.joint for part in parts if _joint_key(part)))  # type: ignore[attr-defined]

    def key(part: Any) -> tuple[int, int, int]:
        section, inner = SECTIONS.index(section_of(part)), _joint_key(part)
        return (section, joints.index(part.joint), list(JOINT_KEYS).index(inner)) if inner else (section, 0, 0)

    return sorted(parts, key=key)


# -- writing -----------------------------------------------------------------------------------------------------------


def grouped(scenario: Scenario, writer: Writer, plain: bool) -> dict[str, Any]:
    """Return components and blocks, keyed by section of a file; with `plain`, only sections `components` and `blocks`."""
    out: dict[str, Any] = {key: Lines() for key in ("terrain", "contact", "thrusters", "joints", "grasps", "tethers")}
    out |= {"external": [], "components": Lines(), "sensors": Lines(), "blocks": Lines()}
    for part in scenario.components:
        section = "components" if plain else section_of(part)
        if section in ("bodies", "groups") and out["contact"].get("material", part.material) != part.material:  # type: ignore[attr-defined]
            section = "components"  # the section has one material
        _write_component(out, section, part, writer)
    for block in scenario.blocks:
        section = "sensors" if isinstance(block, Sensor) and not plain else "blocks"
        family = Sensor if section == "sensors" else Block
        _put(out[section], block.name, writer.part(block, _family(family), (section, block.name), ("name",)), section)
    if "material" in out["contact"]:
        out["contact"]["material"] = writer.value(out["contact"]["material"], Material, ("contact", "material"))
    return {key: value for key, value in out.items() if value}


def _write_component(out: dict[str, Any], section: str, part: Any, writer: Writer) -> None:
    if section == "points":
        out["contact"].setdefault("points", []).append(part.frame)
    elif section == "bodies":
        out["contact"].setdefault("bodies", []).append(list(part.bodies))
        out["contact"]["material"] = part.material
    elif section == "groups":
        out["contact"].setdefault("groups", []).append(list(part.bodies) or "all")
        out["contact"]["material"] = part.material
    elif section == "exclude":
        out["contact"].setdefault("exclude", []).append(list(part.bodies))
    elif section == "thrusters":
        _write_thruster(out[section], part, writer)
    elif section == "joints":
        key, path = _joint_key(part), (section, part.joint, _joint_key(part))
        inner = part.motion if key == "motion" else part
        out[section].setdefault(part.joint, {})[key] = writer.part(inner, _family(JOINT_KEYS[key]), path)
    elif section == "external":
        out[section].append(part.body)
    else:
        base = {"terrain": Terrain, "grasps": Holding, "tethers": Tether | HangingLine}.get(section, Component)
        written = writer.part(part, _family(base), (section, part.name), ("name",))
        _put(out[section], part.name, written, section)


def _put(out: Lines, name: str, written: Any, section: str) -> None:
    if name in out:
        raise UnsupportedFeature(f"{section}.{name}: the name is used twice; rename one of them")
    out[name] = written


def _family(base: Any) -> Any:
    return FAMILIES.of(base)


def _write_thruster(out: Lines, thruster: Thruster, writer: Writer) -> None:
    """Add a thruster; consecutive identical thrusters with the names of their frames form a group."""
    given = writer.fields(thruster, ("thrusters", thruster.name), ("name", "frame"))
    last = out[next(reversed(out))] if out else {}
    if thruster.name != thruster.frame:
        _put(out, thruster.name, {"frame": thruster.frame, **given}, "thrusters")
    elif "frames" in last and {**last, "frames": None} == {"frames": None, **given}:
        last["frames"].append(thruster.frame)
    else:
        _put(out, _group_name(out, thruster.name), {"frames": [thruster.frame], **given}, "thrusters")


def _group_name(out: Lines, name: str) -> str:
    taken = {*out, *(frame for group in out.values() for frame in group.get("frames", ()))}
    base = name.rstrip("0123456789_") or "thrusters"
    return next(n for n in (f"{base}s", *(f"{base}s_{k}" for k in range(2, len(taken) + 3))) if n not in taken)


def named_materials(scenario: Scenario) -> dict[str, Material]:
    """Return a name for each material: its predefined name, or the name of the first terrain that uses it."""
    used = [(solid.name, solid.material) for solid in scenario.parts(Terrain)]
    used += [("bodies", part.material) for part in scenario.parts(BodyContact)]
    used += [("bodies", part.material) for part in scenario.parts(CollisionGroup)]
    out: dict[str, Material] = {}
    for name, material in used:
        if material not in out.values() and material not in MATERIALS.values():
            while name in out or name in MATERIALS:
                name += "_2"
            out[name] = material
    return out
