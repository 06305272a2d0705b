"""Compiled equations of a model: each equation is a method for single states and batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from hydromechs import compiler, dynamics
from hydromechs.compiler import Compiled, OperationCount, Program
from hydromechs.model import Model
from hydromechs.values import Array

from . import _closed_form as closed
from . import _equations as equations
from ._arguments import model_of
from ._euler_form import EulerForm
from ._formulations import Grip, HeldLoad, HeldMotion, held_by_tips
from ._machine import CompiledEquations, Parameters
from ._parameters import Form
from ._table import FLUID, Equation, EquationName, equation_of, shape_of


def compile_model(
    model: Model, *, lanes: int | None = None, threads: int = 1, parameters: Sequence[str] = (), form: Form | None = None
) -> Dynamics:
    """Compile a model. Each method is compiled at its first call and cached on disk.

    Args:
        model: The mechanism.
        lanes: Number of states per vector operation in batches, 1, 4 or 8. Defaults to the vector width of the machine.
        threads: Number of threads that share a batch.
        parameters: Paths of model parameters that remain inputs, such as "vehicle.inertia.mass" or "world.water_density".
        form: "specialised" for straight-line code of all bodies, "rolled" for a loop over the bodies, "branches" for
            straight-line code that evaluates equal branches of one state on lanes. If omitted, size and structure of the model
            determine the form.
    """
    return Dynamics(model, lanes=lanes, threads=threads, parameters=parameters, form=form)


class Keywords(TypedDict, total=False):
    """Optional arguments of the methods of `Dynamics`."""

    parameters: Parameters | None
    """Values of open parameters by name; other parameters keep the values of the model."""
    out: Array | None
    """Array that receives the result."""


class InCurrent(Keywords, total=False):
    """Optional arguments of equations that depend on the velocity of the water."""

    fluid_velocity: ArrayLike | None
    """Velocity of the water in world axes [m/s], shape (..., 3), or (..., nb, 3) with one row per body; zero if None. In a
    batch of exactly nb states, use (nb, 1, 3) for states or (1, nb, 3) for bodies."""


class InFlow(InCurrent, total=False):
    """Optional arguments of equations that also depend on the acceleration of the water."""

    fluid_acceleration: ArrayLike | None
    """Acceleration of the water in world axes [m/s²], with the shapes of `fluid_velocity`; zero if None."""


class Loaded(InFlow, total=False):
    """Optional arguments of equations with external forces."""

    wrench: ArrayLike | None
    """External wrench on each body in body axes about the body origin [N, N·m], shape (..., nb, 6); zero if None."""


class Dynamics(CompiledEquations):
    """Compiled equations of one model.

    All methods accept leading batch dimensions, which broadcast; most accept `out=`. `q` is a configuration, shape (..., nq),
    `v` a velocity, `tau` a generalised force and `vdot` the time derivative of the components of `v`, shape (..., nv) each.
    `Keywords`, `InCurrent`, `InFlow` and `Loaded` describe the optional arguments.

    For speed, values are not checked: NaN inputs give NaN results, and quaternions must have unit length. Normalise them, or
    use configurations from `hm.integrate`, which preserves unit length.

    Constructor arguments are those of `hm.compile`.
    """

    _fast: Callable[..., bool] | None = None

    # -- equations of motion ------------------------------------------------------------------------------------------------

    def forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        fluid_velocity: ArrayLike | None = None,
        fluid_acceleration: ArrayLike | None = None,
        wrench: ArrayLike | None = None,
        parameters: Parameters | None = None,
        out: Array | None = None,
    ) -> Array:
        """Return v̇ by the articulated-body algorithm in water, shape (..., nv).

        The optional arguments are those of `Loaded`. They are listed explicitly, because collecting keywords takes a tenth of
        the time of a call.
        """
        plain = fluid_velocity is None and fluid_acceleration is None and wrench is None and not parameters
        if plain and not self.parameters and getattr(q, "ndim", 1) == 1:
            if self._fast is None:
                self._fast = self._compiled("forward_dynamics").single()
            result = np.empty(self.model.nv) if out is None else out
            if self._fast(q, v, tau, result):
                return result
        more: Loaded = {
            "fluid_velocity": fluid_velocity,
            "fluid_acceleration": fluid_acceleration,
            "wrench": wrench,
            "parameters": parameters,
            "out": out,
        }
        return self._run("forward_dynamics", (q, v, tau), more)[0]

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, vdot: ArrayLike, **more: Unpack[Loaded]) -> Array:
        """Return the joint forces τ that produce the accelerations v̇, shape (..., nv)."""
        return self._run("inverse_dynamics", (q, v, vdot), more)[0]

    def star_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **more: Unpack[Loaded]) -> Array:
        """Return v̇ of a star by composite bodies (CRB/DTS), equal to `forward_dynamics`, shape (..., nv)."""
        return self._run("star_dynamics", (q, v, tau), more)[0]

    def decoupled_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **more: Unpack[Loaded]) -> Array:
        """Return v̇ without the reaction of the other bodies on the base (McMillan 1994, 7.5.2), shape (..., nv)."""
        return self._run("decoupled_dynamics", (q, v, tau), more)[0]

    def arm_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, vdot_base: ArrayLike, **more: Unpack[Loaded]) -> Array:
        """Return v̇ for given accelerations `vdot_base` of the base's joint, shape (..., nv); τ of the base has no effect."""
        return self._run("arm_dynamics", (q, v, tau, vdot_base), more)[0]

    def closed_chain_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, load: str, grasps: Iterable[Grip], **more: Unpack[Loaded]
    ) -> HeldMotion:
        """Return v̇ (..., nv) of arms that hold a load, and the forces of the grasps on the load (..., ng, 6).

        See `hm.equations.closed_chain_dynamics`. `load` is the name of the load's body, `grasps` are `hydromechs.contact.Grasp`
        objects whose `held` is on the load, and `out` is a pair of arrays.
        """
        return HeldMotion(*self._run(HeldLoad(load, tuple(grasps)), (q, v, tau), more))

    def mass_matrix(self, q: ArrayLike, **more: Unpack[Keywords]) -> Array:
        """Return the joint-space inertia matrix with added mass, shape (..., nv, nv)."""
        if self.form == "rolled":
            return self._mass_matrix_by_columns(np.asarray(q, dtype=float), more.get("out"))
        return self._run("mass_matrix", (q,), more)[0]

    def _mass_matrix_by_columns(self, q: Array, out: Array | None) -> Array:
        """Return M; its columns are the forces of unit accelerations, evaluated on lanes."""
        function = lambda m, q, vdot: equations.mass_matrix(m, q) @ vdot  # noqa: E731
        made = self._compiled("inertia_times", Equation(function, ("q", "vdot"), ("tau",), "M(q) times accelerations."))
        M = made([q[..., None, :], np.eye(self.model.nv)])[0]
        M = 0.5 * (M + np.swapaxes(M, -1, -2))
        if out is None:
            return M
        out[...] = M
        return out

    def coriolis_matrix(self, q: ArrayLike, v: ArrayLike, **more: Unpack[InCurrent]) -> Array:
        """Return C(q, v) in M v̇ + C v + D + g + F = τ, factorised so that Ṁ − 2C is skew-symmetric, shape (..., nv, nv)."""
        return self._run("coriolis_matrix", (q, v), more)[0]

    def coriolis_matrix_lagrange(self, q: ArrayLike, v: ArrayLike, **more: Unpack[InCurrent]) -> Array:
        """Return C(q, v) by Lagrange's equations in quasi-velocities, with equal C v, shape (..., nv, nv)."""
        return self._run("coriolis_matrix_lagrange", (q, v), more)[0]

    def closed_form(self, q: ArrayLike, v: ArrayLike, **more: Unpack[InFlow]) -> closed.ClosedForm:
        """Return all terms of M v̇ + C v + D + N + F = τ, with separate rigid and added parts of M and C.

        `out` is a tuple of arrays.
        """
        return closed.ClosedForm(*self._run("closed_form", (q, v), more))

    def closed_form_dynamics(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, **more: Unpack[Loaded]) -> Array:
        """Return v̇ by the closed form, equal to `forward_dynamics` but slower, shape (..., nv)."""
        return self._run("closed_form_dynamics", (q, v, tau), more)[0]

    def euler_form(self, xi: ArrayLike, xi_rate: ArrayLike, **more: Unpack[InFlow]) -> EulerForm:
        """Return all terms of the closed form in ξ = (x, y, z, roll, pitch, yaw, joints), shape (..., nv).

        `out` is a tuple of arrays.
        """
        return EulerForm(*self._run("euler_form", (xi, xi_rate), more))

    def damping_force(self, q: ArrayLike, v: ArrayLike, **more: Unpack[InCurrent]) -> Array:
        """Return D(q, v) in M v̇ + C v + D + g + F = τ, the hydrodynamic damping, shape (..., nv)."""
        return self._run("damping_force", (q, v), more)[0]

    def damping_matrix(self, q: ArrayLike, v: ArrayLike, **more: Unpack[InCurrent]) -> Array:
        """Return the damping matrix D(q, v), shape (..., nv, nv); D v is the damping force in still water.

        In a current, the matrix is evaluated at the velocities relative to the water; see `hm.equations.damping_matrix`.
        """
        return self._run("damping_matrix", (q, v), more)[0]

    def flow_force(self, q: ArrayLike, v: ArrayLike, **more: Unpack[InFlow]) -> Array:
        """Return F in M v̇ + C v + D + g + F = τ, the effect of moving water beyond C and D, shape (..., nv).

        C and D must use the same `fluid_velocity`.
        """
        return self._run("flow_force", (q, v), more)[0]

    def restoring_force(self, q: ArrayLike, **more: Unpack[Keywords]) -> Array:
        """Return g(q) in M v̇ + C v + D + g + F = τ, weight and buoyancy in still water, shape (..., nv)."""
        return self._run("restoring_force", (q,), more)[0]

    # -- kinematics, energy -------------------------------------------------------------------------------------------------

    def kinematics(
        self, q: ArrayLike, v: ArrayLike, *, parameters: Parameters | None = None, out: tuple[Array, Array] | None = None
    ) -> equations.BodyMotion:
        """Return J with V = J v at a point [m] (..., 3) of a body or frame, shape (..., 6, nv)."""
        return equations.BodyMotion(*self._run("kinematics", (q, v), dict(parameters=parameters, out=out)))

    def jacobian(self, q: ArrayLike, name: str, point: ArrayLike = (0.0, 0.0, 0.0), **more: Unpack[Keywords]) -> Array:
        """Return J with V = J v at a point [m] (..., 3) of the body or frame `name`, shape (..., 6, nv).

        J is expressed in the axes of the body or frame, linear first.
        """
        return self._call(self._jacobian(name), [q, np.asarray(point, dtype=float)], **more)[0]

    def jacobian_program(self, name: str) -> Program:
        """Return the traced program of `jacobian` for the body or frame `name`, with the inputs q and point."""
        return self._jacobian(name).traced

    def _jacobian(self, name: str) -> Compiled:
        made = self._made.get(("jacobian", (), name))
        if made is None:
            self.model.locate(name)  # report an unknown name here, before tracing
            equation = Equation(lambda m, q, point: equations.jacobian(m, q, name, point), ("q", "point"), ("J",), "")
            made = self._compiled("jacobian", equation, variant=name)
        return made

    def energy(
        self, q: ArrayLike, v: ArrayLike, *, fluid_velocity: ArrayLike | None = None, parameters: Parameters | None = None
    ) -> equations.Energy:
        """Return the kinetic energy of bodies and water, and the potential energy [J], each with the shape of the batch."""
        more = dict(fluid_velocity=fluid_velocity, parameters=parameters)
        return equations.Energy(*self._run("energy", (q, v), more))

    def momentum(self, q: ArrayLike, v: ArrayLike, **more: Unpack[InCurrent]) -> Array:
        """Return the momentum of bodies and water in world axes about the world's origin, shape (..., 6)."""
        return self._run("momentum", (q, v), more)[0]

    def integrate(self, q: ArrayLike, v: ArrayLike, dt: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the configuration after motion with constant velocity `v` for `dt` [s], on the manifold, shape (..., nq)."""
        return self._run("integrate", (q, v, np.asarray(dt, dtype=float)), dict(out=out))[0]

    def difference(self, q0: ArrayLike, q: ArrayLike, *, out: Array | None = None) -> Array:
        """Return the velocity that leads from `q0` to `q` in unit time, the inverse of `integrate`, shape (..., nv)."""
        return self._run("difference", (q0, q), dict(out=out))[0]

    # -- derivatives --------------------------------------------------------------------------------------------------------

    def linearize(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        *,
        fluid_velocity: ArrayLike | None = None,
        parameters: Parameters | None = None,
    ) -> tuple[Array, Array]:
        """Return A (..., 2nv, 2nv) and B (..., 2nv, nv) of  d/dt (δ, δv) = A (δ, δv) + B δτ  about a state.

        δ (nv,) displaces the configuration on its manifold, q ⊕ δ = integrate(q, δ, 1). An orientation thus has three
        coordinates without constraint, and δ̇ = δv − v × δ for a free joint. The state need not be an equilibrium.
        """

        def ab(m: Model, q: Array, v: Array, tau: Array, **others: Array) -> tuple[Array, Array]:
            def vdot(displacement: Array, v: Array, tau: Array) -> Array:
                return equations.forward_dynamics(m, dynamics.integrate(m, q, displacement, 1.0), v, tau, **others)

            return compiler.linearized(vdot, closed.velocity_coupling(m, q, v), v, tau)

        given, extra = self._options((q, v, tau), dict(fluid_velocity=fluid_velocity))
        made = self._compiled("linearize", Equation(ab, ("q", "v", "tau"), ("A", "B"), "", rarely_called=True), extra)
        A, B = self._call(made, [q, v, tau, *given], parameters)
        return A, B


def operation_count(model: Model, algorithm: EquationName) -> OperationCount:
    """Return the operation count of an algorithm in its straight-line program for a model.

    Args:
        model: The mechanism.
        algorithm: "articulated_body" (forward dynamics in moving, accelerating water, or dry if no body is wet),
            "inverse_dynamics", "composite_body" (the mass matrix), "kinematics", "star" (forward dynamics of a star by
            composite bodies), "decoupled_arm" (forward dynamics for a given acceleration of the base), "decoupled", or
            "closed_chain" (all bodies without children hold the last free body). Use a `HeldLoad` for other grasps.
    """
    model = model_of(model)
    names = {"articulated_body": "forward_dynamics", "composite_body": "mass_matrix"}
    names |= {"inverse_dynamics": "inverse_dynamics", "kinematics": "kinematics"}
    names |= {"star": "star_dynamics", "decoupled": "decoupled_dynamics", "decoupled_arm": "arm_dynamics"}
    if algorithm == "closed_chain":
        algorithm = held_by_tips(model)
    elif isinstance(algorithm, str) and algorithm not in names:
        raise ValueError(f"algorithm is {algorithm!r}; use one of {', '.join([*names, 'closed_chain'])}")
    name, equation = equation_of(algorithm if isinstance(algorithm, HeldLoad) else names[algorithm])
    wet = "dynamics" in name and model.wet
    inputs = {x: shape_of(x, model) for x in (*equation.inputs, *(FLUID if wet else ()))}
    results = lambda **arrays: equation.function(model, **arrays)  # noqa: E731
    return compiler.trace(results, inputs, name=name).count()
