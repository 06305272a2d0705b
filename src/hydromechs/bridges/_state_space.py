"""Conversion of a linearized model to a `control.StateSpace`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from hydromechs._lazy import import_extra
from hydromechs.equations import Dynamics
from hydromechs.model import Model


def to_state_space(
    model: Model | Dynamics,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    *,
    fluid_velocity: ArrayLike | None = None,
    parameters: Mapping[str, ArrayLike] | None = None,
) -> Any:
    """Return the dynamics linearized about a state, by `Dynamics.linearize`, as a `control.StateSpace` with named signals.

        d/dt (δ, δv) = A (δ, δv) + B δτ,    y = (δ, δv)

    The displacement δ of the configuration is on its manifold, q ⊕ δ = integrate(q, δ, 1), so that a quaternion has three
    coordinates. States and outputs are named `delta_NAME` and `rate_NAME`, and inputs `tau_NAME`, with the names in
    `model.coordinate_names[1]`. Underscores replace dots, which python-control rejects: `delta_vehicle_u` [m],
    `rate_vehicle_u` [m/s], `tau_vehicle_u` [N].

    Args:
        model: The mechanism, or the result of `hm.compile`.
        q: Configuration, shape (nq,).
        v: Velocity, shape (nv,).
        tau: Generalised force, shape (nv,).
        fluid_velocity: Velocity of the water in world axes [m/s], shape (3,) or (nb, 3); None for still water.
        parameters: Values of the open parameters of a compiled model, keyed by name.

    Raises:
        ModuleNotFoundError: python-control is not installed; install the extra `control`.
    """
    control = import_extra("control", "control", "to_state_space")
    dyn = model if isinstance(model, Dynamics) else Dynamics(model)
    q, v, tau = (np.asarray(x, dtype=float) for x in (q, v, tau))
    wanted = {"q": (q, dyn.model.nq), "v": (v, dyn.model.nv), "tau": (tau, dyn.model.nv)}
    for name, (array, n) in wanted.items():
        if array.shape != (n,):
            raise ValueError(f"{name} has shape {array.shape}, must be ({n},); linearize about one state at a time")
    A, B = dyn.linearize(q, v, tau, fluid_velocity=fluid_velocity, parameters=parameters)
    names = _plain(dyn.model.coordinate_names[1])
    states = [f"{kind}_{name}" for kind in ("delta", "rate") for name in names]
    n, m = B.shape
    return control.StateSpace(
        A,
        B,
        np.eye(n),
        np.zeros((n, m)),
        states=states,
        outputs=states,
        inputs=[f"tau_{name}" for name in names],
        name=dyn.model.name.replace(".", "_"),
    )


def _plain(names: tuple[str, ...]) -> list[str]:
    out: list[str] = []
    for name in names:
        plain, n = name.replace(".", "_"), 1
        while plain in out:
            n += 1
            plain = f"{name.replace('.', '_')}_{n}"
        out.append(plain)
    return out
