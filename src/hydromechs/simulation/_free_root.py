"""True if the numbers of a free joint are a body's pose in the world, as controllers of poses take them."""

import numpy as np

from hydromechs.dynamics import kinematics
from hydromechs.model import Model


def check_free_in_world(model: Model, body: int) -> None:
    """Raise `ValueError` unless position and orientation of a body's free joint are those of the body in the world.

    They are not if the joint has an offset origin, or is on a body that can move or is not at the world's origin.
    """
    name, parent = model.body_names[body], model.parent[body]
    if parent >= 0 and model.moves[parent]:
        text = f"the free joint of {name!r} is on {model.body_names[parent]!r}, which moves"
        raise ValueError(f"{text}; control needs its pose in the world: remove the parent")
    q = model.initial().q.copy()
    q[model.q_slices[body]] = (0, 0, 0, 1, 0, 0, 0)
    kin = kinematics(model, q, np.zeros(model.nv))
    R, p = np.array(kin.R_WB[body], dtype=float), np.array(kin.p_WB[body], dtype=float)
    if np.abs(p).max() > 1e-9 or np.abs(R - np.eye(3)).max() > 1e-9:
        xyz = ", ".join(f"{x:.3g}" for x in p)
        raise ValueError(
            f"the free joint of {name!r} has an offset origin, ({xyz}) m; control needs its pose in the world: remove the "
            "origin, and give the joint's position and orientation"
        )
