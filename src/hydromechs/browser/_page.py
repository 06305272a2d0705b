"""HTML file that simulates a scenario: module, engine, scene, instruments, plots and controls."""

from __future__ import annotations

import base64
import dataclasses
import os
import zlib
from collections.abc import Callable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import files, registry
from hydromechs.actuation import Thruster
from hydromechs.contact import Terrain
from hydromechs.model import Model, joints
from hydromechs.scenario import Scenario
from hydromechs.simulation import Simulation
from hydromechs.station import camera_place, carrier, helmed, steered_joints, thruster_plan
from hydromechs.viewer import (
    COLOURS,
    PageContent,
    PageProgram,
    Scene,
    live_scene,
    page_asset,
    page_html,
    propellers,
    with_force_arrows,
)

from ._module import Module, Parameters, Range, compile_scenario, engine_text

VIEWER_SCRIPTS = ("vendor/three.min.js", "vendor/uplot.min.js", "scene.js", "plots.js", "instruments.js", "steering.js")
"""Scripts of the viewer in a page, in the order of loading."""
SHOWN = frozenset({"bodies", "terrain", "water surface", "tethers", "current", "force: thrust"})
"""Layers that are visible initially."""
CURRENT = (-1.0, 1.0)
"""Range of the sliders of the current velocity, relative to the value in the scenario [m/s]."""
MASS, DRAG = (0.95, 1.05), (0.5, 2.0)
"""Ranges of the factors on mass and drag."""
PROPELLER_RATE = 9.0
"""Displayed rate of the propeller with the highest thrust, slow enough to be visible [rad/s]."""
MOST_CURVES = 10
"""Maximum number of curves in a plot."""
Panels = list[dict[str, Any]]


def scenario_page(
    scenario: Scenario, parameters: Parameters | None = None, *, progress: Callable[[str], None] = lambda name: None
) -> str:
    """Return an HTML page that simulates a scenario in any browser, without a server or a network.

    If the scenario has a vehicle with enough thrusters, users of the page can fly the vehicle with keys, a gamepad or touch.

    Args:
        scenario: Scenario with a fixed step and without Python blocks.
        parameters: Paths of numbers with a slider, or ranges keyed by path. Defaults to current, mass and drag.
        progress: Callback that receives the name of each program before compilation.

    Raises:
        UnsupportedFeature: If a part of the scenario cannot be compiled; the message contains a remedy.
    """
    flown = helmed(scenario)
    chosen = usual_parameters(scenario) if parameters is None else parameters
    module = compile_scenario(flown, chosen, source=scenario, progress=progress)
    content = _content(flown, module, helm=flown is not scenario)
    body = (_folder() / "simulator.html").read_text(encoding="utf-8")
    wasm = base64.b64encode(zlib.compress(module.wasm, 9)).decode()
    program = _program()._replace(blocks={"wasm": wasm})
    return page_html(scenario.title or scenario.name, body, content=content, kind="simulator", program=program)


def write_page(
    scenario: Scenario,
    path: str | os.PathLike[str],
    parameters: Parameters | None = None,
    *,
    progress: Callable[[str], None] = lambda name: None,
) -> Path:
    """Write the page of a scenario to a file and return its path; see `scenario_page`.

    Args:
        scenario: Scenario with a fixed step and without Python blocks.
        path: File to write.
        parameters: Paths of numbers with a slider, or ranges keyed by path. Defaults to current, mass and drag.
        progress: Callback that receives the name of each program before compilation.
    """
    files.write_text(path, scenario_page(scenario, parameters, progress=progress))
    return Path(path)


@dataclasses.dataclass(frozen=True)
class ShownPage:
    """Page that is displayed in notebooks."""

    html: str
    """HTML of the page."""
    height: int
    """Height of the frame [pixel]."""

    def _repr_html_(self) -> str:
        """Return HTML that shows the page in a frame without access to the notebook."""
        style = f"width:100%;height:{self.height}px;border:0;border-radius:12px"
        rights = 'sandbox="allow-scripts allow-downloads" allow="gamepad *; clipboard-write *"'
        return f'<iframe srcdoc="{escape(self.html)}" {rights} style="{style}" title="Simulation"></iframe>'


def show(scenario: Scenario, parameters: Parameters | None = None, *, height: int = 640) -> ShownPage:
    """Return the page of a scenario as an object that notebooks display; the page runs without Python.

    Args:
        scenario: Scenario with a fixed step and without Python blocks; see `scenario_page`.
        parameters: Paths of numbers with a slider, or ranges keyed by path. Defaults to current, mass and drag.
        height: Height of the frame [pixel].
    """
    return ShownPage(scenario_page(scenario, parameters), height)


