"""Counter-based random numbers: Philox4x32-10 (Salmon et al. 2011) and the quantile function of the normal distribution.

A number depends on (seed, world, stream, tick, draw) and on nothing else: no state is carried along, so a run can be resumed,
reset or replayed for one world alone. Only integers, products and sums occur, in a fixed order and without fused operations, so
that NumPy and every back end compute the same bits.
"""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hydromechs.values import Array

from ._callee import Argument, Callee

if TYPE_CHECKING:
    from ._c_calls import CFunctions
    from ._llvm_text import Module

ROUNDS = 10
"""Rounds of Philox4x32."""
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
"""Factors of the first and third word in each round."""
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
"""Increments of the two key words from round to round."""
PARTS = 16
"""Equal parts of each octave of probabilities [2^-(k+1), 2^-k); each part has one polynomial."""
DEGREE = 5
"""Degree of the polynomials: with 16 parts their error is below 2e-12 standard deviations."""
MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@functools.cache
def quantile_table() -> Array:
    """Coefficients of −Φ⁻¹(p), p < 1/2, in powers of s, shape (63 · 16, 8); the last two columns are padding.

    Row 16 k + j holds p = 2^-(k+2) (1 + (j + 1/2 + s) / 16) for s in [-1/2, 1/2). They are stored, not computed: the bits of
    the numbers must not depend on the version of a library.
    """
    table: Array = np.load(Path(__file__).with_name("normal_quantiles.npy"))
    return table


def stream_number(name: str) -> int:
    """Return the number of a stream of random numbers, 0 to 2³² − 1, by its name.

    Args:
        name: Name of the stream, as "dvl.noise". Other streams do not change it.
    """
    return zlib.crc32(name.encode())


def philox(counter: ArrayLike, key: ArrayLike) -> NDArray[np.uint64]:
    """Return four words of 32 random bits, shape (..., 4).

    Args:
        counter: Four words of 32 bits, shape (..., 4).
        key: Two words of 32 bits, shape (..., 2).
    """
    c = [np.asarray(counter, dtype=np.uint64)[..., i] for i in range(4)]
    k = [np.asarray(key, dtype=np.uint64)[..., i] for i in range(2)]
    for _ in range(ROUNDS):
        p, q = c[0] * np.uint64(MULTIPLIERS[0]), c[2] * np.uint64(MULTIPLIERS[1])
        c = [(q >> HALF) ^ c[1] ^ k[0], q & MASK, (p >> HALF) ^ c[3] ^ k[1], p & MASK]
        k = [(x + np.uint64(step)) & MASK for x, step in zip(k, KEY_STEPS, strict=True)]
    return np.stack(c, axis=-1)


@dataclass(frozen=True)
class Draw(Callee):
    """Independent random numbers, standard normal or uniform in (0, 1).

    Numbers 2 i and 2 i + 1 come from the counter (tick, i, stream, world) with the key (seed mod 2³², seed div 2³²).
    """

    n: int
    """How many."""
    normal: bool = True
    """True for the standard normal distribution, False for the uniform one."""
    inputs = tuple(Argument(name, ()) for name in ("seed", "world", "stream", "tick"))
    """Integers: the seed below 2⁵³, the others below 2³²."""

    @property
    def outputs(self) -> tuple[Argument, ...]:
        """The numbers."""
        return (Argument("numbers", (self.n,)),)

    def __call__(self, seed: Any, world: Any, stream: Any, tick: Any) -> tuple[Array]:
        seed, world, stream, tick = (int(np.ravel(x)[0]) for x in (seed, world, stream, tick))
        blocks = [(tick % 2**32, i, stream, world) for i in range(-(-self.n // 2))]
        words = philox(np.array(blocks, dtype=np.uint64).reshape(-1, 4), np.array([seed % 2**32, seed >> 32], dtype=np.uint64))
        bits = (words[:, 0::2] | words[:, 1::2] << HALF).ravel()[: self.n]
        return ((_normal if self.normal else _uniform)(bits),)

    def llvm(self, name: str, module: Module) -> str:
        from ._llvm_random import draw_text

        return draw_text(name, self, module)

    def c(self, functions: CFunctions, *, overlapping: bool) -> list[str]:
        from ._c_random import draw_body

        return draw_body(functions, self)


def _uniform(bits: NDArray[np.uint64]) -> Array:
    """Midpoints of 2⁵² equal parts of (0, 1): 0 and 1 do not occur."""
    return ((bits >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52


def _normal(bits: NDArray[np.uint64]) -> Array:
    """Quantiles: one bit is the sign, 63 the probability, of which leading zeros and four more bits select the polynomial."""
    magnitude = (bits & np.uint64(2**63 - 1)) | np.uint64(1)
    zeros = np.array([64 - int(m).bit_length() for m in magnitude], dtype=np.uint64)
    behind = magnitude << zeros << np.uint64(1)  # what follows the leading one
    part = behind >> np.uint64(60)
    s = ((behind << np.uint64(4)) >> np.uint64(12)).astype(float) * 2.0**-52 - 0.5
    c = quantile_table()[((zeros - np.uint64(1)) * np.uint64(PARTS) + part).astype(int)]
    y = c[:, DEGREE]
    for k in reversed(range(DEGREE)):
        y = y * s + c[:, k]
    return np.where(bits >> np.uint64(63), -y, y)
