"""Fixtures and settings for all tests."""

import functools
import os
import signal

import pytest
import typer.main
import typer.testing
from PIL import Image

from hydromechs.viewer._pictures import FLAGS, chromium

# Typer builds all commands from their annotations at every call, which takes longer than most calls that tests make.
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)


OPTIMISED = ("consistency", "verification")
"""Folders whose tests run optimised code, as users do; that it computes what NumPy computes is what tests/consistency asks."""


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "optimised: runs so many steps that optimised code saves more time than it takes to compile"
    )


@pytest.hookimpl(tryfirst=True)  # before fixtures of the session and of modules compile
def pytest_runtest_setup(item):
    """Outside `OPTIMISED` programs are compiled without optimising: what tests there state does not depend on a compiler."""
    optimised = item.path.parent.name in OPTIMISED and "quickly_compiled" not in item.fixturenames
    optimised |= item.get_closest_marker("optimised") is not None
    os.environ["HYDROMECHS_OPTIMISE"] = "1" if optimised else "0"


@pytest.fixture
def quickly_compiled(monkeypatch):
    """Programs are compiled without optimising in a test within `OPTIMISED` that does not depend on the compiler."""
    monkeypatch.setenv("HYDROMECHS_OPTIMISE", "0")


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
