"""Does a sweep run on a Dask cluster that is there already?

    python tests/sweeps/at_address.py [RUNS]

`dask scheduler` and two `dask worker` are started as on a cluster, with an address of their own; a sweep is run there and on
the processes of this machine. Both stores must be the same, byte for byte, and the cluster must be there afterwards.
"""

import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hydromechs

HERE = Path(__file__).parent
disturbed = runpy.run_path(str(HERE / "disturbed.py"))
WORKER = ("worker", "--nthreads", "1", "--memory-limit", "0")


def start(folder: Path, kind: str, *options: str) -> subprocess.Popen:
    """A process of the cluster, with this package on its path."""
    path = os.pathsep.join([str(Path(hydromechs.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [
        sys.executable,
        "-m",
        "dask",
        kind,
        *options,
        "--scheduler-file",
        str(folder / "scheduler.json"),
        "--no-dashboard",
    ]
    with open(folder / f"{kind}.log", "ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env={**os.environ, "PYTHONPATH": path})


def address(folder: Path) -> str:
    """Of the scheduler, when it and its workers are ready."""
    from distributed import Client

    where = folder / "scheduler.json"
    while not where.exists():
        time.sleep(0.05)
    found = json.loads(where.read_text())["address"]
    with Client(found, timeout=60) as client:
        client.wait_for_workers(2, timeout=60)
    return found


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = disturbed["sweep_file"](folder, runs)
        cluster = [start(folder, "scheduler", "--host", "127.0.0.1", "--port", "0")]
        cluster += [start(folder, *WORKER) for _ in range(2)]
        try:
            found, begin = address(folder), time.perf_counter()
            client = disturbed["sweep"](path, folder / "there", "--executor", "dask", "--address", found)
            assert client.wait() == 0, (folder / "worker.log").read_text()
            print(f"{runs} runs on the cluster at {found}: {time.perf_counter() - begin:.1f} s", flush=True)
            assert all(process.poll() is None for process in cluster), "the cluster has ended"
        finally:
            for process in reversed(cluster):
                process.terminate()
                process.wait(30)
        assert disturbed["sweep"](path, folder / "here", "--workers", "2").wait() == 0
        different = disturbed["differences"](folder / "here" / "results.zarr", folder / "there" / "results.zarr")
        print(f"files that differ from the store of processes here: {different or 'none'}")
        assert not different


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
