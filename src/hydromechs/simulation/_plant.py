"""A mechanism with its water, actuators and contacts: what is simulated, and the layout of its internal states and inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hydromechs.actuation import Thruster, drive_armature, drive_states, drives, friction_states, thruster_states
from hydromechs.contact import Grasp, Pair
from hydromechs.hydro import Environment, Uniform, WaveComponents, wave_components
from hydromechs.model import Model, joints

__all__ = ["JointActuation", "Plant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointActuation:
    """What acts in one joint of one degree of freedom: a drive, friction, stops; each may be None."""

    joint: str
    """Name of the body that the joint carries."""
    drive: drives.Torque | drives.Servo | drives.Motor | drives.Hydraulic | None = None
    """What drives it."""
    friction: drives.Friction | None = None
    """What resists."""
    stops: drives.Stops | None = None
    """What ends its travel."""


@dataclass(frozen=True, kw_only=True)
class Plant:
    """What is simulated. Build it with `hydromechs.Simulation`, which checks names and fills in what the model says."""

    model: Model
    """The mechanism."""
    environment: Environment = field(default_factory=Environment)
    """The water."""
    seed: int = 0
    """Of the waves' phases and the gusts."""
    thrusters: tuple[Thruster, ...] = ()
    """Thrusters."""
    joints: tuple[JointActuation, ...] = ()
    """Drives, friction and stops of joints."""
    contacts: tuple[Pair, ...] = ()
    """What may touch what."""
    grasps: tuple[Grasp, ...] = ()
    """What can be held together; the inputs say which of them hold."""
    external: tuple[str, ...] = ()
    """Names of bodies on which the caller puts wrenches."""

    def __post_init__(self):
        names = [t.name for t in self.thrusters] + [j.joint for j in self.joints if j.drive]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two actuators are called {name!r}; names must differ")
        for thruster in self.thrusters:
            if thruster.frame not in self.model.frames:
                frames = ", ".join(self.model.frames) or "none"
                raise ValueError(
                    f"thruster {thruster.name!r}: no frame {thruster.frame!r} in {self.model.name}; frames are {frames}"
                )
        listed = [j.joint for j in self.joints]
        for name in listed:
            joint = self.model.bodies[self.model.body_index(name)].joint
            if not isinstance(joint, joints.Revolute | joints.Prismatic):
                raise ValueError(
                    f"joint of body {name!r} is {joint.kind}; drives, friction and stops need a revolute or prismatic one"
                )
            if listed.count(name) > 1:
                raise ValueError(f"joint of body {name!r} is named twice among the drives")
        for name in self.external:
            self.model.body_index(name)
        for k, grasp in enumerate(self.grasps):
            if grasp.name in [g.name for g in self.grasps[:k]]:
                raise ValueError(f"two grasps are called {grasp.name!r}; names must differ")
            bodies = []
            for name in (grasp.holder, grasp.held):
                if name not in self.model.frames and name not in self.model.body_names:
                    raise ValueError(f"grasp {grasp.name!r}: no frame or body {name!r} in {self.model.name}")
                bodies.append(self.model.frames[name][0] if name in self.model.frames else self.model.body_index(name))
            if bodies[0] == bodies[1] or not any(self.model.moves[i] for i in bodies):
                raise ValueError(f"grasp {grasp.name!r} holds together what cannot move apart; leave it out")

    @cached_property
    def waves(self) -> WaveComponents | None:
        """The sine waves of the environment."""
        if not self.environment.waves:
            return None
        return wave_components(self.environment, self.model.world.gravity, self.seed)

    @cached_property
    def flows(self) -> bool:
        """Whether the undisturbed water moves at all."""
        return bool(self.environment.waves) or self.environment.current is not None or self.environment.gusts is not None

    @cached_property
    def uniform(self) -> bool:
        """Whether the water moves alike at all bodies."""
        return not self.environment.waves and isinstance(self.environment.profile, Uniform)

    @property
    def waves_move_surface(self) -> bool:
        """Whether there are a free surface and waves on it."""
        return self.environment.surface is not None and bool(self.environment.waves)

    @cached_property
    def wet(self) -> bool:
        """Whether the water touches any body."""
        return any(b.hydro is not None for b in self.model.bodies)

    @cached_property
    def drives(self) -> tuple[JointActuation, ...]:
        """Joints that are driven."""
        return tuple(j for j in self.joints if j.drive)

    @cached_property
    def actuator_names(self) -> tuple[str, ...]:
        """Thrusters, then driven joints."""
        return tuple(t.name for t in self.thrusters) + tuple(j.joint for j in self.drives)

    @cached_property
    def causes(self) -> tuple[str, ...]:
        """What can do work on the mechanism, for the energy audit."""
        present = {
            "thrusters": bool(self.thrusters),
            "drives": bool(self.drives),
            "drag": self.wet,
            "friction": any(j.friction or j.stops for j in self.joints),
            "contact": bool(self.contacts),
            "water": self.wet and (self.flows or self.environment.surface is not None),
            "grasps": bool(self.grasps),
            "external": bool(self.external),
        }
        return tuple(name for name, there in present.items() if there)

    @cached_property
    def internal_names(self) -> tuple[str, ...]:
        """Names of the internal states: of thrusters, drives, friction, contacts, and the work that each cause has done [J]."""
        out = [f"{t.name}.{x}" for t in self.thrusters for x in thruster_states(t)]
        out += [f"{j.joint}.{x}" for j in self.drives for x in drive_states(j.drive)]
        out += [f"{j.joint}.{x}" for j in self.joints if j.friction for x in friction_states(j.friction)]
        out += [f"{c.name}.{x}" for c in self.contacts for x in ("sx", "sy", "sz")]
        return (*out, *(f"work.{name}" for name in self.causes))

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of what is held between two looks of Python: steady forces of thrusters, commands of drives, flow, wrenches."""
        flow = ("flow.x", "flow.y", "flow.z", "flow.dx", "flow.dy", "flow.dz", "flow.t") if self.streams else ()
        wrenches = tuple(f"external.{name}.{x}" for name in self.external for x in "XYZKMN")
        return (*self.actuator_names, *flow, *wrenches, *(f"grasp.{g.name}" for g in self.grasps))

    @cached_property
    def streams(self) -> bool:
        """Whether there is a current or gusts."""
        return self.environment.current is not None or self.environment.gusts is not None

    @cached_property
    def armature(self) -> np.ndarray | None:
        """Reflected inertia of the drives' rotors [kg·m²], shape (nv,); None for none."""
        out = np.zeros(self.model.nv)
        for j in self.drives:
            out[self.model.v_slices[self.model.body_index(j.joint)].start] = drive_armature(j.drive)
        return out if out.any() else None
