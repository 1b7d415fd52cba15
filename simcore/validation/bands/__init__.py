"""Bands of predictions, from residuals of measured runs that were left out."""

from simcore.config import Run
from simcore.validation.bands.band import Band
from simcore.validation.bands.serving import decode_band
from simcore.validation.bands.training import training_band
from simcore.workload.kinds import InferenceWorkload

__all__ = ["Band", "prediction_band", "validated_band"]


def prediction_band(run: Run) -> Band:
    """The band of the simulated time of *run*; four of five measured times lie inside."""
    if isinstance(run.workload, InferenceWorkload):
        return decode_band(run)
    return training_band(run)


def validated_band(run: Run) -> str:
    """The band of *run* in one phrase."""
    return str(prediction_band(run))
