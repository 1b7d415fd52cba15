"""Inference of transformers: prompts are read, or one token is added to each sequence."""

from simcore.workload.kinds.inference.share import ServingShare
from simcore.workload.kinds.inference.speculation import Speculation
from simcore.workload.kinds.inference.workload import InferenceWorkload

__all__ = ["InferenceWorkload", "ServingShare", "Speculation"]
