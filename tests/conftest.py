"""Fixtures and settings for all tests."""

import functools
import os
import signal
from collections import Counter
from pathlib import Path

import pytest
import typer.main
import typer.testing
from PIL import Image

from hydromechs.viewer._pictures import FLAGS, chromium

# Typer builds all commands from their annotations at every call, which takes longer than most calls that tests make.
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)


def pytest_configure(config):
    config.addinivalue_line("markers", "optimised: compiles optimised code, to check it or because it runs many steps")


@pytest.hookimpl(tryfirst=True)  # before fixtures of the session and of modules compile
def pytest_runtest_setup(item):
    """Compile programs without optimisation, which takes longer than most tests run; the marker `optimised` turns it on."""
    optimised = item.get_closest_marker("optimised") is not None
    item.config.stash[SO_FAR] = processor_time()
    os.environ["HYDROMECHS_OPTIMISE"] = "1" if optimised else "0"


def processor_time():
    """Processor time of this process, its threads and its finished child processes [s]."""
    return sum(os.times()[:4])


SO_FAR = pytest.StashKey[float]()


def pytest_addoption(parser):
    text = "report the processor time of each test file, with child processes; with a path, write that of each test as CSV"
    parser.addoption("--processor-time", nargs="?", const="", metavar="CSV", help=text)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Each phase of a test reports the processor time since the previous one."""
    report, now = (yield), processor_time()
    report.processor_time = now - item.config.stash.get(SO_FAR, now)
    item.config.stash[SO_FAR] = now
    return report


def pytest_terminal_summary(terminalreporter, config):
    """Processor time per file and in total; start, imports and collection of the workers are in the total only."""
    file = config.getoption("--processor-time")
    if file is None:
        return
    tests = Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "processor_time"):
                tests[report.nodeid] += report.processor_time
    files = Counter()
    for name, seconds in tests.items():
        files[name.split("::")[0]] += seconds
    terminalreporter.section("processor time")
    for name, seconds in reversed(files.most_common()):
        terminalreporter.write_line(f"{seconds:8.1f} s  {name}")
    terminalreporter.write_line(f"{files.total():8.1f} s  all tests")
    terminalreporter.write_line(f"{processor_time():8.1f} s  with starts, imports and collection")
    if file:
        Path(file).write_text("".join(f"{seconds:.2f},{name}\n" for name, seconds in tests.most_common()))


@pytest.fixture
def undrawn(monkeypatch):
    """Plots are composed and then saved as pictures of one point: drawing them takes longer than most runs.

    For tests of what is around them; tests/viewer and `test_a_run_leaves_recording_plots_report_state_and_summary` draw.
    """
    from hydromechs.viewer import _style

    monkeypatch.setattr(_style, "_save_small", lambda fig, out: Image.new("RGB", (1, 1)).save(out))


@pytest.fixture
def default_signals():
    """Python's own handlers of SIGINT and SIGTERM, here and in processes started meanwhile; a background job ignores SIGINT."""
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGTERM: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def browser():
    """A Chromium without a window; tests that need one are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'hydromechs[dev]'")
    program = chromium()
    if program is None:
        pytest.skip("there is no Chromium on this machine; .ci/run installs it")
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=program, args=list(FLAGS[1:]))
        yield opened
        opened.close()
