"""Bytes that one NPU of each pipeline stage holds.

They are what the run itself asks for, tensor by tensor: the least that it can do with. What comes
on top while it runs is in ``simcore.memory.runtime``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from simcore.machine import Platform
from simcore.memo import Memo
from simcore.memory import states
from simcore.memory.activations import LayerActivations
from simcore.memory.stage_layers import (
    ChunkLayers,
    PipelineLayers,
    StageLayers,
    held_units,
    pipeline_layers,
)
from simcore.memory.states import TierBytes
from simcore.terms import LayerKind
from simcore.units import plain_sum
from simcore.workload.base import TableMemory, Workload, microbatches
from simcore.workload.npu_share import NpuShare
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.npu_layers import NpuLayers, npu_layers
from simcore.workload.schedules import SCHEDULES

_LOGIT_BYTES = 4


@dataclass(frozen=True, kw_only=True)
class StageBytes:
    """Bytes on one NPU of each stage with the same layers and ends.

    Attributes:
        weights_bytes: Weights in the format that the layers read.
        gradients_bytes: The sums of the gradients.
        optimizer_bytes: Main copies of the weights and moments, two with Adam.
        main_bytes: Of these, the fp32 main copies (none where weights are fp32).
        kept_bytes: Of the activations of one micro-batch in all chunks.
        late_bytes: Likewise with what is repeated in the backward pass.
        working_bytes: Of the layers that are computed again, beyond the logits that are gone by
            then; without training, of the one at work.
        logits_bytes: Logits and the inputs of the final norm and the head, last stage.
        cache_bytes: Of the cache, wherever it is.
        cached_here_bytes: Of the cache, what is in the NPU.
        block_bytes: Of the block that keeps most of one micro-batch.
        buffer_bytes: Activations in the NPU at most, where others are in a tier of memory; None:
            all are here.
        outside: Weights, gradients and optimizer state in tiers of memory.
    """

    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    main_bytes: int
    kept_bytes: int
    late_bytes: int
    working_bytes: int
    logits_bytes: int
    cache_bytes: int
    cached_here_bytes: int
    block_bytes: int
    buffer_bytes: int | None
    outside: tuple[TierBytes, ...]

    @cached_property
    def fixed_bytes(self) -> int:
        """All but activations."""
        model_bytes = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes
        return model_bytes + self.logits_bytes + self.cached_here_bytes

    def activations_bytes(self, alive_bytes: int) -> int:
        """Bytes of the activations, where *alive_bytes* are kept at most."""
        if self.buffer_bytes is not None:
            alive_bytes = min(alive_bytes, self.buffer_bytes)
        return alive_bytes + self.working_bytes


class StageFootprint(NamedTuple):
    """Bytes on one NPU of one stage, at the moment when most micro-batches are alive.

    Attributes:
        each: Bytes of all stages like this one.
        activations_bytes: What the layers keep for the backward pass.
    """

    stage: int
    each: StageBytes
    activations_bytes: int

    def beside(self, other: "StageFootprint") -> "StageFootprint":
        """Sum with what *other* keeps on the NPU; of what both need while they work, the larger.

        Raises:
            AssertionError: The other one trains.
        """
        own, its = self.each, other.each
        if its.gradients_bytes or its.optimizer_bytes:
            raise AssertionError("what lies beside a workload does not train")
        both = replace(
            own,
            weights_bytes=own.weights_bytes + its.weights_bytes,
            cached_here_bytes=own.cached_here_bytes + its.cached_here_bytes,
            logits_bytes=max(own.logits_bytes, its.logits_bytes),
        )
        most = max(self.activations_bytes, other.activations_bytes)
        return self._replace(each=both, activations_bytes=most)

    @property
    def weights_bytes(self) -> int:
        return self.each.weights_bytes

    @property
    def gradients_bytes(self) -> int:
        return self.each.gradients_bytes

    @property
    def optimizer_bytes(self) -> int:
        return self.each.optimizer_bytes

    @property
    def main_bytes(self) -> int:
        return self.each.main_bytes

    @property
    def logits_bytes(self) -> int:
        return self.each.logits_bytes

    @property
    def cache_bytes(self) -> int:
        """Keys and values of earlier tokens, in inference."""
        return self.each.cached_here_bytes

    @property
    def block_bytes(self) -> int:
        """Most activations that one block of a layer keeps of a micro-batch."""
        return self.each.block_bytes

    @property
    def kept_bytes(self) -> int:
        """Activations that all chunks of the stage keep of one micro-batch."""
        return self.each.kept_bytes

    @property
    def late_bytes(self) -> int:
        """``kept_bytes`` once its backward pass has left nothing but the weight gradients."""
        return self.each.late_bytes

    @property
    def total_bytes(self) -> int:
        return self.each.fixed_bytes + self.activations_bytes


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Footprints of all stages.

    Attributes:
        host_bytes: What each NPU keeps in the memory of the host.
        outside: Of each stage, what one of its NPUs keeps in tiers of memory.
    """

    stages: tuple[StageFootprint, ...]
    host_bytes: int = 0
    outside: tuple[tuple[TierBytes, ...], ...] = ()

    def tier_bytes(self, tier: str, sharers: int, npus: int) -> float:
        """Bytes behind one port of *tier*, which *sharers* NPUs of all *npus* share.

        These are NPUs of the fullest stage, or of all stages alike where all share it.
        """
        if not self.outside:
            return 0.0
        of_stage = [
            [(held.size_bytes, held.copies) for held in stage if held.tier == tier]
            for stage in self.outside
        ]
        per_npu = [
            plain_sum(size / min(copies, sharers) for size, copies in held) for held in of_stage
        ]
        return sharers * (plain_sum(per_npu) / len(per_npu) if sharers == npus else max(per_npu))

    def held_in_tiers(self, plan: ParallelPlan, platform: Platform) -> dict[str, float]:
        """Bytes behind one port of each tier that *plan* uses, by names such as ``host_held``."""
        npus, found = platform.npus, {}
        for name in plan.offload.tiers:
            sharers = platform.tier(name).sharers(npus)
            found[f"{name}_held"] = self.tier_bytes(name, sharers, npus)
        return found

    @cached_property
    def fullest(self) -> StageFootprint:
        return max(self.stages, key=lambda stage: stage.total_bytes)

    @property
    def total_bytes(self) -> int:
        """Bytes on the fullest NPU."""
        return self.fullest.total_bytes

    def parts(self) -> dict[str, int]:
        """``components`` with main copies of the weights apart from the optimizer's moments."""
        found: dict[str, int] = {}
        for name, size in self.components().items():
            if name == "optimizer":
                found["main weights"] = self.fullest.main_bytes
                size -= self.fullest.main_bytes
            found[name] = size
        return found

    def components(self) -> dict[str, int]:
        """Bytes on the fullest NPU by what they hold; they add up to ``total_bytes``."""
        stage = self.fullest
        return {
            "weights": stage.weights_bytes,
            "gradients": stage.gradients_bytes,
            "optimizer": stage.optimizer_bytes,
            "activations": stage.activations_bytes,
            "logits": stage.logits_bytes,
            "kv cache": stage.cache_bytes,
        }


