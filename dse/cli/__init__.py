"""The commands of ``dse``; what they do is imported when they run, so that help is instant."""

from dse.cli.commands import main

__all__ = ["main"]
