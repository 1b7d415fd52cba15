"""Forward passes alone: inference."""

from typing import ClassVar

import numpy as np

from simcore.workload.schedules.base import PipelineSchedule, Units


class ForwardOnly(PipelineSchedule):
    """Every micro-batch passes the stages once; nothing is kept for a backward pass."""

    trains: ClassVar[bool] = False

    def units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Units:
        return Units(
            backward=np.zeros(microbatches, np.bool_),
            microbatch=np.arange(microbatches, dtype=np.int32),
            chunk=np.zeros(microbatches, np.int32),
        )

    def period(self, stages: int, chunks: int, group: int = 0) -> int | None:
        return None

    def alive_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> int:
        return 0

    def alive_losses(self, microbatches: int) -> int:
        return 1
