"""Dynamics of forests of rigid bodies. It knows nothing of water: it takes added inertias and wrenches per body."""

from ._articulated_body import articulated_body, articulated_body_with_motions, rigid_bias, velocity_force
from ._chart import chart_rate, difference, moving_steps, retract
from ._closed_chain import ClosedChains, Holding, OpenChain, closed_chain_dynamics, held_trees, open_chains, tip_jacobian
from ._closed_form import (
    Blocks,
    BodyJacobian,
    ad_matrix,
    adjoint,
    adjoint_derivative,
    body_jacobians,
    coriolis_matrix,
    coriolis_matrix_lagrange,
    jacobian_derivatives,
    mass_matrix_derivatives,
    mass_matrix_from_jacobians,
    matrix_from_jacobians,
    momentum_matrix,
    structure_matrix,
    transposed_times,
    vehicle_blocks,
)
from ._composite_body import mass_matrix
from ._decoupled import arm_dynamics, base_bodies, decoupled_dynamics
from ._energy import kinetic_energy, momentum, potential_energy
from ._generalized_force import generalized_force
from ._inverse_dynamics import accelerations, inverse_dynamics, rigid_inverse_dynamics
from ._jacobian import jacobian, jacobian_derivative_times_velocity
from ._kinematics import Balance, Bias, BodyKinematics, Kinematics, StepSubspace, body_kinematics, kinematics, world_vector
from ._manifold import displacement, integrate
from ._pseudo_inertia import PseudoInertia, moved_back
from ._singular_chains import (
    LoadSolution,
    condition_numbers,
    dual_arm,
    dual_arm_without_detection,
    load_solution,
    singular_chain_dynamics,
)
from ._star import Star, rigid_star_dynamics, star_dynamics, star_of
from ._sweeps import Articulated, accelerated, arriving, inward, joint_balance, outward, passed_on, world_acceleration

__all__ = [
    "Articulated",
    "Balance",
    "Bias",
    "Blocks",
    "BodyJacobian",
    "BodyKinematics",
    "ClosedChains",
    "Holding",
    "Kinematics",
    "LoadSolution",
    "OpenChain",
    "PseudoInertia",
    "Star",
    "StepSubspace",
    "accelerated",
    "accelerations",
    "ad_matrix",
    "adjoint",
    "adjoint_derivative",
    "arm_dynamics",
    "arriving",
    "articulated_body",
    "articulated_body_with_motions",
    "base_bodies",
    "body_jacobians",
    "body_kinematics",
    "chart_rate",
    "closed_chain_dynamics",
    "condition_numbers",
    "coriolis_matrix",
    "coriolis_matrix_lagrange",
    "decoupled_dynamics",
    "difference",
    "displacement",
    "dual_arm",
    "dual_arm_without_detection",
    "generalized_force",
    "held_trees",
    "integrate",
    "inverse_dynamics",
    "inward",
    "jacobian",
    "jacobian_derivative_times_velocity",
    "jacobian_derivatives",
    "joint_balance",
    "kinematics",
    "kinetic_energy",
    "load_solution",
    "mass_matrix",
    "mass_matrix_derivatives",
    "mass_matrix_from_jacobians",
    "matrix_from_jacobians",
    "momentum",
    "momentum_matrix",
    "moved_back",
    "moving_steps",
    "open_chains",
    "outward",
    "passed_on",
    "potential_energy",
    "retract",
    "rigid_bias",
    "rigid_inverse_dynamics",
    "rigid_star_dynamics",
    "singular_chain_dynamics",
    "star_dynamics",
    "star_of",
    "structure_matrix",
    "tip_jacobian",
    "transposed_times",
    "vehicle_blocks",
    "velocity_force",
    "world_acceleration",
    "world_vector",
]
