"""Water in an SDF or URDF: `<fluid_added_mass>`, and the plugins of Gazebo and of the UUV Simulator (`_uuv_water`).

`<fluid_added_mass>` is positive, about the link origin in link axes, linear first, as in HydroMechs. The
coefficients of the hydrodynamics plugin have Fossen's sign, X_u̇ < 0 and X_u < 0: the force is X = X_u̇ u̇ + X_u u + X_u|u|
|u| u. Coefficients in HydroMechs are positive, so that the sign changes. Until Gazebo Garden, the plugin accepted added
mass with a positive sign; positive values are therefore read as added mass, with a note.

A thruster pushes along the axis of its joint, at the joint; the command is the thrust in newtons. Gazebo applies the thrust
at the origin of the rotating link, which is far from the propeller in some files. With thrust at this origin, thrusters at
the sides of a boat would not turn the boat, and would be out of the water at the surface.
"""

import math
import re
from collections import Counter

import numpy as np

from hydromechs.actuation import Thruster, ideal_curve
from hydromechs.geometry import Mesh
from hydromechs.model import BodyShape, Hydro, Model, added_mass, drag
from hydromechs.spatial import shift_inertia
from hydromechs.values import plain

from . import _uuv_water
from ._imported import UNLIMITED, Findings
from ._pose import Pose
from ._sdf_frames import Frames, Scope
from ._xml import Element, is_true

FORCES, SPEEDS = "xyzkmn", "UVWPQR"
AXES = "xyzpqr"
"""Names of the rows of `<fluid_added_mass>`."""
PLUGINS = {
    "buoyancy": (r"buoyancy(?!.*engine)", ("uniform_fluid_density", "graded_buoyancy", "enable")),
    "hydrodynamics": (r"hydrodynamics", ("link_name",)),
    "thruster": (r"\bthruster\b|thruster-system", ("joint_name",)),
    **_uuv_water.PLUGINS,
}
"""Supported plugins: pattern of file and name, and elements that identify a third-party plugin with equal elements."""
GAZEBO = re.compile(r"\b(lib)?(gz|ignition)[-:]")
"""Pattern of file or name of the plugins of Gazebo."""
THRUST = 1000.0
"""Default maximum thrust in Gazebo [N]."""
HELD = "held fixed; the thruster pushes along the joint axis"
"""Action in the note on a propeller joint."""
DENSITY = 1000.0
"""Default water density in Gazebo [kg/m³]."""


