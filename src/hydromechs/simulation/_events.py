"""Events: level crossings of quantities or time, with actions and messages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hydromechs.dynamics import Kinematics
from hydromechs.errors import FieldError, message_of
from hydromechs.integrators import Point, rounding, slack
from hydromechs.model.component import Component
from hydromechs.recording import angle_difference, find_quantity, period_of
from hydromechs.values import Finite, Vector6, check_fields, floats, is_finite, nearest, number

from ._layout import Layout
from ._observe import body_poses, coordinates, quantities
from ._plant import Plant

SWITCH = "closed"
"""Name of the held input of components that open and close."""


def wrench_places(plant: Plant) -> dict[str, list[int]]:
    """Return the indices of external wrenches in the held inputs, 6 per body, keyed by body."""
    na = len(plant.layout.commands)
    pairs = zip(plant.components, plant.layout.u, strict=True)
    return {body: [i - na for i in u.values()] for c, u in pairs if (body := c.external_body) is not None}


def switch_places(plant: Plant) -> dict[str, int]:
    """Return the indices of switches in the held inputs, keyed by the component that opens and closes."""
    na = len(plant.layout.commands)
    pairs = zip(plant.components, plant.layout.u, strict=True)
    return {c.name: u[SWITCH] - na for c, u in pairs if u.get(SWITCH, -1) >= na}


def settled_targets(
    layout: Layout, command: np.ndarray, held: np.ndarray, t: float, joints: Collection[str] | None = None
) -> dict[str, float]:
    """Return commands that stop moving servo targets at their current values.

    A controller sets a target and a target rate for a servo until its next call. Without another call, the target would move
    past the stops.

    `layout`: layout of the inputs of the plant. `command`: current commands, shape (na,). `held`: current held inputs, shape
    (nh,). `joints`: names of the joints; None for all joints.
    """
    out: dict[str, float] = {}
    places = {name: k for k, name in enumerate(layout.held)}
    for k, name in enumerate(layout.commands):
        rate = places.get(f"{name}.rate")
        if rate is not None and held[rate] != 0.0 and (joints is None or name in joints):
            since = t - held[places[f"{name}.at"]]
            out |= {name: float(command[k] + held[rate] * since), f"{name}.rate": 0.0, f"{name}.at": t}
    return out


@dataclass(frozen=True, kw_only=True)
class Event:
    """Actions taken when a quantity crosses a level; the quantity "time" defines an instant."""

    name: str
    """Name of the event."""
    quantity: str
    """Recorded quantity, such as "depth.vehicle", "tilt_deg.vehicle", "contact_force.foot_1 on floor" or "time"."""
    level: Finite
    """Level to cross [unit of the quantity]."""
    direction: Literal["rising", "falling", "either"] = "either"
    """Direction of the crossing: "rising", "falling" or "either"."""
    stop: bool = False
    """True if the run ends at the event."""
    command: tuple[tuple[str, float], ...] = ()
    """Commands to set at the event [unit of the actuator], keyed by actuator."""
    wrench: tuple[tuple[str, Vector6], ...] = ()
    """External wrenches to apply at the event, in body axes [N, N·m], keyed by body."""
    grasp: tuple[str, ...] = ()
    """Names of grasps that close at the event."""
    release: tuple[str, ...] = ()
    """Names of grasps that open at the event."""
    control: Literal["on", "off"] | None = None
    """State of the controller after the event, "on" or "off"; unchanged if omitted."""

    def __post_init__(self) -> None:
        check_fields(self, f"event {self.name!r}: Event")
        for key in ("name", "quantity"):
            if not isinstance(getattr(self, key), str):
                raise FieldError(f"Event.{key}", getattr(self, key), "must be text")
        for key in ("command", "wrench", "grasp", "release"):
            value = getattr(self, key)
            if not isinstance(value, Iterable):
                must = "must map names to values" if key in ("command", "wrench") else "must be names of grasps"
                raise FieldError(f"event {self.name!r}: Event.{key}", value, must)
        for key in ("command", "wrench"):
            value = getattr(self, key)
            object.__setattr__(self, key, tuple(value.items()) if isinstance(value, Mapping) else tuple(map(tuple, value)))
        numbers = tuple((name, number(x, f"event {self.name!r}: the command of {name!r}")) for name, x in self.command)
        object.__setattr__(self, "command", numbers)
        wrenches = []
        for body, given in self.wrench:
            wrench = floats(given, 6, f"event {self.name!r}: the wrench on {body!r}")
            if not is_finite(wrench):
                raise ValueError(f"event {self.name!r}: the wrench on {body!r} is {given!r}, must be 6 finite numbers")
            wrenches.append((body, wrench))
        object.__setattr__(self, "wrench", tuple(wrenches))
        for key in ("grasp", "release"):
            value = getattr(self, key)
            object.__setattr__(self, key, (value,) if isinstance(value, str) else tuple(value))
        if self.direction not in ("rising", "falling", "either"):
            raise ValueError(f"event {self.name!r}: direction is {self.direction!r}, must be 'rising', 'falling' or 'either'")
        if self.control not in ("on", "off", None):
            raise ValueError(f"event {self.name!r}: control is {self.control!r}, must be 'on' or 'off'; omit it for no change")

    @property
    def acts(self) -> bool:
        """True if the event changes the simulation."""
        return bool(self.stop or self.command or self.wrench or self.switches or self.control)

    @property
    def switches(self) -> dict[str, float]:
        """Switches of grasps, keyed by name: 0 to open, 1 to close."""
        return dict.fromkeys(self.release, 0.0) | dict.fromkeys(self.grasp, 1.0)

    @property
    def message(self) -> str:
        """Message about the event without the time."""
        return f"{self.name} ({self.quantity} crosses {self.level:g})"

    def closing(self, lost: np.ndarray, plant: Plant, q: np.ndarray, before: np.ndarray) -> list[list[str]]:
        """Return the messages about grasps that the event closes, one list per world.

        Args:
            lost: Energy lost in the impact [J], shape (worlds,).
            plant: Simulated plant.
            q: Configurations, shape (worlds, nq).
            before: Inputs before the event, shape (worlds, nu).
        """
        out: list[list[str]] = [[] for _ in lost]
        switches, na = switch_places(plant), len(plant.layout.commands)
        opened = {name: before[:, na + switches[name]] == 0.0 for name in self.grasp}
        parts = [c for c in plant.components if c.name in opened]
        which = np.flatnonzero(np.any([*opened.values(), np.zeros(len(lost))], axis=0))
        if not len(which):
            return out
        p_WB, R_WB = body_poses(plant.model)([q[which]])
        kin = Kinematics((), (), (), (), (), tuple(np.moveaxis(R_WB, 1, 0)), tuple(np.moveaxis(p_WB, 1, 0)))
        closing = {c.name: c.closing(plant.model, kin) for c in parts}
        for i, k in enumerate(which.tolist()):
            names = [name for name in self.grasp if opened[name][k]]
            firm = ", ".join(repr(name) for name in names if closing[name] is None)
            said = [f"{firm} closes; {lost[k]:.3g} J are lost in the impact"] if firm else []
            out[k] = said + [texts[i] for name in names if (texts := closing[name]) is not None]
        return out


def opening_events(components: Iterable[Component]) -> tuple[Event, ...]:
    """Return the events at which components open automatically, for example grasps at their maximum force."""
    limits = ((c.name, c.opens_at) for c in components)
    return tuple(
        Event(name=f"{name} opens", quantity=at[0], level=at[1], direction="rising", release=(name,))
        for name, at in limits
        if at
    )


def inputs_after(event: Event, plant: Plant, inputs: np.ndarray, t: ArrayLike) -> np.ndarray:
    """Return inputs with the commands, wrenches and switches of an event at times `t` [s], shape (...); shape (..., nu)."""
    layout, after = plant.layout, inputs.copy()
    na, names = len(layout.commands), [*layout.commands, *layout.held]
    if event.control == "off":
        for row, at in zip(after.reshape(-1, layout.size), np.ravel(t).tolist(), strict=True):
            for name, value in settled_targets(layout, row[:na], row[na : len(names)], at).items():
                row[names.index(name)] = value
    for name, value in event.command:
        after[..., names.index(name)] = value
    for body, wrench in event.wrench:
        after[..., na + np.array(wrench_places(plant)[body])] = wrench
    for name, on in event.switches.items():
        after[..., na + switch_places(plant)[name]] = on
    return after


def watchable(plant: Plant, signals: Mapping[str, str] | None = None) -> dict[str, tuple[str, ...]]:
    """Return the dimensions of the quantities that events can watch, keyed by name.

    These are all `quantities` that do not depend on the start of the run.
    """
    return {name: dims for name, dims in quantities(plant, signals).items() if name != "energy_residual"}


def check_events(events: Sequence[Event], plant: Plant, signals: Mapping[str, str], start: float, step: float) -> None:
    """Raise `KeyError` for events with unknown quantities or components, and `ValueError` for events that cannot occur.

    Time only increases, so the time of an event must exceed the start by more than a millionth of a step. A resumed run may
    start after the event.

    `signals`: units of the controller signals, keyed by signal. `start`: initial time [s]. `step`: step [s].
    """
    variables, labels = watchable(plant, signals), coordinates(plant, signals)
    wrenches, switches = wrench_places(plant), switch_places(plant)
    for event in events:
        try:
            find_quantity(event.quantity, variables, labels)
        except KeyError as error:
            raise KeyError(f"event {event.name!r}: quantity: {message_of(error)}") from None
        if event.quantity == "time" and event.direction == "falling":
            raise ValueError(f"event {event.name!r}: direction is falling, but time only increases; remove direction")
        if event.quantity == "time" and not event.level > min(start, 0.0) + slack(min(start, 0.0), step):
            text = f"event {event.name!r}: time never crosses {event.level:g} s in a run that starts at {min(start, 0.0):g} s"
            raise ValueError(f"{text}; set initial commands with 'commands'")
        named: tuple[tuple[str, Iterable[str], Collection[str]], ...] = (
            ("actuator", dict(event.command), plant.layout.commands),
            ("external body", dict(event.wrench), wrenches),
            ("grasp", event.switches, switches),
        )
        for what, names, known in named:
            for name in names:
                if name not in known:
                    raise KeyError(f"event {event.name!r}: unknown {what} {name!r}{nearest(name, known)}")


class Crossing(NamedTuple):
    """Occurrence of an event."""

    at: Point
    """Point of the trajectory at the event."""
    watched: Watched
    """Watched event that occurred."""


class Watched:
    """Event in a running simulation, which detects sign changes between checks and locates the instant.

    `value`: function that returns the quantity at a point of the trajectory. `step`: step of the simulation [s]; times within
    a millionth of a step count as one instant.
    """

    def __init__(self, event: Event, value: Callable[[Point], float], at: Point, step: float) -> None:
        self.event, self.value, self._period, self._step = event, value, period_of(event.quantity), step
        self.last = self._off(at)

    def _off(self, at: Point) -> float:
        if self.event.quantity == "time" and abs(at.t - self.event.level) <= slack(at.t, self._step):
            return 0.0  # times just before the instant count as the instant: otherwise the event would recur
        return float(angle_difference(np.asarray(self.value(at) - self.event.level), self._period))

    def look(self, at: Point) -> None:
        """Store the current sign as the reference for the next change."""
        self.last = self._off(at)

    def crossing(self, before: Point, after: Point, advance: Callable[[Point, float], Point]) -> Crossing | None:
        """Return the occurrence of the event between two points, or None.

        `before`: point of the previous check. `advance`: function that integrates from a point to a time.
        """
        now, last = self._off(after), self.last
        if self.event.quantity == "time" and now == 0.0:
            return Crossing(after, self) if last < 0.0 else None  # a run stops at the instant itself
        if self._period is not None and abs(now - last) > 0.5 * self._period:
            return None  # half a revolution from the level, where the difference jumps by a full revolution
        rising, falling = last < 0.0 <= now, last > 0.0 >= now
        if not {"rising": rising, "falling": falling, "either": rising or falling}[self.event.direction]:
            return None
        start, found = before, after
        while found.t - start.t > max(1e-9, rounding(found.t)):  # bisect the interval, always integrating from its start
            middle = 0.5 * (start.t + found.t)
            whole, near = self._step * round(middle / self._step), slack(found.t, self._step)
            if start.t + near < whole < found.t - near:  # to one step first: the instant does not depend on earlier stops
                middle = whole
            if not start.t < middle < found.t:
                break
            there = advance(start, middle)
            if self._off(there) * last > 0.0:
                start = there
            else:
                found = there
        return Crossing(found, self)


def first_crossings(
    watch: Sequence[Watched], before: Point, after: Point, advance: Callable[[Point, float], Point]
) -> tuple[list[Crossing], Point]:
    """Return the events between two points up to the first event with an action, and the point from which to continue.

    `before`: point of the previous check. `advance`: function that integrates from a point to a time.
    """
    found = [c for c in (w.crossing(before, after, advance) for w in watch) if c is not None]
    acting = [c.at for c in found if c.watched.event.acts]
    if acting:
        after = min(acting, key=lambda at: at.t)
        together = after.t + max(1e-8, 4.0 * rounding(after.t))
        found = [c for c in found if c.at.t <= together]
    return sorted(found, key=lambda c: c.at.t), after
