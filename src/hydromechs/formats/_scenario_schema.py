"""The scenario file as pydantic classes: the keys, their types, units and ranges. Names are judged by `Scenario`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from ._scenario_parts import ActuationEntry, ContactEntry, EnvironmentEntry, GraspEntry, Material, Positive, Terrain, Thrusters
from ._schema import Entry, Number, Vector3, Vector4, Vector6, _choice, _tidy, _version

__all__ = ["ScenarioFile", "scenario_json_schema"]


class ModelStartEntry(Entry):
    """One model and how it starts; what is left out is as the model says."""

    model_config = ConfigDict(json_schema_extra={"not": {"required": ["rpy_deg", "quaternion"]}})

    model: str = Field(description="Name of a library model, or path of a model file relative to the scenario file.")
    name: str = Field(None, description="Name in the scenario; with several models it stands before all names: 'rov.gripper'.")
    position: Vector3 = Field(None, description="Position in world axes, of its free root or else of its base [m].")
    rpy_deg: Vector3 = Field(None, description="Roll, pitch, yaw of the same [degrees]. Not with quaternion.")
    quaternion: Vector4 = Field(None, description="Unit quaternion (w, x, y, z) of the same, body to world. Not with rpy_deg.")
    velocity: Vector6 = Field(None, description="Velocity of its free root in body axes, linear first [m/s, rad/s].")
    joints: dict[str, Number] = Field({}, description="Positions of joints with one degree of freedom [rad or m].")
    joint_velocities: dict[str, Number] = Field({}, description="Velocities of such joints [rad/s or m/s].")


class ControllerEntry(Entry):
    """A controller by name, with what it is made from."""

    type: str = Field(description="Name of a library controller, 'package.module:Name', or 'file.py:Name' beside this file.")
    period: Positive = Field(description="Time between two calls, a whole number of steps [s].")
    parameters: dict[str, Any] = Field({}, description="What the class is called with, by name.")


class EventEntry(Entry):
    """Something that happens when a quantity crosses a level."""

    name: str = Field(description="What to call it.")
    quantity: str = Field(description="A recorded quantity, as 'depth.vehicle', 'q.elbow' or 'time'.")
    level: Number = Field(description="Level that it crosses [in the quantity's unit].")
    direction: Literal["rising", "falling", "either"] = Field("either", description="Which way it crosses.")
    stop: bool = Field(False, description="Whether the run ends there.")
    command: dict[str, Number] = Field({}, description="Commands to set then, by actuator [in its unit].")
    wrench: dict[str, Vector6] = Field({}, description="Wrenches to put on external bodies then, in body axes [N, N·m].")
    grasp: list[str] = Field([], description="Names of grasps that close then.")
    release: list[str] = Field([], description="Names of grasps that open then.")


class DormandPrinceEntry(Entry):
    """Tolerances of the adaptive method."""

    relative: Positive = Field(1e-6, description="Allowed error of a step, relative to the size of the state [-].")
    absolute: Positive = Field(1e-9, description="Allowed error of a step where the state is small [SI].")
    largest: Positive = Field(0.1, description="Longest step [s].")


class AdaptiveEntry(Entry):
    """The adaptive method with its tolerances."""

    dormand_prince: DormandPrinceEntry = Field(description="Tolerances.")


INTEGRATORS = Literal["rk4", "semi_implicit_euler", "euler", "linearly_implicit", "dormand_prince", "b1pc5", "b2pc5", "b4pc5"]
Integrator = _choice(
    "integrator",
    lambda value: "name" if isinstance(value, str) else "adaptive" if isinstance(value, dict) else None,
    "must be rk4, semi_implicit_euler, euler, linearly_implicit, b1pc5, b2pc5, b4pc5, dormand_prince "
    "or {dormand_prince: {...}}",
    name=INTEGRATORS,
    adaptive=AdaptiveEntry,
)


class CheckEntry(Entry):
    """Something that must be true of the recording."""

    model_config = ConfigDict(json_schema_extra={"anyOf": [{"required": ["below"]}, {"required": ["above"]}]})

    name: str = Field(description="What to call it.")
    quantity: str = Field(description="A recorded quantity, as 'position.vehicle.x'.")
    target: Number = Field(0.0, description="What is taken off the quantity first [in its unit].")
    statistic: Literal["last", "min", "max", "mean", "rms", "max_abs"] = Field("last", description="What to look at.")
    after: Number = Field(0.0, description="Samples before this time are left out [s].")
    below: Number = Field(None, description="The statistic must be below this [in the quantity's unit].")
    above: Number = Field(None, description="The statistic must be above this [in the quantity's unit].")


class ScenarioHeader(Entry):
    """The keys of a scenario file that hold plain values."""

    hydromechs_scenario: Annotated[Literal[1], BeforeValidator(_version)] = Field(description="Version of the file format: 1.")
    name: str = Field(description="Name of the scenario.")
    title: str = Field("", description="What happens, in one line.")
    description: str = Field("", description="What it shows, for people.")
    external: list[str] = Field([], description="Names of bodies on which wrenches act.")
    commands: dict[str, Number] = Field({}, description="Commands from the start, by actuator [in its unit].")
    integrator: Integrator = Field("rk4", description="Method of integration.")
    step: Positive = Field(1e-3, description="Step of the integrator [s].")
    record: Positive = Field(0.02, description="Time between two samples of the recording, a whole number of steps [s].")
    duration: Positive = Field(description="How long to simulate [s].")
    seed: int = Field(0, ge=0, description="Seed of gusts and waves.")


class ScenarioFile(ScenarioHeader):
    """Models in water with all that acts on them, how long to simulate, and what must come true."""

    model_config = ConfigDict(title="HydroMechs scenario file, version 1")

    models: Annotated[list[ModelStartEntry], Field(min_length=1)] = Field(
        description="Models and how they start; at least one."
    )
    environment: EnvironmentEntry = Field(None, description="The water; still if left out.")
    materials: dict[str, Material] = Field({}, description="Materials of surfaces, by name.")
    terrain: list[Terrain] = Field([], description="What stands still and can be touched.")
    contact: ContactEntry = Field(None, description="What touches besides the shapes of bodies.")
    grasps: list[GraspEntry] = Field([], description="What is held together, or can be.")
    thrusters: list[Thrusters] = Field([], description="Thrusters, alone or in groups.")
    joints: dict[str, ActuationEntry] = Field(
        {}, description="Drives, friction and stops of joints, by the body that they carry."
    )
    controller: ControllerEntry = Field(None, description="What gives commands.")
    events: list[EventEntry] = Field([], description="Things to watch for.")
    checks: list[CheckEntry] = Field([], description="What must be true of the recording.")


def scenario_json_schema() -> dict:
    """JSON Schema (2020-12) of the scenario file, for editors and other programs."""
    schema = ScenarioFile.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_tidy(schema)}