def usual_parameters(scenario: Scenario) -> dict[str, Range | None]:
    """Return the default parameters of a page with their ranges: current, and mass and drag of the first free body."""
    out: dict[str, Range | None] = {}
    plant = scenario.plant
    if scenario.environment is not None and scenario.environment.current is not None:
        for axis in "xy":
            path = f"environment.current.velocity.{axis}"
            value = float(registry.value(plant, path))
            out[path] = (value + CURRENT[0], value + CURRENT[1])
    body = _first_free(plant.model)
    if body:
        mass = f"{body}.inertia.mass"
        value = float(registry.value(plant, mass))
        out |= {mass: (MASS[0] * value, MASS[1] * value), f"{body}.hydro.drag.*.quadratic": DRAG}
    usable: dict[str, Range | None] = {}
    for path, limits in out.items():
        try:
            dataclasses.replace(plant, parameters=(*usable, path))
        except (KeyError, ValueError):
            continue  # it has no such number, or no program reads it
        usable[path] = limits
    return usable


def _folder() -> Path:
    return Path(__file__).parent / "page"


@cache
def _program() -> PageProgram:
    """Return the scripts, style sheets and permissions of a page."""
    scripts = {name: page_asset(name) for name in VIEWER_SCRIPTS} | {"engine": engine_text()}
    for name in ("runner", "ghosts", "cockpit"):
        scripts[name] = (_folder() / f"{name}.js").read_text(encoding="utf-8")
    sheets = [page_asset(name) for name in ("vendor/uplot.min.css", "client.css", "instruments.css")]
    sheets.append((_folder() / "simulator.css").read_text(encoding="utf-8"))
    return PageProgram(scripts, sheets, sources="'wasm-unsafe-eval'", rules="worker-src blob:; ")


def _first_free(model: Model) -> str:
    """Return the name of the first body that moves freely and is not scenery, or an empty text if there is none."""
    found = zip(model.bodies, model.scenery, strict=True)
    free = (b.name for b, scenery in found if b.parent is None and not scenery and isinstance(b.joint, joints.Free))
    return next(free, "")


def _content(scenario: Scenario, module: Module, *, helm: bool) -> PageContent:
    """Return the scene, plots and other data for the scripts of a page."""
    sim = Simulation(scenario)
    seen, model, plant = sim.observe(), sim.model, sim.plant
    thrusters = list(scenario.parts(Thruster))
    follow = carrier(model, thrusters) if helm else _first_free(model)
    lines = _lines(module.manifest["coords"].get("line_point", []))
    scene = live_scene(
        model,
        np.asarray(seen["position"]),
        np.asarray(seen["orientation"]),
        terrain=scenario.parts(Terrain),
        environment=plant.environment,
        tethers={name: np.asarray(seen["line_position"])[a : a + n] for name, (a, n) in lines.items()},
    )
    forces = [v["name"] for v in module.manifest["variables"] if v["name"].startswith("force_")]
    scene = with_force_arrows(scene, [name.removeprefix("force_") for name in forces], model.nb, len(thrusters))
    actuators = list(sim.actuators)
    vehicle = model.body_index(follow) if follow else 0
    low, high = scene.bounds(0, frames={f.name for f in scene.frames if f.mechanism == follow} or None)
    size = float(np.linalg.norm(high - low))
    rows = [_thruster(model, t, actuators.index(t.name), vehicle) for t in thrusters]
    quantities, plots = _plots(module.manifest, model, follow, [t.name for t in thrusters])
    own = {
        "helm": helm,
        "follow": follow,
        "size": size,
        "joints": list(steered_joints(scenario)) if helm else [],
        "thrusters": rows,
        "thrust_length": 0.6 * size / max((row["most"] for row in rows), default=1.0),
        "propellers": [[frame.name, actuators.index(name)] for frame, name in propellers(model, scene, actuators)],
        "fastest": PROPELLER_RATE,
        "arrows": _arrows(scene, forces),
        "around": [[a, b, c] for a in (-0.8, 0.8) for b in (-0.8, 0.8) for c in (-0.25, 0.25)],
        "camera": _camera(model, scene, vehicle) if helm else None,
        "tethers": list(lines.values()),
        "labels": {p["path"]: _label(p["path"], model) for p in module.manifest["parameters"]},
        "quantities": quantities,
    }
    more = {"manifest": dict(module.manifest), "page": own, "plots": plots}
    return PageContent(scene=scene, follow=follow, layers=SHOWN, more=more)


def _camera(model: Model, scene: Scene, vehicle: int) -> dict[str, Any]:
    """Return the onboard camera: name of its frame, and position [m], viewing direction and up vector in frame axes."""
    body, position, axes = camera_place(model, scene, vehicle)
    up = -float(model.world.down[2]) * axes[:, 2]
    return {"name": model.body_names[body], "position": position.tolist(), "along": axes[:, 0].tolist(), "up": up.tolist()}


def _lines(points: list[str]) -> dict[str, tuple[int, int]]:
    """Return the index of the first point and the number of points of each line, from point names such as "tether.0"."""
    names = [name.rpartition(".")[0] for name in points]
    return {name: (names.index(name), names.count(name)) for name in dict.fromkeys(names)}


