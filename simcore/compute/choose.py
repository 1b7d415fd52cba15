"""Choice of the compute model where a run names none."""

from typing import NamedTuple

from simcore.machine import Npu
from simcore.workload import Workload
from simcore.workload.kinds import InferenceWorkload

NAMED = "the run names it"
"""Reason for a compute model that a run names."""


class ComputeChoice(NamedTuple):
    """Name of a compute model, and the reason for it."""

    name: str
    reason: str


def default_compute(workload: Workload, npu: Npu) -> ComputeChoice:
    """The compute model of a run that names none: the one that is held against measured runs.

    The efficiencies of ``roofline`` are fitted to iterations of training, in which the host issues
    kernels one by one. Engines of inference launch a step's kernels at once, and run kernels of
    their own: those of the tables, where the accelerator has some.
    """
    if not isinstance(workload, InferenceWorkload):
        return ComputeChoice("roofline", "it is the default for training")
    if npu.kernels is not None:
        reason = f"it is the default for inference where {npu.name} has kernel tables"
        return ComputeChoice("measured", f"{reason} ({npu.kernels.tables})")
    reason = f"it is the default for inference where no kernel tables of {npu.name} are known"
    return ComputeChoice("recorded", reason)
