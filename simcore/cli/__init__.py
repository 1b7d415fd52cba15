"""The commands of ``python -m simcore``."""
