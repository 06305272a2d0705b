"""Campaigns: success rates against closed forms, results that depend on seeds alone, resumption, replays, error messages."""

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import hydromechs as hm
from hydromechs.cli._main import app
from hydromechs.errors import CodeNotAllowed, UnsupportedFeature
from hydromechs.scenario import run_scenario
from hydromechs.sweeps import Dask, Executor, Local, MissionCampaign, load_campaign, run_campaign, wilson_interval
from hydromechs.sweeps import _fleet as flying
from hydromechs.sweeps._executors import Workers
from hydromechs.sweeps._fleet import Fleet
from hydromechs.worlds import seeds_of

HERE = Path(__file__).parent
GUSTY = HERE / "gusty.yaml"
WORLDS = 24


@pytest.fixture(scope="session")
def gusty():
    return hm.load_scenario(GUSTY)


@pytest.fixture(scope="session")
def flown(gusty, tmp_path_factory):
    """The folder of an undisturbed campaign of the command, in chunks of four worlds."""
    folder = tmp_path_factory.mktemp("campaign") / "calm"
    assert command("campaign", GUSTY, "--worlds", WORLDS, "--chunk", 4, "--threads", 1, "--out", folder).exit_code == 0
    return folder


def command(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def files(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.glob("worlds-*.npz"))}


# -- success rates ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "worlds", "interval"),
    [  # Newcombe (1998), Statistics in Medicine 17, table I, method 3; the bounds of none and all are z²/(n + z²)
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
        (20, 20, (0.8389, 1.0)),
    ],
)
def test_wilson_interval_is_that_of_the_table(count, worlds, interval):
    np.testing.assert_allclose(wilson_interval(count, worlds), interval, rtol=0, atol=5e-5)


def test_wilson_interval_has_its_confidence():
    """Probability that the interval contains p, summed over all outcomes: near 95 % on average over p, for few worlds too."""
    n, shares = 30, np.linspace(0.02, 0.98, 97)
    bounds = [wilson_interval(k, n) for k in range(n + 1)]
    inside = [
        sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k, (low, high) in enumerate(bounds) if low <= p <= high)
        for p in shares
    ]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.01)
    assert wilson_interval(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="3"):
        wilson_interval(3, 2)


def test_success_rates_are_those_of_the_gusts(gusty, tmp_path):
    """The gust at the start is normal and each axis independent: shares within 4 deviations of a binomial count."""
    n = 400
    results = run_campaign(MissionCampaign(scenario=gusty, worlds=n, seed=1, duration=0.05), tmp_path / "c", threads=1)
    one, two = 0.5 * (1.0 + math.erf(1.0 / math.sqrt(2.0))), math.erf(2.0 / math.sqrt(2.0))
    ahead, abeam, drift = results.checks
    for rate, share in ((ahead.rate, one), (abeam.rate, two), (drift.rate, 1.0), (results.success, one * two)):
        assert rate.worlds == n
        assert abs(rate.share - share) <= 4.0 * math.sqrt(share * (1.0 - share) / n)
    assert len(set(ahead.values.tolist())) == n  # each world has its own gusts


# -- results ------------------------------------------------------------------------------------------------------------------


def test_a_world_is_that_of_missions_and_of_a_simulation(gusty, flown):
    """Values of missions with the same seeds to the last bit; of one simulation to 1e-9, which rounds differently."""
    dataset = load_campaign(flown).dataset
    seeds = seeds_of(gusty.seed, WORLDS)
    assert dataset.seed.values.tolist() == [int(x) for x in seeds]
    missions = hm.Worlds(gusty, WORLDS, seed=gusty.seed)
    missions.run()
    np.testing.assert_array_equal(dataset.value.values, [[r.value for r in row] for row in missions.judge()])
    np.testing.assert_array_equal(dataset.success.values, missions.passed)
    u = missions.samples("v.hull.u")
    np.testing.assert_allclose(dataset.rms.sel(quantity="v.hull.u"), np.sqrt((u * u).mean(axis=1)), rtol=1e-12)
    for name, want in (("final", u[:, -1]), ("min", u.min(axis=1)), ("max", u.max(axis=1))):
        np.testing.assert_array_equal(dataset[name].sel(quantity="v.hull.u"), want)
    np.testing.assert_allclose(dataset.end_time, gusty.duration, rtol=1e-12)
    for world in (0, 17):
        recording = gusty.with_fields(seed=int(seeds[world])).simulation().run(gusty.duration).recording
        values = [check.judge(recording).value for check in gusty.checks]
        np.testing.assert_allclose(dataset.value.values[world], values, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("chunk", "threads"), [(1, 1), (7, 2), (100, 1)])
