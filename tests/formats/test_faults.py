"""Each error of a model file is reported with its line, body, value and remedy.

In the texts below `<-` in a comment marks the line that the message must name.
"""

from __future__ import annotations

import pytest

from hydromechs.errors import ModelError
from hydromechs.formats import loads
from hydromechs.model import joints

TOP = "hydromechs_model: 2\nname: m\n"
HEAD = TOP + "bodies:\n"
GOOD = "  base: {joint: free, inertia: {mass: 5, tensor: [1, 1, 1, 0, 0, 0]}}\n"


def problems(text: str) -> tuple[str, ...]:
    with pytest.raises(ModelError) as caught:
        loads(text, "file.yaml")
    assert caught.value.source == "file.yaml"
    return caught.value.problems


def body(*lines: str) -> str:
    """A file with one body 'arm', given by the lines of its mapping after the name."""
    return HEAD + "  arm:\n" + "".join(f"    {line}\n" for line in lines)


MASS = "inertia: {mass: 5, tensor: [1, 1, 1, 0, 0, 0]}"
FREE = "joint: free"
ROW = "[0, 0, 0, 0, 0, 0]"

BODY_FAULTS = {
    "unknown key": (
        (FREE, "inertia: {mass: 5, tensr: [1, 1, 1, 0, 0, 0]} # <-"),
        ["'tensr'", "[1, 1, 1, 0, 0, 0]", "did you mean 'tensor'", "mass, com"],
    ),
    "unknown key of a body": ((FREE, MASS, "hydros: {volume: 1} # <-"), ["'hydros'", "{volume: 1}", "did you mean 'hydro'"]),
    "unknown key of an element": (
        (
            FREE,
            MASS,
            "hydro:",
            "  drag:",
            "    - {type: damping, linear: [1, 1, 1, 1, 1, 1]}",
            "    - {type: foil, area: 1, lift_slope: 1, drag_parallel: 1, drag_normal: 1, positon: [0, 0, 0]} # <-",
        ),
        ["hydro.drag.1", "'positon'", "'position'"],
    ),
    "key of another joint": (
        ("joint: {type: free, axis: [0, 0, 1]} # <-", MASS),
        ["joint: unknown key 'axis'", "position, orientation, velocity"],
    ),
    "missing joint": (("inertia: {mass: 5}",), ["'joint' is missing", "add it"]),
    "missing mass": ((FREE, "inertia: {com: [0, 0, 1]} # <-"), ["inertia: the key 'mass' is missing", "[kg]"]),
    "missing end of a cylinder": (
        (
            FREE,
            MASS,
            "hydro:",
            "  drag: {type: shape, shape: {type: cylinder, radius: 1, from: [0, 0, 0]}, coefficient: 1} # <-",
        ),
        ["hydro.drag.shape", "'from' is set without 'to'"],
    ),
    "text for a number": ((FREE, "inertia: {mass: heavy} # <-"), ["inertia.mass is 'heavy'", "must be a number"]),
    "old octal or underscore is no number": ((FREE, "inertia: {mass: 1_000} # <-"), ["'1_000'", "must be a number"]),
    "truth for a number": ((FREE, "inertia: {mass: true} # <-"), ["is true", "must be a number"]),
    "null for a number": ((FREE, "inertia: {mass: } # <-"), ["is null (empty)", "must be a number"]),
    "list for a number": ((FREE, "inertia: {mass: [5]} # <-"), ["is [5]", "must be a number"]),
    "wrong length": ((FREE, "inertia: {mass: 5, com: [0, 1]} # <-"), ["inertia.com is [0, 1]", "list of 3 numbers, not 2"]),
    "number for a list": ((FREE, "inertia: {mass: 5, com: 1} # <-"), ["inertia.com is 1", "list of 3 numbers"]),
    "text in a list": ((FREE, "inertia:", "  mass: 5", "  com: [0, x, 1] # <-"), ["inertia.com.1 is 'x'", "must be a number"]),
    "matrix with a short row": (
        (
            FREE,
            MASS,
            "hydro:",
            "  added_mass:",
            f"    {{type: matrix, matrix: [{ROW}, {ROW}, {ROW}, [1, 2], {ROW}, {ROW}]}} # <-",
        ),
        ["hydro.added_mass.matrix", "6 rows of 6 numbers, but row 4 has 2"],
    ),
    "matrix with too few rows": (
        (FREE, MASS, "hydro:", "  drag:", f"    {{type: damping, linear: [{ROW}, {ROW}]}} # <-"),
        ["hydro.drag.linear", "6 rows of 6 numbers, not 2 rows"],
    ),
    "mapping expected": ((FREE, "inertia: 5 # <-"), ["inertia is 5", "mapping with the keys mass, com, tensor"]),
    "frames as a list": ((FREE, MASS, "frames: [tool] # <-"), ["frames is ['tool']", "must be a mapping"]),
    "frame that is no mapping": ((FREE, MASS, "frames:", "  tool: [1, 2, 3] # <-"), ["frames.tool is [1, 2, 3]", "xyz, rpy"]),
    "unknown key of a frame called xyz": (
        (FREE, MASS, "frames:", "  xyz: {xy: [1, 2, 3]} # <-"),
        ["frames.xyz: unknown key 'xy'", "did you mean 'xyz'"],
    ),
    "null for an optional part": ((FREE, MASS, "hydro: # <-"), ["hydro is null", "must be a mapping"]),
    "null limits": (("joint: {type: revolute, limits: null} # <-", MASS), ["joint.limits is null", "list of 2 numbers"]),
    "unknown joint type": (
        ("joint: {type: revolut} # <-", MASS),
        ["joint.type is 'revolut'", "did you mean 'revolute'", f"{', '.join(joints.TYPES)}, composite"],
    ),
    "joint without type": (("joint: {axis: [0, 0, 1]} # <-", MASS), ["without the key 'type'", "one of free, fixed"]),
    "joint that is a number": (("joint: 5 # <-", MASS), ["joint is 5", "mapping whose 'type'"]),
    "type alone that is unknown": (("joint: fre # <-", MASS), ["joint.type is 'fre'", "did you mean 'free'"]),
    "type alone that needs keys": (("joint: helical # <-", MASS), ["joint: the key 'pitch' is missing", "[m]"]),
    "misspelled key that is required": (
        (FREE, "inertia: {mas: 5} # <-"),
        ["inertia: unknown key 'mas' with the value 5", "did you mean 'mass'"],
    ),
    "name that is a key": (("name: leg # <-", FREE, MASS), ["unknown key 'name'", "'leg'"]),
    "joint type that is a list": (("joint: {type: [free]} # <-", MASS), ["joint.type is ['free']", "one of free"]),
    "fixed part": (
        ("joint:", "  type: composite", "  parts:", "    - {type: revolute}", "    - {type: fixed} # <-", MASS),
        ["joint.parts.1.type is 'fixed'", "set the placement of the next part"],
    ),
    "no parts": (("joint: {type: composite, parts: []} # <-", MASS), ["has no parts; add a part"]),
    "unknown shape of added mass": (
        (FREE, MASS, "hydro:", "  added_mass:", "    - {type: shape, shape: {type: elipsoid, axes: [1, 1, 1]}} # <-"),
        ["hydro.added_mass.0.shape.type is 'elipsoid'", "did you mean 'ellipsoid'", "box"],
    ),
    "unknown shape of drag": (
        (FREE, MASS, "hydro: {drag: {type: wing}} # <-"),
        ["hydro.drag.type is 'wing'", "damping, shape, surface, foil"],
    ),
    "element that says nothing": (
        (FREE, MASS, "hydro: {drag: {}} # <-"),
        ["hydro.drag is {}", "without the key 'type'", "damping"],
    ),
    "added mass as a number": (
        (FREE, MASS, "hydro: {added_mass: 5} # <-"),
        ["hydro.added_mass is 5", "one element {...} or a list"],
    ),
    "unknown shape": (
        (FREE, MASS, "shapes: {hull: {type: cone}} # <-"),
        ["shapes.hull.type is 'cone'", "box, sphere, cylinder, capsule, ellipsoid, convex, mesh"],
    ),
    "coupled term": (
        (FREE, MASS, "hydro: {drag: {type: damping, coupled: {Yrv: 12}}} # <-"),
        ["hydro.drag.coupled", "'Yrv'", "'Y|r|v'"],
    ),
    "points as a float": (
        (
            FREE,
            MASS,
            "hydro: {drag: {type: shape, shape: {type: box, size: [1, 1, 1]}, coefficient: [1, 1, 1], points: 4.0}} # <-",
        ),
        ["points is 4.0", "integer"],
    ),
    "too many points": (
        (
            FREE,
            MASS,
            "hydro: {drag: {type: shape, shape: {type: box, size: [1, 1, 1]}, coefficient: [1, 1, 1], points: 65}} # <-",
        ),
        ["points is 65", "1 to 64"],
    ),
    "angle twice": (
        ("joint: {type: fixed, placement: {rpy: [1, 0, 0], rpy_deg: [90, 0, 0]}} # <-", MASS),
        ["both 'rpy' and 'rpy_deg'", "keep one"],
    ),
    "key of another placement": (
        (
            "joint:",
            "  type: composite",
            "  parts:",
            "    - {type: revolute, placement: {type: mdh, xyz: [0, 0, 0]}} # <-",
            MASS,
        ),
        ["joint.parts.0.placement: unknown key 'xyz'", "a, alpha"],
    ),
    "mdh and axis": (
        ("joint: {type: revolute, placement: {type: mdh, a: 1}, axis: [1, 0, 0]} # <-", MASS),
        ["axis is [1, 0, 0]", "omit axis"],
    ),
    "negative mass": (
        (FREE, "inertia:", "  com: [0, 0, 0]", "  mass: -5 # <-"),
        ["inertia.mass is -5 kg", "must be finite and at least 0"],
    ),
    "not a number": ((FREE, "inertia: {mass: .nan} # <-"), ["inertia.mass is nan", "finite"]),
    "infinite": ((FREE, "inertia: {mass: 1, com: [0, -.inf, 0]} # <-"), ["inertia.com.1 is -inf", "finite"]),
    "past the largest float": ((FREE, "inertia: {mass: 1e999} # <-"), ["inertia.mass is inf", "finite"]),
    "past the largest float as an int": ((FREE, f"inertia: {{mass: -1{'0' * 400}}} # <-"), ["inertia.mass is -inf", "finite"]),
    "too large to compute with": ((FREE, "inertia: {mass: 1e200} # <-"), ["1e+200 kg", "too large", "correct the number"]),
    "triangle inequality": (
        (FREE, "inertia: {mass: 5, tensor: [1, 1, 3, 0, 0, 0]} # <-"),
        ["1, 1, 3", "triangle inequality", "xx yy zz xy xz yz"],
    ),
    "negative moment": ((FREE, "inertia: {mass: 5, tensor: [1, 1, -3, 0, 0, 0]} # <-"), ["-3", "≥ 0"]),
    "unsymmetric added mass": (
        (
            FREE,
            MASS,
            "hydro:",
            "  added_mass:",
            f"    {{type: matrix, matrix: [[0, 7, 0, 0, 0, 0], {ROW}, {ROW}, {ROW}, {ROW}, {ROW}]}} # <-",
        ),
        ["not symmetric", "(1, 2) is 7", "(2, 1) is 0", "mean"],
    ),
    "total inertia not positive definite": (
        (FREE, MASS, "hydro: {added_mass: {type: diagonal, diagonal: [-50, 1, 1, 1, 1, 1]}} # <-"),
        ["eigenvalue -45", "positive definite", "use positive added mass"],
    ),
    "negative volume": ((FREE, MASS, "hydro: {volume: -1} # <-"), ["hydro.volume is -1 m³", "at least 0"]),
    "negative damping of the water": (
        (FREE, MASS, "hydro: {drag: {type: damping, linear: [-1, 0, 0, 0, 0, 0]}} # <-"),
        ["[-1, 0, 0, 0, 0, 0]", "use positive drag numbers"],
    ),
    "cylinder without length": (
        (
            FREE,
            MASS,
            "hydro: {added_mass: {type: shape, shape: {type: cylinder, radius: 1, from: [1, 0, 0], to: [1, 0, 0]}}} # <-",
        ),
        ["hydro.added_mass.shape", "[1.0, 0.0, 0.0]", "separate the ends"],
    ),
    "radius of zero": (
        (FREE, MASS, "hydro:", "  drag: [{type: shape, shape: {type: sphere, radius: 0}, coefficient: 1}] # <-"),
        ["hydro.drag.0.shape.radius is 0", "> 0"],
    ),
    "foil": (
        (
            FREE,
            MASS,
            "hydro: {drag: {type: foil, area: 1, lift_slope: 1, drag_parallel: 1, drag_normal: 1, chord: [0, 0, 1]}} # <-",
        ),
        ["chord [0, 0, 1] and normal [0, 0, 1]", "perpendicular"],
    ),
    "quaternion": (
        ("joint: {type: free, orientation: [1, 1, 0, 0]} # <-", MASS),
        ["[1, 1, 0, 0]", "1.41421", "unit quaternion (w, x, y, z)"],
    ),
    "limits": (("joint: {type: revolute, limits: [1, -1]} # <-", MASS), ["[1, -1] rad", "joint limits [1, -1] rad"]),
    "position outside the limits": (
        ("joint:", "  type: prismatic", "  limits: [0, 1]", "  position: 2 # <-", MASS),
        ["position 2 m", "outside the limits [0, 1]"],
    ),
    "zero axis": (("joint: {type: revolute, axis: [0, 0, 0]} # <-", MASS), ["[0, 0, 0]", "from 1e-6 to 1e6"]),
    "negative friction": (("joint: {type: ball, friction: -1} # <-", MASS), ["joint.friction is -1 N·m", "at least 0"]),
    "too many degrees of freedom": (
        ("joint: {type: composite, parts: [{type: free}, {type: ball}]} # <-", MASS),
        ["9 degrees of freedom", "the maximum is 6"],
    ),
    "massless leaf": (("joint: {type: revolute} # <-",), ["moves no inertia", "mass 0 kg", "make the joint fixed"]),
    "blank name of a frame": ((FREE, MASS, "frames: {' ': {}} # <-"), ["frame", "name"]),
    "color": (
        (FREE, MASS, "shapes: {hull: {type: sphere, radius: 1, color: [1, 2, 0]}} # <-"),
        ["shapes.hull.color is [1.0, 2.0, 0.0]", "0 to 1"],
    ),
    "role that is none": (
        (FREE, MASS, "shapes: {hull: {type: sphere, radius: 1, roles: [contact, lift]}} # <-"),
        ["shapes.hull.roles.1 is 'lift'", "'contact', 'wetting' or 'appearance'"],
    ),
    "end without the other": (
        (FREE, MASS, "shapes: {hull: {type: cylinder, radius: 1, from: [0, 0, 0]}} # <-"),
        ["shapes.hull", "'from' is set without 'to'"],
    ),
    "ends at one place": (
        (FREE, MASS, "shapes: {hull: {type: capsule, radius: 1, from: [0, 0, 1], to: [0, 0, 1]}} # <-"),
        ["shapes.hull", "[0.0, 0.0, 1.0]", "separate the ends"],
    ),
    "place given twice": (
        (FREE, MASS, "shapes: {hull: {type: box, size: [1, 1, 1], at: [0, 0, 1], origin: {}}} # <-"),
        ["shapes.hull", "both 'at' and 'origin'"],
    ),
    "key of another shape": (
        (FREE, MASS, "shapes: {hull: {type: sphere, radius: 1, bore: 0.1}} # <-"),
        ["shapes.hull", "unknown key 'bore'", "radius"],
    ),
    "duplicate key": (
        (FREE, "inertia:", "  mass: 5", "  tensor: [1, 1, 1, 0, 0, 0]", "  mass: 6 # <-"),
        ["'mass' appears twice", "first in line 7", "keep one"],
    ),
    "unknown tag": ((FREE, "inertia: {mass: !kg 5} # <-"), ["inertia.mass", "'5'", "!kg", "delete the tag"]),
    "tag that does not fit": ((FREE, "inertia: {mass: !!int heavy} # <-"), ["'heavy'", "!!int", "delete the tag"]),
    "tag of a mapping": ((FREE, "inertia: !thing {mass: 5} # <-"), ["!thing", "delete the tag"]),
    "number as a key": ((FREE, MASS, "frames: {5: {}} # <-"), ["frames", "the key 5 is not text", "quotes"]),
    "list as a key": ((FREE, MASS, "frames: {[5]: {}} # <-"), ["list or mapping is used as a key"]),
    "half a surrogate pair": ((FREE, MASS, 'frames: {"\\ud800": {}} # <-'), ["surrogate"]),
}


