"""Does a sweep lose anything when a worker and then the client are killed?

    python tests/sweeps/disturbed.py [RUNS]

10,000 runs: undisturbed on processes; then on a Dask cluster of this machine whose worker is killed after a quarter, and whose
client is killed after half and started again. Both stores must be the same, byte for byte.
"""

import filecmp
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
WORKERS = 2


def sweep_file(folder: Path, runs: int) -> Path:
    """The sweep of drops with another number of runs."""
    text = (
        (HERE / "drops.yaml").read_text().replace("./hull.yaml", str(HERE / "hull.yaml")).replace("runs: 200", f"runs: {runs}")
    )
    path = folder / "drops.yaml"
    path.write_text(text)
    return path


def differences(a: Path, b: Path) -> list[str]:
    """Files of two stores that are not the same, byte for byte."""
    names = {str(p.relative_to(folder)) for folder in (a, b) for p in folder.rglob("*") if p.is_file()}
    _, different, missing = filecmp.cmpfiles(a, b, names, shallow=False)
    return sorted([*different, *missing])


def sweep(path: Path, out: Path, *options: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "hydromechs.cli", "sweep", str(path), "--out", str(out), *options], stdout=subprocess.DEVNULL
    )


def stored(out: Path) -> int:
    """Blocks in a store."""
    return len(list((out / "results.zarr" / "status").glob("[0-9]*")))


def wait_for(client: subprocess.Popen, out: Path, blocks: int) -> None:
    while stored(out) < blocks:
        assert client.poll() is None, f"the client ended with {stored(out)} blocks"
        time.sleep(0.05)


def workers_of(client: subprocess.Popen) -> list[int]:
    """Processes of the workers of a client."""
    import psutil

    children = psutil.Process(client.pid).children(recursive=True)
    return [p.pid for p in children if any("spawn_main" in piece for piece in p.cmdline())]


def main(runs: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = sweep_file(folder, runs)
        begin = time.perf_counter()
        assert sweep(path, folder / "calm", "--workers", str(WORKERS)).wait() == 0
        blocks = stored(folder / "calm")
        print(f"{runs} runs in {blocks} blocks on {WORKERS} processes: {time.perf_counter() - begin:.1f} s", flush=True)
        begin, options = time.perf_counter(), ("--executor", "dask", "--workers", str(WORKERS))
        client = sweep(path, folder / "disturbed", *options)
        wait_for(client, folder / "disturbed", blocks // 4)
        victim = workers_of(client)[0]
        os.kill(victim, signal.SIGKILL)
        print(f"after {stored(folder / 'disturbed')} blocks worker {victim} was killed", flush=True)
        wait_for(client, folder / "disturbed", blocks // 2)
        orphans = workers_of(client)
        client.kill()
        client.wait()
        half = stored(folder / "disturbed")
        print(f"after {half} blocks the client was killed", flush=True)
        assert sweep(path, folder / "disturbed", *options).wait() == 0
        print(f"the same command went on from there: {time.perf_counter() - begin:.1f} s in all", flush=True)
        left = [pid for pid in orphans if os.path.exists(f"/proc/{pid}")]
        print(f"workers of the killed client that are still there: {left or 'none'}")
        different = differences(folder / "calm" / "results.zarr", folder / "disturbed" / "results.zarr")
        from hydromechs.sweeps import load_results

        dataset = load_results(folder / "disturbed")
        print(
            f"{int((dataset.status == 1).sum())} results; files that differ from the undisturbed store: {different or 'none'}"
        )
        assert not different and bool((dataset.status == 1).all())


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
