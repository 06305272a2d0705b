"""Drive of a modular vehicle with powered ball joints over obstacles, which lifts the wheels of one module at a time."""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from hydromechs.compiler import trace, when
from hydromechs.dynamics import kinematics
from hydromechs.errors import FieldError, UnreachableFoothold
from hydromechs.model import Model, joints
from hydromechs.simulation import Site, Tick, TracedBlock, Update, check_free_in_world
from hydromechs.spatial import clamp, nearest_integer, norm, quaternion_matrix, quaternion_product, rotation_between, where
from hydromechs.values import Array, NotNegative, Positive, Scalar, not_negative, positive

from ._drives import JointServos, select
from ._footholds import Ground
from ._gait import Course
from ._profile import Profile


class _Module(NamedTuple):
    """Module connected to the middle module by a ball joint; for the middle module, `ball` is its origin."""

    name: str
    wheels: tuple[str, ...]
    ball: Array
    """Position of the ball joint in the axes of the middle module [m], shape (3,)."""
    axle: Array
    """Midpoint of the wheels in module axes [m], shape (3,)."""
    track: float
    """Track width: distance between the wheels [m]."""
    q: slice
    """Indices of the module in q."""
    limit: float
    """Maximum rotation of the ball joint [rad]."""


class ArticulatedDrive(TracedBlock):
    """Controller that drives three wheeled modules with powered ball joints straight ahead, over steps too high for wheels.

    - Each wheel follows a height profile: the surface reachable by the wheel, with ramps before and behind all obstacles. On a
      ramp, the wheels of a module are in the air, and the other modules carry it.
    - The wheel and ball-joint heights determine pitch and roll of each module; the ball joints are commanded to the rotation
      between the modules. The pitch of the middle module is the slope between front and rear wheels.
    - The wheel speed is the course speed corrected by the along-track error. The ball joints steer: front and rear modules turn
      in opposite directions, in proportion to heading and cross-track errors.

    The signals are the along-track, cross-track and heading errors, and the reference wheel heights of each module above the
    ground.

    Args:
        modules: Wheel names of each module, keyed by module name. The first module has the free joint; ball joints connect
            the other two to it, one ahead and one behind.
        radius: Wheel radius [m].
        velocity: Forward speed [m/s].
        distance: Distance after which the vehicle stops [m].
        ramp: Slope of the ramps [-].
        clearance: Distance before and behind an obstacle over which wheels are already at obstacle height [m].
        bandwidth: Bandwidth of the along-track loop [rad/s].
        steering: Ratio of ball-joint rotation to heading error [-].
        start: Time at which driving starts [s].
        period: Command period [s].
    """

    stop_error = UnreachableFoothold
    optimised = True  # 300 instead of 180 times real time in `waav_step`, for 0.1 s

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
            raise FieldError("modules", modules, "must contain three bodies, each with its wheel names")
        self.modules = {name: tuple(wheels) for name, wheels in modules.items()}
        self.radius, self.ramp = positive(radius, "radius"), positive(ramp, "ramp")
        self.clearance = not_negative(clearance, "clearance")
        self.distance = positive(distance, "distance")
        self.course = Course((positive(velocity, "velocity"), 0.0), 0.0, self.distance, 1.0)
        self.bandwidth, self.steering = positive(bandwidth, "bandwidth"), not_negative(steering, "steering")
        self.start_time = not_negative(start, "start")

    def prepare(self, site: Site) -> None:
        model = site.model
        self._modules = _modules(model, self.modules)
        middle, *others = self._modules
        if sorted(math.copysign(1.0, x.ball[0] + x.axle[0]) for x in others) != [-1.0, 1.0]:
            raise ValueError(
                f"{others[0].name!r} and {others[1].name!r} are on one side of {middle.name!r}; put one module on each side"
            )
        wheels = [wheel for module in self._modules for wheel in module.wheels]
        self._servos = JointServos(site, wheels, 0.0)
        self._turns = [model.joint_part(wheel).q.start for wheel in wheels]
        self._ground = Ground(site)
        self._profile = Profile(
            ground=self._ground,
            half_track=0.5 * middle.track,
            radius=self.radius,
            clearance=self.clearance,
            slope=self.ramp,
            reach=[x.ball[0] + x.axle[0] for x in self._modules],
            distance=self.distance,
            too_far=self._too_far,
        )
        self.first_memory = {"course": np.zeros(3)}  # start pose: x, y, heading
        self.commanded = (*(f"{x.name}.{axis}" for x in others for axis in "xyz"), *self._servos.commanded)
        self.signals = {"error.ahead": "m", "error.side": "m", "error.yaw": "rad"}
        self.signals |= {f"raised.{module.name}": "m" for module in self._modules}
        limits = [(x.name, x.limit) for x in others]
        self.stop_texts = {"bare": _bare_text, "bend": partial(_bend_text, limits)}

    def update(self, tick: Tick) -> Update:
        middle, *others = self._modules
        p, R = tick.q[middle.q][:3], quaternion_matrix(tick.q[middle.q][3:7])
        yaw = np.arctan2(R[1, 0], R[0, 0])
        course = select(tick.first, [p[0], p[1], yaw], tick.memory["course"])
        check = trace(self._profile.check, {"course": (3,)}, name="check", outputs=("bare", "bend"))
        bare, bend = when(tick.first, check, [course], [np.zeros(3), np.zeros(3)])
        axles = [p + R @ middle.axle]
        for module in others:
            axles.append(p + R @ (module.ball + quaternion_matrix(tick.q[module.q]) @ module.axle))
        along = np.array([np.cos(course[2]), np.sin(course[2])])
        values = self._profile.at(course, (np.array(axles)[:, :2] - course[:2]) @ along)
        heights = values[:, :2]
        over = 0.5 * (heights[:, 0] + heights[:, 1]) - values[:, 2]
        gone = (p[:2] - course[:2]) @ along
        side = np.array([-along[1], along[0]]) @ (p[:2] - course[:2])
        since = tick.t - self.start_time
        here, soon = (self.course.at(t, np.zeros(3)).xy[0] for t in (since, since + self.period))
        off = course[2] - yaw
        off = off - 2.0 * math.pi * nearest_integer(off / (2.0 * math.pi))
        steer = clamp(self.steering * (off - side), -0.2, 0.2)
        out: dict[str, Scalar] = {}
        for module, turn in zip(others, self._rotations(heights, steer), strict=True):
            out |= {f"{module.name}.{x}": a for x, a in zip("xyz", turn, strict=True)}
        speed = (soon - here) / self.period + self.bandwidth * (here - gone)
        # the axis of a wheel is y: forward is a positive rotation where z is up, a negative one where it is down
        rate = np.array([self._ground.up * speed / self.radius] * len(self._turns))
        at = tick.q[self._turns]
        out |= self._servos.commands(tick.t, at, at, rate)
        signals = dict(zip(self.signals, [here - gone, -side, off, *over], strict=True))
        return Update(out, {"course": course}, signals, stops={"bare": tuple(bare), "bend": tuple(bend)})

    def _too_far(self, heights: Array) -> list[Scalar]:
        """Return 1 for each outer module whose ball joint would exceed its limit, else 0."""
        turns = self._rotations(heights, 0.0)
        return [where(norm(turn) <= x.limit, 0.0, 1.0) for x, turn in zip(self._modules[1:], turns, strict=True)]

    def _rotations(self, heights: Array, steer: Scalar) -> list[Array]:
        """Return ball-joint rotation vectors [rad], shape (3,) each, for wheel `heights` (3, 2) [m]; NaN if out of reach.

        `steer` is the rotation about z, to the left for the front module and to the right for the rear module [rad].
        """
        middle, *others = self._modules
        up, mean = self._ground.up, 0.5 * (heights[:, 0] + heights[:, 1])
        reach = [module.ball[0] + module.axle[0] - middle.axle[0] for module in others]
        slope = np.arctan((mean[1] - mean[2]) / (reach[0] - reach[1]))
        roll = [np.arcsin(clamp((h[0] - h[1]) / x.track, -1.0, 1.0)) for h, x in zip(heights, self._modules, strict=True)]
        attitude = _attitude(slope, roll[0], up)
        out = []
        for k, module in enumerate(others, start=1):
            ball, axle = module.ball - middle.axle, module.axle
            left = mean[k] - mean[0] - (ball[0] * np.sin(slope) + up * ball[2] * np.cos(slope))
            long = math.hypot(axle[0], axle[2])
            forward = math.copysign(1.0, axle[0])
            pitch = forward * (np.arcsin(clamp(left / long, -1.0, 1.0)) - math.atan2(up * axle[2], abs(axle[0])))
            turned = quaternion_product(_about(2, forward * steer), _attitude(pitch, roll[k], up))
            out.append(select(abs(left) >= long, np.full(3, np.nan), rotation_between(attitude, turned)))
        return out


