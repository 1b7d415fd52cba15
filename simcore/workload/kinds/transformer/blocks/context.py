"""The attention core on a sequence that is split over NPUs."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, Kernel
from simcore.workload.kinds.transformer.blocks.core import core, core_gradient
from simcore.workload.kinds.transformer.share import Share
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.work import PassWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextParallel(ABC):
    """The attention core and what it exchanges over cp."""

    share: Share
    plan: ParallelPlan

    @abstractmethod
    def forward(self, work: PassWriter) -> None:
        """Write the forward pass of the core."""

    @abstractmethod
    def backward(self, work: PassWriter) -> None:
        """Write the backward pass of the core."""

    def _core_gradient(self) -> list[Kernel]:
        """The backward pass, after the forward pass once more where selective recompute asks."""
        again = core(self.share) if self.plan.repeats_scores else []
        return again + core_gradient(self.share)


class GatheredKeys(ContextParallel):
    """Keys and values of all are gathered before the core, and their gradients scattered after.

    Source: A. Dubey et al., "The Llama 3 Herd of Models", arXiv:2407.21783, section 3.3.2.
    """

    __slots__ = ()

    def forward(self, work: PassWriter) -> None:
        self._gather(work)
        work.compute("attention", [kernel for part in self.share.cores for kernel in core(part)])

    def backward(self, work: PassWriter) -> None:
        self._gather(work)
        work.compute("attention", self._core_gradient())
        size_bytes = self.share.kv_bytes * self.plan.cp
        name = "key and value gradients"
        work.collective(name, CollectiveKind.REDUCE_SCATTER, Axis.CP, size_bytes)

    def _gather(self, work: PassWriter) -> None:
        size_bytes = self.share.kv_bytes
        work.collective("keys and values", CollectiveKind.ALL_GATHER, Axis.CP, size_bytes)


class RingAttention(ContextParallel):
    """Keys and values go round in a ring while the core works on those that are there.

    Each NPU has a piece of the sequence's start and one of its end, so that under a causal mask
    the blocks are equal. The c - 1 steps send keys and values once round forward; backward they
    do so again, and the sums of their gradients make all c steps. A step, in which every NPU sends
    one part to its neighbour, is written as the all-gather that moves as many bytes.

    Source: H. Liu et al., "Ring Attention with Blockwise Transformers for Near-Infinite Context",
    ICLR 2024, section 3; W. Brandon et al., "Striped Attention", arXiv:2311.09431 (equal blocks).
    """

    __slots__ = ()

    def forward(self, work: PassWriter) -> None:
        there = computed = work.fork()
        for step in range(self.plan.cp):
            coming = self._send(work, there, step)
            work.resume(computed + there)
            work.compute("attention", [self._block(kernel) for kernel in core(self.share)])
            computed, there = work.fork(), coming

    def backward(self, work: PassWriter) -> None:
        there = computed = work.fork()
        summed: tuple[int, ...] = ()
        for step in range(self.plan.cp):
            coming = self._send(work, there, step)
            work.resume(computed + there)
            work.compute("attention", [self._block(kernel) for kernel in core_gradient(self.share)])
            computed, there = work.fork(), coming
            work.resume(computed + summed)
            self._step(work, "key and value gradients")
            summed = work.fork()
        work.resume(computed + summed)

    def _send(self, work: PassWriter, there: tuple[int, ...], step: int) -> tuple[int, ...]:
        """Pass keys and values on, but for the last step."""
        work.resume(there)
        if step < self.plan.cp - 1:
            self._step(work, "keys and values")
        return work.fork()

    def _step(self, work: PassWriter, name: str) -> None:
        part_bytes = -(-self.share.kv_bytes // (self.plan.cp - 1))
        work.collective(name, CollectiveKind.ALL_GATHER, Axis.CP, part_bytes)

    def _block(self, kernel: Kernel) -> Kernel:
        """The core on the keys of one NPU: it reads as much each time, and writes its outputs."""
        parts, rows = self.plan.cp, self.share.sequence // self.plan.cp
        return kernel._replace(flop=kernel.flop / parts, m=rows, n=rows)


class HeadExchange(ContextParallel):
    """An all-to-all gives each NPU the whole sequence for some heads; another one takes it back.

    Source: S. Jacobs et al., "DeepSpeed Ulysses", arXiv:2309.14509, section 3.
    """

    __slots__ = ()

    def forward(self, work: PassWriter) -> None:
        self._exchange(work, "queries, keys and values", self._input_width)
        work.compute("attention", core(self.share))
        self._exchange(work, "attention outputs", self.share.output_width)

    def backward(self, work: PassWriter) -> None:
        self._exchange(work, "output gradients", self.share.output_width)
        work.compute("attention", self._core_gradient())
        self._exchange(work, "gradients of queries, keys and values", self._input_width)

    @property
    def _input_width(self) -> int:
        """Queries, keys and values of a row; keys once per NPU where there are fewer heads."""
        share, heads = self.share, max(1, self.share.key_width // self.share.head_width)
        copies = max(1, self.plan.cp // heads)
        return share.query_width + copies * (share.key_width + share.value_width)

    def _exchange(self, work: PassWriter, name: str, width: int) -> None:
        size_bytes = self.share.element_bytes * self.share.rows * width
        work.collective(name, CollectiveKind.ALL_TO_ALL, Axis.CP, size_bytes)


_KINDS: dict[str, type[ContextParallel]] = {
    "all_gather": GatheredKeys,
    "ring": RingAttention,
    "ulysses": HeadExchange,
}


def context_parallel(share: Share, plan: ParallelPlan) -> ContextParallel:
    """The kind that *plan* names."""
    kind = _KINDS[plan.cp_kind] if plan.cp > 1 else GatheredKeys
    return kind(share=share.core, plan=plan)
