"""Holds predictions against measured runs: tables of rows in, predictions and errors out."""

from simcore.validation.bands import Band, prediction_band, validated_band
from simcore.validation.bands.siblings import SiblingError, sibling_error
from simcore.validation.bands.trust import accelerator_trust
from simcore.validation.calibrated import Calibration, Site, load_calibration
from simcore.validation.collectives import predict_collectives
from simcore.validation.score import write_collectives, write_training
from simcore.validation.training import predict_training

__all__ = [
    "Band",
    "Calibration",
    "SiblingError",
    "Site",
    "accelerator_trust",
    "load_calibration",
    "predict_collectives",
    "predict_training",
    "prediction_band",
    "sibling_error",
    "validated_band",
    "write_collectives",
    "write_training",
]
