"""Predictions moved by runs of one's own, as far as these have a say."""

from simcore.validation.calibrated.file import Calibration, load_calibration
from simcore.validation.calibrated.site import Site

__all__ = ["Calibration", "Site", "load_calibration"]
