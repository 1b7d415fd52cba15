"""Activations that layers keep, layer by layer and module by module.

Source: V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
MLSys 2023, sections 4.1-4.3 and 5; TransformerEngine, issue 1764 (inputs of products in 8 bits).
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from simcore.terms import LayerKind
from simcore.units import plain_sum
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.layer import LayerWork, blocks_of

INPUTS, AT_WORK = "inputs of repeated layers", "work on one layer"
"""Names of activations that belong to no module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerActivations:
    """Bytes that one layer keeps of each micro-batch for its backward pass.

    With h hidden, s x b tokens and a heads, a GPT layer in 2-byte precision keeps
    s b h (10 + 24 / t + 5 a s / (h t)), where sequence parallelism divides the 10 by t too, and
    flash attention or selective recompute drop the last term. A layer that is repeated keeps its
    input alone, 2 s b h, and needs all of it while it is computed again.

    Attributes:
        whole_bytes: If it is not repeated.
        input_bytes: If it is.
        parts_bytes: Of parts that are repeated by themselves, while they are needed.
        block_bytes: What each of its blocks keeps, if the layer is not repeated.
    """

    whole_bytes: int
    input_bytes: int
    parts_bytes: int
    block_bytes: tuple[int, ...]

    @property
    def all_bytes(self) -> int:
        """Bytes without repeats."""
        return self.whole_bytes + self.parts_bytes

    @classmethod
    def of(
        cls, kind: LayerKind, blocks: Sequence[LayerWork], plan: ParallelPlan, share: NpuShare
    ) -> "LayerActivations":
        """Activations that a layer of *kind* keeps, which is made of *blocks*."""
        parts = 0
        of_block = tuple([block.kept_bytes for block in blocks])
        if plan.recompute_parts:
            every = blocks_of(kind, share, plan.model_copy(update={"recompute_parts": ()}))
            parts = plain_sum(block.kept_bytes for block in every) - plain_sum(of_block)
        return cls(
            whole_bytes=plain_sum(of_block),
            input_bytes=blocks[0].input_bytes,
            parts_bytes=parts,
            block_bytes=of_block,
        )


def kept_by_module(
    chunks: Sequence[Sequence[LayerKind]],
    plan: ParallelPlan,
    layers: Mapping[LayerKind, LayerActivations],
) -> dict[str, int]:
    """Bytes that *chunks* of layers keep of one micro-batch each, by module."""
    kept: Counter[str] = Counter()
    for chunk in chunks:
        redone = plan.redone_layers(len(chunk))
        for kind in chunk[: redone : plan.recompute_every]:
            kept[INPUTS] += layers[kind].input_bytes
        for kind in chunk[redone:]:
            for part, size in zip(kind, layers[kind].block_bytes, strict=True):
                kept[_name(part)] += size
    return dict(kept)


def _name(part: Hashable) -> str:
    """Name of a part of a layer: transformers name theirs, other kinds have rows of tables."""
    return part if isinstance(part, str) else str(getattr(part, "op", "layers"))