@pytest.mark.parametrize("case", BODY_FAULTS)
def test_error_of_one_body(case):
    lines, words = BODY_FAULTS[case]
    text = body(*lines)
    marked = [i for i, line in enumerate(text.splitlines(), 1) if "<-" in line] or [4]
    (found,) = problems(text)
    assert found.startswith(f"line {marked[0]}: body 'arm': "), found
    for word in words:
        assert word in found, f"{word!r} is not in {found!r}"


FILE_FAULTS = {
    "empty": ("", 1, ["empty", "'hydromechs_model: 2'"]),
    "only a comment": ("# nothing\n", 1, ["empty"]),
    "null": ("---\n~\n", 2, ["null", "must be a mapping"]),
    "list": ("\n- a\n- b\n", 2, ["['a', 'b']", "must be a mapping"]),
    "text": ("hello", 1, ["'hello'", "must be a mapping"]),
    "no version": (
        "name: m\nbodies:\n" + GOOD,
        1,
        ["'hydromechs_model' is missing", "start the file with 'hydromechs_model: 2'"],
    ),
    "wrong version": ("name: m\nhydromechs_model: 3\nbodies:\n" + GOOD, 2, ["hydromechs_model is 3", "must be 2"]),
    "version as a text": ("hydromechs_model: '2'\nname: m\nbodies:\n" + GOOD, 1, ["hydromechs_model is '2'", "must be 2"]),
    "version as a truth": ("hydromechs_model: true\nname: m\nbodies:\n" + GOOD, 1, ["hydromechs_model is true", "must be 2"]),
    "no name": ("hydromechs_model: 2\nbodies:\n" + GOOD, 1, ["'name' is missing", "Name of the model"]),
    "name as a number": ("hydromechs_model: 2\nname: 5\nbodies:\n" + GOOD, 2, ["name is 5", "text; put it in quotes"]),
    "blank name": ("hydromechs_model: 2\nname: ' '\nbodies:\n" + GOOD, 2, ["' '", "not blank"]),
    "no bodies": ("hydromechs_model: 2\nname: m\n", 1, ["'bodies' is missing", "add it: Bodies"]),
    "version 1": ("name: m\nhydromechs: 1\nbodies:\n  - {nam: a}\n", 2, ["version 1", "reads version 2", "docs/model_file.md"]),
    "bodies as a list": (TOP + "bodies: [{a: 1}]\n", 3, ["bodies is [{a: 1}]", "mapping from the name of each body"]),
    "empty bodies": (TOP + "bodies: {}\n", 3, ["no bodies", "at least one"]),
    "unknown key at the top": (
        "hydromechs_model: 2\nname: m\nwrld: {gravity: 9}\nbodies:\n" + GOOD,
        3,
        ["'wrld'", "did you mean 'world'"],
    ),
    "axes": (
        "hydromechs_model: 2\nname: m\nworld: {axes: NWU}\nbodies:\n" + GOOD,
        3,
        ["world.axes is 'NWU'", "'NED' or 'ENU'"],
    ),
    "negative gravity": (
        "hydromechs_model: 2\nname: m\nworld:\n  gravity: -9.81\nbodies:\n" + GOOD,
        4,
        ["world: gravity is -9.81", "at least 0"],
    ),
    "unknown key of the world": (
        "hydromechs_model: 2\nname: m\nworld:\n  density: 9.81\nbodies:\n" + GOOD,
        4,
        ["world: unknown key 'density'", "water_density"],
    ),
    "source that is a number": (
        "hydromechs_model: 2\nname: m\nsources: {a: 5}\nbodies:\n" + GOOD,
        3,
        ["sources.a is 5", "text; put it in quotes"],
    ),
    "body that is a text": (
        HEAD + GOOD + "  arm: fixed\n",
        5,
        ["body 'arm' is 'fixed'", "mapping with the keys joint, parent"],
    ),
    "body called world": (HEAD + "  world: {joint: fixed}\n", 4, ["body 'world'", "must not be 'world'"]),
    "missing parent": (
        HEAD + GOOD + "  arm:\n    parent: bas\n    joint: fixed\n",
        6,
        ["body 'arm'", "'bas'", "'base', 'arm'"],
    ),
    "parent as a number": (
        HEAD + GOOD + "  arm:\n    parent: 5\n    joint: fixed\n",
        6,
        ["body 'arm': parent is 5", "text"],
    ),
    "own parent": (
        HEAD + "  a: {joint: fixed, parent: a}\n",
        4,
        ["body 'a'", "(a → a)", "to the world"],
    ),
    "ring": (
        HEAD + "  x: {joint: fixed, parent: b}\n  a: {joint: fixed, parent: b}\n  b: {joint: fixed, parent: a}\n",
        6,
        ["body 'b'", "(b → a → b)", "to the world"],
    ),
    "duplicate names": (HEAD + GOOD + GOOD, 5, ["body 'base'", "appears twice", "line 4"]),
    "duplicate frames": (
        HEAD + "  a: {joint: fixed, frames: {t: {}}}\n  b: {joint: fixed, frames: {t: {}}}\n",
        5,
        ["body 'b'", "frame 't'", "rename this frame"],
    ),
    "duplicate key at the top": (
        "hydromechs_model: 2\nname: m\nbodies:\n" + GOOD + "name: n\n",
        5,
        ["'name' appears twice", "line 2"],
    ),
    "syntax": ("hydromechs_model: 2\nname: [m\nbodies: 5\n", 3, ["not YAML", "not YAML"]),
    "tab": ("hydromechs_model: 2\nbodies:\n\t- a\n", 3, ["not YAML", "'\\t'"]),
    "two documents": ("hydromechs_model: 2\n---\nname: m\n", 2, ["not YAML", "another document"]),
    "control character": ("hydromechs_model: 2\nname: \x01\n", 2, ["U+0001", "delete it"]),
    "no such character": ('hydromechs_model: 2\nname: "\\Uffffffff"\n', 1, ["not YAML"]),
    "undefined alias": ("hydromechs_model: 2\nname: *m\n", 2, ["undefined alias"]),
    "recursive alias": (
        "hydromechs_model: 2\nname: m\nbodies: &b\n  a: *b\n",
        3,
        ["alias refers to", "write the value in full"],
    ),
    "nesting": ("hydromechs_model: 2\nname: " + "[" * 2000 + "]" * 2000, 2, ["more than 64 levels"]),
    "aliases that explode": (
        "a0: &a0 [1]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 3000)),
        1,
        ["aliases in the file expand to more than", "100000 values"],
    ),
}