def test_chunks_and_threads_do_not_change_results(gusty, flown, tmp_path, chunk, threads):
    run_campaign(MissionCampaign(scenario=gusty, worlds=WORLDS), tmp_path / "c", threads=threads, chunk=chunk)
    assert load_campaign(tmp_path / "c").dataset.identical(load_campaign(flown).dataset)


def test_short_memory_halves_what_flies_together(gusty, flown, tmp_path, monkeypatch):
    """The user learns of it, later chunks fly in small parts at once, and one world that is too much is an error."""
    real, tried = Fleet._flown, []

    def short(fleet, seeds, progress):
        tried.append(len(seeds))
        progress(0.5)
        if len(seeds) > 5:
            raise MemoryError
        return real(fleet, seeds, progress)

    monkeypatch.setattr(Fleet, "_flown", short)
    seen = []
    run_campaign(MissionCampaign(scenario=gusty, worlds=WORLDS), tmp_path / "c", threads=1, chunk=12, progress=seen.append)
    assert load_campaign(tmp_path / "c").dataset.identical(load_campaign(flown).dataset)
    assert tried == [12, 6, 3, 3, 3, 3, 3, 3, 3, 3]
    notes = [p.note for p in seen if p.note]
    assert len(notes) == 2 and all(str(n) in note for n, note in zip((12, 6), notes, strict=True))
    assert [p.done for p in seen] == sorted(p.done for p in seen) and seen[-1].done == seen[-1].stored == WORLDS
    assert {p.phase for p in seen} == {"compiling", "flying"} and seen[-1].remaining == 0.0

    def never(fleet, seeds, progress):
        raise MemoryError

    monkeypatch.setattr(Fleet, "_flown", never)
    with pytest.raises(MemoryError, match="gusty"):
        run_campaign(MissionCampaign(scenario=gusty, worlds=WORLDS), tmp_path / "d", threads=1)


def test_a_gpu_out_of_memory_counts_as_short_memory():
    kind = type("CUDARuntimeError", (RuntimeError,), {"__module__": "cupy_backends.cuda.api.runtime"})
    assert flying._is_out_of_memory(kind("cudaErrorMemoryAllocation: out of memory"))
    assert not flying._is_out_of_memory(kind("cudaErrorIllegalAddress: an illegal memory access was encountered"))
    assert not flying._is_out_of_memory(ValueError("out of memory"))


def test_a_chunk_that_is_chosen_fits_the_memory(gusty, monkeypatch):
    """The memory of a world does not depend on the duration: statistics are kept, not samples."""
    fleet = Fleet(MissionCampaign(scenario=gusty, worlds=10), 2)
    long = Fleet(MissionCampaign(scenario=gusty, worlds=10, duration=20000.0), 2)
    assert fleet.chunk_size() == flying.MAX_CHUNK["cpu"] and long.world_memory == fleet.world_memory
    monkeypatch.setattr(flying, "free_memory", lambda: 40 * fleet.world_memory / flying.SHARE)
    assert fleet.chunk_size() == 32  # a multiple of the vectors of two threads
    monkeypatch.setattr(flying, "free_memory", lambda: 0)
    assert fleet.chunk_size() == 1


