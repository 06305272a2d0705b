"""A vehicle of modules on powered ball joints drives over obstacles: it lifts the wheels of one module after the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hydromechs.dynamics import kinematics
from hydromechs.errors import FieldError, UnreachableFoothold
from hydromechs.model import Model, State, joints
from hydromechs.simulation import Controller, Pack, Simulation, check_free_in_world
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix, quaternion_matrix, rotation_between
from hydromechs.values import Array, NotNegative, Positive, not_negative, positive

from ._course import Course
from ._drives import JointServos
from ._ground import Ground

GRID = 0.02
"""Distance of the places at which the ground is looked at [m]."""


class _Module(NamedTuple):
    """One module, joined to the middle one by a ball joint; the middle one itself has its ball joint at its origin."""

    name: str
    wheels: tuple[str, ...]
    ball: Array
    """Ball joint in the middle module's axes [m], shape (3,)."""
    axle: Array
    """Middle of the wheels in its own axes [m], shape (3,)."""
    track: float
    """Distance of the wheels on both sides [m]."""
    q: slice
    """Its place in q."""
    limit: float
    """Largest rotation of its ball joint [rad]."""


class ArticulatedDrive(Controller):
    """Drives modules with wheels on powered ball joints straight ahead, also over steps that wheels cannot climb. A controller.

    - The height of each wheel follows a profile of the ground: what the wheel rolls on, with ramps before and behind whatever
      is higher. On a ramp the wheels of a module hang in the air and the other modules carry it.
    - Pitch and roll of each module follow from the heights of its wheels and of its ball joint; the ball joints are told the
      rotation between the modules. The middle module has the slope from the front wheels to the rear ones.
    - Wheels turn at the speed of the course, and faster or slower by the error of the way. The ball joints steer: front and
      rear module turn in opposite senses by the errors of heading and place.

    Its signals are the errors of the way, across it, and of the heading, and how high the wheels of each module are to be above
    the ground.

    Args:
        modules: Names of the wheels of each module, by the name of the module; the first has the free joint, the others hang on
            it by ball joints, one ahead and one behind.
        radius: Of the wheels [m].
        velocity: Ahead [m/s].
        distance: After which it stops [m].
        ramp: Slope of the ramps [-].
        clearance: How long before an obstacle wheels are as high as it, and how long behind it they stay up [m].
        bandwidth: Of the loop of the way [1/s].
        steering: Turn of the ball joints per error of the heading [-].
        start: Time at which it begins to drive; before, it stands [s].
        period: Time between two commands [s].
    """

    def __init__(
        self,
        *,
        modules: Mapping[str, Sequence[str]],
        radius: Positive,
        velocity: Positive = 0.15,
        distance: Positive = 3.0,
        ramp: Positive = 0.8,
        clearance: NotNegative = 0.03,
        bandwidth: Positive = 2.0,
        steering: NotNegative = 0.5,
        start: NotNegative = 1.0,
        period: Positive = 0.02,
    ) -> None:
        self.period = positive(period, "period")
        if not isinstance(modules, Mapping) or len(modules) != 3 or any(isinstance(w, str) or not w for w in modules.values()):
            raise FieldError("modules", modules, "must be three bodies, each with the names of its wheels")
        self.modules = {name: tuple(wheels) for name, wheels in modules.items()}
        self.radius, self.ramp = positive(radius, "radius"), positive(ramp, "ramp")
        self.clearance = not_negative(clearance, "clearance")
        self.distance = positive(distance, "distance")
        self.course = Course((positive(velocity, "velocity"), 0.0), 0.0, self.distance, 1.0)
        self.bandwidth, self.steering = positive(bandwidth, "bandwidth"), not_negative(steering, "steering")
        self.start_time = not_negative(start, "start")

    def start(self, simulation: Simulation) -> None:
        model = simulation.model
        self._modules = _modules(model, self.modules)
        middle, *others = self._modules
        if sorted(math.copysign(1.0, x.ball[0] + x.axle[0]) for x in others) != [-1.0, 1.0]:
            raise ValueError(f"of {others[0].name!r} and {others[1].name!r} one must be ahead of {middle.name!r}, one behind")
        wheels = [wheel for module in self._modules for wheel in module.wheels]
        self._servos = JointServos(simulation, wheels, 0.0)
        self._turns = [model.joint_part(wheel).q.start for wheel in wheels]
        self._ground = Ground(simulation)
        self._profiles: dict[tuple[float, ...], tuple[Array, Array, Array]] = {}
        """Heights along the sides, by where the drive began: what follows from its memory."""
        self._pack = Pack({"begun": (), "course": (3,)})
        self.memory = np.zeros(self._pack.size)
        self.signals = {"error.ahead": "m", "error.side": "m", "error.yaw": "rad"}
        self.signals |= {f"raised.{module.name}": "m" for module in self._modules}

    def __call__(self, state: State) -> dict[str, float]:
        """Commands at a `state`."""
        middle = self._modules[0]
        p, R = state.q[middle.q][:3], quaternion_matrix(state.q[middle.q][3:7])
        memory = np.array(self.memory, dtype=float)
        m = self._pack.views(memory)
        yaw = math.atan2(R[1, 0], R[0, 0])
        if not m["begun"]:
            m["begun"][...] = 1.0
            m["course"][:] = [p[0], p[1], yaw]
            self._refuse(self._profile(m["course"]), state.t)
        self.memory = memory
        profile = self._profile(m["course"])
        axles = [p + R @ middle.axle]
        for module in self._modules[1:]:
            axles.append(p + R @ (module.ball + quaternion_matrix(state.q[module.q]) @ module.axle))
        along = np.array([math.cos(m["course"][2]), math.sin(m["course"][2])])
        places = (np.array(axles)[:, :2] - m["course"][:2]) @ along
        heights = np.array([[np.interp(s, profile[0], side) for side in profile[1]] for s in places])  # (3, 2)
        over = heights.mean(axis=1) - [np.interp(s, profile[0], profile[2]) for s in places]
        gone = float((p[:2] - m["course"][:2]) @ along)
        side = float(np.array([-along[1], along[0]]) @ (p[:2] - m["course"][:2]))
        since = state.t - self.start_time
        here, soon = (self.course.at(t, np.zeros(3)).xy[0] for t in (since, since + self.period))
        off = math.remainder(float(m["course"][2]) - yaw, 2.0 * math.pi)
        steer = min(max(self.steering * (off - side), -0.2), 0.2)
        self.signal_values = np.array([here - gone, -side, off, *over])
        out: dict[str, float] = {}
        for module, turn in zip(self._modules[1:], self._rotations(heights, steer), strict=True):
            out |= {f"{module.name}.{x}": float(a) for x, a in zip("xyz", turn, strict=True)}
        speed = (soon - here) / self.period + self.bandwidth * (here - gone)
        # the axis of a wheel is y: forward is a positive turn where z is up, a negative one where it is down
        rate = np.full(len(self._turns), self._ground.up * speed / self.radius)
        at = state.q[self._turns]
        return out | self._servos.commands(state.t, at, at, rate)

    def _rotations(self, heights: Array, steer: float) -> list[Array]:
        """Rotation vectors of the ball joints [rad], shape (3,) each; NaN where a module is too short.

        Args:
            heights: UP of all wheels, those at greater y first [m], shape (3, 2).
            steer: Turn to the left of the module ahead, and to the right of the one behind, about z [rad].
        """
        middle, *others = self._modules
        up, mean = self._ground.up, heights.mean(axis=1)
        reach = [module.ball[0] + module.axle[0] - middle.axle[0] for module in others]
        slope = math.atan((mean[1] - mean[2]) / (reach[0] - reach[1]))
        roll = [math.asin(min(max((h[0] - h[1]) / x.track, -1.0), 1.0)) for h, x in zip(heights, self._modules, strict=True)]
        R0 = _attitude(slope, roll[0], up)
        out = []
        for k, module in enumerate(others, start=1):
            ball, axle = module.ball - middle.axle, module.axle
            left = mean[k] - mean[0] - (ball[0] * math.sin(slope) + up * ball[2] * math.cos(slope))
            long = math.hypot(axle[0], axle[2])
            forward = math.copysign(1.0, axle[0])
            if abs(left) >= long:
                out.append(np.full(3, np.nan))
                continue
            pitch = forward * (math.asin(left / long) - math.atan2(up * axle[2], abs(axle[0])))
            c, s = math.cos(steer), math.sin(forward * steer)
            R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ _attitude(pitch, roll[k], up)
            out.append(rotation_between(np.array([1.0, 0.0, 0.0, 0.0]), quaternion_from_matrix(R0.T @ R)))
        return out

    def _refuse(self, profile: tuple[Array, Array, Array], t: float) -> None:
        """Refuse a way that asks for more than the ball joints can do."""
        s, sides, _ = profile
        reach = np.array([x.ball[0] + x.axle[0] for x in self._modules])
        for at in np.arange(0.0, self.distance, GRID):
            heights = np.array([[np.interp(at + x, s, side) for side in sides] for x in reach])
            for module, turn in zip(self._modules[1:], self._rotations(heights, 0.0), strict=True):
                if not np.linalg.norm(turn) <= module.limit:
                    raise UnreachableFoothold(
                        f"t = {t:.3f} s: {at:.2f} m ahead the ball joint of {module.name!r} would have to turn beyond its "
                        f"{module.limit:g} rad; the ground is too high there; drive elsewhere, or with a flatter ramp"
                    )

    def _profile(self, course: Array) -> tuple[Array, Array, Array]:
        """Places along the way [m] (n,), heights for wheels on both sides [m] (2, n), and the mean of the ground's (n,)."""
        key = tuple(course.tolist())
        if key not in self._profiles:
            self._profiles[key] = self._look(course)
        return self._profiles[key]

    def _look(self, course: Array) -> tuple[Array, Array, Array]:
        length = max(abs(x.ball[0] + x.axle[0]) for x in self._modules) + self.radius + self.clearance
        s = np.arange(-2.0 * length, self.distance + 2.0 * length, GRID)
        c, sn = math.cos(course[2]), math.sin(course[2])
        half = 0.5 * self._modules[0].track
        sides, ground = [], []
        for y in (half, -half):
            way = course[:2] + s[:, None] * np.array([c, sn]) + y * np.array([-sn, c])
            g = self._ground.height(way)
            if not np.isfinite(g).all():
                k = int(np.argmin(np.isfinite(g)))
                raise UnreachableFoothold(f"there is no ground at x = {way[k, 0]:.2f}, y = {way[k, 1]:.2f} m; drive less far")
            ground.append(g)
            r, reach = self.radius, self.radius + self.clearance
            d = GRID * np.arange(-int(reach / GRID), int(reach / GRID) + 1)
            e = _highest(g, np.sqrt(r * r - np.maximum(np.abs(d) - self.clearance, 0.0) ** 2) - r)
            far = int(max(np.ptp(g), 1e-9) / self.ramp / GRID) + 1
            sides.append(_highest(e, -self.ramp * GRID * np.abs(np.arange(-far, far + 1))))
        return s, np.array(sides), np.mean(ground, axis=0)


