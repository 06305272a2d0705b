"""Cost of the station: processor time, frames and memory while pages watch.

    python tests/station/load.py                # pick_and_release in real time, with 0, 1 and 2 pages
    python tests/station/load.py memory [HOURS] # the same as fast as possible for an hour: memory

The pages are sockets of another process that read everything and draw nothing, so that no browser counts.
"""

import json
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path

import viser
from websockets.sync.client import connect

from hydromechs.cli._pilot import catalog
from hydromechs.station import Session, Station, configured

SECONDS = 15.0


def watch(url, seconds, answers):
    """A page: its link and its two scenes, read for a while."""
    import threading

    link = connect(url.replace("http", "ws") + "link/new", max_size=None, proxy=None)
    seat = json.loads(link.recv())["seat"]
    counts = {"frames": 0, "scene": 0, "bytes": 0}

    def read(socket, name):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                message = socket.recv(timeout=left)
            except TimeoutError:
                return
            counts[name] += 1
            counts["bytes"] += len(message)

    protocol = [f"viser-v{viser.__version__}"]
    scenes = [
        connect(url.replace("http", "ws") + f"{v}/{seat}", subprotocols=protocol, max_size=None, proxy=None)
        for v in ("outside", "onboard")
    ]
    threads = [threading.Thread(target=read, args=a) for a in ((link, "frames"), (scenes[0], "scene"), (scenes[1], "scene"))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    answers.put(counts)


def used():
    """Processor time of this process so far [s]."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def resident():
    """Memory of this process [MB]."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


def pages():
    station = Station(catalog(), "pick_and_release", tempfile.mkdtemp(), lost_after=1e6)
    station.session.start()
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    print(
        f"{'pages':>5} {'processor':>10} {'real time':>10} {'per simulated s':>16} {'frames/s':>9} {'dropped':>8} {'kB/s':>7}   load {Path('/proc/loadavg').read_text().split()[0]}"
    )
    for n in (0, 1, 2):
        workers = [context.Process(target=watch, args=(station.url, SECONDS + 6.0, answers)) for _ in range(n)]
        for w in workers:
            w.start()
        while station.seats.view("")["seats"] < n:
            time.sleep(0.1)
        time.sleep(2.0)
        t, cpu, wall = station.session.snapshot.t, used(), time.perf_counter()
        frames, dropped = station.gate.frames, station.gate.dropped
        time.sleep(SECONDS)
        wall = time.perf_counter() - wall
        share, factor = (used() - cpu) / wall, (station.session.snapshot.t - t) / wall
        each = (station.gate.frames - frames) / wall / max(n, 1)
        lost = station.gate.dropped - dropped
        size = sum(answers.get()["bytes"] for _ in workers) / max(n, 1) / (SECONDS + 6.0) / 1e3
        print(f"{n:5d} {100 * share:8.0f} % {factor:10.3f} {100 * share / factor:14.0f} % {each:9.1f} {lost:8d} {size:7.0f}")
        for w in workers:
            w.join()
    station.close()


def memory(hours):
    session = Session(configured(catalog(), "bluerov2_square"), tempfile.mkdtemp(), lost_after=1e9)
    session.scale(float("inf"))
    session.start()
    end, step = 3600.0 * hours, 300.0 * hours
    first = None
    for k in range(1, round(end / step) + 1):
        while session.snapshot.t < k * step and not session.problem:
            time.sleep(0.05)
        first = first or resident()
        print(f"t = {session.snapshot.t:7.0f} s: {resident():7.1f} MB ({resident() - first:+.1f})", flush=True)
    print(session.problem or "the run goes on")


if __name__ == "__main__":
    if sys.argv[1:2] == ["memory"]:
        memory(float(sys.argv[2]) if len(sys.argv) > 2 else 1.0)
    else:
        pages()
