"""All forwards, then all backwards."""

from typing import ClassVar

import numpy as np

from simcore.workload.schedules.base import PipelineSchedule, Units


class GPipe(PipelineSchedule):
    """Every forward pass before the first backward pass; all micro-batches are alive.

    Source: Y. Huang et al., "GPipe: Efficient Training of Giant Neural Networks using Pipeline
    Parallelism", NeurIPS 2019, section 2.3.
    """

    drops_losses: ClassVar[bool] = True

    def units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Units:
        return Units(
            backward=np.repeat([False, True], microbatches),
            microbatch=np.tile(np.arange(microbatches, dtype=np.int32), 2),
            chunk=np.zeros(2 * microbatches, np.int32),
        )

    def period(self, stages: int, chunks: int, group: int = 0) -> int | None:
        return None

    def alive_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> int:
        return microbatches

    def alive_losses(self, microbatches: int) -> int:
        return microbatches