def test_worlds_that_end_are_counted_by_reason(gusty, tmp_path):
    """An event ends some worlds, which is no failure; the checks are judged up to there."""
    stop = hm.Event(name="carried", quantity="v.hull.u", level=0.0005, direction="rising", stop=True)
    scenario = replace(gusty, events=(stop,), checks=gusty.checks[2:])
    results = run_campaign(MissionCampaign(scenario=scenario, worlds=16), tmp_path / "c", threads=1)
    ended = results.dataset.reason.values != ""
    assert 0 < ended.sum() < 16
    assert list(results.ended) == ["stopped by carried"] and len(results.ended["stopped by carried"]) == ended.sum()
    assert results.dataset.success.all() and not results.dataset.failed.any()
    assert (results.dataset.end_time.values[ended] < 0.2).all()
    np.testing.assert_array_equal(results.dataset.messages.values, ended * 2)  # the event, and the end
    assert all("carried" in text for text in results.dataset.message.values[ended, 0])
    assert results.checks[0].worst(1)[0][1] == results.checks[0].values.max()


def test_margins_order_the_worst_worlds(flown):
    abeam = load_campaign(flown).checks[1]
    order = [world for world, _ in abeam.worst(WORLDS)]
    assert order == sorted(range(WORLDS), key=lambda k: 0.2 - abs(abeam.values[k]))
    lost = replace(abeam, values=np.where(abeam.worlds == 9, np.nan, abeam.values))
    assert lost.worst(1)[0][0] == 9


# -- resumption ---------------------------------------------------------------------------------------------------------------


def test_a_killed_campaign_resumes_to_the_same_bytes(flown, tmp_path):
    folder = tmp_path / "killed"
    words = ["campaign", str(GUSTY), "--worlds", str(WORLDS), "--chunk", "4", "--threads", "1", "--out", str(folder)]
    client = subprocess.Popen([sys.executable, "-m", "hydromechs.cli", *words], stdout=subprocess.DEVNULL)
    while len(files(folder) if folder.exists() else ()) < 2:
        assert client.poll() is None, "the campaign ended before it was killed"
        time.sleep(0.001)
    client.send_signal(signal.SIGKILL)
    client.wait()
    before = files(folder)
    (folder / ".worlds-0000020-0000023.npz.partial").write_bytes(b"half")
    assert 2 <= len(before) <= WORLDS // 4
    touched = {name: os.stat(folder / name).st_mtime_ns for name in before}
    result = command(*words)
    assert result.exit_code == 0, result.output
    assert files(folder) == files(flown) and not list(folder.glob(".*"))
    assert {name: os.stat(folder / name).st_mtime_ns for name in before} == touched  # finished chunks are not flown again


def test_an_interrupted_campaign_keeps_finished_chunks(gusty, flown, tmp_path):
    plan = MissionCampaign(scenario=gusty, worlds=WORLDS, source=str(GUSTY))

    def interrupt(progress):
        if progress.stored >= 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_campaign(plan, tmp_path / "c", threads=1, chunk=4, progress=interrupt)
    part = load_campaign(tmp_path / "c")
    assert part.dataset.sizes["world"] == 8 and part.planned == WORLDS
    whole = run_campaign(plan, tmp_path / "c", threads=1, chunk=5)  # the others, in other chunks
    assert whole.dataset.identical(load_campaign(flown).dataset)
    for world in (3, 15):  # flown before and after the interruption
        result = command("run", tmp_path / "c", "--world", world, "--no-pictures", "--out", tmp_path / f"r{world}")
        assert "bit-identical" in result.output and "before it" not in result.output, result.output  # it is not a resumed run


