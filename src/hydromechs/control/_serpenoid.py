"""Serpenoid gait of a swimming snake robot: a wave of joint angles from head to tail (Hirose 1993)."""

import math
from collections.abc import Sequence

import numpy as np

from hydromechs.equations import kinematics
from hydromechs.errors import FieldError
from hydromechs.model import joints
from hydromechs.simulation import Site, Tick, TracedBlock, Update, check_free_in_world
from hydromechs.spatial import clamp, minimum, quaternion_matrix, smallest_angle, where
from hydromechs.values import Array, Finite, NotNegative, Positive, Scalar, finite, not_negative, positive

from ._reference import Servos

MOST_BEND = math.radians(15.0)
"""Maximum steering offset of a joint [rad]."""


class Serpenoid(TracedBlock):
    """Controller that sends a sine wave through the joints of a snake robot, from head to tail, so that it swims head first.

        φ_i = α g_i sin(2π t/T − (i − 1) δ) + γ,     i = 1 ... n from the head on

    For g = 1, the gait is lateral undulation of a snake. Amplitudes that grow towards the tail, g_i = h + (1 − h)(i − 1)/(n
    − 1) with `head_share` h, yield eel-like motion (Kelasidi et al. 2014, with joints numbered from the tail). The offset γ
    bends and thereby turns the body: γ = −k (ψ_ref − ψ), at most 15°. ψ is the mean heading of the modules, low-pass
    filtered with the time constant T. The amplitude grows smoothly during `ramp`.

    The signals are "heading" ψ, "offset" γ, and the reference angle of each joint, "reference.NAME".

    Args:
        joints: Names of parallel revolute joints with servos, starting at the head.
        amplitude_deg: α, amplitude of the last joint [°].
        frequency: 1/T [1/s], below half the command rate, 1/(2 `period`).
        phase_deg: δ, phase lag between consecutive joints [°]; negative values make the robot swim backwards.
        head_share: h, ratio of the amplitudes of the first and last joint [-].
        heading_deg: ψ_ref, reference heading from world x towards y [°]; if omitted, steering is disabled.
        steering: Steering gain k [-].
        ramp: Duration over which the amplitude grows from 0 [s].
        period: Command period [s].
    """

    def __init__(
        self,
        *,
        joints: Sequence[str],
        amplitude_deg: Positive = 30.0,
        frequency: Positive = 0.5,
        phase_deg: Finite = 40.0,
        head_share: NotNegative = 1.0,
        heading_deg: Finite | None = None,
        steering: NotNegative = 0.4,
        ramp: Positive = 2.0,
        period: Positive = 0.02,
    ) -> None:
        if isinstance(joints, str) or len(joints) < 2:
            raise FieldError("joints", joints, "must contain at least two joints, starting at the head")
        self.joints = tuple(joints)
        self.omega = 2.0 * math.pi * positive(frequency, "frequency")
        self.delta = math.radians(finite(phase_deg, "phase_deg"))
        n, share = len(self.joints), not_negative(head_share, "head_share")
        self.amplitudes = math.radians(positive(amplitude_deg, "amplitude_deg")) * np.linspace(share, 1.0, n)
        """Amplitude α g of each joint [rad], shape (n,)."""
        self.heading = None if heading_deg is None else math.radians(finite(heading_deg, "heading_deg"))
        self.steering, self.ramp, self.period = (
            not_negative(steering, "steering"),
            positive(ramp, "ramp"),
            positive(period, "period"),
        )
        if frequency * self.period >= 0.5:
            must = f"must be below {0.5 / self.period:g}, half the command rate; set a period below"
            raise FieldError("frequency", float(frequency), f"{must} {0.5 / frequency:g} s, or reduce the frequency")

    def prepare(self, site: Site) -> None:
        model = site.model
        self._servos = Servos(site, self.joints)
        parts = [model.joint_part(name) for name in self.joints]
        for part in parts:
            if not isinstance(part.joint, joints.Revolute):
                raise ValueError(f"joint {part.name!r} is {part.joint.kind}; use only revolute joints")
        neutral, v = model.neutral()
        head = model.parent[model.body_index(parts[0].name)]
        if head < 0 or not isinstance(model.bodies[head].joint, joints.Free):
            raise ValueError(f"joint {self.joints[0]!r} is not attached to a body with a free joint; list the head joint first")
        check_free_in_world(model, head)
        X = np.array(kinematics(model, neutral, v).X_WB, dtype=float)
        way = [X[model.body_index(p.name)] for p in parts]
        axes = np.array(
            [x[:3, :3] @ (np.array(p.joint.axis) / np.linalg.norm(p.joint.axis)) for x, p in zip(way, parts, strict=True)]
        )
        for name, cosine in zip(self.joints, axes @ axes[0], strict=True):
            if cosine < 1.0 - 1e-6:
                raise ValueError(f"joint {name!r} is not parallel to {self.joints[0]!r}; use joints with parallel axes")
        aft = way[-1][:3, 3] - way[0][:3, 3]
        self._forward = -(X[head, :3, :3].T @ aft) / np.linalg.norm(aft)
        """Forward direction of the head in head axes, shape (3,)."""
        self._axis = X[head, :3, :3].T @ axes[0]
        """Common axis of all joints in head axes, shape (3,)."""
        self._head = model.q_slices[head]
        self.first_memory = {"heading": 0.0}
        self.commanded = self._servos.commanded
        self.signals = {"heading": "rad", "offset": "rad"} | {f"reference.{name}": "rad" for name in self.joints}

    def update(self, tick: Tick) -> Update:
        angles = self._servos.positions(tick)
        R = quaternion_matrix(tick.q[self._head][3:7])
        ahead, up = R @ self._forward, where((R @ self._axis)[2] < 0.0, -1.0, 1.0)
        behind = np.concatenate([np.zeros(1), np.cumsum(angles)])  # of each module relative to the head
        seen = np.arctan2(ahead[1], ahead[0]) + up * (sum(behind) / len(behind))
        share = where(tick.first, 1.0, min(1.0, self.period * self.omega / (2.0 * math.pi)))
        heading = tick.memory["heading"] + share * smallest_angle(seen - tick.memory["heading"])
        offset = 0.0
        if self.heading is not None:
            off = smallest_angle(self.heading - heading)
            offset = -up * clamp(self.steering * off, -MOST_BEND, MOST_BEND)
        now, soon = (self._wave(t) + offset * minimum(1.0, t / self.ramp) for t in (tick.t, tick.t + self.period))
        return Update(
            self._servos.commands(now, (soon - now) / self.period, tick.t),
            {"heading": heading},
            dict(zip(self.signals, [heading, offset, *now], strict=True)),
        )

    def _wave(self, t: Scalar) -> Array:
        """Return the joint angles of the wave at a time [rad], shape (n,)."""
        s = clamp(t / self.ramp, 0.0, 1.0)
        grown = s * s * s * (10.0 + s * (-15.0 + 6.0 * s))
        return grown * self.amplitudes * np.sin(self.omega * t - self.delta * np.arange(len(self.joints)))
