"""Operator station: a session, its scenes, and the gate in front of them."""

import json
import logging
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hydromechs import files
from hydromechs.contact import Terrain
from hydromechs.errors import ScenarioError
from hydromechs.spatial import matrix_from_rpy, quaternion_matrix
from hydromechs.viewer import LivePage, Rejected, live_scene, scene_camera, with_particles

from ._camera import camera_places
from ._channel import AcousticLink
from ._configuration import Catalog, Changes, Configured, configured
from ._gate import Seats, StationGate
from ._lookahead import Outlook
from ._messages import check_picture
from ._operator import AXES
from ._session import FRAME, LOST_AFTER, Session
from ._telemetry import Snapshot

HANDLE = "/world/handle"
"""Name of the scene node that the pilot drags."""
PICTURE = (720, 1280)
"""Height and width of a saved camera image [pixel]."""
PICTURE_WAIT = 20.0
"""Time allowed for a browser to draw one image [s]."""
PREDICTED = "predicted"
"""Name of the ghost in the scene."""
WAYS = ((0.96, 0.76, 0.1), (0.25, 0.9, 0.45), (1.0, 0.35, 0.3))
"""Colours of predicted paths."""
FARTHEST_DELAY, SLOWEST_MESSAGE = 20.0, 20.0
"""Maximum delay and message time that a page may set [s]."""
VIEWS = {"chase": (-1.0, 0.0, 0.45), "side": (0.0, 1.0, 0.2), "top": (-0.02, 0.0, 1.0)}
"""Directions from the vehicle to the outside camera, as components forward, to starboard and up."""
LOG = logging.getLogger(__name__)


