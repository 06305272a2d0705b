"""Run the command `hydromechs` by `python -m hydromechs.cli`."""

from hydromechs.cli import main

if __name__ == "__main__":
    main()
