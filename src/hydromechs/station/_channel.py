"""Acoustic channel with delayed, infrequent and sometimes lost messages.

Times are integer numbers of ticks, so that transmission is free of rounding errors.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from hydromechs.values import Bound, NotNegative, check_fields, finite, positive, whole

ROUNDING = 1e-9
"""Tolerance by which a time may exceed an integer number of ticks without being rounded up [ticks]."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcousticLink:
    """Effects of acoustic transmission on messages in one direction."""

    delay: NotNegative
    """Propagation delay: distance divided by the speed of sound [s]."""
    message_time: NotNegative = 0.0
    """Time to transmit one message: bits divided by the bit rate, or the inverse of the message rate [s]."""
    loss: Annotated[float, Bound(least=0.0, most=1.0)] = 0.0
    """Probability that a message is lost [-]."""
    seed: Annotated[int, Bound(least=0, whole=True)] = 0
    """Seed of the message loss; use different seeds for the two directions."""

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "seed", int(self.seed))

    @classmethod
    def across(
        cls,
        distance: float,
        *,
        speed_of_sound: float = 1500.0,
        message_bits: float = 0.0,
        bit_rate: float = math.inf,
        loss: float = 0.0,
        seed: int = 0,
    ) -> AcousticLink:
        """Return the link over a distance.

        Args:
            distance: Length of the acoustic path [m]; delay = distance / speed of sound.
            speed_of_sound: Speed of sound in water [m/s].
            message_bits: Length of a message [bit]; message time = bits / bit rate.
            bit_rate: Bit rate [bit/s].
            loss: Probability that a message is lost.
            seed: Seed of the message loss.
        """
        delay = finite(distance, "distance") / positive(speed_of_sound, "speed_of_sound")
        if not bit_rate > 0.0:
            raise ValueError(f"bit_rate is {bit_rate!r}, must be > 0; omit it for messages without transmission time")
        return cls(delay=delay, message_time=finite(message_bits, "message_bits") / bit_rate, loss=loss, seed=seed)


class Message(NamedTuple):
    """Message on an acoustic channel."""

    number: int
    """Number assigned by the sender, from 0."""
    sent: int
    """Tick at which the transmission starts."""
    arrives: int
    """Tick at which the complete message has arrived, unless it is lost."""
    content: Any
    """Complete content, not a difference, because the previous message may be lost."""


class AcousticChannel:
    """One direction of an acoustic link, between a sender and a receiver with synchronised clocks.

        arrives = sent + n + d,    n = ⌈message time / tick⌉,   d = ⌈delay / tick⌉

    While the channel transmits a message, for n ticks, it accepts no other message. There is no queue: a sender offers its
    present data at every tick, so that messages are never outdated. Messages arrive in the order in which they were sent. If a
    message is lost, the previous message remains in force until the next one arrives. The loss of message k depends only on
    the seed of the link and on k. The sender is not informed of losses.

    Args:
        link: Delay, message time and loss.
        tick: Length of a tick [s].
    """

    def __init__(self, link: AcousticLink, tick: float) -> None:
        self.link, self.tick = link, positive(tick, "tick")
        self.delay_ticks = self._ticks(link.delay)
        """Propagation delay d [ticks]."""
        self.message_ticks = self._ticks(link.message_time)
        """Transmission time n of a message [ticks]."""
        self.lost = 0
        """Number of messages lost so far."""
        self._number, self._last, self._free = 0, 0, 0
        self._under_way: deque[Message] = deque()

    def _ticks(self, time: float) -> int:
        """Return a time in ticks, rounded up so that no message arrives too early."""
        return math.ceil(time / self.tick - ROUNDING)

    def __repr__(self) -> str:
        ways = f"{self.delay_ticks} + {self.message_ticks} ticks of {self.tick:g} s, loss {self.link.loss:g}"
        return f"<AcousticChannel: {ways}; {self._number} sent, {self.lost} lost>"

    @property
    def latency(self) -> int:
        """Time from the start of a transmission to its arrival, n + d [ticks]."""
        return self.message_ticks + self.delay_ticks

    @property
    def sent(self) -> int:
        """Number of messages sent so far, including lost ones."""
        return self._number

    def takes(self, tick: int) -> bool:
        """Return True if the channel accepts a message at a tick."""
        return tick >= self._free

    def send(self, tick: int, content: Any) -> Message | None:
        """Send a message at a tick and return it, or return None while the channel is busy; ticks must not decrease."""
        tick = whole(tick, "tick")
        if tick < self._last:
            raise ValueError(f"tick is {tick}, but the last call was at tick {self._last}; pass ticks that do not decrease")
        self._last = tick
        if tick < self._free:
            return None
        self._free = tick + self.message_ticks
        message = Message(self._number, tick, tick + self.latency, content)
        self._number += 1
        loss = self.link.loss
        if loss > 0.0 and np.random.default_rng((self.link.seed, message.number)).random() < loss:
            self.lost += 1
        else:
            self._under_way.append(message)
        return message

    def receive(self, tick: int) -> list[Message]:
        """Return the messages that have arrived since the last call, in order of arrival."""
        out = []
        while self._under_way and self._under_way[0].arrives <= tick:
            out.append(self._under_way.popleft())
        return out
