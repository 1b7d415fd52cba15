"""Two chunks per stage, the second ones in reverse order: the pipeline is fed from both ends."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.workload.schedules.base import PipelineSchedule, Units


class _Pass(NamedTuple):
    """One unit of a stage, of the micro-batch whose turn it is.

    Attributes:
        backward: Gradients are computed.
        inputs: Of them, those of the inputs; otherwise the unit is a forward pass, or the weight
            gradients of the earliest micro-batch that lacks them.
        weights: Of them, those of the weights.
        beside: It runs beside the unit before.
    """

    chunk: int = 0
    inputs: bool = False
    weights: bool = False
    beside: bool = False

    @property
    def backward(self) -> bool:
        return self.inputs or self.weights


class DualPipe(PipelineSchedule):
    """DualPipe: forward and backward passes in pairs, on stages with two chunks of layers each.

    Stage r of p holds the chunks r and 2 p - 1 - r of the model: a micro-batch goes from the first
    stage to the last one and back again, and both ends of the model are on the first stage. One
    direction's forward passes run beside the other one's backward passes, each hiding the
    communication of the other. Weight gradients are computed apart where stages would wait. With
    times F, B and W of a chunk's forward pass, whole backward pass and weight gradients, and D of
    the two passes of a pair, the bubble is (p - 1) (D + B - 3 W), and 2 p + 1 chunks' activations
    are alive.

    The DualPipe of DeepSeek-V3 feeds 2 p stages from both ends and holds every chunk twice, on the
    stages r and 2 p - 1 - r, which work alike. Cut in half, each half is a replica of what is
    here, also known as DualPipeV.

    Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, section 3.2.1 and table
    2; order of the units: github.com/deepseek-ai/DualPipe, ``dualpipev.py``; the cut: P. Qi et al.,
    "DualPipe could be better without the Dual", Sea AI Lab, 2025.
    """

    interleaves: ClassVar[bool] = True
    splits_backward: ClassVar[bool] = True
    overlaps: ClassVar[bool] = True
    mirrors: ClassVar[bool] = True

    def units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Units:
        order = list(_passes(stage, stages, microbatches))
        backward = np.array([unit.backward for unit in order])
        weights = np.array([unit.weights and not unit.inputs for unit in order])
        cut = np.array([unit.inputs and not unit.weights for unit in order])
        chunk = np.array([unit.chunk for unit in order], np.int32)
        microbatch = np.zeros(len(order), np.int32)
        for own in (0, 1):
            for kind in (~backward, backward & ~weights):
                chosen = (chunk == own) & kind
                microbatch[chosen] = np.arange(chosen.sum())
        chunk[weights], microbatch[weights] = chunk[cut], microbatch[cut]  # first in, first out
        return Units(
            backward=backward,
            microbatch=microbatch,
            chunk=chunk,
            without_weights=cut,
            weights=weights,
            beside=np.array([unit.beside for unit in order]),
        )

    def period(self, stages: int, chunks: int, group: int = 0) -> int | None:
        return None

    def alive_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> int:
        return max(sum(held) for held in self.held_units(stage, stages, microbatches, chunks))

    def held_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Sequence[tuple[int, int]]:
        units = self.units(stage, stages, microbatches, chunks)
        assert units.weights is not None, "they are told"
        assert units.without_weights is not None, "they are told"
        assert units.beside is not None, "they are told"
        passes = units.backward & ~units.weights
        begun, passed = np.cumsum(~units.backward), _before(passes)
        passed[1:] -= units.beside[1:] & passes[:-1]  # the backward pass beside it goes on
        late = _before(units.without_weights) - _before(units.weights)
        held = zip((begun - passed).tolist(), late.tolist(), strict=True)
        return sorted(set(held))

    def alive_losses(self, microbatches: int) -> int:
        return 1


def _before(units: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count of *units* before each one."""
    return np.cumsum(units, dtype=np.int64) - units


def _passes(stage: int, stages: int, microbatches: int) -> Iterator[_Pass]:
    """The units of a stage in order."""
    after = stages - 1 - stage
    first, second = _Pass(chunk=0), _Pass(chunk=1)
    back, later_back = (_Pass(chunk=chunk, inputs=True, weights=True) for chunk in (0, 1))
    late_weights = _Pass(weights=True)
    for _ in range(2 * after):
        yield first
    for _ in range(stage + 1):
        yield first
        yield second
    for _ in range(after):
        yield later_back._replace(weights=False)
        yield late_weights
        yield second
    for pair in range(microbatches - 2 * stages + stage + 1):
        if after == 0 and pair == 0:  # the last stage has nothing to wait for, and is sooner done
            yield first
            yield later_back
        else:
            yield later_back
            yield first._replace(beside=True)
        yield back
        yield second._replace(beside=True)
    for _ in range(after):
        yield later_back
        yield back
        yield second._replace(beside=True)
    ends = [later_back, back] * (stage + 1)
    for number, unit in enumerate(ends):
        yield unit._replace(weights=number < stage + 1)
    for _ in range(after):
        yield late_weights
        yield back._replace(weights=False)
    for _ in range(stage + 1):
        yield late_weights
