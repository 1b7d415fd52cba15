"""One forward, one backward, with weight gradients where the pipeline would wait."""

from dataclasses import replace
from typing import ClassVar

import numpy as np

from simcore.workload.schedules.base import PipelineSchedule, Units
from simcore.workload.schedules.one_f_one_b import OneForwardOneBackward


class ZeroBubble(PipelineSchedule):
    """The backward pass is cut: input gradients at once, weight gradients when there is time.

    The order is that of 1F1B. Stage r of p starts its weight gradients r micro-batches late, which
    fills the time when it would wait for the last gradients; they then follow each backward unit,
    and those of r micro-batches are left for the end. With times F, B, W of the three parts the
    bubble is (p - 1) (F + B - W), where 1F1B has (p - 1) (F + B + W), and as in the first stage of
    1F1B min(p, m) micro-batches are alive. The output head computes all its gradients at once.

    Source: P. Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024, section 2 (ZB-H1).
    """

    splits_backward: ClassVar[bool] = True

    def units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Units:
        order = OneForwardOneBackward().units(stage, stages, microbatches, chunks)
        backward_so_far = np.cumsum(order.backward)
        late = order.backward & (backward_so_far <= self.late_weights(stage, microbatches))
        return replace(order, without_weights=late)

    def period(self, stages: int, chunks: int, group: int = 0) -> int | None:
        return 1

    def alive_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> int:
        return min(stages, microbatches)

    def alive_losses(self, microbatches: int) -> int:
        return 1

    def late_weights(self, stage: int, microbatches: int) -> int:
        return min(stage, microbatches)
