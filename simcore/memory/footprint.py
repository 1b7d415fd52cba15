"""Bytes that one NPU of each pipeline stage holds.

They are what the run itself asks for, tensor by tensor: the least that it can do with. What comes
on top while it runs is in ``simcore.memory.runtime``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from typing import NamedTuple, TypeVar

from simcore.machine import Platform
from simcore.memo import Memo
from simcore.memory import states
from simcore.memory.activations import LayerActivations
from simcore.memory.states import TierBytes
from simcore.terms import LayerKind
from simcore.units import plain_sum
from simcore.workload.base import TableMemory, Workload, microbatches
from simcore.workload.npu_share import NpuShare
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.stage_parameters import LayerParameters, StageParameters
from simcore.workload.program.units.writers import layer_key
from simcore.workload.rules import checked_share
from simcore.workload.schedules import SCHEDULES
from simcore.workload.spans import layer_spans, spans_of_stage

_LOGIT_BYTES = 4

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFootprint:
    """Bytes on one NPU of one stage, at the moment when most micro-batches are alive.

    Attributes:
        weights_bytes: Weights in the format that the layers read.
        gradients_bytes: The sums of the gradients.
        optimizer_bytes: Main copies of the weights and moments, two with Adam.
        main_bytes: Of these, the fp32 main copies (none where weights are fp32).
        activations_bytes: What the layers keep for the backward pass.
        logits_bytes: Logits and the inputs of the final norm and the head, last stage.
        cache_bytes: Keys and values of earlier tokens, in inference.
        block_bytes: Of the activations, the most that one block of a layer keeps of a micro-batch.
        kept_bytes: Of the activations, what all chunks of the stage keep of one micro-batch.
        late_bytes: Likewise once its backward pass has left nothing but the weight gradients.
    """

    stage: int
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    logits_bytes: int
    main_bytes: int = 0
    cache_bytes: int = 0
    block_bytes: int = 0
    kept_bytes: int = 0
    late_bytes: int = 0

    def beside(self, other: "StageFootprint") -> "StageFootprint":
        """Sum with what *other* keeps on the NPU; of what both need while they work, the larger.

        Raises:
            AssertionError: The other one trains.
        """
        if other.gradients_bytes or other.optimizer_bytes:
            raise AssertionError("what lies beside a workload does not train")
        return replace(
            self,
            weights_bytes=self.weights_bytes + other.weights_bytes,
            cache_bytes=self.cache_bytes + other.cache_bytes,
            activations_bytes=max(self.activations_bytes, other.activations_bytes),
            logits_bytes=max(self.logits_bytes, other.logits_bytes),
        )

    @property
    def total_bytes(self) -> int:
        model_bytes = self.weights_bytes + self.gradients_bytes + self.optimizer_bytes
        return model_bytes + self.activations_bytes + self.logits_bytes + self.cache_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
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

    @property
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
    layers, of_stage = _stages(
        workload.model.layer_kinds, plan.pp, plan.interleave, plan.chunk_layers, plan.mirrors
    )
    shapes = [sizes.shape(of_stage.index(own), one, losses) for own, one in enumerate(layers)]
    held = _held(plan.schedule, plan.pp, batches, plan.interleave, plan.chunk_group)
    kept, stages = list[int](), list[StageFootprint]()
    for stage, (own, units) in enumerate(zip(of_stage, held, strict=True)):
        shape = shapes[own]
        most = max([alive * shape.kept_bytes + late * shape.late_bytes for alive, late in units])
        kept.append(-(-most // plan.interleave))
        stages.append(shape.of_stage(stage, kept[-1]))
    if other := workload.beside(plan):
        others = footprint_with(*other, memo).stages
        stages = [one.beside(two) for one, two in zip(stages, others, strict=True)]
    return Footprint(
        stages=tuple(stages),
        host_bytes=sizes.tables.host_bytes,
        outside=sizes.outside([shapes[own] for own in of_stage], kept),
    )


_Kinds = tuple[LayerKind, ...]


class _StageLayers(NamedTuple):
    """Layers of a stage: of each chunk, and of all, and how many there are of each kind."""

    chunks: tuple[_Kinds, ...]
    kinds: _Kinds
    of_kind: tuple[tuple[LayerKind, int], ...]


@lru_cache(maxsize=1024)
def _counted(things: tuple[T, ...]) -> tuple[tuple[T, int], ...]:
    """Each of the *things* once, and how often it is there."""
    return tuple(Counter(things).items())


@lru_cache(maxsize=1024)
def _stages(
    kinds: _Kinds, pp: int, interleave: int, chunk_layers: tuple[int, ...], mirrors: bool
) -> tuple[tuple[_StageLayers, ...], tuple[int, ...]]:
    """Layers of stages that differ in them or are at an end, and which of these each stage has."""
    spans = layer_spans(len(kinds), pp * interleave, chunk_layers)
    numbers: dict[tuple[bool, bool, tuple[_Kinds, ...]], int] = {}
    of_stage = []
    for stage in range(pp):
        own = spans_of_stage(spans, stage, pp, mirrors=mirrors)
        chunks = tuple([kinds[span.start : span.stop] for span in own])
        key = stage == 0, stage == pp - 1, chunks
        of_stage.append(numbers.setdefault(key, len(numbers)))
    found = []
    for _, _, chunks in numbers:
        flat = tuple([kind for chunk in chunks for kind in chunk])
        found.append(_StageLayers(chunks, flat, _counted(flat)))
    return tuple(found), tuple(of_stage)


@lru_cache(maxsize=1024)
def _held(
    schedule: str, pp: int, batches: int, interleave: int, group: int
) -> tuple[Sequence[tuple[int, int]], ...]:
    """``held_units`` of each stage."""
    units = SCHEDULES[schedule]().held_units
    return tuple([units(stage, pp, batches, interleave, group) for stage in range(pp)])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """Bytes on one NPU of each stage with the same layers and ends.

    Attributes:
        kept_bytes: Of the activations of one micro-batch in all chunks.
        late_bytes: Likewise with what is repeated in the backward pass.
        working_bytes: Of the layers that are computed again; without training, of the one at work.
        block_bytes: Of the block that keeps most of one micro-batch.
        buffer_bytes: Activations in the NPU at most, where others are in a tier of memory; None:
            all are here.
        cache_bytes: Of the cache, wherever it is.
        cached_here_bytes: Of the cache, what is in the NPU.
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
    block_bytes: int
    buffer_bytes: int | None
    cached_here_bytes: int
    outside: tuple[TierBytes, ...]

    def of_stage(self, stage: int, alive_bytes: int) -> StageFootprint:
        """Footprint of *stage*, where activations of *alive_bytes* are kept at most."""
        if self.buffer_bytes is not None:
            alive_bytes = min(alive_bytes, self.buffer_bytes)
        return StageFootprint(
            stage=stage,
            weights_bytes=self.weights_bytes,
            gradients_bytes=self.gradients_bytes,
            optimizer_bytes=self.optimizer_bytes,
            main_bytes=self.main_bytes,
            activations_bytes=alive_bytes + self.working_bytes,
            logits_bytes=self.logits_bytes,
            cache_bytes=self.cached_here_bytes,
            block_bytes=self.block_bytes,
            kept_bytes=self.kept_bytes,
            late_bytes=self.late_bytes,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """Sizes that the footprints of all stages are made of."""

    workload: Workload
    plan: ParallelPlan
    share: NpuShare
    layers: LayerParameters
    kept: Mapping[LayerKind, LayerActivations]
    tables: TableMemory

    @classmethod
    def of(cls, workload: Workload, plan: ParallelPlan, memo: Memo) -> "_Sizes":
        share = checked_share(workload, plan, memo)

        def layers() -> tuple[LayerParameters, Mapping[LayerKind, LayerActivations]]:
            parameters = LayerParameters.of(workload.model, plan, share)
            kinds = parameters.of_kind
            return parameters, {kind: LayerActivations.of(kind, plan, share) for kind in kinds}

        parameters, kept = memo.of("layers", layer_key(workload, plan, share), layers)
        return cls(
            workload=workload,
            plan=plan,
            share=share,
            layers=parameters,
            kept=kept,
            tables=workload.table_memory(plan),
        )

    def shape(self, stage: int, layers: _StageLayers, losses: int) -> _Shape:
        """Shape of all stages like *stage*, which has these *layers*.

        *losses*: micro-batches whose logits are held.
        """
        workload, plan, share = self.workload, self.plan, self.share
        chunks, kinds, of_kind = layers
        held = self.layers.of_counts(of_kind)
        counts = StageParameters.of(workload.model, plan, share, stage=stage, layers=held)
        whole = states.GatheredParameters.of(kinds, self.layers, counts, plan)
        kept = [self.kept[kind] for kind, _ in of_kind]
        largest = max([layer.whole_bytes for layer in kept]) * plan.recompute_every
        parts = max([layer.parts_bytes for layer in kept])
        weights_bytes = ceil(states.weights_bytes(workload, plan, counts, whole))
        main_bytes, moment_bytes = states.optimizer_bytes(workload, plan, counts)
        cache_bytes = workload.cache_bytes(plan, kinds)
        here_bytes = cache_bytes if plan.offload.cache == OWN else self._cached_here(kinds)
        return _Shape(
            weights_bytes=weights_bytes + self.tables.weights_bytes,
            gradients_bytes=workload.gradient_bytes * states.gradients(plan, counts, whole),
            optimizer_bytes=main_bytes + moment_bytes + self.tables.state_bytes,
            main_bytes=main_bytes,
            kept_bytes=plain_sum([self._kept_bytes(chunk) * n for chunk, n in _counted(chunks)]),
            late_bytes=plain_sum([self.kept[kind].all_bytes * n for kind, n in of_kind]),
            working_bytes=largest if plan.recompute == "full" or not workload.trains else parts,
            logits_bytes=losses * _head_bytes(share.exit) if counts.has_head else 0,
            cache_bytes=cache_bytes,
            block_bytes=max([max(layer.block_bytes) for layer in kept]),
            buffer_bytes=self._buffer_bytes(kept),
            cached_here_bytes=here_bytes,
            outside=states.outside(workload, plan, counts),
        )

    def outside(
        self, shapes: Sequence[_Shape], kept_bytes: Sequence[int]
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

    def _kept_bytes(self, chunk: _Kinds) -> int:
        """Bytes of one micro-batch that a chunk keeps."""
        redone = self.plan.redone_layers(len(chunk))
        inputs = _counted(chunk[: redone : self.plan.recompute_every])
        whole = _counted(chunk[redone:])
        kept = plain_sum([self.kept[kind].input_bytes * n for kind, n in inputs])
        return kept + plain_sum([self.kept[kind].whole_bytes * n for kind, n in whole])


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
