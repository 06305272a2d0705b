"""Makes hydromechs/naval/tables.json: added mass of boxes and cylinders by boundary elements, to be interpolated.

python docs/data/make_added_mass_tables.py        (two minutes; needs the extra `mesh`)
"""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np

from hydromechs import geometry, naval
from hydromechs.naval import Part, panel_added_mass
from hydromechs.naval._added_mass import box_scales, cylinder_scales  # what the ratios of the table are over

PANELS = 4000
RATIOS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.125, 0.0625)
SLENDERNESS = (0.125, 0.25, 0.35, 0.5, 0.6, 0.7, 0.85, 1.0, 1.2, 1.4, 2.0, 2.8, 4.0, 8.0, 16.0)


def box_row(size: tuple[float, float, float]) -> list[float]:
    """Added mass along and about the axes of a box, over `box_scales`, shape (6,)."""
    part = Part(shape=geometry.Box(size=size), name="box")
    return (np.diag(panel_added_mass(part.surface(), PANELS).matrix) / box_scales(size)).tolist()


def main() -> None:
    """Compute both tables and write them."""
    boxes: dict[tuple[float, float], list[float]] = {}
    for b, c in product(RATIOS, RATIOS):
        if c <= b:
            boxes[b, c] = box_row((1.0, b, c))
            x, y, z, p, q, r = boxes[b, c]
            boxes[c, b] = [x, z, y, p, r, q]
    cylinders = []
    for ratio in SLENDERNESS:
        part = Part(shape=geometry.Cylinder(radius=0.5, length=ratio), name="cylinder")
        mass = np.diag(panel_added_mass(part.surface(), PANELS).matrix)[[0, 2, 3]]
        cylinders.append((mass / cylinder_scales(0.5, ratio)).tolist())
    table = {
        "made_by": "docs/data/make_added_mass_tables.py, Capytaine 3.0.0, 4000 panels and a quarter of them, extrapolated",
        "what": "added mass along x, y, z and about x, y, z over the scales of _tables.py, fluid of density 1",
        "ratios": RATIOS,
        "box": [[boxes[b, c] for c in RATIOS] for b in RATIOS],
        "slenderness": SLENDERNESS,
        "cylinder": cylinders,
    }
    (Path(naval.__file__).with_name("tables.json")).write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
