"""One forward, one backward, plain and interleaved."""

from typing import ClassVar

import numpy as np

from simcore.workload.schedules.base import PipelineSchedule, Units


class OneForwardOneBackward(PipelineSchedule):
    """Some forwards, then pairs of a forward and a backward, then the backwards that are left.

    With one chunk, stage r of p starts with min(p - 1 - r, m) forwards: the bubble is (p - 1) / m
    of the ideal time, as in GPipe, but at most p - r micro-batches are alive on stage r.

    With v chunks (interleaved), it starts with min(2 (p - 1 - r) + (v - 1) p, m v), takes
    micro-batches in groups of p through one chunk after the other, and the bubble shrinks to
    (p - 1) / (v m). The micro-batches must divide by p.

    Source: D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
    Using Megatron-LM", SC 2021, sections 2.2.1 and 2.2.2.
    """

    interleaves: ClassVar[bool] = True

    def units(self, stage: int, stages: int, microbatches: int, chunks: int) -> Units:
        passes = microbatches * chunks
        warm_up = _warm_up(stage, stages, microbatches, chunks)
        pairs = passes - warm_up
        backward = np.zeros(2 * passes, np.bool_)
        backward[warm_up + 1 : warm_up + 2 * pairs : 2] = True
        backward[warm_up + 2 * pairs :] = True
        order = np.arange(passes, dtype=np.int32)
        microbatch, chunk_of = np.zeros((2, 2 * passes), np.int32)
        if chunks == 1:
            microbatch[~backward] = microbatch[backward] = order
            return Units(backward=backward, microbatch=microbatch, chunk=chunk_of)
        group, chunk = stages * chunks, order // stages % chunks
        batch = order // group * stages + order % stages
        for which, its_chunk in ((~backward, chunk), (backward, chunks - 1 - chunk)):
            microbatch[which], chunk_of[which] = batch, its_chunk
        return Units(backward=backward, microbatch=microbatch, chunk=chunk_of)

    def period(self, stages: int, chunks: int) -> int | None:
        return 1 if chunks == 1 else stages

    def alive_units(self, stage: int, stages: int, microbatches: int, chunks: int) -> int:
        warm_up = _warm_up(stage, stages, microbatches, chunks)
        return min(warm_up + 1, microbatches * chunks)

    def alive_losses(self, microbatches: int) -> int:
        return 1


def _warm_up(stage: int, stages: int, microbatches: int, chunks: int) -> int:
    """Forward units before the first backward unit's pair."""
    later = stages - 1 - stage
    if chunks > 1:
        later = 2 * later + (chunks - 1) * stages
    return min(later, microbatches * chunks)