class Water:
    """Hydrodynamics of the links in a file."""

    def __init__(self, findings: Findings, frames: Frames, model: str) -> None:
        self.findings, self.frames = findings, frames
        self.model = model
        """Name of the only model of the file, which is not a prefix of link names; empty if the file has several models."""
        self.density, self.specified = DENSITY, False
        """Water density [kg/m³]."""
        self.floats: Element | None = None
        """Buoyancy plugin; None without one."""
        self.enabled: list[str] = []
        """Models and links with buoyancy; all links if empty."""
        self.damped: dict[str, list[Element]] = {}
        """Hydrodynamics plugins, keyed by link."""
        self.objects: dict[str, Element] = {}
        """Entries of UUV Simulator plugins, keyed by link."""
        self.propellers: dict[str, str] = {}
        """Frame of the thruster at each propeller joint."""
        self.made: list[tuple[str, Element]] = []
        """Name and plugin of each thruster."""

    def read(self, top: Scope, scopes: list[Scope]) -> None:
        """Record the plugins of a world and its models."""
        kinds = {"buoyancy": self._buoyancy, "hydrodynamics": self._hydrodynamics, "thruster": self._thruster}
        kinds |= {"object": self._object, "uuv thruster": self._uuv_thruster}
        ignored = Counter[str]()
        for scope in scopes:
            for plugin in scope.element.all("plugin"):
                filename, name = (plugin.attributes.get(key, "") for key in ("filename", "name"))
                label, owner = f"{filename} {name}".lower(), f"plugin {name or filename!r}"
                kind = next((kind for kind, (pattern, _) in PLUGINS.items() if re.search(pattern, label)), "")
                if kind and (GAZEBO.search(label) or any(plugin.first(key) is not None for key in PLUGINS[kind][1])):
                    kinds[kind](scope, plugin, owner)
                    continue
                self.findings.left_out(plugin, owner, f"file {filename!r}", "not a supported plugin")
                if re.search("buoyancy|hydrodynamic|thruster|propeller|underwater|liftdrag|uuv_fin", label):
                    ignored[filename or name] += 1
        if ignored:
            listed = ", ".join(f"{name!r}" + (f" ({count} times)" if count > 1 else "") for name, count in ignored.items())
            self.findings.headlines.append(
                f"unknown plugins for water, thrusters or fins are ignored: {listed}; add their forces to the model or scenario"
            )

    def _buoyancy(self, scope: Scope, plugin: Element, owner: str) -> None:
        f = self.findings
        f.unknown(plugin, ("uniform_fluid_density", "graded_buoyancy", "enable"), owner)
        self.floats = plugin
        self.enabled = [e.text.strip() for e in plugin.all("enable")]
        graded = plugin.first("graded_buoyancy")
        uniform = plugin.first("uniform_fluid_density") is not None
        parent, key = (plugin, "uniform_fluid_density") if uniform else (graded, "default_density")
        self.specified = parent is not None and parent.first(key) is not None
        if parent is not None and self.specified:
            self.density = f.child_number(parent, key, owner, DENSITY, f"{key} [kg/m³]")
        if graded is not None and not uniform:
            f.left_out(graded, owner, "layers of different density", "water without a surface; add an Environment")
        if self.density < 0.0:
            f.fault(plugin, f"{owner}: the density of the water is {self.density:g} kg/m³, must not be negative", self.density)

    def _hydrodynamics(self, scope: Scope, plugin: Element, owner: str) -> None:
        f = self.findings
        name = plugin.first("link_name")
        if name is None or not name.text:
            f.fault(plugin, f"{owner} has no <link_name>", remedy="add the name of the link")
            return
        link = self.frames.link(scope, name.text, name)
        if link is not None:
            self.damped.setdefault(link, []).append(plugin)

    def _object(self, scope: Scope, plugin: Element, owner: str) -> None:
        f = self.findings
        f.unknown(plugin, ("link", "fluid_density", "flow_velocity_topic", "use_global_current", "debug"), owner)
        self.specified = plugin.first("fluid_density") is not None
        self.density = f.child_number(plugin, "fluid_density", owner, _uuv_water.DENSITY, "fluid_density [kg/m³]")
        for element in plugin.all("link"):
            name = element.attributes.get("name", "")
            link = self.frames.link(scope, name, element) if name else None
            if link is not None:
                self.objects[link] = element
            elif not name:
                f.fault(element, f"{owner}: a <link> has no name", remedy="add the name of the link")

    def _uuv_thruster(self, scope: Scope, plugin: Element, owner: str) -> None:
        self._add_thruster(scope, plugin, owner, "jointName")
        known = ("linkName", "thrusterID", "gain", "clampMin", "clampMax", "thrustMin", "thrustMax", "dynamics", "conversion")
        self.findings.unknown(plugin, ("jointName", "thrust_efficiency", "propeller_efficiency", *known), owner)

    def _thruster(self, scope: Scope, plugin: Element, owner: str) -> None:
        self._add_thruster(scope, plugin, owner, "joint_name")
        limits = "max_thrust_cmd", "min_thrust_cmd"
        known = ("joint_name", "namespace", "topic", *limits, "fluid_density", "propeller_diameter")
        self.findings.unknown(plugin, known, owner)

    def _add_thruster(self, scope: Scope, plugin: Element, owner: str, tag: str) -> None:
        f = self.findings
        name, joint = plugin.first(tag), plugin.text_of(tag)
        found = self.frames.inside(scope, joint) if joint else None
        if found is None or found[1] not in found[0].joints:
            known = ", ".join(list(scope.joints)[:20])
            f.fault(name or plugin, f"{owner}: the joint {joint!r} does not exist; joints are {known}", joint)
            return
        full = found[0].full(found[1])
        self.propellers[full] = f"{full}_thrust"
        self.made.append((full, plugin))

    def thrusters(self, model: Model) -> list[Thruster]:
        """Return the thrusters; their commands are thrusts in newtons."""
        f, out = self.findings, []
        for joint, plugin in self.made:
            frame = self.propellers[joint]
            if frame not in model.frames:
                f.left_out(plugin, f"thruster of joint {joint!r}", "the joint has no child link in the tree")
                continue
            owner = f"thruster of joint {joint!r}"
            uuv = plugin.first("jointName") is not None
            if uuv:
                limits, lag = _uuv_water.thrust_limits(f, plugin, owner), _uuv_water.lag(f, plugin, owner)
            else:
                given = plugin.first("max_thrust_cmd") is not None or plugin.first("min_thrust_cmd") is not None
                low = f.child_number(plugin, "min_thrust_cmd", owner, -THRUST)
                limits, lag = (low, f.child_number(plugin, "max_thrust_cmd", owner, THRUST)) if given else None, 0.0
            low, high = limits or (-THRUST, THRUST)
            if limits is None:
                done = f"from {-THRUST:g} to {THRUST:g} N, as in Gazebo; change the curve of the thruster"
                f.note("assumed", plugin, owner, UNLIMITED, done)
            if not low <= 0.0 <= high or low == high:
                what = f"thrust from {plain(low)} to {plain(high)} N"
                f.note("repaired", plugin, owner, what, f"from {-THRUST:g} to {THRUST:g} N, Gazebo's default")
                high, low = THRUST, -THRUST
            diameter = f.child_number(plugin, "propeller_diameter", owner, 0.0 if uuv else 0.02)
            radius = {"radius": diameter / 2.0} if diameter > 0.0 else {}
            out.append(Thruster(name=joint, frame=frame, curve=ideal_curve(high, -low), time_constant=lag, **radius))
        return out

    @property
    def present(self) -> bool:
        """True if a plugin specifies water."""
        return self.floats is not None or bool(self.objects)

    def hydro(self, name: str, link: Element, solids: tuple[BodyShape, ...], shift: Pose) -> Hydro | None:
        """Return the hydrodynamics of a link with collision shapes on the body, offset by `shift`; None for a dry link."""
        owner = f"link {name!r}"
        volume, center = self._volume(name, link, solids, owner)
        A = self._added_mass(link, owner)
        damping: list[drag.Damping] = []
        if name in self.objects:
            element, label = self.objects[name], f"hydrodynamics of {owner}"
            volume, place = _uuv_water.buoyancy(f := self.findings, element, link, label, self.density)
            x, y, z = map(float, place + shift.p)
            center = (x, y, z)
            more, damped = self._checked(*_uuv_water.matrices(f, element, label), {}, element, label)
            A = A + more
            damping += [damped] if damped is not None else []
        for plugin in self.damped.get(name, ()):
            more, damped = self._coefficients(plugin, f"hydrodynamics of {owner}")
            A = A + more
            damping += [damped] if damped is not None else []
        if damping and shift.p.any():
            done = "applied about the body origin, which is on the joint axis"
            self.findings.note("repaired", link, owner, "damping about the link origin", done)
        if not (volume or A.any() or damping):
            return None
        if shift.p.any():
            A = shift_inertia(A, shift.p)
        given = (added_mass.Matrix(tuple(map(tuple, (0.5 * (A + A.T)).tolist()))),) if A.any() else ()
        return Hydro(volume=volume, buoyancy_center=center, added_mass=given, drag=tuple(damping))

    def _volume(
        self, name: str, link: Element, solids: tuple[BodyShape, ...], owner: str
    ) -> tuple[float, tuple[float, float, float]]:
        """Return volume [m³] and centre [m] of the collision shapes if the buoyancy plugin acts on the link."""
        full = f"{self.model}::{name}" if self.model else name
        if self.floats is None or (self.enabled and not any(f"{full}::".startswith(f"{e}::") for e in self.enabled)):
            return 0.0, (0.0, 0.0, 0.0)
        total, moment = 0.0, np.zeros(3)
        for shape in solids:
            if isinstance(shape.shape, Mesh):
                what = f"buoyancy of a mesh, {getattr(shape, 'file', '')!r}"
                self.findings.left_out(link, owner, what, "the volume of the mesh is ignored; set Hydro(volume=...)")
                continue
            total += shape.shape.volume
            moment += shape.shape.volume * np.array(shape.origin.xyz)
        x, y, z = map(float, moment / total) if total else (0.0, 0.0, 0.0)
        return total, (x, y, z)

    def _added_mass(self, link: Element, owner: str) -> np.ndarray:
        """Return the `<fluid_added_mass>` of a link about the link origin, shape (6, 6)."""
        A = np.zeros((6, 6))
        inertial = link.first("inertial")
        added = None if inertial is None else inertial.first("fluid_added_mass")
        if added is None:
            return A
        keys = {AXES[i] + AXES[j]: (i, j) for i in range(6) for j in range(i, 6)}
        self.findings.unknown(added, keys, owner)
        for key, (i, j) in keys.items():
            A[i, j] = A[j, i] = self.findings.child_number(added, key, owner, 0.0, f"fluid_added_mass {key}")
        return A

    def _coefficients(self, plugin: Element, owner: str) -> tuple[np.ndarray, drag.Damping | None]:
        """Return added mass, shape (6, 6), and damping of a hydrodynamics plugin, converted to positive signs."""
        f = self.findings
        A, D, Q = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
        coupled: dict[str, float] = {}
        others = ("link_name", "namespace", "water_density", "waterDensity", "disable_added_mass", "disable_coriolis")
        for child in plugin.children:
            tag = child.tag
            if tag in others:
                continue
            found = re.fullmatch(r"([xyzkmn])(?:(Dot)([UVWPQR])|([UVWPQR])(?:(abs)?([UVWPQR]))?)", tag)
            if found is None:
                f.left_out(child, owner, f"<{tag}> {child.text[:60]!r}")
                continue
            c = f.number(child.text, child, f"{owner}: {tag}", 0.0)
            force, dot, of_rate, speed, absolute, second = found.groups()
            if not c:
                continue
            i, j = FORCES.index(force), SPEEDS.index(of_rate or speed)
            if dot:
                if i == j and c > 0.0:
                    done = "read as positive added mass, as in Gazebo until Garden"
                    f.note("assumed", child, owner, f"{tag} {plain(c)}, above 0", done)
                    c = -c
                A[i, j] -= c
            elif not second:
                D[i, j] -= c
            elif speed == second:
                if not absolute:
                    done = f"read as {force}{speed}abs{speed}, which opposes the motion"
                    f.note("assumed", child, owner, f"{tag} {plain(c)}", done)
                Q[i, j] -= c
            elif absolute:
                coupled[f"{force.upper()}|{second.lower()}|{speed.lower()}"] = -c
            else:
                f.left_out(child, owner, f"<{tag}> {plain(c)}", "a product of two speeds without an absolute value")
        if is_true(plugin.text_of("disable_added_mass")):
            if A.any():
                f.left_out(plugin, owner, "added mass", "the file disables this force")
            A = np.zeros((6, 6))
        if is_true(plugin.text_of("disable_coriolis")):
            f.left_out(plugin, owner, "disable_coriolis", "added-mass forces are always complete")
        return self._checked(A, D, Q, coupled, plugin, owner)

    def _checked(
        self, A: np.ndarray, D: np.ndarray, Q: np.ndarray, coupled: dict[str, float], plugin: Element, owner: str
    ) -> tuple[np.ndarray, drag.Damping | None]:
        """Return added mass, shape (6, 6), and damping from matrices; signs that amplify motion are changed, with notes."""
        f = self.findings
        for name, M in (("linear", D), ("quadratic", Q)):
            bad = [i for i in range(6) if M[i, i] < 0.0]
            if bad:
                which = ", ".join(f"{FORCES[i]}{SPEEDS[i]}" for i in bad)
                what = f"{name} damping above 0 ({which}), which would amplify the motion"
                f.note("repaired", plugin, owner, what, "the sign is changed, because Gazebo's coefficients are negative")
                for i in bad:
                    M[i, i] = -M[i, i]
        if not np.allclose(A, A.T, rtol=1e-9, atol=0.0):
            f.note("repaired", plugin, owner, "an asymmetric added mass", "the symmetric part is used")
        damped = bool(D.any() or Q.any() or coupled)
        damping = drag.Damping(linear=_rows(D), quadratic=_rows(Q), coupled=tuple(coupled.items())) if damped else None
        return 0.5 * (A + A.T), damping


def towards(axis: np.ndarray) -> tuple[float, float, float]:
    """Return roll, pitch, yaw of a frame with x axis along a unit vector [rad], shape (3,)."""
    x, y, z = map(float, axis)
    return 0.0, math.atan2(-z, math.hypot(x, y)), math.atan2(y, x) if x or y else 0.0


def _rows(M: np.ndarray) -> tuple:
    """Return the diagonal of a matrix if all other entries are zero, otherwise the rows."""
    if np.array_equal(M, np.diag(np.diag(M))):
        return tuple(map(float, np.diag(M)))
    return tuple(map(tuple, M.tolist()))
