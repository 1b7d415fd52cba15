"""One forward, one backward, plain and interleaved."""

from typing import ClassVar

import numpy as np

from simcore.workload.schedules.base import PipelineSchedule, Units


class OneForwardOneBackward(PipelineSchedule):
    """Some forwards, then pairs of a forward and a backward, then the backwards that are left.

    With one chunk, stage r of p starts with min(p - 1 - r, m) forwards: the bubble is (p - 1) / m
    of the ideal time, as in GPipe, but at most p - r micro-batches are alive on stage r.

    With v chunks (interleaved), it starts with min(2 (p - 1 - r) + (v - 1) q, m v), takes
    micro-batches in groups of q, by default p, through one chunk after the other, and the bubble
    shrinks to (p - 1) / (v m). The micro-batches must divide by q.

    Source: D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
    Using Megatron-LM", SC 2021, sections 2.2.1 and 2.2.2.
    """

    interleaves: ClassVar[bool] = True
    drops_losses: ClassVar[bool] = True

    def units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Units:
        group = group or stages
        first = min(warm_up(stage, stages, chunks, group), microbatches * chunks)
        return one_forward_one_backward(first, group, microbatches, chunks)

    def period(self, stages: int, chunks: int, group: int = 0) -> int | None:
        return 1 if chunks == 1 else group or stages

    def alive_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> int:
        first = warm_up(stage, stages, chunks, group or stages)
        return min(first + 1, microbatches * chunks)

    def alive_losses(self, microbatches: int) -> int:
        return 1


def one_forward_one_backward(
    first: int, group: int, microbatches: int, chunks: int, *, backward_leads: bool = False
) -> Units:
    """*first* forward units, then pairs of a forward and a backward one, then backward ones.

    Args:
        first: Forward units before the pairs.
        group: Micro-batches that pass a chunk before they pass the next one.
        microbatches: Micro-batches.
        chunks: Chunks of each stage.
        backward_leads: The backward unit is the first one of each pair.
    """
    passes = microbatches * chunks
    pairs = passes - first
    backward = np.zeros(2 * passes, np.bool_)
    backward[first + 1 - backward_leads : first + 2 * pairs : 2] = True
    backward[first + 2 * pairs :] = True
    order = np.arange(passes, dtype=np.int32)
    microbatch, chunk_of = np.zeros((2, 2 * passes), np.int32)
    if chunks == 1:
        microbatch[~backward] = microbatch[backward] = order
        return Units(backward=backward, microbatch=microbatch, chunk=chunk_of)
    chunk = order // group % chunks
    batch = order // (group * chunks) * group + order % group
    for which, its_chunk in ((~backward, chunk), (backward, chunks - 1 - chunk)):
        microbatch[which], chunk_of[which] = batch, its_chunk
    return Units(backward=backward, microbatch=microbatch, chunk=chunk_of)


def warm_up(stage: int, stages: int, chunks: int, group: int) -> int:
    """Forward units before the first backward unit's pair, if there are as many."""
    later = stages - 1 - stage
    return 2 * later + (chunks - 1) * group if chunks > 1 else later