def _highest(x: Array, shape: Array) -> Array:
    """max over d of x(s + d) + shape(d): what a thing of that shape touches from above, shaped as x; ends are continued."""
    n = len(shape) // 2
    wide = np.concatenate([np.full(n, x[0]), x, np.full(n, x[-1])])
    return np.asarray(np.max([wide[k : k + len(x)] + shape[k] for k in range(len(shape))], axis=0))


def _attitude(pitch: float, roll: float, up: float) -> Array:
    """Axes of a module with its nose raised by `pitch` and its side of greater y by `roll` [rad], shape (3, 3)."""
    return matrix_from_rpy((up * roll, -up * pitch, 0.0))


def _modules(model: Model, given: Mapping[str, Sequence[str]]) -> list[_Module]:
    """Modules in order, checked."""
    kin = kinematics(model, *model.neutral())
    places = [np.asarray(p, dtype=float) for p in kin.p_WB]
    first = next(iter(given))
    root = model.body_index(first)
    out = []
    for name, wheels in given.items():
        i = model.body_index(name)
        joint = model.bodies[i].joint
        wanted = joints.Free if name == first else joints.Ball
        if not isinstance(joint, wanted) or (name != first and model.parent[i] != root):
            how = "have a free joint" if name == first else f"hang on {first!r} by a ball joint"
            raise ValueError(f"module {name!r} must {how}")
        if name == first:
            check_free_in_world(model, i)
        if not np.allclose(np.asarray(kin.R_WB[i], dtype=float), np.eye(3)):
            raise ValueError(f"axes of module {name!r} must be those of {first!r} at rest")
        centres = np.array([places[model.body_index(wheel)] for wheel in wheels]) - places[i]
        for wheel in wheels:
            w = model.bodies[model.body_index(wheel)]
            if model.parent[model.body_index(wheel)] != i or not isinstance(w.joint, joints.Revolute):
                raise ValueError(f"wheel {wheel!r} does not turn on module {name!r}; name bodies with revolute joints there")
        limit = getattr(joint, "limit", None)
        out.append(
            _Module(
                name,
                tuple(wheels),
                places[i] - places[root],
                centres.mean(axis=0),
                float(np.ptp(centres[:, 1])) or math.inf,
                model.q_slices[i],
                math.inf if limit is None else float(limit),
            )
        )
    return out
