"""Holds predictions against measured runs: tables of rows in, predictions and errors out."""

from simcore.validation.band import validated_band
from simcore.validation.collectives import predict_collectives
from simcore.validation.score import write_collectives, write_training
from simcore.validation.training import predict_training

__all__ = [
    "predict_collectives",
    "predict_training",
    "validated_band",
    "write_collectives",
    "write_training",
]
