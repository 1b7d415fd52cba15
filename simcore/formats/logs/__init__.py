"""Measured times from what training and serving tools write; one file per tool."""

from simcore.formats.logs.base import Observed
from simcore.formats.logs.read import read_log

__all__ = ["Observed", "read_log"]
