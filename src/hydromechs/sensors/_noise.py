"""Errors of one channel of a sensor."""

import math
from dataclasses import dataclass

from hydromechs.values import Limit, NotNegative, check_fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """Errors of a channel: y = clip(round(x + b + n)), in the unit of the quantity.

    At sample k, of a rate f:  n_k = √(sigma² + density² f) w_k,   b_k = b_{k−1} + walk √(1/f) w'_k,   b_0 = bias w'_0
    with w independent standard normal numbers that depend on the seed, the sensor's name and k.
    """

    sigma: NotNegative = 0.0
    """Standard deviation of one sample [unit]."""
    density: NotNegative = 0.0
    """Density of white noise: its integral over a time t has the standard deviation density·√t [unit/√Hz]."""
    bias: NotNegative = 0.0
    """Standard deviation of the bias, which is drawn once and constant [unit]."""
    walk: NotNegative = 0.0
    """Random walk of the bias: it changes by walk·√t in a time t [unit/√s]."""
    resolution: NotNegative = 0.0
    """Resolution: step to which readings are rounded [unit]; 0 for none."""
    limit: Limit = math.inf
    """Range: maximum magnitude of a reading [unit]; inf for none."""

    def __post_init__(self) -> None:
        check_fields(self)

    def deviation(self, rate: float) -> float:
        """Standard deviation of the noise of one sample at a rate [Hz]."""
        return math.sqrt(self.sigma**2 + self.density**2 * rate)

    def variance(self, rate: float) -> float:
        """Variance of one sample about its bias at a rate [Hz]: noise and rounding."""
        return self.deviation(rate) ** 2 + self.resolution**2 / 12.0


PERFECT = Noise()
"""No errors."""
