"""Run the command `hydromechs` by `python -m hydromechs`."""

from hydromechs.cli import main

if __name__ == "__main__":
    main()