@pytest.mark.parametrize("case", FILE_FAULTS)
def test_error_of_a_file(case):
    text, line, words = FILE_FAULTS[case]
    (found,) = problems(text)
    assert found.startswith(f"line {line}: "), found
    for word in words:
        assert word in found, f"{word!r} is not in {found!r}"


def test_all_errors_at_once_in_order():
    text = (
        "hydromechs_model: 3\nworld: {gravity: -1}\nnam: m\nbodies:\n"
        "  a:\n    joint: free\n    inertia: {mass: -1}\n"
        "  b:\n    parent: a\n    joint: revolute\n    colour: red\n    inertia: {mass: -2}\n"
        "  c:\n    parent: nobody\n    joint: {type: revolut}\n    inertia: {mass: heavy}\n"
        "    shapes: {tip: {type: sphere, radius: -1}}\n"
        "  d:\n    parent: e\n    joint: fixed\n"
        "  e:\n    parent: d\n    joint: fixed\n    joint: free\n"
        "  f: 5\n"
    )
    found = problems(text)
    beginnings = (
        "line 1: hydromechs_model is 3",
        "line 2: world: gravity is -1",
        "line 3: unknown key 'nam' with the value 'm' (did you mean 'name'?)",
        "line 7: body 'a': inertia.mass is -1",
        "line 11: body 'b': unknown key 'colour'",
        "line 12: body 'b': inertia.mass is -2",
        "line 14: body 'c': the parent 'nobody'",
        "line 15: body 'c': joint.type is 'revolut'",
        "line 16: body 'c': inertia.mass is 'heavy'",
        "line 17: body 'c': shapes.tip.radius is -1",
        "line 19: body 'd': the parents form a loop (d → e → d)",
        "line 24: body 'e': joint: the key 'joint' appears twice, first in line 23",
        "line 25: body 'f' is 5",
    )
    assert len(found) == len(beginnings), found
    for sentence, beginning in zip(found, beginnings, strict=True):
        assert sentence.startswith(beginning), sentence


