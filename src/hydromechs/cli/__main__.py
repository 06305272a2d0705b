"""`python -m hydromechs.cli` is the command `hydromechs`."""

from hydromechs.cli import main

if __name__ == "__main__":
    main()
