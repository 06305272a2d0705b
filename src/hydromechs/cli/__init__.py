"""Entry point of the command `hydromechs`."""

__all__ = ["main"]


def main() -> None:
    """Run the command line. Expected errors print a message and exit with status 1; Ctrl-C exits with status 130."""
    try:
        from ._main import main as run  # takes long enough to be interrupted
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()