def test_error_of_added_mass_is_not_invented_where_the_inertia_cannot_be_read():
    (found,) = problems(
        body(FREE, "inertia: {mas: 5}", "hydro: {added_mass: {type: diagonal, diagonal: [-1, 1, 1, 1, 1, 1]}}").replace(
            "mas:", "mass: 5, mas:"
        )
    )
    assert "unknown key 'mas'" in found


def test_added_mass_that_is_not_positive_alone_is_a_warning():
    text = body(FREE, MASS, "hydro: {added_mass: {type: diagonal, diagonal: [-1, 1, 1, 1, 1, 1]}}")
    with pytest.warns(UserWarning, match=r"m: body 'arm': the added mass alone is not positive semidefinite \(eigenvalue -1\)"):
        assert loads(text).nb == 1


def test_negative_added_mass_has_the_hint_about_signs():
    """Values with Fossen's sign that leave the total inertia positive would otherwise pass with a bare warning."""
    text = body(FREE, MASS, "hydro: {added_mass: {type: diagonal, diagonal: [-1, -1, -1, -0.1, -0.1, -0.1]}}")
    with pytest.warns(UserWarning, match=r"use positive added mass, the opposite sign of Fossen's X_u̇ < 0"):
        loads(text)
    indefinite = f"[[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 2], [0, 0, 1, 0, 0, 0], {ROW}, {ROW}, [0, 2, 0, 0, 0, 0.5]]"
    with pytest.warns(UserWarning, match="identified values often are not"):
        loads(
            body(
                FREE,
                MASS.replace("5", "50").replace("1, 1, 1", "9, 9, 9"),
                f"hydro: {{added_mass: {{type: matrix, matrix: {indefinite}}}}}",
            )
        )


