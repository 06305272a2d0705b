"""Trained policy as a controller: a network from a file maps labelled observations to commands."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from hydromechs.actuation import Thruster
from hydromechs.compiler import dense
from hydromechs.contact import Grip
from hydromechs.dynamics import kinematics
from hydromechs.errors import FieldError
from hydromechs.model import JointPart, joints
from hydromechs.simulation import Plant, Site, Tick, TracedBlock, Update, check_free_in_world
from hydromechs.spatial import (
    clamp,
    matrix_from_rpy,
    norm,
    quaternion_from_matrix,
    quaternion_matrix,
    quaternion_product,
    where,
)
from hydromechs.values import Array, Bound, Positive, Scalar, nearest, positive

from ._networks import ACTIVATIONS, read_network
from ._pose_control import pose_waypoints

RATES = {"rad": 0.5, "m": 0.2}
"""Rate of a joint target at action 1, keyed by unit [rad/s, m/s]."""
LIMIT = 10.0
"""Limit of observations, which are clipped to ± this value [SI units]."""
LIMIT_OF_READINGS = 1000.0
"""Limit of sensor readings, such as depths, which may exceed distances to goals [SI units]."""
GROUPS: Mapping[str, tuple[str, ...]] = {
    "goal": ("x", "y", "z"),
    "goal.turn": ("x", "y", "z"),
    "goal.velocity": ("x", "y", "z"),
    "goal.ahead": ("x", "y", "z"),
    "down": ("x", "y", "z"),
    "velocity": ("u", "v", "w"),
    "rate": ("p", "q", "r"),
}
"""Component names of observations, keyed by group, as in "velocity.u"; all in vehicle axes."""
OF_FRAME = ("tool_goal",)
"""Additional observation groups of a policy with a frame."""
OF_GRIP = ("jaws_to_thing", "thing_to_goal")
"""Additional observation groups of a policy with a grip."""


def thruster_commands(plant: Plant) -> tuple[str, ...]:
    """Return the names of the thruster commands."""
    names = {c.name for c in plant.components if isinstance(c, Thruster)}
    return tuple(name for name in plant.layout.commands if name in names)


def observed_joints(plant: Plant) -> list[JointPart]:
    """Return the joints that policies observe: revolute and prismatic joints."""
    return [p for p in plant.model.joint_parts.values() if isinstance(p.joint, joints.Revolute | joints.Prismatic)]


def grips_object(before: Scalar, closed: Scalar, closing: Scalar, near: Scalar) -> Scalar:
    """Return 1 if jaws hold an object after an action, else 0, for scalars or arrays of worlds.

    Jaws grip an object within reach when they close and release the object when they open. `before`: result of the previous
    action; `closed`: 1 if the jaws were closed; `closing`: 1 if the jaws are closed now; `near`: 1 if the object is within
    reach.
    """
    return closing * (1.0 - (1.0 - before) * (1.0 - near * (1.0 - closed)))


class ActionMap:
    """Map from actions between -1 and 1 to commands over a period [s].

    The actions -1, 0 and 1 map to minimum, rest value and maximum of a command; `ranges` override the ranges of the plant.
    A joint target without a range moves at a rate proportional to the action, within the limits of the joint.
    """

    def __init__(self, plant: Plant, names: Iterable[str], ranges: Mapping[str, tuple[float, float]], period: float) -> None:
        layout = plant.layout
        self.names = tuple(names)
        for name in (*self.names, *ranges):
            if name not in layout.commands:
                raise ValueError(f"{plant.model.name} has no command named {name!r}{nearest(name, layout.commands)}")
        self.columns = np.array([layout.commands.index(name) for name in self.names], dtype=int)
        n = len(self.names)
        self.low, self.high = np.full(n, -np.inf), np.full(n, np.inf)
        self.rest, self.stride = np.zeros(n), np.zeros(n)
        for k, name in enumerate(self.names):
            slot = layout.input_slots[self.columns[k]]
            low, high = ranges.get(name, slot.limits)
            if np.isfinite([low, high]).all():
                rest = 0.5 * (low + high) if callable(slot.start) else float(slot.start)
                self.low[k], self.high[k], self.rest[k] = low, high, min(max(rest, low), high)
            elif slot.unit in RATES and name in plant.model.joint_parts:
                self.low[k], self.high[k] = _limits(plant.model.joint_parts[name].joint)
                self.stride[k] = RATES[slot.unit] * period
            else:
                raise ValueError(f"command {name!r} [{slot.unit}] has no finite range; set ranges={{{name!r}: (low, high)}}")

    def __len__(self) -> int:
        return len(self.names)

    def command(self, k: int, action: Scalar, before: Scalar) -> Scalar:
        """Return the command for an action and the previous command, as numbers or symbols."""
        if self.stride[k]:
            return clamp(before + self.stride[k] * action, self.low[k], self.high[k])
        return self.rest[k] + action * where(action > 0.0, self.high[k] - self.rest[k], self.rest[k] - self.low[k])


def _limits(joint: Any) -> tuple[float, float]:
    limits = joint.limits if isinstance(joint, joints.Revolute | joints.Prismatic) else None
    return (-np.inf, np.inf) if limits is None else (float(limits[0]), float(limits[1]))


class Policy(TracedBlock):
    """Controller that computes commands with a trained network of dense layers.

    Observation labels are those of the environments of `hydromechs.learning`, `env.unwrapped.arena.labels`:

    - goal.x, y, z: vector to the goal;
    - goal.turn.x, y, z: rotation vector to the orientation of the goal;
    - goal.velocity and goal.ahead: velocity of the goal and vector to its future position;
    - down.x, y, z; velocity.u, v, w; rate.p, q, r: all in vehicle axes, like the vectors above;
    - height: height above the initial position;
    - joint.NAME, joint_rate.NAME; action.NAME: previous actions; SENSOR.CHANNEL: readings.

    With `frame`, tool_goal.x, y, z is the vector from the frame to the goal. With `grip`, jaws_to_thing.x, y, z is the vector
    from the jaws to the object, thing_to_goal.x, y, z is the vector from the object to the goal, and grip is 1 while the jaws
    hold the object. Actions are clipped to [-1, 1] and mapped to commands as in the environments. The signals are the actions.

    Args:
        file: Network file: arrays W0, b0, W1, ... (.npz), ONNX (.onnx), or a Stable-Baselines3 model (.zip).
        observation: Ordered labels of the network inputs. Defaults to the labels of `StationKeeping`.
        actions: Ordered commands driven by the network outputs. Defaults to the thrusters.
        activation: Activation of hidden layers of .npz files.
        waypoints: Goals, as in `FollowPath`. Defaults to the initial pose of the vehicle, or to the position of frame or
            object.
        ahead: Lead time of goal.ahead [s].
        ranges: Minimum and maximum of commands, keyed by name [command unit]. Defaults to the actuator ranges.
        body: Name of the vehicle body. Defaults to the first free body.
        frame: Frame or body that must reach the goal, as in `Reach`.
        grip: Grip driven by the additional action action.0, which closes the jaws above 0 and opens them otherwise.
        period: Time between actions, as in training [s].
    """

    def __init__(
        self,
        *,
        file: str,
        observation: Sequence[str] | None = None,
        actions: Sequence[str] | None = None,
        activation: Literal["tanh", "relu", "elu", "sigmoid", "none"] = "tanh",
        waypoints: Sequence[Mapping[str, Any]] = (),
        ahead: Positive = 1.0,
        ranges: Mapping[str, Annotated[Sequence[float], Bound(size=2)]] | None = None,
        body: str | None = None,
        frame: str | None = None,
        grip: str | None = None,
        period: Positive = 0.1,
    ) -> None:
        self.file = os.fspath(file)
        if activation not in ACTIVATIONS:
            raise FieldError("activation", activation, f"must be one of {', '.join(ACTIVATIONS)}")
        self.layers = read_network(self.file, activation)
        self.observation = None if observation is None else tuple(observation)
        self.actions = None if actions is None else tuple(actions)
        self.path = pose_waypoints(waypoints) if waypoints else None
        self.ahead, self.period = positive(ahead, "ahead"), positive(period, "period")
        self.body, self.frame, self.grip = body, frame, grip
        self.ranges = {name: (float(low), float(high)) for name, (low, high) in (ranges or {}).items()}

    def prepare(self, site: Site) -> None:
        model, plant = site.model, site.plant
        free = [b.name for b in model.bodies if isinstance(b.joint, joints.Free)]
        name = self.body or (free[0] if free else "")
        if name not in free:
            raise ValueError(
                f"policy: {name!r} is not a body with a free joint; choose from {', '.join(free) or 'none available'}"
            )
        at = model.body_index(name)
        check_free_in_world(model, at)
        self._q, self._v, self._down = model.q_slices[at], model.v_slices[at], np.array(model.world.down, dtype=float)
        self._home = np.array(site.start_q[self._q], dtype=float)
        grips = {c.name: c for c in plant.components if isinstance(c, Grip)}
        if self.grip is not None and self.grip not in grips:
            raise ValueError(f"{model.name} has no grip named {self.grip!r}{nearest(self.grip, grips)}")
        self._jaws = None if self.grip is None else grips[self.grip]
        reaching = self.frame if self._jaws is None else self._jaws.held
        self._goal = self._home[:3] if reaching is None else self._places(np.array(site.start_q), reaching)[0]
        self._parts = observed_joints(plant)
        self.map = ActionMap(
            plant, thruster_commands(plant) if self.actions is None else self.actions, self.ranges, self.period
        )
        self.labels = self._labels() if self.observation is None else self.observation
        acted = [f"action.{x}" for x in (*self.map.names, *([] if self._jaws is None else ["0"]))]
        vectors = (*(OF_FRAME if self.frame else ()), *(OF_GRIP if self._jaws else ()))
        known = [f"{group}.{x}" for group, names in GROUPS.items() for x in names]
        known += [f"{group}.{x}" for group in vectors for x in "xyz"] + ["height", *(["grip"] if self._jaws else [])]
        known += [f"{kind}.{p.name}" for p in self._parts for kind in ("joint", "joint_rate")]
        known += acted
        known += [f"{sensor}.{x}" for sensor, m in site.measured.items() for x in m.labels]
        for label in self.labels:
            if label not in known:
                raise ValueError(f"policy {self.file}: no observation is named {label!r}{nearest(label, known)}")
        first, last = self.layers[0], self.layers[-1]
        for layer, size, wanted, what in (
            (first, first.weights.shape[1], len(self.labels), "observations"),
            (last, len(last.weights), len(acted), "actions"),
        ):
            if size != wanted:
                shape = ("m", wanted) if layer is first and what == "observations" else (wanted, "n")
                raise ValueError(
                    f"policy {self.file}: layer {layer.name!r} has weights of shape {layer.weights.shape}, not "
                    f"({shape[0]}, {shape[1]}) for {wanted} {what}; set {'observation' if what[0] == 'o' else 'actions'}"
                )
        self.commanded = (*self.map.names, *([] if self._jaws is None else [f"{self._jaws.name}.closed"]))
        self.first_memory = {"actions": np.zeros(len(acted)), "grip": 0.0}
        self.signals = dict.fromkeys(acted, "1")

    def _labels(self) -> tuple[str, ...]:
        """Return the observation labels of `StationKeeping`."""
        groups = [f"{g}.{x}" for g in ("goal", "goal.turn", "down", "velocity", "rate") for x in GROUPS[g]]
        moved = [f"{kind}.{p.name}" for kind in ("joint", "joint_rate") for p in self._parts]
        return *groups, *moved, *(f"action.{x}" for x in self.map.names)

    def update(self, tick: Tick) -> Update:
        """Return commands, memory and signals computed by the network."""
        seen, near = self._seen(tick)
        x = np.array([seen[label] for label in self.labels])
        for layer in self.layers:
            x = np.array([ACTIVATIONS[layer.activation](y) for y in dense(layer.weights, layer.bias, x)])
        actions = [clamp(y, -1.0, 1.0) for y in x]
        commands = {n: self.map.command(k, actions[k], tick.inputs[n]) for k, n in enumerate(self.map.names)}
        memory = {"actions": np.array(actions)}
        if self._jaws is not None:
            setting = f"{self._jaws.name}.closed"
            closing = commands[setting] = where(actions[-1] > 0.0, 1.0, 0.0)
            memory["grip"] = grips_object(seen["grip"], tick.inputs[setting], closing, near)
        return Update(commands, memory, dict(zip(self.signals, actions, strict=True)))

    def _places(self, q: Array, *names: str) -> list[Array]:
        """Return positions of frames or bodies in world axes [m]."""
        kin = kinematics(self.site.model, q, np.zeros(self.site.model.nv))
        found = [self.site.model.locate(name) for name in names]
        return [at.p if at.body < 0 else kin.p_WB[at.body] + kin.R_WB[at.body] @ at.p for at in found]

    def _seen(self, tick: Tick) -> tuple[dict[str, Scalar], Scalar]:
        """Return all observable quantities, keyed by label, and 1 if the object is within reach of the jaws."""
        R = quaternion_matrix(tick.q[self._q][3:])
        p, quaternion, velocity = tick.q[self._q][:3], tick.q[self._q][3:], tick.v[self._v]
        place, rate, later, goal, near = self._goal, np.zeros(3), self._goal, self._home[3:], 0.0
        if self.path is not None:
            (wanted, moving, _), (then, _, _) = self.path(tick.t), self.path(tick.t + self.ahead)
            place, rate, later = wanted[:3], moving[:3], then[:3]
            goal = quaternion_from_matrix(matrix_from_rpy(wanted[3:]))
        arrays = {
            "goal": R.T @ (place - p),
            "goal.turn": _turn(quaternion, goal),
            "goal.velocity": R.T @ rate,
            "goal.ahead": R.T @ (later - p),
            "down": R.T @ self._down,
            "velocity": velocity[:3],
            "rate": velocity[3:],
        }
        vectors, grip = dict[str, Array](), dict[str, Scalar]()
        if self.frame is not None:
            vectors["tool_goal"] = R.T @ (place - self._places(tick.q, self.frame)[0])
        if self._jaws is not None:
            jaws, thing = self._places(tick.q, self._jaws.holder, self._jaws.held)
            vectors |= {"jaws_to_thing": R.T @ (thing - jaws), "thing_to_goal": R.T @ (place - thing)}
            near = where(norm(thing - jaws) < self._jaws.reach, 1.0, 0.0)
            grip["grip"] = where(tick.first, near * tick.inputs[f"{self._jaws.name}.closed"], tick.memory["grip"])
        out = {f"{g}.{x}": value for g, names in GROUPS.items() for x, value in zip(names, arrays[g], strict=True)}
        out |= {f"{g}.{x}": value for g, vector in vectors.items() for x, value in zip("xyz", vector, strict=True)}
        out |= {"height": self._down @ (self._home[:3] - p), **grip}
        for part in self._parts:
            out |= {f"joint.{part.name}": tick.q[part.q][0], f"joint_rate.{part.name}": tick.v[part.v][0]}
        out |= dict(zip(self.signals, tick.memory["actions"], strict=True))
        out = {label: clamp(x, -LIMIT, LIMIT) for label, x in out.items()}
        for sensor, m in self.site.measured.items():
            values = [where(x == x, clamp(x, -LIMIT_OF_READINGS, LIMIT_OF_READINGS), 0.0) for x in tick.measured[sensor]]
            out |= {f"{sensor}.{label}": x for label, x in zip(m.labels, values, strict=True)}
        return out, near


def _turn(here: Array, there: Array) -> Array:
    """Return the rotation vector [rad] in body axes, (3,), from one unit quaternion (4,) to another."""
    w, *part = quaternion_product(here * np.array([1.0, -1.0, -1.0, -1.0]), there)
    size = norm(np.array(part))
    angle = 2.0 * np.arctan2(size, abs(w)) * where(w < 0.0, -1.0, 1.0)
    return np.array(part) * where(size > 1e-12, angle / where(size > 1e-12, size, 1.0), 2.0)