def test_a_folder_without_results_does_not_block_a_corrected_campaign(gusty, tmp_path):
    """The first attempt ends before any chunk has finished; the mission is corrected, and the same command works."""

    def interrupt(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_campaign(MissionCampaign(scenario=gusty, worlds=8), tmp_path / "c", threads=1, chunk=4, progress=interrupt)
    assert (tmp_path / "c" / "campaign.json").exists()
    plan = MissionCampaign(scenario=gusty, worlds=4, seed=7)
    assert run_campaign(plan, tmp_path / "c", threads=1, chunk=4).about["seed"] == 7
    with pytest.raises(ValueError, match="seed 7, not 8"):
        run_campaign(replace(plan, seed=8), tmp_path / "c", threads=1, chunk=4)


def test_a_mission_without_randomness_is_reported(gusty, flown, tmp_path):
    assert not load_campaign(flown).identical
    calm = replace(gusty, environment=replace(gusty.environment, gusts=None), blocks=())
    assert run_campaign(MissionCampaign(scenario=calm, worlds=4), tmp_path / "calm", threads=1).identical


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_signals_act_within_half_a_second_and_keep_finished_chunks(tmp_path, default_signals, number):
    """While a chunk flies that takes seconds. Another program can take the processor: the fastest of a few counts."""
    fastest = math.inf
    for k in range(4):
        folder = tmp_path / str(k)
        words = ["campaign", "sinking_chain", "--worlds", "100000", "--chunk", "128", "--threads", "1", "--out", str(folder)]
        run = subprocess.Popen([sys.executable, "-m", "hydromechs.cli", *words], stdout=subprocess.PIPE, text=True)
        while not (folder.exists() and files(folder)):
            assert run.poll() is None
            time.sleep(0.001)
        time.sleep(0.1)
        begun = time.perf_counter()
        run.send_signal(number)
        out = next(line for line in run.stdout if "interrupted" in line)
        fastest = min(fastest, time.perf_counter() - begun)
        run.communicate()
        assert run.returncode == 128 + number and "to resume" in out
        assert load_campaign(folder).dataset.sizes["world"] % 128 == 0 and not (folder / "campaign.lock").exists()
        if fastest < 0.5:
            return
    raise AssertionError(f"the fastest took {fastest:.2f} s")


def test_killed_workers_and_clients_lose_nothing(gusty, flown, tmp_path):
    """On a Dask cluster a worker is killed, the client gives up after half of the worlds; processes continue from there."""
    pytest.importorskip("distributed", reason="needs pip install 'hydromechs[dask]'")
    import psutil

    class Gone(BaseException):
        """The end of the client."""

    killed = []

    def kill(kind):
        me, children = psutil.Process(), psutil.Process().children(recursive=True)
        found = (p for p in children if any(kind in c for c in p.cmdline()))
        killed.append(next(p.pid for p in found if kind == "spawn_main" or p.parent() != me))
        os.kill(killed[-1], signal.SIGKILL)

    def disturb(progress):
        if progress.stored >= 4 and not killed:
            kill("spawn_main")
        if progress.stored >= 12:
            raise Gone

    plan = MissionCampaign(scenario=gusty, worlds=WORLDS, source=str(GUSTY))
    with pytest.raises(Gone):
        run_campaign(plan, tmp_path / "c", executor=Dask(workers=1), chunk=4, progress=disturb)

    def once_more(progress):
        if progress.stored >= 16 and len(killed) == 1:
            kill("forkserver")

    seen = []
    watched = lambda progress: (once_more(progress), seen.append(progress))  # noqa: E731
    results = run_campaign(plan, tmp_path / "c", executor=Local(1), chunk=4, progress=watched)
    assert len(killed) == 2 and files(tmp_path / "c") == files(flown)
    assert results.dataset.identical(load_campaign(flown).dataset)
    assert [p.phase for p in seen if p.done < WORLDS][:2] == ["compiling", "starting workers"]
    assert seen[-1].remaining == 0.0 and any(p.remaining and p.remaining > 0.0 for p in seen)


class _Deadly(Executor):
    """An executor of which workers die of one world; with what it was asked to do."""

    def __init__(self, world):
        self.world, self.tasks = world, []

    @contextlib.contextmanager
    def started(self, work):
        class Few(Workers):
            count = 2

            def outcomes(_, tasks):
                for task in tasks:
                    self.tasks.append(task.runs)
                    yield task, None if self.world in task.runs else work(task)

        yield Few()


def test_a_world_that_kills_its_workers_fails_alone(gusty, flown, tmp_path):
    executor = _Deadly(9)
    results = run_campaign(MissionCampaign(scenario=gusty, worlds=WORLDS), tmp_path / "c", executor=executor)
    assert [len(runs) for runs in executor.tasks] == [8, 8, 8, 4, 4, 2, 2, 1, 1]  # whole vectors for 2 workers, then halves
    assert "died" in str(results.dataset.reason.values[9]) and results.dataset.failed.values.nonzero()[0].tolist() == [9]
    calm = load_campaign(flown).dataset
    others = [k for k in range(WORLDS) if k != 9]
    np.testing.assert_array_equal(results.dataset.value.values[others], calm.value.values[others])
    assert "died" in next(iter(results.ended)) and not results.dataset.success.values[9]


def test_more_worlds_extend_a_campaign(gusty, flown, tmp_path):
    run_campaign(MissionCampaign(scenario=gusty, worlds=10, source=str(GUSTY)), tmp_path / "c", threads=1)
    whole = run_campaign(MissionCampaign(scenario=gusty, worlds=WORLDS, source=str(GUSTY)), tmp_path / "c", threads=1)
    assert whole.dataset.identical(load_campaign(flown).dataset)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--seed", "6"], ("seed", "5", "6")),
        (["--duration", "0.1"], ("duration", "0.2", "0.1")),
        (["--set", "hull.inertia.mass=31"], ("settings", "hull.inertia.mass")),
        (["--worlds", "3"], ("worlds", str(WORLDS), "3")),
        (["--out", "{other}"], ("other.txt",)),
        (["--worlds", "0"], ("worlds", "0")),
        (["--worlds", "1" + "0" * 12], ("worlds", "10,000,000")),
        (["--chunk", "0"], ("chunk", "0")),
        (["--duration", "0.01"], ("record", "0.05", "0.01")),
    ],
    ids=lambda x: x[0].strip("-") + x[1].strip(".{}") if isinstance(x, list) else "",
)
def test_another_campaign_is_rejected_with_what_differs(flown, tmp_path, options, named):
    (tmp_path / "other.txt").write_text("")
    options = [x.format(other=tmp_path) for x in options]
    before = (flown / "campaign.json").read_bytes()
    words = ["campaign", GUSTY, "--worlds", WORLDS, "--out", flown, *options]
    error = command(*words).exception
    assert isinstance(error, ValueError) and all(text in str(error) for text in named), error
    assert (flown / "campaign.json").read_bytes() == before


