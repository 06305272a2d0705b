"""The scenario file as pydantic classes: water, terrain, contact, thrusters and joints."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, create_model
from pydantic_core import PydanticCustomError

from ._schema import Entry, Number, Vector3, _choice

__all__ = ["ActuationEntry", "ContactEntry", "EnvironmentEntry", "GraspEntry", "Material", "Positive", "Terrain", "Thrusters"]

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Numbers = list[Number]


def _one_of(group: str, must: str, base: type[Entry] = Entry, **kinds):
    """A mapping that has exactly one of several keys, besides those of `base`: (class, description) by key."""
    variants = {
        key: create_model(
            f"{group.title().replace(' ', '')}{key.title().replace('_', '')}Entry",
            __base__=base,
            __doc__=kind.__doc__,
            **{key: (kind, Field(description=text))},
        )
        for key, (kind, text) in kinds.items()
    }

    def pick(value) -> str | None:
        return next((key for key in variants if isinstance(value, dict) and key in value), None)

    return _choice(group, pick, must, **variants)


def _or_none(group: str, kind: type[Entry]):
    """A mapping, or the word none."""
    keys = ", ".join(kind.model_fields)

    def pick(value) -> str | None:
        return "none" if value == "none" else "some" if isinstance(value, dict) else None

    return _choice(group, pick, f"must be none, or a mapping with the keys {keys}", none=Literal["none"], some=kind)


# -- water --------------------------------------------------------------------------------------------------------------


class PowerLawEntry(Entry):
    """The current falls off towards the bed."""

    depth: Positive = Field(description="Depth of the bed [m].")
    exponent: Positive = Field(1.0 / 7.0, description="Exponent of the power law [-].")


class DepthTableEntry(Entry):
    """Factor on the current by depth."""

    depths: Numbers = Field(description="Depths, increasing [m].")
    factors: Numbers = Field(description="Factor on the velocity at each depth [-].")


Profile = _one_of(
    "profile",
    "must be {power_law: {depth, exponent}} or {table: {depths, factors}}; leave it out for the same current at all depths",
    power_law=(PowerLawEntry, "((D - depth)/D)^exponent of the velocity."),
    table=(DepthTableEntry, "Factor on the velocity from a table."),
)


class CurrentEntry(Entry):
    """A current in world axes: steady, or a table over time."""

    velocity: Vector3 = Field([0.0, 0.0, 0.0], description="Steady velocity at the surface, where the water flows to [m/s].")
    times: Numbers = Field([], description="Times of a table, increasing [s]. Not with velocity.")
    velocities: list[Vector3] = Field([], description="Velocity at each time, linear in between [m/s].")
    profile: Profile = Field(None, description="Factor on the velocity by depth; 1 if left out.")


class GustsEntry(Entry):
    """Random change of the current (first-order Gauss-Markov process)."""

    sigma: Vector3 = Field(description="Standard deviation along each world axis [m/s].")
    time_constant: Positive = Field(description="Time in which the correlation falls to 1/e [s].")
    interval: Positive = Field(description="Time between samples, a whole number of steps [s].")


class RegularWaveEntry(Entry):
    """One sine wave."""

    height: Positive = Field(description="Height from trough to crest [m].")
    period: Positive = Field(description="Period [s].")
    direction_deg: Number = Field(0.0, description="Where it runs to, from x of the world towards y [degrees].")
    phase_deg: Number = Field(0.0, description="Phase at the world's origin at time 0; 0 is a crest [degrees].")


class SeaEntry(Entry):
    """A long-crested random sea."""

    significant_height: Positive = Field(description="Significant wave height [m].")
    peak_period: Positive = Field(description="Period at the peak of the spectrum [s].")
    direction_deg: Number = Field(0.0, description="Where it runs to, from x of the world towards y [degrees].")
    components: int = Field(30, ge=1, le=10_000, description="Number of sine waves.")


class JonswapEntry(SeaEntry):
    """A wind sea with the JONSWAP spectrum."""

    gamma: float = Field(3.3, ge=1, allow_inf_nan=False, description="Enhancement of the peak [-].")


Wave = _one_of(
    "wave",
    "must be {regular: {...}}, {jonswap: {...}} or {pierson_moskowitz: {...}}",
    regular=(RegularWaveEntry, "One sine wave."),
    jonswap=(JonswapEntry, "A wind sea."),
    pierson_moskowitz=(SeaEntry, "A fully developed sea."),
)


class EnvironmentEntry(Entry):
    """The water: still and without end if all is left out."""

    current: CurrentEntry = Field(None, description="The current.")
    gusts: GustsEntry = Field(None, description="Random change of the current.")
    waves: list[Wave] = Field([], description="Waves and seas, which add up.")
    water_depth: Positive = Field(None, description="Depth of the bed for the waves [m]; deep water if left out.")
    surface: Literal["free"] = Field(
        None, description="free: the water ends at its surface. Leave out where bodies stay below."
    )


# -- contact ------------------------------------------------------------------------------------------------------------


class LinearEntry(Entry):
    """Spring and damper that push only."""

    stiffness: Positive = Field(description="Force per depth [N/m].")
    damping: NotNegative = Field(0.0, description="Force per rate of the depth [N·s/m].")


class NonlinearEntry(Entry):
    """Spring whose damping grows with the depth (Marhefka and Orin)."""

    stiffness: Positive = Field(description="Force per depth to the power of the exponent [N/mⁿ].")
    damping_factor: NotNegative = Field(0.0, description="About (1 - restitution)/speed of slow impacts [s/m].")
    exponent: float = Field(1.0, ge=1, allow_inf_nan=False, description="Power of the depth; 1.5 after Hertz [-].")


class DryFrictionEntry(Entry):
    """Coulomb friction with a stick phase."""

    static: NotNegative = Field(description="Coefficient at rest, not below kinetic [-].")
    kinetic: NotNegative = Field(description="Coefficient of sliding [-].")
    stiffness: Positive = Field(description="Force per deflection while it sticks [N/m].")
    damping: Positive = Field(description="Force per rate of the deflection [N·s/m].")
    stribeck_speed: Positive = Field(0.01, description="Speed at which half of the way from static to kinetic is gone [m/s].")


class MaterialEntry(Entry):
    """How surfaces meet."""

    friction: DryFrictionEntry = Field(None, description="Friction; a smooth surface if left out.")


Material = _one_of(
    "material",
    "must have the key linear or nonlinear: {linear: {stiffness, damping}, friction: {...}}",
    base=MaterialEntry,
    linear=(LinearEntry, "Spring and damper."),
    nonlinear=(NonlinearEntry, "Spring with damping that grows with the depth."),
)


class PlaneEntry(Entry):
    """A half space."""

    point: Vector3 = Field([0.0, 0.0, 0.0], description="A point of the plane, in world axes [m].")
    normal: Vector3 = Field(description="Direction out of the solid [-]: [0, 0, -1] is a floor in NED, [0, 0, 1] in ENU.")


class HeightFieldEntry(Entry):
    """A surface by its height over a grid."""

    x: Numbers = Field(description="Grid along x of the world, evenly spaced, rising [m].")
    y: Numbers = Field(description="Grid along y of the world, evenly spaced, rising [m].")
    heights: list[Numbers] = Field(description="Height up from the mean surface, so below 0 under water: a row for each x [m].")


class _PlacedEntry(Entry):
    """What solids share that have a place."""

    position: Vector3 = Field([0.0, 0.0, 0.0], description="Centre in world axes [m].")
    rpy_deg: Vector3 = Field([0.0, 0.0, 0.0], description="Roll, pitch, yaw of its axes [degrees].")


class SolidBoxEntry(_PlacedEntry):
    """A box about its centre."""

    size: Vector3 = Field(description="Edge lengths along x, y, z of its axes [m].")


class SolidCylinderEntry(_PlacedEntry):
    """A cylinder about its centre, along z of its axes."""

    radius: Positive = Field(description="Radius [m].")
    length: Positive = Field(description="Length along z [m].")


class SolidSphereEntry(Entry):
    """A sphere."""

    radius: Positive = Field(description="Radius [m].")
    position: Vector3 = Field([0.0, 0.0, 0.0], description="Centre in world axes [m].")


class TerrainEntry(Entry):
    """Something that stands still and can be touched."""

    name: str = Field(description="Name, unique among the terrain.")
    material: str = Field(description="Name of its material, one of materials.")


Terrain = _one_of(
    "terrain",
    "must have one of the keys plane, height_field, box, cylinder, sphere",
    base=TerrainEntry,
    plane=(PlaneEntry, "A half space."),
    height_field=(HeightFieldEntry, "A surface over a grid."),
    box=(SolidBoxEntry, "A box."),
    cylinder=(SolidCylinderEntry, "A cylinder."),
    sphere=(SolidSphereEntry, "A sphere."),
)


def _two_names(value):
    if not isinstance(value, list) or len(value) != 2:
        raise PydanticCustomError("array", "must be two names of bodies: [a, b]")
    return value


NamePair = Annotated[list[str], Field(min_length=2, max_length=2), BeforeValidator(_two_names)]


class ContactEntry(Entry):
    """What touches besides the shapes of bodies, which touch all terrain."""

    points: list[str] = Field([], description="Names of frames that touch terrain at their origin, as feet do.")
    bodies: list[NamePair] = Field([], description="Pairs of names of bodies that can touch each other.")
    material: str = Field(None, description="Name of the material with which bodies meet each other.")


class GraspEntry(Entry):
    """Two frames held together."""

    name: str = Field(description="Name, unique among the grasps.")
    holder: str = Field(description="Frame or body that holds.")
    held: str = Field(description="Frame or body that is held; the two frames coincide but for the free directions.")
    free: list[Literal["x", "y", "z", "rx", "ry", "rz"]] = Field(
        [], description="Directions along and about the holder's axes that are not held."
    )
    stabilisation: NotNegative = Field(20.0, description="Rate at which drift decays [1/s].")
    tolerance: NotNegative = Field(1e-3, description="Distance and angle within which the frames must meet [m, rad].")
    closed: bool = Field(True, description="Whether it holds from the start; events can close and open it.")


# -- actuation ----------------------------------------------------------------------------------------------------------


class T200Entry(Entry):
    """Blue Robotics T200 as measured; commands are pulse widths of 1100 to 1900 µs."""

    voltage: float = Field(16.0, ge=10, le=20, description="Supply voltage [V].")


class NewtonsEntry(Entry):
    """A thruster that is commanded in newtons."""

    forward: NotNegative = Field(description="Highest force forward [N].")
    reverse: NotNegative = Field(description="Highest force backward, a positive number [N].")


class ThrottleEntry(NewtonsEntry):
    """A thruster that is commanded by a throttle of -1 to 1."""

    dead_band: float = Field(0.0, ge=0, lt=1, description="Throttle up to which there is no force [-].")


class ForceTableEntry(Entry):
    """Force by command from a table, linear in between, constant outside."""

    commands: Numbers = Field(description="Commands, increasing [in the unit].")
    forces: Numbers = Field(description="Force at each command, never decreasing [N].")
    unit: str = Field(description="Unit of the commands, for people.")


Curve = _one_of(
    "curve",
    "must be {t200: {voltage}}, {newtons: {forward, reverse}}, {throttle: {forward, reverse, dead_band}} "
    "or {table: {commands, forces, unit}}",
    t200=(T200Entry, "Measured curve of the T200."),
    newtons=(NewtonsEntry, "Commanded in newtons."),
    throttle=(ThrottleEntry, "Commanded by a throttle."),
    table=(ForceTableEntry, "From a table."),
)


class _ThrusterEntry(Entry):
    curve: Curve = Field(description="Steady force at rest by command.")
    time_constant: NotNegative = Field(0.0, description="Time constant of the force after a change of the command [s].")
    zero_thrust_speed: Positive = Field(
        None, description="Speed through the water at which the full forward thrust vanishes [m/s]; no loss if left out."
    )
    radius: Positive = Field(0.1, description="Radius of the propeller, over which thrust fades as it leaves the water [m].")


class ThrusterEntry(_ThrusterEntry):
    """One thruster."""

    frame: str = Field(description="Named frame of the model; it pushes along the frame's x axis.")
    name: str = Field(None, description="Name of the thruster; that of its frame if left out.")


class ThrustersEntry(_ThrusterEntry):
    """Thrusters that are alike, each with the name of its frame."""

    frames: Annotated[list[str], Field(min_length=1)] = Field(description="Named frames, one thruster on each.")


Thrusters = _choice(
    "thruster",
    lambda value: ("many" if "frames" in value else "one") if isinstance(value, dict) else None,
    "must be a mapping with the keys frames (or frame and name), curve, time_constant, zero_thrust_speed",
    many=ThrustersEntry,
    one=ThrusterEntry,
)


class TorqueEntry(Entry):
    """Ideal source; the command is the torque [N·m] or force [N]."""

    limit: Positive = Field(None, description="Highest torque or force, either way [N·m or N]; none if left out.")


class ServoEntry(TorqueEntry):
    """Position servo; the command is the target position [rad or m]."""

    stiffness: NotNegative = Field(description="Torque per position error [N·m/rad or N/m].")
    damping: NotNegative = Field(description="Torque per speed [N·m·s/rad or N·s/m].")


class MotorEntry(Entry):
    """Brushed direct-current motor with a gearbox; the command is the voltage [V]."""

    resistance: Positive = Field(description="Resistance of the winding and its driver [Ω].")
    torque_constant: Positive = Field(description="Torque of the rotor per current [N·m/A].")
    gear_ratio: Positive = Field(1.0, description="Turns of the rotor per turn of the joint [-], or per metre [rad/m].")
    voltage_limit: Positive = Field(None, description="Highest voltage, either way [V]; none if left out.")
    inductance: NotNegative = Field(0.0, description="Inductance of the winding [H].")
    back_emf: NotNegative = Field(
        None, description="Voltage per speed of the rotor [V·s/rad]; the torque constant if left out."
    )
    rotor_inertia: NotNegative = Field(0.0, description="Inertia of the rotor [kg·m²].")
    efficiency: float = Field(1.0, gt=0, le=1, description="Part of the power that the gearbox passes on [-].")
    efficiency_speed: Positive = Field(0.02, description="Joint speed over which the gearbox's loss changes its sign [rad/s].")


class HydraulicEntry(Entry):
    """Hydraulic actuator behind a valve; the command is the valve's opening, -1 to 1."""

    supply_pressure: Positive = Field(description="Pressure of the supply over the return [Pa].")
    displacement: Positive = Field(description="Volume per angle [m³/rad], or piston area [m²].")
    flow_coefficient: Positive = Field(description="Flow of the open valve per root of the pressure [m³/(s·√Pa)].")
    bulk_modulus: Positive = Field(description="Bulk modulus of the oil with its hoses [Pa].")
    chamber_volume: Positive = Field(description="Volume of both chambers with their hoses together [m³].")
    leakage: NotNegative = Field(0.0, description="Flow from one chamber to the other per pressure [m³/(s·Pa)].")
    spool_time_constant: NotNegative = Field(0.0, description="Time constant of the valve's spool [s].")