class Scenes:
    """Live scene in two views: from outside, and from an onboard camera."""

    def __init__(self, session: Session) -> None:
        sim, scenario, first = session.simulation, session.configured.scenario, session.snapshot
        self.model = sim.model
        """Displayed mechanism."""
        vehicle = session.pilot.vehicle.body
        scene = live_scene(
            sim.model,
            first.position,
            first.wxyz,
            terrain=scenario.parts(Terrain),
            environment=scenario.environment,
            tethers=first.tethers,
        )
        cameras = camera_places(sim.model, scene, vehicle)
        scene = with_particles(scene)
        options: dict[str, Any] = dict(environment=scenario.environment, seed=scenario.seed, actuators=sim.actuators)
        bow = (scene.upright @ scene.poses(0)[sim.model.body_names[vehicle]][0])[:, 0]
        chase = scene_camera(scene, aspect=1.0, azimuth=float(np.degrees(np.arctan2(-bow[1], -bow[0]))))
        self.outside = LivePage(sim.model, scene, follow=vehicle, camera=chase, terrain=scenario.parts(Terrain), **options)
        """View from outside, initially from behind the vehicle; the camera follows the vehicle."""
        self.onboard = LivePage(sim.model, scene, **options)
        """View from an onboard camera."""
        self.cameras = cameras
        """Available onboard cameras."""
        if scene.wet:
            for page in (self.outside, self.onboard):
                page.lamp(cameras[0].body, cameras[0].position, cameras[0].axes[:, 0])
        self._aims: dict[str | None, tuple[int, float, float]] = {}
        self._upright, self._down = scene.upright, np.array(sim.model.world.down)
        self._looked = 0.0
        self._outlook: Outlook | None = None
        self._session = session
        self._handle = self._drag_handle(session)

    def _drag_handle(self, session: Session) -> Any:
        """Return the handle on the tool of the selected arm, which the pilot drags, or None without arms."""
        if not session.snapshot.tools:
            return None
        low, high = self.outside.scene.bounds(0)
        return self.outside.server.scene.add_transform_controls(
            HANDLE,
            scale=0.08 * float(np.linalg.norm(high - low)),
            disable_rotations=True,
            depth_test=False,
            position=session.snapshot.tools[0],
        )

    def show(self, snapshot: Snapshot, *, arm: int, dragged: bool) -> None:
        """Show a snapshot, with the handle at the tool of an arm; a dragged handle stays at the point of release."""
        _move(self.outside, snapshot)
        flown = snapshot.ghost or snapshot
        if snapshot.ghost is None:
            self.outside.remove_ghost(PREDICTED)
        else:
            self.outside.ghost(PREDICTED, snapshot.ghost.position, snapshot.ghost.wxyz)
        if self._handle is not None and not dragged and arm < len(flown.tools):
            place = np.array(flown.tools[arm])
            if np.abs(self._handle.position - place).max() > 1e-3:
                self._handle.position = place
        if self.onboard.server.get_clients():
            _move(self.onboard, snapshot)
            self.look(snapshot)

    def ways(self, outlook: Outlook | None) -> None:
        """Show predicted paths as lines, or remove the lines for None."""
        if outlook is self._outlook:
            return
        self._outlook = outlook
        for k, color in enumerate(WAYS):
            if outlook is None:
                self.outside.remove_line(f"way {k}")
            else:
                self.outside.line(f"way {k}", outlook.points[k], color)

    def look(self, snapshot: Snapshot) -> None:
        """Align the view of each page with the line of sight of its selected onboard camera."""
        if time.monotonic() - self._looked < 2.0 * FRAME:
            return
        self._looked = time.monotonic()
        sign, holders = float(self._down[2]), self.onboard.tickets.holders
        for number, client in self.onboard.server.get_clients().items():
            index, pan, tilt = self._aims.get(holders.get(number), (0, 0.0, 0.0))
            camera = self.cameras[index]
            R_WB = np.array(quaternion_matrix(snapshot.wxyz[camera.body]), dtype=float)
            turn = np.array(matrix_from_rpy((0.0, sign * np.radians(tilt), sign * np.radians(pan))), dtype=float)
            axes = self._upright @ R_WB @ camera.axes @ turn
            place = self._upright @ (snapshot.position[camera.body] + R_WB @ camera.position)
            with client.atomic():
                client.camera.up_direction = -axes[:, 2] * sign
                client.camera.position = place
                client.camera.look_at = place + axes[:, 0]

    def aim(self, seat: str, camera: Any, pan: Any, tilt: Any) -> None:
        """Select the onboard camera of a seat by index, and turn it: pan to the right and tilt upwards [deg]."""
        for name, x, most in (("camera", camera, len(self.cameras) - 1), ("pan", pan, 180.0), ("tilt", tilt, 90.0)):
            low = 0 if name == "camera" else -most
            if isinstance(x, bool) or not isinstance(x, int if name == "camera" else int | float) or not low <= x <= most:
                raise Rejected(f"aim: {name} is {str(x)[:40]}, must be a number from {low:g} to {most:g}")
        self._aims[seat] = (camera, pan, tilt)

    def view(self, seat: str, name: Any) -> None:
        """Move the outside cameras of a seat to a view of the vehicle: "chase", "side" or "top"."""
        if not isinstance(name, str) or name not in VIEWS:
            raise Rejected(f"view: {str(name)[:40]!r} is not one of {', '.join(VIEWS)}")
        snapshot, body = self._session.snapshot, self._session.pilot.vehicle.body
        R = np.array(quaternion_matrix(snapshot.wxyz[body]), dtype=float)
        bow = (self._upright @ R)[:2, 0]
        bow = bow / max(float(np.linalg.norm(bow)), 1e-9)
        ahead, aside, up = VIEWS[name]
        away = np.array([ahead * bow[0] + aside * bow[1], ahead * bow[1] - aside * bow[0], up])
        self.outside.view_from(away, {k for k, holder in self.outside.tickets.holders.items() if holder == seat})

    def picture(self, path: Path, seat: str) -> None:
        """Save the view of the onboard camera, drawn by the browser of a seat."""
        import matplotlib.image

        holders = self.onboard.tickets.holders
        clients = [client for k, client in self.onboard.server.get_clients().items() if holders.get(k) == seat]
        if not clients:
            raise ValueError("the onboard camera is hidden on your page; show it first")
        height, width = PICTURE
        image = clients[-1].get_render(height, width, transport_format="png", timeout=PICTURE_WAIT)
        with files.replacing(path) as partial:
            matplotlib.image.imsave(partial, image[..., :3])

    def close(self) -> None:
        """Stop serving."""
        self.outside.close()
        self.onboard.close()


