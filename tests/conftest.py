"""Settings for all tests: reproducible hypothesis runs, no time limits per example (the machine may be busy)."""

import hypothesis

hypothesis.settings.register_profile("hydromechs", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("hydromechs")
