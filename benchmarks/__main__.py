"""`python -m benchmarks STUDY`: the long studies, one command each; `evidence` runs them all."""

from __future__ import annotations

import sys

import typer

from hydromechs.errors import message_of

from .command_backends import backends
from .command_drops import study_drops
from .command_evidence import evidence
from .command_files import study_files
from .command_imports import study_imports
from .command_loops import study_loops
from .command_missions import bench_missions, study_missions
from .command_mutations import study_mutations
from .command_pages import bench_pages
from .command_speed import bench_blocks, bench_goals, bench_gpu, bench_trees
from .command_stiffness import study_stiffness
from .command_studies import study_decoupled, study_hybrid, study_navigation
from .command_surface import study_surface

__all__ = ["main"]

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode=None, help="Long studies of HydroMechs, for maintainers."
)
app.command("evidence")(evidence)
app.command("missions")(study_missions)
app.command("speed")(bench_missions)
app.command("goals")(bench_goals)
app.command("blocks")(bench_blocks)
app.command("trees")(bench_trees)
app.command("gpu")(bench_gpu)
app.command("imports")(study_imports)
app.command("files")(study_files)
app.command("mutations")(study_mutations)
app.command("stiffness")(study_stiffness)
app.command("decoupled")(study_decoupled)
app.command("hybrid")(study_hybrid)
app.command("navigation")(study_navigation)
app.command("backends")(backends)
app.command("surface")(study_surface)
app.command("loops")(study_loops)
app.command("drops")(study_drops)
app.command("pages")(bench_pages)


def main() -> None:
    """Run a study; expected errors end it with a message and status 1."""
    try:
        app()
    except (OSError, ModuleNotFoundError, ValueError, KeyError) as error:
        print(f"error: {message_of(error)}", file=sys.stderr)
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
