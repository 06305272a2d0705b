"""Identity of models: the text that identifies compiled code, and the one line that is shown."""

import dataclasses

import numpy as np

import hydromechs as hm
from hydromechs import library
from hydromechs.equations import identity_of
from hydromechs.model import added_mass_matrix


def with_other_number(model, k, **changes):
    """The model with other fields in its body k."""
    bodies = list(model.bodies)
    bodies[k] = dataclasses.replace(bodies[k], **changes)
    return dataclasses.replace(model, bodies=bodies)


def test_equal_models_have_equal_identities():
    one, two = library.load("tiburon_titan2"), library.load("tiburon_titan2")
    assert identity_of(one) == identity_of(two) and repr(one) == repr(two)


def test_any_number_changes_identity_and_line():
    """Also one that the line does not show: the sign of a zero, the last bit of a centre of mass."""
    model = library.load("puma560")
    com = model.bodies[2].inertia.com
    others = [
        with_other_number(model, 2, inertia=dataclasses.replace(model.bodies[2].inertia, com=(np.nextafter(com[0], 9.0), *com[1:]))),
        dataclasses.replace(model, world=dataclasses.replace(model.world, water_density=1024.0)),
        with_other_number(model, 3, frames=(*model.bodies[3].frames, hm.Frame("mark"))),
    ]  # fmt: skip
    assert len({identity_of(m) for m in (model, *others)}) == 4
    assert len({repr(m) for m in (model, *others)}) == 4


def test_looks_change_neither_identity_nor_line():
    """So that a model that gets its looks compiles nothing again."""
    model = library.load("puma560")
    own = model.bodies[2].shapes
    drawn = hm.BodyShape(name="mark", shape=hm.geometry.Sphere(radius=0.1), roles=("appearance",))
    painted = tuple(dataclasses.replace(s, color=(0.1, 0.2, 0.3), opacity=0.5, style="tool") for s in own)
    for shapes in ((*own, drawn), painted):
        seen = with_other_number(model, 2, shapes=shapes)
        assert seen != model and identity_of(seen) == identity_of(model) and repr(seen) == repr(model)
    solid = with_other_number(model, 2, shapes=(*own, dataclasses.replace(drawn, roles=("contact",))))
    assert identity_of(solid) != identity_of(model)


def test_elements_of_shapes_are_reported_apart():
    """Added mass and drag of the same shape, and what a name refers to."""
    rod, thick = (hm.BodyShape(name="rod", shape=hm.geometry.Cylinder(radius=r, length=1.0)) for r in (0.1, 0.2))
    mass, drag = hm.added_mass.ShapeAddedMass(shape="rod"), hm.drag.ShapeDrag(shape="rod", coefficient=1.0)
    assert identity_of(mass).startswith("hydromechs.model.added_mass.ShapeAddedMass(")
    assert identity_of(drag).startswith("hydromechs.model.drag._shape_drag.ShapeDrag(")
    bodies = [
        hm.Body(name="a", hydro=hm.Hydro(drag=drag), shapes=[dataclasses.replace(shape, roles=("appearance",))])
        for shape in (rod, thick)
    ]
    assert identity_of(bodies[0]) != identity_of(bodies[1])


class Own:
    """Hydrodynamics of a user."""

    def added_mass(self, body, motion):
        return np.eye(6)

    def wrench(self, body, motion):
        return np.zeros(6)


def test_own_classes_and_handlers_have_no_identity():
    inertia = hm.Inertia(mass=2.5, tensor=(1, 1, 1, 0, 0, 0))
    own = hm.Model(name="mine", bodies=[hm.Body(name="b", inertia=inertia, hydro=Own())])
    assert identity_of(own) is None
    assert repr(own) == "<Model mine: 1 body, 6 degrees of freedom, 2.5 kg, NED, own classes>"
    assert identity_of((library.load("puma560"), Own())) is None
    assert identity_of(np.zeros(3)) is None


def test_own_handler_of_an_element_takes_the_identity_away(monkeypatch):
    model = library.load("puma560")
    assert identity_of(model) is not None
    for element, identified in (
        (Own, True),
        (hm.added_mass.ShapeAddedMass, False),
    ):  # a handler for a class of the user's concerns no others
        handlers = {**added_mass_matrix.registry, element: lambda element, density: np.zeros((6, 6))}
        monkeypatch.setattr(added_mass_matrix, "registry", handlers)  # what `added_mass_matrix.register` leads to
        assert (identity_of(model) is not None) == identified


def test_line_names_what_one_looks_for():
    line = repr(library.load("tiburon_titan2"))
    for word in ("tiburon_titan2", "7 bodies", "12 degrees of freedom", "3880 kg", "NED"):
        assert word in line