def test_errors_are_objects():
    with pytest.raises(ModelError) as caught:
        loads(
            body(
                FREE,
                "inertia: {mass: -5, tensr: 1}",
                "hydro: {drag: {type: shape, shape: {type: sphere, radius: 1}, coefficient: -1}}",
            ),
            "f",
        )
    unknown, mass, sign = sorted(caught.value.faults, key=lambda fault: (fault.line, fault.where != "bodies.arm.inertia.tensr"))
    assert (unknown.path, unknown.line, unknown.value) == (("bodies", "arm", "inertia", "tensr"), 6, 1)
    assert unknown.remedy == "use the keys mass, com, tensor"
    assert (mass.where, mass.value, mass.must) == ("bodies.arm.inertia.mass", -5.0, "must be finite and at least 0")
    assert sign.remedy == "use positive drag numbers, the opposite sign of Fossen's X_u < 0"
    assert str(mass) == f"line 6: {mass.text}"
    assert set(map(str, caught.value.faults)) == set(caught.value.problems)


def test_errors_of_a_mechanism_have_their_place_in_the_file():
    """Also where bodies are sorted, so that their order in the model is another one."""
    text = HEAD + "  b: {parent: a, joint: revolute}\n  a: {joint: free, inertia: {mass: 1}}\n"
    with pytest.raises(ModelError) as caught:
        loads(text)
    assert [f.path for f in caught.value.faults] == [("bodies", "b", "joint"), ("bodies", "a", "inertia")]


