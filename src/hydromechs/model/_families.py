"""Types of a model file: the name of each class by family. A new joint, element or shape gets a row here."""

from __future__ import annotations

from hydromechs.geometry import Origin
from hydromechs.registry import Families, Family

from . import added_mass, drag, joints, shapes, visual
from ._body import Hydro, HydroModel
from ._placement import Mdh

__all__ = ["FAMILIES"]

FAMILIES = Families(
    [
        Family(
            name="joint",
            base=joints.Joint | joints.Composite,
            table={**joints.TYPES, "composite": joints.Composite},
            open_to_users=True,
        ),
        Family(
            name="joint",
            base=joints.Joint,
            table={key: cls for key, cls in joints.TYPES.items() if key != "fixed"},
            open_to_users=True,
            note=" (not fixed: give the next part a placement; not composite: list its parts)",
        ),
        Family(name="placement", base=Origin | Mdh, table={"origin": Origin, "mdh": Mdh}, default="origin"),
        Family(name="hydro", base=Hydro | HydroModel, table={"elements": Hydro}, default="elements"),
        Family(
            name="added_mass",
            base=added_mass.AddedMassElement,
            table={
                "matrix": added_mass.Matrix,
                "diagonal": added_mass.Diagonal,
                "sphere": added_mass.Sphere,
                "ellipsoid": added_mass.Ellipsoid,
                "cylinder": added_mass.Cylinder,
                "box": added_mass.Box,
            },
        ),
        Family(
            name="drag",
            base=drag.DragElement,
            table={
                "damping": drag.Damping,
                "cylinder": drag.Cylinder,
                "box": drag.Box,
                "sphere": drag.Sphere,
                "ellipsoid": drag.Ellipsoid,
                "foil": drag.Foil,
            },
        ),
        Family(
            name="shape",
            base=shapes.Shape,
            table={
                "box": shapes.Box,
                "cylinder": shapes.Cylinder,
                "sphere": shapes.Sphere,
                "capsule": shapes.Capsule,
                "mesh": shapes.Mesh,
            },
        ),
        Family(
            name="visual",
            base=visual.Visual,
            table={
                "box": visual.Box,
                "cylinder": visual.Cylinder,
                "sphere": visual.Sphere,
                "capsule": visual.Capsule,
                "ellipsoid": visual.Ellipsoid,
                "thruster": visual.Thruster,
                "mesh": visual.Mesh,
            },
        ),
    ]
)
"""All families of a model file."""
