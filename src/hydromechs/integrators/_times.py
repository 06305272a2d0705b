"""Which times count as equal. A time is a double: late ones have fewer digits behind the point."""

import math

EPS = 2.0**-52
MOST_STEPS = 1e12
"""Steps that a run can have."""


def rounding(t: float) -> float:
    """Difference of two times about `t` that rounding alone can make [s]."""
    return 4.0 * EPS * abs(t)


def slack(t: float, step: float) -> float:
    """Distance from a multiple of the step within which a time counts as it [s]."""
    return max(1e-6 * step, rounding(t))


def reached(t: float, t_end: float, step: float) -> bool:
    """True if a time is there: nearer to the end than any step is worth [s]."""
    return t >= t_end - max(min(1e-6 * step, 1e-10), rounding(t_end))


def is_multiple(t: float, period: float, step: float) -> bool:
    """True if a time is a multiple of a period, within rounding and a millionth of a step [s]."""
    return abs(t - round(t / period) * period) <= slack(t, step)


def next_multiple(t: float, period: float, step: float) -> float:
    """The first multiple of a period after a time that does not count as it [s]."""
    return (math.floor((t + slack(t, step)) / period) + 1) * period


def whole_steps(value: float, step: float, name: str, of: str = "steps of", remedy: str = "another step") -> int:
    """Return the number of steps in a time [s]; `ValueError` with `name`, `of` and `remedy` if it is not an integer."""
    if value > MOST_STEPS * step:
        raise ValueError(f"{name} is {value:g} s, must be at most {MOST_STEPS:g} {of} {step:g} s: take longer ones")
    n = max(1, round(value / step))
    if abs(value / step - n) > 1e-6 * n:
        raise ValueError(f"{name} is {value:g} s, must be an integer number of {of} {step:g} s: try {n * step:g} s or {remedy}")
    return n