def footprint(workload: Workload, plan: ParallelPlan) -> Footprint:
    """The memory that *plan* asks for; what kernels and communication add is left out.

    Raises:
        InfeasibleError: The plan does not fit the workload.
    """
    return footprint_with(workload, plan, Memo())


def footprint_with(workload: Workload, plan: ParallelPlan, memo: Memo) -> Footprint:
    """``footprint`` with what *memo* knows of other plans."""
    sizes, batches = _Sizes.of(workload, plan, memo), microbatches(workload, plan)
    losses = SCHEDULES[plan.schedule]().alive_losses(batches)
    layers = pipeline_layers(
        workload.model.layer_kinds,
        plan.pp,
        plan.interleave,
        plan.chunk_layers,
        mirrors=plan.mirrors,
    )
    shapes = sizes.shapes(layers, losses)
    held = held_units(plan.schedule, plan.pp, batches, plan.interleave, plan.chunk_group)
    kept, stages = list[int](), list[StageFootprint]()
    for stage, (own, units) in enumerate(zip(layers.of_stage, held, strict=True)):
        shape = shapes[own]
        most = max([alive * shape.kept_bytes + late * shape.late_bytes for alive, late in units])
        kept.append(-(-most // plan.interleave))
        stages.append(StageFootprint(stage, shape, shape.activations_bytes(kept[-1])))
    if other := workload.beside(plan):
        others = footprint_with(*other, memo).stages
        stages = [one.beside(two) for one, two in zip(stages, others, strict=True)]
    return Footprint(
        stages=tuple(stages),
        host_bytes=sizes.tables.host_bytes,
        outside=sizes.outside([shapes[own] for own in layers.of_stage], kept),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """Sizes that the footprints of all stages are made of."""

    workload: Workload
    plan: ParallelPlan
    layers: NpuLayers
    kept: Mapping[LayerKind, LayerActivations]
    tables: TableMemory
    memo: Memo

    @classmethod
    def of(cls, workload: Workload, plan: ParallelPlan, memo: Memo) -> "_Sizes":
        layers = npu_layers(workload, plan, memo)

        def kept() -> Mapping[LayerKind, LayerActivations]:
            pairs = layers.blocks.items()
            return {kind: LayerActivations.of(kind, own, plan, layers.share) for kind, own in pairs}

        return cls(
            workload=workload,
            plan=plan,
            layers=layers,
            kept=memo.of("kept of layers", layers, kept),
            tables=workload.table_memory(plan),
            memo=memo,
        )

    def shapes(self, layers: PipelineLayers, losses: int) -> list[StageBytes]:
        """Shapes of the stages with these *layers*.

        *losses*: micro-batches whose logits are held.
        """
        found = self._states(layers)
        return [self._shape(*one, losses) for one in zip(layers.stages, found, strict=True)]

    def _states(self, layers: PipelineLayers) -> tuple[states.StageStates, ...]:
        """States of the stages, whatever micro-batches there are and what is repeated."""
        what = self.workload, self.plan, self.layers

        def found() -> tuple[states.StageStates, ...]:
            return tuple([states.StageStates.of(*what, one) for one in layers.stages])

        return self.memo.of("states", (layers, states.states_key(*what)), found)

    def _shape(self, layers: StageLayers, held: states.StageStates, losses: int) -> StageBytes:
        workload, plan = self.workload, self.plan
        kept = [self.kept[kind] for kind, _ in layers.of_kind]
        largest = max([layer.whole_bytes for layer in kept]) * plan.recompute_every
        parts = max([layer.parts_bytes for layer in kept])
        at_work = largest if plan.recompute == "full" or not workload.trains else parts
        logits_bytes = _head_bytes(self.layers.share.exit) if held.has_head else 0
        gone_bytes = logits_bytes if SCHEDULES[plan.schedule]().drops_losses else 0
        cache_bytes = workload.cache_bytes(plan, layers.kinds)
        is_here = plan.offload.cache == OWN
        return StageBytes(
            weights_bytes=held.weights_bytes + self.tables.weights_bytes,
            gradients_bytes=held.gradients_bytes,
            optimizer_bytes=held.main_bytes + held.moments_bytes + self.tables.state_bytes,
            main_bytes=held.main_bytes,
            kept_bytes=plain_sum([self._kept_bytes(chunk) for chunk in layers.chunks]),
            late_bytes=plain_sum([self.kept[kind].all_bytes * n for kind, n in layers.of_kind]),
            working_bytes=max(0, at_work - gone_bytes),
            logits_bytes=losses * logits_bytes,
            cache_bytes=cache_bytes,
            cached_here_bytes=cache_bytes if is_here else self._cached_here(layers.kinds),
            block_bytes=max([max(layer.block_bytes) for layer in kept]),
            buffer_bytes=self._buffer_bytes(kept),
            outside=held.outside,
        )

    def outside(
        self, shapes: Sequence[StageBytes], kept_bytes: Sequence[int]
    ) -> tuple[tuple[TierBytes, ...], ...]:
        """Bytes of one NPU of each stage in tiers of memory; *kept_bytes*: activations of each."""
        if not self.plan.offload.places:
            return ()
        pairs = zip(shapes, kept_bytes, strict=True)
        moving = [(*one.outside, *_moving(self.plan, kept, one.cache_bytes)) for one, kept in pairs]
        return tuple(moving)

    def _buffer_bytes(self, layers: Sequence[LayerActivations]) -> int | None:
        """Bytes of the layer at work, of the one before and of those ahead; None: all stay here."""
        plan = self.plan
        if plan.offload.activations == OWN:
            return None
        redone = plan.recompute == "full" and plan.recompute_layers is None
        sizes = [layer.input_bytes if redone else layer.whole_bytes for layer in layers]
        return (2 + plan.prefetch) * max(sizes)

    def _cached_here(self, kinds: Sequence[LayerKind]) -> int:
        """Bytes of the caches of the layer at work and of those ahead."""
        plan, workload = self.plan, self.workload
        batches = microbatches(workload, plan)
        largest = max(workload.cache_bytes(plan, (kind,)) for kind in set(kinds))
        return -(-largest // batches) * min(1 + plan.prefetch, len(kinds))

    def _kept_bytes(self, chunk: ChunkLayers) -> int:
        """Bytes of one micro-batch that all chunks like this one keep."""
        redone = self.plan.redone_layers(len(chunk.kinds))
        inputs, whole = chunk.parted(redone, self.plan.recompute_every)
        kept = plain_sum([self.kept[kind].input_bytes * n for kind, n in inputs])
        kept += plain_sum([self.kept[kind].whole_bytes * n for kind, n in whole])
        return kept * chunk.times


def _moving(plan: ParallelPlan, kept_bytes: int, cache_bytes: int) -> list[TierBytes]:
    """Activations and caches of one NPU that lie in tiers of memory."""
    held = {"activations": kept_bytes, "cache": cache_bytes}
    return [
        TierBytes(tier=tier, what=what, size_bytes=held[what])
        for what, tier in plan.offload.places.items()
        if what in held
    ]


def _head_bytes(share: NpuShare) -> int:
    """Inputs of the final norm and of the head, and the fp32 logits, of one micro-batch."""
    return 2 * share.thin_bytes + _LOGIT_BYTES * share.rows * share.vocabulary