def test_another_text_or_version_is_rejected(flown, tmp_path):
    folder = tmp_path / "c"
    shutil.copytree(flown, folder)
    text = GUSTY.read_text().replace("./hull.yaml", str(HERE / "hull.yaml"))
    (tmp_path / "gusty.yaml").write_text(text.replace("0.05]", "0.06]"))
    error = command("campaign", tmp_path / "gusty.yaml", "--worlds", WORLDS, "--out", folder).exception
    assert isinstance(error, ValueError) and "scenario" in str(error)
    about = json.loads((folder / "campaign.json").read_text())
    for changes, named in (({"hydromechs": "0.1"}, "0.1"), ({"source_hash": ""}, "source"), ({"hydromechs_campaign": 9}, "9")):
        (folder / "campaign.json").write_text(json.dumps(about | changes))
        error = command("campaign", GUSTY, "--worlds", WORLDS, "--out", folder).exception
        assert isinstance(error, ValueError | OSError) and named in str(error)


def test_what_cannot_fly_is_named(gusty, tmp_path):
    event = hm.Event(name="drift", quantity="orientation.hull.w", level=0.5)
    with pytest.raises(UnsupportedFeature, match="gusty.*'drift'"):
        run_campaign(MissionCampaign(scenario=replace(gusty, events=(event,)), worlds=2), tmp_path / "c")


# -- what is printed, the page, replays ---------------------------------------------------------------------------------------


def test_the_command_prints_rates_and_worst_worlds(flown):
    words = ["campaign", GUSTY, "--worlds", WORLDS, "--out", flown]
    out, results = command(*words).output, load_campaign(flown)
    assert f"{results.success.count} of {WORLDS}" in out
    for check in results.checks:
        assert check.name in out and f"{100 * check.rate.share:.1f} %" in out
        assert all(f"{world} ({value:.3g})" in out for world, value in check.worst(3))