def _thruster(model: Model, t: Thruster, index: int, vehicle: int) -> dict[str, Any]:
    body, place, R = model.locate(t.frame)
    most = max(map(abs, t.curve.limits))
    plan = thruster_plan(model, vehicle, t.frame)
    along = np.asarray(R, dtype=float)[:, 0].tolist()
    own = {"body": body, "place": np.asarray(place, dtype=float).tolist(), "along": along}
    return {"name": t.name, "index": index, "most": most, "plan": plan, **own}


def _arrows(scene: Scene, forces: list[str]) -> dict[str, str]:
    """Return the quantity shown by the arrows of each layer: "thrust" per thruster, or a variable with forces on bodies."""
    out = {}
    for arrows in scene.arrows:
        name = arrows.layer.removeprefix("force: ").replace(" ", "_")
        variable = "force_thrust" if name == "sum_of_thrust" else f"force_{name}"
        per_thruster = name == "thrust" and any(a.layer == "force: sum of thrust" for a in scene.arrows)
        out[arrows.layer] = "thrust" if per_thruster else variable if variable in forces else arrows.layer
    return out


def _label(path: str, model: Model) -> str:
    """Return a short label of a parameter, which is shown with its path."""
    side = ("north", "east") if model.world.axes == "NED" else ("east", "north")
    if path.startswith("environment.current.velocity."):
        return f"Current towards {side['xy'.index(path[-1])]}" if path[-1] in "xy" else "Current along z"
    if path.endswith(".inertia.mass"):
        return f"Mass of {path.removesuffix('.inertia.mass')}"
    if path.endswith(".hydro.drag.*.quadratic"):
        return f"Factor on drag of {path.removesuffix('.hydro.drag.*.quadratic')}"
    return path.replace("_", " ")


# -- plots -------------------------------------------------------------------------------------------------------------------


def _plots(
    manifest: Mapping[str, Any], model: Model, follow: str, thrusters: list[str]
) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Return the quantities of all curves, and plot groups in the form that `plots.js` requires."""
    groups = {
        "objective": ("Checked quantities", _checked(manifest), False),
        "motion": ("Motion", _motion(model, follow), False),
        "actuators": ("Actuators and joints", _actuators(manifest, model, thrusters), True),
        "energy": ("Energy", _energy(manifest), True),
    }
    quantities: dict[str, None] = {}
    out = {}
    for name, (title, panels, folded) in groups.items():
        if not panels:
            continue
        for panel in panels:
            quantities |= dict.fromkeys(curve["values"] for curve in panel["tables"][0]["curves"])
        out[name] = {"title": title, "columns": 1, "folded": folded, "panels": panels}
    return list(quantities), out


def _panel(title: str, label: str, curves: Mapping[str, str], *, least: float = 0.0, down: bool = False) -> dict[str, Any]:
    """Return a panel with curves of quantities, keyed by curve name."""
    rows = [
        {"name": name, "colour": COLOURS[k % len(COLOURS)], "reference": False, "values": quantity}
        for k, (name, quantity) in enumerate(list(curves.items())[:MOST_CURVES])
    ]
    table = {"run": 0, "t": "time", "curves": rows}
    return {"title": title, "label": label, "range": least, "down": down, "tables": [table]}


def _checked(manifest: Mapping[str, Any]) -> Panels:
    quantities = dict.fromkeys(c["quantity"] for c in manifest["checks"])
    return [_panel(q, "", {q: q}) for q in list(quantities)[:MOST_CURVES]]


def _motion(model: Model, follow: str) -> Panels:
    if not follow:
        return []
    velocity = {
        f"{axis} {word}": f"velocity.{follow}.{axis}" for axis, word in zip("uvw", ("surge", "sway", "heave"), strict=True)
    }
    angles = {name: f"{name}_deg.{follow}" for name in ("roll", "pitch", "heading")}
    return [
        _panel("Depth", "[m]", {"depth": f"depth.{follow}"}, least=0.1, down=True),
        _panel("Velocity", "[m/s]", velocity),
        _panel("Attitude", "[deg]", angles, least=0.1),
    ]


def _actuators(manifest: Mapping[str, Any], model: Model, thrusters: list[str]) -> Panels:
    known, dofs = manifest["coords"]["actuator"], manifest["coords"]["dof"]
    out = []
    pushed = [name for name in thrusters if name in known]
    if pushed:
        out.append(_panel("Thrust", "[N]", {_short(name): f"actuator_force.{name}" for name in pushed}))
    turning = [name for name in manifest["coords"]["coordinate"] if name in dofs]
    if turning:
        out.append(_panel("Joints", "[rad] or [m]", {_short(name): f"q.{name}" for name in turning}))
    driven = [name for name in known if name in dofs]
    if driven:
        out.append(
            _panel("Torques and forces of drives", "[N·m] or [N]", {_short(name): f"actuator_force.{name}" for name in driven})
        )
    return out


def _short(name: str) -> str:
    return name.rpartition(".")[2]


def _energy(manifest: Mapping[str, Any]) -> Panels:
    causes = manifest["coords"].get("cause", [])
    out = [_panel("Work by cause", "[J]", {cause: f"work.{cause}" for cause in causes})] if causes else []
    return [*out, _panel("Residual of the energy audit", "[J]", {"residual": "energy_residual"})]
