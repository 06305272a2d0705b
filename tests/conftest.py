"""Fixtures and settings for all tests."""

import functools
import signal

import pytest
import typer.main
import typer.testing
from PIL import Image

from hydromechs.compiler import _compiled, _llvm, _llvm_text
from hydromechs.compiler._short_waits import OneLane
from hydromechs.viewer._pictures import FLAGS, chromium

# Typer builds all commands from their annotations at every call, which takes longer than most calls that tests make.
typer.main.get_command = typer.testing._get_command = functools.cache(typer.main.get_command)


@pytest.fixture
def quickly_compiled(monkeypatch):
    """Code that is made meanwhile is made without optimising, as that of programs that are called seldom.

    For tests of methods, components and pages, whose statements do not depend on what a compiler does; that optimised code
    computes what NumPy does is what tests/consistency asks.
    """
    made, key = _llvm.object_code, _compiled.fingerprint
    monkeypatch.setattr(_llvm, "object_code", lambda text, seldom: made(text, seldom=True))
    monkeypatch.setattr(_compiled, "fingerprint", lambda *parts: key("made quickly, in the order of the trace", *parts))
    monkeypatch.setattr(_llvm_text.Module, "ordered", lambda module, program: OneLane(program, {}))


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
