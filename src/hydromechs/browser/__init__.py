"""Scenarios that run in web pages: missions compiled to WebAssembly, their runner, and flights recorded by pages."""

from hydromechs._lazy import lazy_names as _lazy_names

__getattr__, __dir__, _later = _lazy_names(
    __name__,
    {
        "._flight": ("Flight", "fly_again"),
        "._module": ("Module", "Range", "compile_scenario", "engine_text"),
        "._page": ("ShownPage", "scenario_page", "show", "usual_parameters", "write_page"),
    },
)

__all__ = _later