Drive = _one_of(
    "drive",
    "must be {torque: {...}}, {servo: {...}}, {motor: {...}} or {hydraulic: {...}}",
    torque=(TorqueEntry, "Commanded by torque."),
    servo=(ServoEntry, "Commanded by position."),
    motor=(MotorEntry, "Commanded by voltage."),
    hydraulic=(HydraulicEntry, "Commanded by the valve's opening."),
)


class JointFrictionEntry(Entry):
    """Friction of a joint."""

    viscous: NotNegative = Field(0.0, description="Torque per speed [N·m·s/rad or N·s/m].")
    coulomb: NotNegative = Field(0.0, description="Torque at which it slips [N·m or N].")
    stick_deflection: Positive = Field(1e-3, description="Elastic deflection at which it slips [rad or m].")
    relaxation: Positive = Field(0.005, description="Damping over stiffness of the stick phase [s].")


class StopsEntry(Entry):
    """Soft ends of the travel of a joint."""

    lower: Number = Field(None, description="Lowest free position [rad or m]; none if left out.")
    upper: Number = Field(None, description="Highest free position [rad or m]; none if left out.")
    stiffness: Positive = Field(description="Torque per angle beyond the limit [N·m/rad or N/m].")
    damping: NotNegative = Field(0.0, description="Torque per speed beyond the limit [N·m·s/rad or N·s/m].")


class ActuationEntry(Entry):
    """What acts in a joint."""

    drive: Drive = Field(None, description="What drives it; nothing if left out.")
    friction: _or_none("joint friction", JointFrictionEntry) = Field(
        None, description="Friction, or none; as the model says if left out."
    )
    stops: _or_none("stops", StopsEntry) = Field(
        None, description="Ends of its travel, or none; soft ones at the model's limits if left out."
    )
