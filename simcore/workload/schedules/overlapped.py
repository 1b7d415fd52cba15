"""One forward beside one backward: each hides the communication of the other."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from simcore.workload.schedules.base import PipelineSchedule, Units
from simcore.workload.schedules.one_f_one_b import one_forward_one_backward


class Overlapped(PipelineSchedule):
    """1F1B whose pairs run at the same time: while one waits for messages, the other computes.

    What all-to-all, tensor and context parallel collectives of one take, the NPU spends on the
    other; the backward pass, which is longer, goes first. The passes of a pair are of different
    micro-batches, and neither must wait for a pass of the same pair on a neighbouring stage: stage
    r of p starts with 2 (p - 1 - r) + 1 forward passes, and one micro-batch more than that is
    alive. DualPipe does the same on stages that hold a chunk from each end of the model.

    Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 3.2.1 (a forward
    and a backward chunk at once); NVIDIA, Megatron Core, ``combined_1f1b`` (in 1F1B order).
    """

    interleaves: ClassVar[bool] = True
    overlaps: ClassVar[bool] = True

    def units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Units:
        group = group or stages
        first = _warm_up(stage, stages, microbatches, chunks, group)
        order = one_forward_one_backward(first, group, microbatches, chunks, backward_leads=True)
        beside = np.zeros(order.backward.size, np.bool_)
        pairs = microbatches * chunks - first
        beside[first + 1 : first + 2 * pairs : 2] = True
        return replace(order, beside=beside)

    def period(self, stages: int, chunks: int, group: int = 0) -> int | None:
        return None

    def alive_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> int:
        first = _warm_up(stage, stages, microbatches, chunks, group or stages)
        return min(first + 1, microbatches * chunks)

    def alive_losses(self, microbatches: int) -> int:
        return min(2, microbatches)


def _warm_up(stage: int, stages: int, microbatches: int, chunks: int, group: int) -> int:
    """Forward units before the pairs."""
    later = 2 * (stages - 1 - stage) + (chunks - 1) * group
    return min(later + 1, microbatches * chunks)
