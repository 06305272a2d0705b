"""Page that shows a model in a browser: tree of bodies, a slider for each joint, properties in layers."""

from __future__ import annotations

import math
from html import escape
from typing import Any

import numpy as np

from hydromechs.model import JointPart, Model, joints
from hydromechs.spatial import matrix_from_rpy, quaternion_from_matrix, quaternion_matrix, rpy_from_matrix
from hydromechs.values import Array

from ._page import Page, heading, node_name, show
from ._scene import bodies_at, model_scene

FULL = math.pi
"""Range of the slider of a joint without limits, in both directions [rad or m]."""


class ModelPage(Page):
    """Page that shows a model; see `view`."""

    def __init__(self, model: Model, q: Array | None = None, *, port: int = 0) -> None:
        self.model = model
        self.q = np.array(model.initial().q if q is None else q, dtype=float)
        """Displayed configuration, shape (nq,)."""
        super().__init__(model_scene(model, self.q, properties=True))
        self._bodies = [self.server.scene.get_handle_by_name(self.paths[name]) for name in model.body_names]
        gui = self.server.gui
        gui.add_html(heading(model.name, model.description))
        self.layer_switches()
        self._frame_switches()
        with gui.add_folder("Joints"):
            for part in model.joint_parts.values():
                self._slider(part)
            gui.add_button("Reset").on_click(lambda _: self.configure(model.initial().q))
        with gui.add_folder("Tree", expand_by_default=False):
            gui.add_html(_tree(model))
        self.open(port)

    def configure(self, q: Array) -> None:
        """Show a configuration, shape (nq,)."""
        self.q = np.array(q, dtype=float)
        position, wxyz = bodies_at(self.model, self.q)
        with self.server.atomic():
            for handle, p, o in zip(self._bodies, position, wxyz, strict=True):
                handle.position, handle.wxyz = p, o

    def _slider(self, part: JointPart) -> None:
        gui = self.server.gui
        if part.joint.nq == 1:
            unit = part.joint.unit
            now = float(self.q[part.q][0])
            low, high = part.joint.limits or (min(-FULL, now), max(FULL, now))
            slider = gui.add_slider(f"{part.name} [{unit}]", min=low, max=high, step=(high - low) / 500, initial_value=now)
            slider.on_update(lambda event: self._set(part, [event.target.value]))
            return
        if not isinstance(part.joint, joints.Free | joints.Ball):
            return  # its coordinates have no standard meaning
        turn = slice(part.q.stop - 4, part.q.stop)
        start = rpy_from_matrix(quaternion_matrix(self.q[turn]))
        angles = gui.add_vector3(f"{part.name}: roll, pitch, yaw [deg]", tuple(np.degrees(start).tolist()), step=1.0)

        def turned(event: Any) -> None:
            q = self.q.copy()
            q[turn] = quaternion_from_matrix(matrix_from_rpy(tuple(np.radians(event.target.value))))
            self.configure(q)

        angles.on_update(turned)

    def _set(self, part: JointPart, values: list[float]) -> None:
        q = self.q.copy()
        q[part.q] = values
        self.configure(q)

    def _frame_switches(self) -> None:
        low, high = self.scene.bounds(0)
        length = 0.08 * float(np.linalg.norm(high - low))
        api = self.server.scene
        groups: dict[str, list[Any]] = {"body frames": [], "named frames": []}
        for body in self.model.bodies:
            at = self.paths[body.name]
            axes = api.add_frame(f"{at}/axes", axes_length=length, axes_radius=0.03 * length, visible=False)
            groups["body frames"] += [axes, api.add_label(f"{at}/name", body.name, visible=False)]
            for frame in body.frames:
                wxyz = quaternion_from_matrix(frame.origin.R)
                placed = dict(wxyz=wxyz, position=frame.origin.xyz, visible=False)
                name = f"{at}/frame {node_name(frame.name)}"
                groups["named frames"] += [
                    api.add_frame(name, axes_length=0.6 * length, axes_radius=0.02 * length, **placed),
                    api.add_label(f"{name} label", frame.name, position=frame.origin.xyz, visible=False),
                ]
        with self.server.gui.add_folder("Frames"):
            for label, handles in groups.items():
                if handles:
                    box = self.server.gui.add_checkbox(label, False)
                    box.on_update(lambda event, handles=handles: show(handles, event.target.value))


def _tree(model: Model) -> str:
    children: dict[str | None, list[Any]] = {}
    for body in model.bodies:
        children.setdefault(body.parent, []).append(body)

    def listed(parent: str | None) -> str:
        items = "".join(
            f"<li><b>{escape(b.name)}</b> ({type(b.joint).__name__.lower()}, {b.inertia.mass:g} kg){listed(b.name)}</li>"
            for b in children.get(parent, [])
        )
        return f'<ul style="padding-left:1.1em;margin:0">{items}</ul>' if items else ""

    return f'<div style="font-size:0.8em;padding:0 1em 0.6em">{listed(None)}</div>'


def view(model: Model, q: Array | None = None, *, port: int = 0) -> ModelPage:
    """Serve a page that shows a model at the `url` of the returned page; `close()` stops the server.

    Args:
        model: Model to show.
        q: Configuration, shape (nq,). Defaults to the initial configuration of the model.
        port: Port to listen on; if it is in use, the next free port is used; 0 selects any free port.
    """
    return ModelPage(model, q, port=port)
