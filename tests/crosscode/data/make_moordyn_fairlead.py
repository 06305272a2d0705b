"""Makes moordyn_fairlead.json: the force at a driven fairlead, by MoorDyn (`pip install moordyn`).

    python tests/crosscode/data/make_moordyn_fairlead.py

A cable of 60 m hangs from a fairlead 20 m to the side of a fixed anchor and 40 m above it, deep in still water; the fairlead heaves by
1 m with a period of 7 s, which grows within 5 s. The force on the fairlead is the tension of the last segment with the weight,
drag and inertia of half a segment. The fairlead's velocity must be handed over at least every millisecond: MoorDyn holds it in
between, and the axial damper feels the jumps.
"""

import json
import math
import sys
import tempfile
from datetime import date
from pathlib import Path

CABLE = {
    "diameter": 0.02,
    "mass": 0.6,
    "axial_stiffness": 1e5,
    "axial_damping": 100.0,
    "normal_drag": 1.2,
    "tangential_drag": 0.01,
    "normal_added_mass": 1.0,
    "tangential_added_mass": 0.0,
}
LENGTH, TOP, AMPLITUDE, PERIOD, RAMP = 60.0, (20.0, 0.0, 40.0), 1.0, 7.0, 5.0
DEPTH, STEP, DURATION = 90.0, 1e-3, 20.0
FILE = """--------------------- MoorDyn Input File ------------------------------------
driven fairlead
---------------------- LINE TYPES -----------------------------------
TypeName Diam MassDen EA BA EI Cd Ca CdAx CaAx
(name) (m) (kg/m) (N) (N-s/-) (N-m^2) (-) (-) (-) (-)
cable {diameter} {mass} {axial_stiffness} {axial_damping} 0 {normal_drag} {normal_added_mass} {tangential_drag} {tangential_added_mass}
---------------------- POINTS ---------------------------------
ID Type X Y Z Mass Volume CdA Ca
(#) (word/id) (m) (m) (m) (kg) (m^3) (m^2) (-)
1 Fixed 0 0 {low} 0 0 0 0
2 Coupled {x} {y} {z} 0 0 0 0
---------------------- LINES --------------------------------------
ID LineType AttachA AttachB UnstrLen NumSegs LineOutputs
(#) (name) (id) (id) (m) (-) (-)
1 cable 1 2 {length} {segments} -
---------------------- OPTIONS -----------------------------------------
0 writeLog
rk4 tScheme
0.00025 dtM
9.81 g
1025 rhoW
200 WtrDpth
0.5 dtIC
200 TmaxIC
4 CdScaleIC
0.0001 threshIC
--------------------- OUTPUTS ---------------------------------------
FairTen1
------------------------- END ------------------------------------------
"""


def fairlead(t):
    """Place [m] and velocity [m/s] of the fairlead, z up."""
    x = min(max(t / RAMP, 0.0), 1.0)
    grown, rate, omega = x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x) / RAMP, 2.0 * math.pi / PERIOD
    away, speed = AMPLITUDE * math.sin(omega * t), AMPLITUDE * omega * math.cos(omega * t)
    return [TOP[0], TOP[1], TOP[2] - DEPTH + grown * away], [0.0, 0.0, grown * speed + rate * away]


def forces(segments):
    """Times [s] and size of the force on the fairlead [N], every 0.1 s."""
    import moordyn

    place, velocity = fairlead(0.0)
    values = dict(CABLE, low=-DEPTH, x=place[0], y=place[1], z=place[2], length=LENGTH, segments=segments)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "line.txt"
        file.write_text(FILE.format(**values))
        system = moordyn.Create(str(file))
        moordyn.Init(system, place, velocity)
        times, found = [], []
        for k in range(round(DURATION / STEP)):
            force = moordyn.Step(system, *fairlead(k * STEP), k * STEP, STEP)
            if (k + 1) % round(0.1 / STEP) == 0:
                times.append(round((k + 1) * STEP, 6))
                found.append(round(math.dist(force, (0, 0, 0)), 4))
        moordyn.Close(system)
    return times, found


def main():
    from importlib.metadata import version

    times, found = forces(80)
    coarse = forces(40)[1]
    out = {
        "made_by": "tests/crosscode/data/make_moordyn_fairlead.py",
        "with": f"moordyn {version('moordyn')}",
        "date": date.today().isoformat(),
        "what": "force on a driven fairlead, 80 segments",
        "change_from_40_segments": round(max(abs(a - b) for a, b in zip(found, coarse, strict=True)), 4),
        "units": {"time": "s", "force": "N"},
        "cable": CABLE,
        "motion": {"length": LENGTH, "top": TOP, "amplitude": AMPLITUDE, "period": PERIOD, "ramp": RAMP},
        "time": times,
        "force": found,
    }
    (Path(__file__).parent / "moordyn_fairlead.json").write_text(json.dumps(out) + "\n")


if __name__ == "__main__":
    sys.exit(main())
