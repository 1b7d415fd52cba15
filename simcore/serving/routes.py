"""Pieces of the cache, and their ways from the NPUs that read prompts to those that answer."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product, starmap
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from simcore.serving.service import Service
from simcore.workload import ParallelPlan
from simcore.workload.spans import chunk_spans


class CachePiece(NamedTuple):
    """A part of the cache on its way.

    Attributes:
        source, target: NPU ids of the whole machine.
        microbatch: Of the pool that reads prompts.
        prompt: Number of the prompt in the batch.
        layer: Of the model.
        size_bytes: Its size.
    """

    source: int
    target: int
    microbatch: int
    prompt: int
    layer: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SentPieces:
    """Parts of the cache that one NPU sends, as columns of int64; see ``CachePiece``."""

    source: int
    target: NDArray[np.int64]
    microbatch: NDArray[np.int64]
    prompt: NDArray[np.int64]
    layer: NDArray[np.int64]
    size_bytes: NDArray[np.int64]

    def each(self) -> Iterator[CachePiece]:
        """One after the other."""
        columns = self.target, self.microbatch, self.prompt, self.layer, self.size_bytes
        for values in zip(*(column.tolist() for column in columns), strict=True):
            yield CachePiece(self.source, *values)


class NpuSeat(NamedTuple):
    """The place of an NPU of a pool along pp, tp and dp."""

    stage: int
    tensor: int
    replica: int

    def npu(self, plan: ParallelPlan) -> int:
        """Its id among the NPUs of *plan*."""
        strides = plan.strides
        own = self.stage * strides["pp"] + self.tensor * strides["tp"]
        return own + self.replica * strides["dp"]


def seats(plan: ParallelPlan) -> Iterator[NpuSeat]:
    """Seats of all NPUs of *plan*."""
    return starmap(NpuSeat, product(range(plan.pp), range(plan.tp), range(plan.dp)))


class HeadRoute(NamedTuple):
    """Members of two tensor parallel groups, and how many groups of heads go between them."""

    source: int
    target: int
    heads: int


def head_routes(heads: int, sources: int, targets: int) -> list[HeadRoute]:
    """Routes of *heads* key and value heads from *sources* NPUs to *targets* NPUs.

    Where there are fewer heads than NPUs, several hold the same one, and share the sending of it.
    """
    moved: Counter[tuple[int, int]] = Counter()
    copies, readers = max(1, sources // heads), max(1, targets // heads)
    for target in range(targets):
        for head in _held(heads, targets, target):
            holders = [s for s in range(sources) if head in _held(heads, sources, s)]
            moved[holders[target % readers * copies // readers % copies], target] += 1
    return [HeadRoute(*pair, count) for pair, count in sorted(moved.items())]


def _held(heads: int, npus: int, member: int) -> range:
    """Heads on a *member* of *npus* NPUs."""
    each = max(1, heads // npus)
    first = member * heads // npus
    return range(first, first + each)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheRoutes:
    """The way of the cache of one batch of prompts.

    Prompts are dealt out to the replicas that answer, one after the other. Latents are whole on
    every NPU of a tensor parallel group.

    Attributes:
        reads, answers: Plans of both pools.
        prompts: Of each replica that reads.
        layer_bytes: Of one prompt in each layer: 2 w n h g / a, or the latents.
        layers: Layers of each stage that reads.
        stage_of: The stage that answers, of each layer.
        groups: Parts of the cache of a layer that lie on different NPUs.
        heads: Ways of these parts between members of tensor parallel groups.
    """

    reads: ParallelPlan
    answers: ParallelPlan
    prompts: int
    layer_bytes: tuple[int, ...]
    layers: tuple[range, ...]
    stage_of: tuple[int, ...]
    groups: int
    heads: tuple[HeadRoute, ...]

    @classmethod
    def of(cls, service: Service) -> Self:
        """The way of the cache of a batch of *service*."""
        model, workload = service.model, service.prefill_run.workload
        one, whole = workload.model_copy(update={"global_batch": 1}), ParallelPlan()
        known = {kind: one.cache_bytes(whole, [kind]) for kind in set(model.layer_kinds)}
        reads, answers = service.prefill.plan, service.decode.plan
        there = chunk_spans(workload, answers)
        groups = 1 if model.latent else model.key_value_heads
        return cls(
            reads=reads,
            answers=answers,
            prompts=service.prefill.batch // reads.dp,
            layer_bytes=tuple(known[kind] for kind in model.layer_kinds),
            layers=chunk_spans(workload, reads),
            stage_of=tuple(stage for stage, span in enumerate(there) for _ in span),
            groups=groups,
            heads=tuple(head_routes(groups, reads.tp, answers.tp)),
        )

    @property
    def request_bytes(self) -> int:
        """The whole cache of one prompt."""
        return sum(self.layer_bytes)

    @property
    def count(self) -> int:
        """Number of pieces."""
        return self.reads.dp * self.prompts * len(self.layer_bytes) * len(self.heads)

    def sent(self, seat: NpuSeat) -> SentPieces:
        """Pieces from one NPU that reads prompts, by micro-batch, layer, prompt and way."""
        routes = [route for route in self.heads if route.source == seat.tensor]
        layers = np.array(self.layers[seat.stage], np.int64)
        prompts = np.arange(self.prompts, dtype=np.int64) + seat.replica * self.prompts
        batches = prompts.reshape(-1, 1, self.reads.micro_batch, 1)
        shape = (batches.shape[0], len(layers), self.reads.micro_batch, len(routes))
        tensor = np.array([route.target for route in routes], np.int64)
        by_layer = (1, -1, 1, 1)
        strides = self.answers.strides
        stage = np.array(self.stage_of, np.int64)[layers].reshape(by_layer)
        target = stage * strides["pp"] + tensor * strides["tp"]
        target = target + batches % self.answers.dp * strides["dp"] + self.reads.npus
        head_bytes = np.array(self.layer_bytes, np.int64)[layers].reshape(by_layer) // self.groups
        columns = {
            "target": target,
            "microbatch": np.arange(shape[0], dtype=np.int64).reshape(-1, 1, 1, 1),
            "prompt": batches,
            "layer": layers.reshape(by_layer),
            "size_bytes": head_bytes * np.array([route.heads for route in routes], np.int64),
        }
        whole = {name: np.broadcast_to(one, shape).reshape(-1) for name, one in columns.items()}
        return SentPieces(source=seat.npu(self.reads), **whole)
