"""Types of a model file: the class of each name, by family. Packages of joints, drag and shapes list their own types."""

from hydromechs.geometry import SHAPES, Box, Cylinder, Ellipsoid, Origin, Placed, Sphere, shape_family
from hydromechs.registry import Families, Family

from . import added_mass, drag, flexible, joints
from ._body import Hydro, HydroModel
from ._body_shape import BodyShape
from ._loop import Coupling, Loop
from ._placement import Mdh

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
            note=" (not fixed: set the placement of the next part instead; not composite: list the parts directly)",
        ),
        Family(name="placement", base=Origin | Mdh, table={"origin": Origin, "mdh": Mdh}, default="origin"),
        Family(name="hydro", base=Hydro | HydroModel, table={"elements": Hydro}, default="elements"),
        Family(
            name="added_mass",
            base=added_mass.AddedMassElement,
            table={"matrix": added_mass.Matrix, "diagonal": added_mass.Diagonal, "shape": added_mass.ShapeAddedMass},
        ),
        Family(name="drag", base=drag.DragElement, table=dict(drag.TYPES), open_to_users=True),
        Family(
            name="flexible", base=flexible.Beam | flexible.ModalLink, table={"beam": flexible.Beam, "modes": flexible.ModalLink}
        ),
        Family(name="loop", base=Loop | Coupling, table={"frames": Loop, "joints": Coupling}, default="frames"),
        shape_family("shape", BodyShape, *(kind for kind in SHAPES.values() if kind.bounded)),
        shape_family("solid", str | Placed, Box, Sphere, Cylinder, Ellipsoid),
    ]
)
"""All families of classes in a model file."""
