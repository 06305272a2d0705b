"""Scaling of a sweep with its workers, and the load of the process that distributes the blocks.

    python tests/sweeps/scaling.py [WORKERS ...]

Each run waits for half a second in its controller, as if it computed on a core of its own: many workers fit onto one machine. A
block is one run. Counted is from the first stored block to the last, the start of late workers with it. Time of the client's process (client,
Dask's scheduler and the store) is processor time.
"""

import pickle
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from hydromechs import sweeps
from hydromechs.registry import module_kept
from hydromechs.simulation import PythonBlock
from hydromechs.sweeps._runner import Runner
from hydromechs.sweeps._sweep import _task

HERE = Path(__file__).parent
WAIT = 0.5
BLOCKS = 48
WAITING = f"""
import time

def controller(state):
    time.sleep({WAIT / 2})
    return {{}}
"""


def measure(engine, sweep, folder):
    """Blocks per second, and processor time of this process for a block [s]."""
    marks = []

    def note(progress):
        if progress.phase == "running":
            marks.append((time.perf_counter(), time.process_time()))

    result = sweeps.run_sweep(sweep, folder, executor=engine, progress=note)
    assert result.failed == 0
    wall, processor = np.subtract(marks[-1], marks[1])  # the first mark is the beginning
    blocks = len(marks) - 2
    return blocks / wall, processor / blocks


def main(counts):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "waiting.py").write_text(WAITING)
        drops = sweeps.load_sweep(HERE / "drops.yaml")
        spec = PythonBlock(controller=module_kept(str(folder / "waiting.py")).controller, period=0.1)
        waiting = replace(drops, scenario=drops.scenario.controlled_by(spec), block=1)
        task = _task(replace(drops, block=64), range(64))
        print(
            f"sent to a worker once: {len(pickle.dumps(Runner(drops)))} bytes; for a block of 64 runs: {len(pickle.dumps(task))} bytes"
        )
        print(f"sent back for a block of 64 runs: {len(pickle.dumps(Runner(drops)(task)))} bytes", flush=True)
        print("engine  workers  blocks/s  of ideal  processor time for a block")
        for count in counts:
            sweep = replace(waiting, sampling=sweeps.MonteCarlo(BLOCKS * count))
            for engine in (sweeps.Local(count), sweeps.Dask(workers=count)):
                rate, processor = measure(engine, sweep, folder / f"{type(engine).__name__}{count}")
                print(
                    f"{type(engine).__name__.lower():6}  {count:7}  {rate:8.1f}  {100 * rate * WAIT / count:6.0f} %  {1e3 * processor:.1f} ms",
                    flush=True,
                )


if __name__ == "__main__":
    main([int(x) for x in sys.argv[1:]] or [1, 2, 4, 8, 16, 32])
