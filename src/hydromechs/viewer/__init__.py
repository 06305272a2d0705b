"""Display of models and recordings: scenes in a browser and in pictures, plots, reports."""

from ._client import SCENE_SAMPLES, PageContent, PageProgram, page_asset, page_html
from ._compare import plot_comparison, write_comparison
from ._distributions import Distribution, interval_text, write_distributions
from ._gate import Gate, answer, viewer_html
from ._live import LivePage, live_scene, propellers, with_force_arrows, with_particles
from ._looks import DrawingWarning, drawing_notes
from ._messages import LARGEST, Guard, Rejected
from ._modes import ShownMode, plot_modes
from ._page import Page
from ._pictures import browser_picture, snapshot, write_picture
from ._plots import plot_recording, plot_variable
from ._raster import Camera, camera_for, raster, scene_camera
from ._recorded import recording_scene
from ._replay import ReplayPage, replay, replay_html
from ._report import report_page, write_report
from ._scene import Arrows, Line, MovingFrame, Scene, SceneSolid, Surface, bodies_at, model_scene
from ._style import COLOURS, figure
from ._video import VIDEOS, chosen_layers, follow, video_moments, write_video
from ._view import ModelPage, view

__all__ = [
    "COLOURS",
    "LARGEST",
    "SCENE_SAMPLES",
    "VIDEOS",
    "Arrows",
    "Camera",
    "Distribution",
    "DrawingWarning",
    "Gate",
    "Guard",
    "Line",
    "LivePage",
    "ModelPage",
    "MovingFrame",
    "Page",
    "PageContent",
    "PageProgram",
    "Rejected",
    "ReplayPage",
    "Scene",
    "SceneSolid",
    "ShownMode",
    "Surface",
    "answer",
    "bodies_at",
    "browser_picture",
    "camera_for",
    "chosen_layers",
    "drawing_notes",
    "figure",
    "follow",
    "interval_text",
    "live_scene",
    "model_scene",
    "page_asset",
    "page_html",
    "plot_comparison",
    "plot_modes",
    "plot_recording",
    "plot_variable",
    "propellers",
    "raster",
    "recording_scene",
    "replay",
    "replay_html",
    "report_page",
    "scene_camera",
    "snapshot",
    "video_moments",
    "view",
    "viewer_html",
    "with_force_arrows",
    "with_particles",
    "write_comparison",
    "write_distributions",
    "write_picture",
    "write_report",
    "write_video",
]
