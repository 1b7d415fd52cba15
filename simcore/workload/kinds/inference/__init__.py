"""Inference of transformers: prompts are read, or one token is added to each sequence."""

from simcore.workload.kinds.inference.workload import InferenceWorkload, Speculation

__all__ = ["InferenceWorkload", "Speculation"]
