"""``python -m simcore``."""

from simcore.cli import main

if __name__ == "__main__":
    main()