class Station:
    """Operator station on which users fly and watch a scenario in their browsers, at `url`.

    Args:
        catalog: Available scenarios.
        name: Name of the initial scenario.
        folder: Parent folder of the run folders.
        share: Accept connections from other machines.
        port: Port to listen on; if it is in use, the next free port is used; 0 selects any free port.
        lost_after: Time without input from the pilot after which the vehicle holds its position [s].
        link: Initial link between the operator and the vehicle. Defaults to no link.
    """

    def __init__(
        self,
        catalog: Catalog,
        name: str,
        folder: str | os.PathLike[str] = "runs",
        *,
        share: bool = False,
        port: int = 0,
        lost_after: float = LOST_AFTER,
        link: AcousticLink | None = None,
    ) -> None:
        self.catalog, self.seats = catalog, Seats()
        self.session = Session(configured(catalog, name), folder, lost_after=lost_after, link=link)
        """Session of the flown scenario."""
        self.scenes = Scenes(self.session)
        """Scenes of the session."""
        self._frame: tuple[int, str] = (0, "{")
        self._generation = 0
        self._closed = False
        self._pictures = threading.Lock()
        self._outlook: tuple[int, Outlook] | None = None
        self._render()
        self.gate = StationGate(self, port=port, share=share)
        """Gate that serves the page."""
        self._feed = threading.Thread(target=self._show, name="scenes", daemon=True)
        self._feed.start()

    @property
    def url(self) -> str:
        """URL of the page; on other machines, replace 127.0.0.1 by the name of this machine."""
        return self.gate.url

    def close(self) -> None:
        """End the run and stop serving."""
        self._closed = True
        self.gate.close()
        self.session.close()
        self._feed.join()
        self.scenes.close()

    # -- thread of the scenes ---------------------------------------------------------------------------------

    def _show(self) -> None:
        """Show each new snapshot in the scenes, and create a frame for the pages."""
        last: Snapshot | None = None
        while not self._closed:
            snapshot = self.session.wait(last, 0.05)
            if snapshot is not last:
                if self.session.simulation.model is not self.scenes.model:
                    old, self.scenes = self.scenes, Scenes(self.session)
                    self._generation += 1
                    old.close()
                seen = self._outlook
                if seen is not None and (seen[0] != snapshot.run or snapshot.t > seen[1].t[-1]):
                    self._outlook = None  # the run or the time has moved on
                asked = self.session.inputs.now
                try:
                    self.scenes.show(snapshot, arm=asked.arm, dragged=asked.target is not None)
                except Exception:
                    LOG.exception("failed to show the scene at t = %g s", snapshot.t)
                last = snapshot
            elif last is not None:
                self.scenes.look(last)  # for pages opened while the simulation is paused
            seen = self._outlook
            self.scenes.ways(None if seen is None else seen[1])
            self._render()

    def _ways(self) -> dict[str, Any] | None:
        """Return data of predicted paths for the page: names, colours, distances, end times, and computing time [ms]."""
        seen = self._outlook
        if seen is None:
            return None
        outlook = seen[1]
        rows = []
        for name, color, points, until in zip(outlook.names, WAYS, outlook.points, outlook.until, strict=True):
            way = round(float(np.linalg.norm(points[-1] - points[0])), 2)
            rows.append([name, [round(255 * x) for x in color], way, round(float(until - outlook.t[0]), 1)])
        return {"ways": rows, "took": round(1e3 * outlook.computing_time, 1)}

    def _render(self) -> None:
        snapshot, session = self.session.snapshot, self.session
        asked = session.inputs.now
        shown = ("mode", "arm", "arm_mode", "swing", "axes", "arm_axes")
        operator = {name: getattr(asked, name) for name in shown} | {"dragged": asked.target is not None}
        frame = {"type": "frame", "t": round(snapshot.t, 3), "scene": self._generation, "hud": snapshot.hud}
        frame |= {"status": session.status, "operator": operator, "ahead": self._ways()}
        frame["cameras"] = [camera.name for camera in self.scenes.cameras]
        frame["ghost"] = None if snapshot.ghost is None else {"t": round(snapshot.ghost.t, 3), "hud": snapshot.ghost.hud}
        text = _plain_json(frame)[:-1]
        if text != self._frame[1]:
            self._frame = (snapshot.number, text)

    # -- requests of the gate ---------------------------------------------------------------------------------------------

    def page(self, view: str) -> LivePage | None:
        """Return the scene "outside" or "onboard", or None for other names."""
        return {"outside": self.scenes.outside, "onboard": self.scenes.onboard}.get(view)

    def enter(self, seat: str) -> dict[str, Any]:
        """Return data for a new page: name of the seat, available scenarios, arms."""
        name = self.seats.join(seat)
        arms = [{"frame": arm.frame, "joints": arm.joints, "gripper": bool(arm.holdings)} for arm in self.session.pilot.arms]
        return {"you": name, "scenarios": self.offered, "scenario": self.session.configured.name, "arms": arms, "axes": AXES}

    @property
    def offered(self) -> list[str]:
        """Names of available scenarios."""
        return list(self.catalog.offered)

    def exit(self, seat: str) -> None:
        """Release the seat of a closed page."""
        self.seats.leave(seat)

    def frame(self) -> tuple[int, str]:
        """Return the snapshot number and the text of the newest frame."""
        return self._frame

    def own(self, seat: str, dropped: int) -> dict[str, Any]:
        """Return the information that only one seat receives."""
        return {**self.seats.view(seat), "dropped": dropped}

    def on_scene_message(self, seat: str, view: str, message: Mapping[str, Any]) -> bool:
        """Handle a message from a scene, such as a drag of the tool handle; return True to forward it to viser."""
        kind = message["type"]
        if kind == "GetRenderResponseMessage":
            if view != "onboard" or not self.seats.steers(seat):
                raise Rejected(f"{kind} from a seat without the controls")
            check_picture(message["payload"], *PICTURE)
        if not kind.startswith("TransformControls"):
            return True
        if view != "outside" or message["name"] != HANDLE:
            raise Rejected(f"{kind}: {message['name'][:40]!r} in {view} is not a handle of the station")
        if not self.seats.steers(seat):
            raise Rejected(f"{kind} from a seat without the controls")
        self.session.note_pilot()
        if kind == "TransformControlsUpdateMessage":
            try:
                self.session.drag(message["position"])
            except ValueError as error:
                raise Rejected(f"{kind}: {error}") from None
        return True

    def take(self, seat: str, message: Mapping[str, Any]) -> dict[str, Any] | None:
        """Execute the request of a page; a page without the controls may only change its views or request the controls."""
        kind, session = message["type"], self.session
        if kind == "ask":
            self.seats.ask(seat)
            return None
        if kind == "view":  # from the station's own page, for pilots and observers
            self.scenes.view(seat, message["name"])
            return None
        if kind == "aim":
            self.scenes.aim(seat, message["camera"], message["pan"], message["tilt"])
            return None
        if kind == "alive":
            if self.seats.steers(seat):
                session.note_pilot()
            return None
        if not self.seats.steers(seat):
            raise Rejected(f"{kind} from a seat without the controls")
        session.note_pilot()
        if kind == "give":
            self.seats.give(seat)
        elif kind == "operator":
            self._steer({name: value for name, value in message.items() if name != "type"})
        elif kind == "scale":
            self._scale(message["value"])
        elif kind in ("configure", "save"):
            return self._configure(message, save=kind == "save")
        elif kind == "picture":
            return self._picture(seat)
        elif kind == "ahead":
            return self._look_ahead()
        elif kind == "delay":
            self._delay(message)
        else:
            {"start": session.start, "pause": session.pause, "step": session.step, "reset": session.reset}[kind]()
        return None

    def _steer(self, fields: dict[str, Any]) -> None:
        arm = fields.get("arm_axes")
        if fields.get("arm_mode") == "joints" or "arm" in fields or (isinstance(arm, list) and any(arm)):
            fields["target"] = None  # moving the arm by hand cancels its target
        try:
            self.session.inputs.set(**fields)
        except (ValueError, TypeError) as error:
            raise Rejected(f"operator: {error}") from None

    def _scale(self, value: Any) -> None:
        if value != "max" and (not isinstance(value, int | float) or isinstance(value, bool)):
            raise Rejected(f"scale: {value!r} is not a number or max")
        try:
            self.session.scale(float("inf") if value == "max" else float(value))
        except ValueError as error:
            raise Rejected(f"scale: {error}") from None

    def _delay(self, message: Mapping[str, Any]) -> None:
        """Set the link between operator and vehicle, or remove it if the delay is null."""
        values = {name: message[name] for name in ("delay", "message_time", "loss") if name in message}
        if values["delay"] is None:
            self.session.set_link(None)
            return
        for name, most in (("delay", FARTHEST_DELAY), ("message_time", SLOWEST_MESSAGE), ("loss", 1.0)):
            x = values.get(name, 0.0)
            if not isinstance(x, int | float) or isinstance(x, bool) or not 0.0 <= x <= most:
                raise Rejected(f"delay: {name} is {str(x)[:40]}, must be a number from 0 to {most:g}")
        self.session.set_link(AcousticLink(**values))

    def _look_ahead(self) -> dict[str, Any]:
        """Show predicted paths, or hide them if they are visible."""
        if self._outlook is not None:
            self._outlook = None
            return {"type": "ahead"}
        run = self.session.snapshot.run
        try:
            outlook = self.session.look_ahead()
        except (ValueError, TimeoutError) as error:
            return {"type": "ahead", "problem": f"the look-ahead failed: {error}"}
        self._outlook = (run, outlook)
        return {"type": "ahead"}

    def _configure(self, message: Mapping[str, Any], *, save: bool) -> dict[str, Any]:
        """Check a changed scenario like a file; if it is valid, fly or save it."""
        try:
            made: Configured = configured(self.catalog, message["scenario"], Changes.of(message["changes"]))
            if save:
                return {"type": "saved", "file": str(self._write(made)), "text": made.text}
            self.session.reset(made)
        except (ValueError, TypeError, OSError) as error:
            problems = error.problems if isinstance(error, ScenarioError) else [error]
            return {"type": "checked", "problems": [str(problem) for problem in problems]}
        return {"type": "checked", "problems": []}

    def _write(self, made: Configured) -> Path:
        """Write a scenario to the parent folder of the runs under an unused name; return its path."""
        folder = self.session.folder
        folder.mkdir(parents=True, exist_ok=True)
        k = 1
        while True:
            path = folder / f"{made.scenario.name}-piloted-{k}.yaml"
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(made.text)
                return path
            except FileExistsError:
                k += 1

    def _picture(self, seat: str) -> dict[str, Any]:
        path = self.session.run_folder.path / "camera" / f"{self.session.snapshot.t:09.3f}.png"
        with self._pictures:
            try:
                self.scenes.picture(path, seat)
            except (ValueError, OSError, RuntimeError) as error:  # for example a wrong size, a full disk, a closed page
                return {"type": "picture", "problem": str(error)}
        return {"type": "picture", "file": str(path)}


def _move(page: LivePage, snapshot: Snapshot) -> None:
    page.pose(snapshot.t, snapshot.position, snapshot.wxyz, snapshot.force, snapshot.flow)
    for name, points in snapshot.tethers.items():
        page.tether(name, points)


def _plain_json(frame: dict[str, Any]) -> str:
    """Return a frame as JSON; non-finite numbers of a diverged run become null."""
    try:
        return json.dumps(frame, allow_nan=False)
    except ValueError:
        return json.dumps(json.loads(json.dumps(frame), parse_constant=lambda _: None))
