"""Seeds of worlds."""

from collections.abc import Sequence

import numpy as np

from hydromechs.values import whole


def seeds_of(seed: int | Sequence[int], worlds: int) -> np.ndarray:
    """Return a seed for each world: from one integer, independent of the batch size, or one given per world.

    `seed`: the integer, or the seeds; `worlds`: number of worlds.
    """
    if np.ndim(seed) == 0:
        first = whole(seed, "seed")
        drawn = [int(np.random.SeedSequence((first, k)).generate_state(1, np.uint64)[0]) for k in range(worlds)]
        return np.array(drawn, dtype=object)
    out = np.array([whole(x, "seed") for x in np.ravel(np.asarray(seed, dtype=object))], dtype=object)
    if out.shape != (worlds,):
        raise ValueError(f"seed must be an integer or one for each of {worlds} worlds, got {out.shape[0]}")
    return out
