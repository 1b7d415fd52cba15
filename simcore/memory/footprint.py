"""Bytes that one NPU of each pipeline stage holds.

They are what the run itself asks for, tensor by tensor: the least that it can do with. What comes
on top while it runs is in ``simcore.memory.runtime``.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from simcore.machine import Platform
from simcore.memory import states
from simcore.memory.activations import LayerActivations
from simcore.memory.states import TierBytes
from simcore.terms import LayerKind
from simcore.workload.base import Workload, microbatches
from simcore.workload.npu_share import NpuShare
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.stage_parameters import LayerParameters, StageParameters
from simcore.workload.rules import check_splits
from simcore.workload.schedules import SCHEDULES
from simcore.workload.spans import chunk_spans, stage_spans

_LOGIT_BYTES = 4


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
        per_npu = [sum(size / min(copies, sharers) for size, copies in held) for held in of_stage]
        return sharers * (sum(per_npu) / len(per_npu) if sharers == npus else max(per_npu))

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
    check_splits(workload, plan)
    schedule, batches = SCHEDULES[plan.schedule](), microbatches(workload, plan)
    kinds, spans = workload.model.layer_kinds, chunk_spans(workload, plan)
    sizes = _Sizes.of(workload, plan)
    known: dict[tuple[object, ...], _Shape] = {}
    stages, outside = [], []
    for stage in range(plan.pp):
        chunks = tuple(kinds[span.start : span.stop] for span in stage_spans(spans, plan, stage))
        key = (stage == 0, stage == plan.pp - 1, chunks)
        if key not in known:
            known[key] = sizes.shape(stage, chunks, schedule.alive_losses(batches))
        shape, chunks_group = known[key], (plan.interleave, plan.chunk_group)
        held = schedule.held_units(stage, plan.pp, batches, *chunks_group)
        most = max(alive * shape.kept_bytes + late * shape.late_bytes for alive, late in held)
        kept = -(-most // plan.interleave)
        here = kept if shape.buffer_bytes is None else min(kept, shape.buffer_bytes)
        outside.append((*shape.outside, *_moving(plan, kept, shape.cache_bytes)))
        stages.append(
            StageFootprint(
                stage=stage,
                weights_bytes=shape.weights_bytes,
                gradients_bytes=shape.gradients_bytes,
                optimizer_bytes=shape.optimizer_bytes,
                main_bytes=shape.main_bytes,
                activations_bytes=here + shape.working_bytes,
                logits_bytes=shape.logits_bytes,
                cache_bytes=shape.cached_here_bytes,
                block_bytes=shape.block_bytes,
                kept_bytes=shape.kept_bytes,
                late_bytes=shape.late_bytes,
            )
        )
    if other := workload.beside(plan):
        others = footprint(*other).stages
        stages = [one.beside(two) for one, two in zip(stages, others, strict=True)]
    host_bytes = workload.table_memory(plan).host_bytes
    return Footprint(stages=tuple(stages), host_bytes=host_bytes, outside=tuple(outside))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """Sizes that the footprints of all stages are made of."""

    workload: Workload
    plan: ParallelPlan
    share: NpuShare
    layers: LayerParameters
    kept: Mapping[LayerKind, LayerActivations]

    @classmethod
    def of(cls, workload: Workload, plan: ParallelPlan) -> "_Sizes":
        share = workload.share(plan)
        layers = LayerParameters.of(workload.model, plan, share)
        kept = {kind: LayerActivations.of(kind, plan, share) for kind in layers.of_kind}
        return cls(workload=workload, plan=plan, share=share, layers=layers, kept=kept)

    def shape(self, stage: int, chunks: Sequence[Sequence[LayerKind]], losses: int) -> _Shape:
        """Shape of all stages like *stage*; *losses*: micro-batches whose logits are held."""
        workload, plan, share = self.workload, self.plan, self.share
        kinds = [kind for chunk in chunks for kind in chunk]
        held = self.layers.total(kinds)
        counts = StageParameters.of(workload.model, plan, share, stage=stage, layers=held)
        whole = states.GatheredParameters.of(kinds, self.layers, counts, plan)
        of_kind = Counter(kinds)
        kept = [self.kept[kind] for kind in of_kind]
        largest = max([layer.whole_bytes for layer in kept]) * plan.recompute_every
        parts = max([layer.parts_bytes for layer in kept])
        tables = workload.table_memory(plan)
        weights_bytes = ceil(states.weights_bytes(workload, plan, counts, whole))
        main_bytes, moment_bytes = states.optimizer_bytes(workload, plan, counts)
        return _Shape(
            weights_bytes=weights_bytes + tables.weights_bytes,
            gradients_bytes=workload.gradient_bytes * states.gradients(plan, counts, whole),
            optimizer_bytes=main_bytes + moment_bytes + tables.state_bytes,
            main_bytes=main_bytes,
            kept_bytes=sum(self._kept_bytes(chunk) for chunk in chunks),
            late_bytes=sum([self.kept[kind].all_bytes * n for kind, n in of_kind.items()]),
            working_bytes=largest if plan.recompute == "full" or not workload.trains else parts,
            logits_bytes=losses * _head_bytes(share.exit) if counts.has_head else 0,
            cache_bytes=workload.cache_bytes(plan, kinds),
            buffer_bytes=self._buffer_bytes(kept),
            cached_here_bytes=self._cached_here(kinds),
            outside=states.outside(workload, plan, counts),
            block_bytes=max([max(layer.block_bytes) for layer in kept]),
        )

    def _buffer_bytes(self, layers: Sequence[LayerActivations]) -> int | None:
        """Bytes of the layer at work, of the one before and of those ahead; None: all stay here."""
        plan = self.plan
        if plan.offload.activations == OWN:
            return None
        redone = plan.recompute == "full" and plan.recompute_layers is None
        sizes = [layer.input_bytes if redone else layer.whole_bytes for layer in layers]
        return (2 + plan.prefetch) * max(sizes)

    def _cached_here(self, kinds: Sequence[LayerKind]) -> int:
        """Bytes of the caches of the layer at work and of those ahead; all without a tier."""
        plan, workload = self.plan, self.workload
        if plan.offload.cache == OWN:
            return workload.cache_bytes(plan, kinds)
        batches = microbatches(workload, plan)
        largest = max(workload.cache_bytes(plan, (kind,)) for kind in set(kinds))
        return -(-largest // batches) * min(1 + plan.prefetch, len(kinds))

    def _kept_bytes(self, chunk: Sequence[LayerKind]) -> int:
        """Bytes of one micro-batch that a chunk keeps."""
        redone = self.plan.redone_layers(len(chunk))
        inputs = chunk[: redone : self.plan.recompute_every]
        whole = Counter(chunk[redone:])
        kept = sum(self.kept[kind].input_bytes for kind in inputs)
        return kept + sum(self.kept[kind].whole_bytes * n for kind, n in whole.items())


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
