"""The web client of reports and replays: a scene and plots with one timeline, in a page without a network.

`page/scene.js` draws the scene with three.js, `page/plots.js` the curves with uPlot, `page/client.js` connects them. Arrays
are packed into one compressed block, which the page unpacks.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import zlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hydromechs.values import Array

from ._raster import AIR, WATER
from ._scene import HIDDEN, Scene
from ._series import PlotGroup, PlotPanel, free_bodies, plot_groups
from ._style import COLOURS, kept_points

if TYPE_CHECKING:
    import xarray


@cache
def page_asset(name: str) -> str:
    """Return the text of a file in the folder `page`."""
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


SCENE_SAMPLES = 900
"""Maximum number of samples of a scene in a page; longer recordings are thinned."""
PLOT_POINTS = 2000
"""Maximum number of points of a curve in a page; longer curves are thinned, keeping their peaks."""
SCRIPTS = ("vendor/three.min.js", "vendor/uplot.min.js", "scene.js", "plots.js", "client.js")
"""Scripts of a page, in the order of loading."""
EVENT = re.compile(r"t = (\d+(?:\.\d+)?) s: (.+)", re.DOTALL)


class TimeMark(NamedTuple):
    """Event on the timeline."""

    t: float
    """Time [s]."""
    text: str
    """Text of the message."""


def time_marks(messages: Iterable[str]) -> tuple[list[TimeMark], list[str]]:
    """Split messages of a run; return marks for those with a time, such as "t = 12 s: ...", and the other messages."""
    marks, others = [], []
    for message in messages:
        found = EVENT.fullmatch(message)
        if found and math.isfinite(float(found[1])):
            marks.append(TimeMark(float(found[1]), found[2]))
        else:
            others.append(message)
    return marks, others


@dataclass
class PageContent:
    """Data displayed by the scripts of a page."""

    scene: Scene | None = None
    """Moving scene. Optional."""
    recordings: Sequence[tuple[str, xarray.Dataset]] = ()
    """Names and recordings to plot; the curves of a second recording are dashed."""
    marks: Sequence[TimeMark] = ()
    """Events on the timeline."""
    layers: Collection[str] | None = None
    """Layers shown initially. Defaults to all layers that are not hidden."""
    follow: str = ""
    """Body that the camera follows initially; if empty, the first free body."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Additional JSON data for the scripts."""
    groups: dict[str, PlotGroup] = field(init=False)
    """Plots of the first recording, keyed by name."""

    def __post_init__(self) -> None:
        usable = [ds for _, ds in self.recordings if ds.sizes.get("time", 0) > 1]
        self._several = [(ds["time"].values, plot_groups(ds)) for ds in usable]
        self.groups = self._several[0][1] if usable else {}
        if not self.follow and usable:
            self.follow = next(iter(free_bodies(usable[0])), "")

    def packed(self) -> tuple[str, str]:
        """Return the data as JSON, and the packed arrays as text."""
        pack = _Pack()
        data: dict[str, Any] = {"marks": self.marks, "follow": self.follow, "runs": [name for name, _ in self.recordings]}
        if self.scene is not None:
            data["scene"] = _scene(self.scene, pack, set(self.scene.layers) - HIDDEN if self.layers is None else self.layers)
        data["plots"] = {name: _group(name, self._several, pack) for name in self.groups}
        return json.dumps(data | dict(self.more), allow_nan=False), pack.text()


