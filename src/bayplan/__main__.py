"""``python -m bayplan``: the same as the ``bayplan`` command."""

from bayplan.cli import main

if __name__ == "__main__":
    main()