@pytest.mark.parametrize("key", ["[key]", "\\0joint:free", ""])
def test_odd_keys(key):
    if "\\0" in key:  # YAML's escape of a control character
        assert any("control characters" in text for text in problems(body(FREE, MASS) + f'"{key}": 1\n'))
        return
    assert any(text.startswith("line 7: unknown key ") for text in problems(body(FREE, MASS) + f'"{key}": 1\n'))
    assert any("unknown key 'a'" in text for text in problems(body(FREE, MASS, f'frames: {{"{key}x": {{a: 1}}}}')))
    found = problems(body(FREE, f'inertia: {{mass: 5, "{key}": 1}}'))
    assert any(text.startswith("line 6: body 'arm': inertia: unknown key ") for text in found)


def test_long_values_are_cut():
    (found,) = problems(body(FREE, f"inertia: {{mass: {list(range(1000))}}}"))
    assert len(found) < 200
    assert " ..." in found


def test_errors_beside_unknown_keys_are_found_too():
    """A mistyped key does not hide what else is wrong in its section, at any depth."""
    text = (
        "hydromechs_model: 2\nname: x\nbodies:\n  hull:\n    joint: {type: revolute, axs: [0, 0, 1], limits: [1, -1]}\n"
        "    inertia: {mass: -3, tensr: [1, 1, 1, 0, 0, 0]}\n    hydro: {volume: -1, drag: [{type: shape, shape: {type: sphere, radius: -2, colour: 3}, coefficient: 1}]}\n"
    )
    with pytest.raises(ModelError) as error:
        loads(text)
    for words in ("'axs'", "limits [1, -1]", "'tensr'", "mass is -3 kg", "volume is -1", "'colour'", "radius is -2"):
        assert sum(words in p for p in error.value.problems) == 1, (words, error.value.problems)
