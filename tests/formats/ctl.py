"""A custom controller for the rich scenario file."""

import hydromechs as hm


class Hold(hm.Controller):
    """Gives no commands."""

    def __init__(self, *, gain, names, nested, period):
        self.gain, self.names, self.nested, self.period = gain, names, nested, period

    def __call__(self, state):
        return None
