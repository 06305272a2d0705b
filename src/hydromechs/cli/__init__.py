"""The command `hydromechs`."""

__all__ = ["main"]


def main() -> None:
    """Run the command line; expected errors end it with a message and status 1, Ctrl-C with status 130."""
    try:
        from ._main import main as run  # takes long enough to be interrupted
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()
