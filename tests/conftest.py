"""Settings for all tests: reproducible hypothesis runs, no time limits per example (the machine may be busy)."""

import signal

import hypothesis
import pytest

from hydromechs.compiler import _compiled, _llvm
from hydromechs.viewer._pictures import FLAGS, chromium

hypothesis.settings.register_profile("hydromechs", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("hydromechs")


@pytest.fixture
def quickly_compiled(monkeypatch):
    """Code that is made meanwhile is made without optimising, as that of programs that are called seldom.

    For tests of methods, components and pages, whose statements do not depend on what a compiler does; that optimised code
    computes what NumPy does is what tests/consistency asks.
    """
    made, key = _llvm.object_code, _compiled.fingerprint
    monkeypatch.setattr(_llvm, "object_code", lambda text, seldom: made(text, seldom=True))
    monkeypatch.setattr(_compiled, "fingerprint", lambda *parts: key("made quickly", *parts))


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