def _bare_text(x: float, y: float, *_: float) -> str:
    return f"the ground ends at x = {x:.2f}, y = {y:.2f} m; reduce the distance"


def _bend_text(limits: Sequence[tuple[str, float]], ahead: float, k: float, *_: float) -> str:
    """Return the message for a position at which ball joint k would exceed its limit."""
    name, limit = limits[int(k)]
    return (
        f"the ball joint of {name!r} would exceed its limit of {limit:g} rad "
        f"{ahead:.2f} m ahead, where the ground is too high; choose another path or a flatter ramp"
    )


def _about(axis: int, angle: Scalar) -> Array:
    """Return the quaternion of a rotation about a coordinate axis, shape (4,)."""
    out = [np.cos(0.5 * angle), 0.0, 0.0, 0.0]
    out[1 + axis] = np.sin(0.5 * angle)
    return np.array(out)


def _attitude(pitch: Scalar, roll: Scalar, up: float) -> Array:
    """Return the quaternion of a module with its nose raised by `pitch` and its +y side by `roll` [rad], shape (4,)."""
    return quaternion_product(_about(1, -up * pitch), _about(0, up * roll))


def _modules(model: Model, given: Mapping[str, Sequence[str]]) -> list[_Module]:
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
            how = (
                "has no free joint; add a free joint"
                if name == first
                else f"is not connected to {first!r} by a ball joint; add a ball joint"
            )
            raise ValueError(f"module {name!r} {how}")
        if name == first:
            check_free_in_world(model, i)
        if not np.allclose(np.asarray(kin.R_WB[i], dtype=float), np.eye(3)):
            raise ValueError(f"module {name!r} is rotated relative to {first!r} in the neutral pose; align their axes")
        centres = np.array([places[model.body_index(wheel)] for wheel in wheels]) - places[i]
        for wheel in wheels:
            w = model.bodies[model.body_index(wheel)]
            if model.parent[model.body_index(wheel)] != i or not isinstance(w.joint, joints.Revolute):
                raise ValueError(f"wheel {wheel!r} is not on a revolute joint of module {name!r}; use wheels with such joints")
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