def test_the_page_shows_distributions_and_loads_nothing(flown):
    page = (flown / "report.html").read_text()
    results = load_campaign(flown)
    assert page.count("<svg") == len(results.checks) and page.count("limit -0.2") == 1
    assert "<script" not in page and "http" not in page.replace("http-equiv", "")
    assert sum(int(x.split(" worlds")[0]) for x in page.split("<title>")[2:]) == WORLDS * len(results.checks)


PUSHED = """
hydromechs_scenario: 2
name: pushed
models:
  v: {{plant: bluerov2_heavy_alpha5, position: [0, 0, 5], rpy_deg: [{roll}, 0, 0]}}
external: [vehicle]
events:
  push: {{quantity: time, level: 0.1, wrench: {{vehicle: [0, 0, 0, {moment}, 0, 0]}}}}
run: {{integrator: rk4, step: 0.005, record: 0.02, duration: 2.5}}
checks:
  depth: {{quantity: depth.vehicle, statistic: max, below: 100}}
"""


@pytest.mark.parametrize(("moment", "roll", "capsizes"), [(60, 0, True), (1, 0, False), (0, 100, True), (0, 60, False)])
def test_worlds_that_capsize_are_counted_as_runs_warn(tmp_path, moment, roll, capsizes):
    """A vehicle released at 100° rolls upright, more than 90° away from its first attitude only if it overshoots."""
    file = tmp_path / "pushed.yaml"
    file.write_text(PUSHED.format(moment=moment, roll=roll))
    scenario = hm.load_scenario(file)
    warned = [w.kind for w in run_scenario(scenario, tmp_path / "run").summary.warnings]
    assert ("capsized" in warned) == capsizes
    out = command("campaign", file, "--worlds", 3, "--out", tmp_path / "c").output
    assert "3 of 3 worlds passed" in out
    assert ("3 of 3 worlds capsized (first: world 0)" in out) == capsizes
    assert (">Capsized<" in (tmp_path / "c" / "report.html").read_text()) == capsizes
    assert load_campaign(tmp_path / "c").capsized == ([0, 1, 2] if capsizes else [])
    intended = replace(scenario, expected_warnings=("capsized",))
    assert run_campaign(MissionCampaign(scenario=intended, worlds=1), tmp_path / "e").capsized == []


def test_a_replay_is_the_world(flown, tmp_path, monkeypatch, undrawn):
    """To the last bit, which the command states; another replay goes into another folder."""
    monkeypatch.chdir(tmp_path)
    dataset = load_campaign(flown).dataset
    result = command("run", flown, "--world", "11")
    assert result.exit_code == (0 if dataset.success.values[11] else 1) and "bit-identical" in result.output, result.output
    folder = tmp_path / "runs" / "gusty-world-11"
    summary = json.loads((folder / "summary.json").read_text())
    np.testing.assert_allclose([c["value"] for c in summary["checks"]], dataset.value.values[11], rtol=1e-9, atol=1e-9)
    assert (folder / "report.html").exists()
    command("run", flown, "--world", "11", "--no-pictures")
    assert (tmp_path / "runs" / "gusty-world-11-2" / "recording.zarr").exists()


def test_a_replay_that_ends_otherwise_is_reported(flown, tmp_path):
    """Another final state is named with the largest difference of the checks, and is a warning above the limit."""
    folder = tmp_path / "c"
    shutil.copytree(flown, folder)
    (file, *_) = sorted(folder.glob("worlds-*.npz"))
    rows = dict(np.load(file))
    rows["digest"][1:] += 1
    rows["value"][2] += 0.5
    with open(file, "wb") as out:
        np.savez(out, **rows)
    same, near, far = (
        command("run", folder, "--world", k, "--no-pictures", "--out", tmp_path / f"r{k}").output.split() for k in range(3)
    )
    assert "bit-identical" in same and "differs" not in same
    assert "differs" in near and "warning:" not in near
    assert "differs" in far and "warning:" in far