class _Pack:
    """Builder that packs arrays into one block of bytes."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, values: Array, dtype: str = "f4") -> dict[str, Any]:
        """Append an array; return its offset, length and type in the block."""
        part = np.ascontiguousarray(values, dtype=f"<{dtype}").tobytes()
        at, self.size = self.size, self.size + -(-len(part) // 8) * 8  # aligned, so that views of the block need no copy
        self.parts.append(part.ljust(self.size - at, b"\0"))
        return {"at": at, "n": int(np.size(values)), "type": dtype}

    def text(self) -> str:
        """Return the compressed block as Base64 text."""
        return base64.b64encode(zlib.compress(b"".join(self.parts), 1)).decode()


def _scene(scene: Scene, pack: _Pack, shown: Collection[str]) -> dict[str, Any]:
    """Return a scene as data for `scene.js`; the layers in `shown` are visible initially."""
    moving = {frame.name for frame in scene.frames if not frame.scenery}
    return {
        "times": pack.add(scene.times, "f8"),
        "upright": scene.upright.tolist(),
        "water": [c.tolist() for c in (WATER if scene.wet else AIR)],
        "wet": scene.wet,
        "layers": [{"name": layer, "on": layer in shown} for layer in scene.layers],
        "frames": [
            {
                "name": f.name,
                "parent": f.parent,
                "mechanism": f.mechanism,
                "scenery": f.scenery,
                "position": pack.add(f.position),
                "wxyz": pack.add(f.wxyz),
                "fixed": bool(np.ptp(f.position, axis=0).max(initial=0) == 0 and np.ptp(f.wxyz, axis=0).max(initial=0) == 0),
            }
            for f in scene.frames
        ],
        "solids": [
            {
                "layer": s.layer,
                "frame": s.frame,
                "color": s.color,
                "opacity": s.opacity,
                "moving": s.frame in moving,
                "vertices": pack.add(s.triangles.vertices),
                "faces": pack.add(s.triangles.faces, "u4"),
            }
            for s in scene.solids
            if len(s.triangles.faces)
        ],
        "arrows": [
            {"layer": a.layer, "color": a.color, "width": a.width, "n": a.ends.shape[1], "ends": pack.add(a.ends)}
            for a in scene.arrows
        ],
        "lines": [{"layer": x.layer, "color": x.color, "points": pack.add(x.points)} for x in scene.lines],
        "strands": [
            {"layer": x.layer, "color": x.color, "n": x.points.shape[1], "points": pack.add(x.points)} for x in scene.strands
        ],
        "surfaces": [
            {"layer": s.layer, "color": s.color, "opacity": s.opacity, "x": s.x.tolist(), "y": s.y.tolist(), "z": pack.add(s.z)}
            for s in scene.surfaces
        ],
    }


def _group(name: str, several: Sequence[tuple[Array, dict[str, PlotGroup]]], pack: _Pack) -> dict[str, Any]:
    """Return a plot group of the first recording as data for `plots.js`, with the same curves of other recordings."""
    time, groups = several[0]
    group = groups[name]
    out: dict[str, Any] = {"columns": group.columns, "panels": []}
    if group.plan is not None:
        paths, colours = [], dict[str, str]()
        for run, (t, others) in enumerate(several):
            plan = others[name].plan if name in others else None
            for body, path in plan.paths.items() if plan else ():
                keep = kept_points(path.T, PLOT_POINTS // 2)
                of = {"name": body, "run": run, "colour": colours.setdefault(body, COLOURS[len(colours) % len(COLOURS)])}
                paths.append({**of, "t": pack.add(t[keep]), "points": pack.add(path[keep])})
                if plan and body in plan.references:
                    keep = kept_points(plan.references[body].T, PLOT_POINTS // 2)
                    paths.append({**of, "reference": True, "points": pack.add(plan.references[body][keep])})
        out["plan"] = {"x": group.plan.x, "y": group.plan.y, "paths": paths}
    for panel in group.panels:
        same = [(t, _same_panel(others.get(name), panel)) for t, others in several[1:]]
        out["panels"].append(_panel(panel, time, same, pack))
    return out


def _same_panel(group: PlotGroup | None, panel: PlotPanel) -> PlotPanel | None:
    return next((other for other in group.panels if other.title == panel.title), None) if group else None


def _panel(panel: PlotPanel, time: Array, others: Sequence[tuple[Array, PlotPanel | None]], pack: _Pack) -> dict[str, Any]:
    """Return a panel as data with one table per recording: times, and values of the curves at these times."""
    out: dict[str, Any] = {"title": panel.title, "label": panel.label, "range": panel.min_range, "down": panel.down}
    out["tables"] = [_table(panel, time, pack, 0, panel)]
    for run, (t, other) in enumerate(others, start=1):
        if other is not None:
            out["tables"].append(_table(other, t, pack, run, panel))
    if panel.shaded is not None:
        steps = np.diff(np.concatenate([[0], panel.shaded.astype(int), [0]]))
        ends = np.append(time, time[-1])
        out["shaded"] = [
            [float(ends[a]), float(ends[b])] for a, b in zip(np.flatnonzero(steps > 0), np.flatnonzero(steps < 0), strict=True)
        ]
        out["note"] = panel.note
    return out


def _table(panel: PlotPanel, time: Array, pack: _Pack, run: int, first: PlotPanel) -> dict[str, Any]:
    """Return the curves of one recording as data, in the colours of the first recording."""
    rows = [*panel.series.items(), *((f"{name}, reference", values) for name, values in panel.references.items())]
    keep = kept_points([values for _, values in rows], PLOT_POINTS)
    curves = []
    for k, (name, values) in enumerate(rows):
        reference = k >= len(panel.series)
        of = name.removesuffix(", reference") if reference else name
        colour = first.colour(of) if of in first.series else panel.colour(of)
        curves.append({"name": name, "colour": colour, "reference": reference, "values": pack.add(np.asarray(values)[keep])})
    return {"run": run, "t": pack.add(time[keep], "f8"), "curves": curves}


# -- pages -------------------------------------------------------------------------------------------------------------------


def stage(content: PageContent) -> str:
    """Return the HTML of the scene with its timeline, or an empty text if there is no scene."""
    if content.scene is None:
        return ""
    return (
        '<div class="stage" id="stage"><div class="view"><canvas id="scene" tabindex="0" '
        'aria-label="Scene of the run. Drag to rotate, scroll to zoom, right-drag to pan."></canvas>'
        '<div class="legend" id="legend"></div><details class="layers" id="layers"><summary>Layers</summary></details>'
        '<p class="failed" id="failed" hidden></p></div>'
        '<div class="transport"><button id="play" type="button" aria-label="Play">▶</button>'
        '<div class="line"><input id="time" type="range" min="0" max="1" step="any" value="0" aria-label="Time">'
        '<div id="marks"></div></div><output id="now"></output>'
        '<select id="speed" aria-label="Speed"></select><select id="follow" aria-label="Camera follows"></select></div>'
        '<p class="event" id="event"></p></div>'
    )


def plots_section(content: PageContent) -> str:
    """Return the HTML elements of the plots, in which the scripts draw."""
    out = []
    for name, group in content.groups.items():
        head = f'<p class="caption">{escape(group.caption)}</p>' if group.caption else ""
        head += f"<h4>{escape(group.heading)}</h4>" if group.heading else ""
        out.append(
            f'<details class="group"{"" if group.folded else " open"}><summary><h3>{escape(group.title)}</h3></summary>{head}'
            f'<div class="panels columns-{group.columns}" data-group="{name}"></div></details>'
        )
    if not out:
        return ""
    hint = "Drag to zoom all plots; double-click to reset. Click to move to a time."
    return f'<p class="caption hint">{hint}</p>{"".join(out)}'


class PageProgram(NamedTuple):
    """Scripts of a page with their style sheets, data and permissions."""

    scripts: Mapping[str, str]
    """Texts of the scripts, keyed by element ID, in the order of loading."""
    sheets: Sequence[str]
    """Texts of style sheets, which follow the common style sheet of all pages."""
    blocks: Mapping[str, str] = {}
    """Texts of additional data without "<", keyed by element ID."""
    sources: str = ""
    """Additional script sources in the content security policy."""
    rules: str = ""
    """Additional rules of the content security policy."""


@cache
def recorded_program() -> PageProgram:
    """Return the scripts and style sheets of reports and replays."""
    sheets = [page_asset(name) for name in ("vendor/uplot.min.css", "client.css")]
    return PageProgram({name: page_asset(name) for name in SCRIPTS}, sheets)


def page_html(
    title: str, body: str, *, content: PageContent | None = None, kind: str = "report", program: PageProgram | None = None
) -> str:
    """Return a page that needs no network and whose content security policy permits only its own scripts.

    Args:
        title: Title, as plain text.
        body: HTML of the page.
        content: Data for the scripts. Defaults to a page without scripts.
        kind: CSS class of the body: "report", "replay", or "picture" for a scene without controls.
        program: Scripts of the page. Defaults to the scripts of reports and replays.
    """
    sheets, scripts, policy, rules = [page_asset("base.css")], "", "'none'", ""
    if content is not None:
        program = program or recorded_program()
        data, block = content.packed()
        data = data.replace("<", r"\u003c")  # text from files cannot end the element
        sheets += program.sheets
        blocks = {"block": block, **program.blocks}
        scripts = (
            f'<script type="application/json" id="data">{data}</script>'
            + "".join(f'<script type="application/octet-stream" id="{name}">{text}</script>' for name, text in blocks.items())
            + "".join(f'<script id="{name}">{text}</script>' for name, text in program.scripts.items())
        )
        policy = " ".join([*map(_script_hash, program.scripts.values()), program.sources]).strip()
        rules = program.rules
    return page_asset("page.html").format(
        title=escape(title), css="\n".join(sheets), body=body, scripts=scripts, policy=policy, rules=rules, kind=kind
    )


@cache
def _script_hash(text: str) -> str:
    """Return the hash of a script as a source expression of a content security policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
