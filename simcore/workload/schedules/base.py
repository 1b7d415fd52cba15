"""Base of pipeline schedules: the order of work on one stage."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Units:
    """The work of one stage in order; U = 2 x micro-batches x chunks, without backward passes half.

    Attributes:
        backward: (U,) bool, the unit is a backward pass.
        microbatch: (U,) int32.
        chunk: (U,) int32, the chunk of the stage's layers that the unit passes.
        without_weights: (U,) bool, backward units whose weight gradients are computed later; None
            where the schedule does not cut backward passes.
        beside: (U,) bool, units that run beside the one before them, and that the one after them
            does not wait for; None where there are none.
        weights: (U,) bool, backward units that are nothing but the weight gradients which an
            earlier unit without them has left; None where there are none.
    """

    backward: NDArray[np.bool_]
    microbatch: NDArray[np.int32]
    chunk: NDArray[np.int32]
    without_weights: NDArray[np.bool_] | None = None
    beside: NDArray[np.bool_] | None = None
    weights: NDArray[np.bool_] | None = None

    @property
    def batches(self) -> int:
        """Micro-batches."""
        return int(self.microbatch.max()) + 1

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        return self.backward.nbytes + self.microbatch.nbytes + self.chunk.nbytes


def stacked(stages: Sequence[Units]) -> Units:
    """The work of several stages, (S, U) each."""
    cuts = [units.without_weights for units in stages if units.without_weights is not None]
    return Units(
        backward=np.array([units.backward for units in stages]),
        microbatch=np.array([units.microbatch for units in stages]),
        chunk=np.array([units.chunk for units in stages]),
        without_weights=np.array(cuts) if cuts else None,
    )


class PipelineSchedule(ABC):
    """Orders the forward and backward passes of the micro-batches; ``plan.schedule`` names a class.

    Objects are made without arguments whenever one is asked; what they answer depends on nothing
    but the arguments, and is remembered by the name of the schedule.

    Each micro-batch passes each chunk of each stage once forward and once backward, backward
    after forward, and the orders of the stages must not wait for each other in a circle. The
    first unit is a forward pass of chunk 0.

    Attributes:
        interleaves: A stage may hold several chunks of layers that are not neighbours.
        splits_backward: Input and weight gradients are computed apart: at the end of a backward
            unit come the weight gradients of the earliest micro-batch that lacks them.
        trains: There are backward passes.
        overlaps: Some units run beside others; their nodes are executed one by one.
        mirrors: The second chunks of the stages lie in reverse order, so that both ends of the
            model are on the first stage; weight gradients may be units of their own.
        drops_losses: The last stage repeats no layer while it holds as many logits as
            ``alive_losses`` says: those of one micro-batch fewer are left by then.
    """

    interleaves: ClassVar[bool] = False
    splits_backward: ClassVar[bool] = False
    trains: ClassVar[bool] = True
    overlaps: ClassVar[bool] = False
    mirrors: ClassVar[bool] = False
    drops_losses: ClassVar[bool] = False

    @abstractmethod
    def units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Units:
        """The order on *stage* (0 is the first).

        *group* micro-batches pass a chunk before they pass the next one; 0: as many as stages.
        """

    @abstractmethod
    def period(self, stages: int, chunks: int, group: int = 0) -> int | None:
        """Micro-batches after which the pattern repeats between warm-up and drain, if it does.

        The units between the first backward unit's pair and the drain are then the same from
        period to period, whatever the number of micro-batches.
        """

    @abstractmethod
    def alive_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> int:
        """Most forward units whose activations *stage* holds at one time."""

    def held_units(
        self, stage: int, stages: int, microbatches: int, chunks: int, group: int = 0
    ) -> Sequence[tuple[int, int]]:
        """Units of *stage* at the times when it may hold most.

        Forward units that wait for their backward pass, and those that lack the weight gradients
        alone, of which what was repeated for their backward pass is still there.
        """
        return [(self.alive_units(stage, stages, microbatches, chunks, group), 0)]

    @abstractmethod
    def alive_losses(self, microbatches: int) -> int:
        """Most micro-batches whose logits the last stage holds at one time."""

    def late_weights(self, stage: int, microbatches: int) -> int:
        """Micro-batches whose weight gradients *stage* computes after its last backward unit."""
        return 0
