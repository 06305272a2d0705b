"""How does a snake swim? Draws `snake_swim` from above at four times, and its speed against resistive-force theory.

python docs/pictures/draw_snake.py            writes docs/pictures/snake_swim.png
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import hydromechs as hm

TIMES = (0.0, 6.0, 12.0, 18.0)


def main() -> None:
    """Swim and draw."""
    scenario = hm.load_scenario("snake_swim")
    recording = scenario.simulation().run(scenario.duration).recording
    scene = hm.viewer.recording_scene(scenario.model, recording, environment=scenario.environment, rate=20.0)
    moments = [int(np.abs(scene.times - t).argmin()) for t in TIMES]
    size = (1000, 300)
    camera = hm.viewer.camera_for(*scene.bounds(*moments), azimuth=-90.0, elevation=75.0, aspect=size[0] / size[1])
    image = hm.viewer.raster(scene, moments, size=size, camera=camera, layers={"bodies", "path"} & set(scene.layers))
    figure, (above, below) = plt.subplots(2, 1, figsize=(8.0, 5.0), height_ratios=(1.25, 1.0), constrained_layout=True)
    above.imshow(image)
    above.set_axis_off()
    above.set_title(f"from above, at {', '.join(f'{t:g}' for t in TIMES)} s", fontsize=10)
    middle = recording.position.mean("body")
    time = recording.time.values
    below.plot(time, np.gradient(middle.sel(xyz="x").values, time), label="along the course [m/s]")
    below.plot(time, recording.signal.sel(channel="heading"), label="heading [rad]")
    below.plot(time, recording.signal.sel(channel="reference.module6"), lw=0.7, label="joint in the middle, wanted [rad]")
    below.set_xlabel("time [s]")
    below.grid(alpha=0.3)
    below.legend(fontsize=8, loc="lower right", ncols=3)
    figure.savefig(Path(__file__).parent / "snake_swim.png", dpi=110)


if __name__ == "__main__":
    main()
