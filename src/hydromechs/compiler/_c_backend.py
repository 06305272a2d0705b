"""C99 for embedded targets."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from ._backend import Backend, Case, Form, SourceFile, SourceFunction
from ._program import Program
from ._rolled import Rolled


class C(Backend):
    """Header, source and a check in C99."""

    key = "c"
    about = "C99 header, source and a check"
    exports = True

    def source(self, program: Program | Rolled, form: Form, precision: str = "float64") -> str:
        """A file with one function; see `Backend.source`."""
        from ._c_text import c_identifier, c_source  # the table of back ends must stay quick to import

        if form.state is not None:
            raise self._unable("writes single calls only")
        return c_source(SourceFile(c_identifier(program.name), (SourceFunction(self._straight(program)),)))

    def files(self, file: SourceFile, cases: Mapping[str, Sequence[Case]]) -> dict[str, str]:
        """Header, source and check; see `Backend.files`."""
        from ._c_text import c_header, c_source, c_test

        texts = c_header(file), c_source(file), c_test(file, cases)
        return dict(zip((f"{file.name}.h", f"{file.name}.c", f"{file.name}_test.c"), texts, strict=True))

    def check_command(self, paths: Sequence[Path]) -> str:
        _, source, test = paths
        program = test.with_suffix("").absolute()
        compiled = shlex.join(map(str, (source, test, "-lm", "-o", program)))
        return f"cc -std=c99 -O2 {compiled} && {shlex.quote(str(program))}"