def test_a_replay_has_the_settings_of_its_campaign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--set", "hull.inertia.mass=31", "--duration", "0.1", "--seed", "8", "--out", "c"]
    assert command("campaign", GUSTY, "--worlds", 3, *words).exit_code == 0
    result = command("run", "c", "--world", "2", "--no-pictures", "--out", "r")
    assert "bit-identical" in result.output, result.output
    recording = hm.recording.load_recording("r")
    assert recording.time.values[-1] == pytest.approx(0.1) and "31" in recording.attrs["settings"]


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["run", "{c}"], "--world"),
        (["run", "{c}", "--world", "24"], "0 to 23"),
        (["run", "{c}", "--world", "-1"], "0 to 23"),
        (["run", "{c}", "--world", "1", "--seed", "3"], "--seed"),
        (["run", "{c}", "--world", "1", "--set", "duration=3"], "--set"),
        (["run", str(GUSTY), "--world", "1"], "campaign"),
        (["replay", "{c}"], "--world"),
        (["campaign", "{c}"], "--world"),
        (["campaign", "tiburon_titan2"], "model"),
    ],
    ids=str,
)
def test_slips_are_named(flown, words, named):
    error = command(*(x.format(c=flown) for x in words)).exception
    assert isinstance(error, ValueError) and named in str(error), error


def test_a_world_that_is_not_finished_or_has_changed_is_named(flown, tmp_path):
    folder = tmp_path / "c"
    shutil.copytree(flown, folder)
    (folder / "worlds-0000008-0000011.npz").unlink()
    assert "world 9 " in str(command("run", folder, "--world", "9").exception)
    about = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps(about | {"fingerprint": "0"}))
    error = command("run", folder, "--world", "1").exception
    assert isinstance(error, ValueError) and "gusty.yaml" in str(error)


# -- strange folders ----------------------------------------------------------------------------------------------------------


def test_a_folder_of_others_runs_no_code(flown, tmp_path):
    """campaign.json names a scenario with custom code: `--code` is needed, as for the scenario itself."""
    folder = tmp_path / "c"
    shutil.copytree(flown, folder)
    mark = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    text = GUSTY.read_text().replace("./hull.yaml", str(HERE / "hull.yaml"))
    (tmp_path / "evil.yaml").write_text(text + "blocks:\n  hold: {type: 'evil.py:Hold'}\n")
    about = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps(about | {"source": str(tmp_path / "evil.yaml")}))
    assert isinstance(command("run", folder, "--world", "1").exception, CodeNotAllowed)
    assert not mark.exists()


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"hydromechs_campaign": 1}', '{"hydromechs_campaign": "x"}', "[" * 100_000, "checks", "worlds"],
    ids=["empty", "list", "object", "mark", "version", "nested", "checks", "worlds"],
)
def test_strange_descriptions_are_rejected(flown, tmp_path, content):
    folder = tmp_path / "c"
    shutil.copytree(flown, folder)
    if content in ("checks", "worlds"):
        about = json.loads((folder / "campaign.json").read_text())
        content = json.dumps(about | {content: [1]})
    (folder / "campaign.json").write_text(content)
    with pytest.raises((ValueError, OSError), match="campaign"):
        load_campaign(folder)
    assert isinstance(command("run", folder, "--world", "1").exception, ValueError | OSError)


@pytest.mark.parametrize("kind", ["empty", "text", "objects", "shapes", "device"])
def test_strange_chunks_are_rejected(flown, tmp_path, kind):
    folder = tmp_path / "c"
    shutil.copytree(flown, folder)
    chunk = folder / "worlds-0000004-0000007.npz"
    content = dict(np.load(chunk))
    chunk.unlink()
    if kind == "device":
        chunk.symlink_to("/dev/zero")
    elif kind == "objects":
        np.savez(chunk, **content | {"value": np.array([print, {}], dtype=object)}, allow_pickle=True)
    elif kind == "shapes":
        np.savez(chunk, **content | {"value": np.zeros(3)})
    else:
        chunk.write_bytes(b"" if kind == "empty" else b"not a zip file")
    with pytest.raises((ValueError, OSError), match="worlds-0000004"):
        load_campaign(folder)
