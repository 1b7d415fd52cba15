"""Transfer of the cache from the NPUs that read prompts to those that answer."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product, starmap
from typing import NamedTuple, Self

import numpy as np

from simcore.engines.classes.run import NodeTimes
from simcore.engines.limits.counted_time import MAX_NS, dimension_fields, too_long
from simcore.errors import InfeasibleError
from simcore.kernels.collectives.phase_machine import message_ns
from simcore.machine import Dimension, Platform
from simcore.serving.service import Service
from simcore.terms import NodeKind
from simcore.workload import ParallelPlan
from simcore.workload.graph import TrainingGraph
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
    """

    reads: ParallelPlan
    answers: ParallelPlan
    prompts: int
    layer_bytes: tuple[int, ...]
    layers: tuple[range, ...]
    stage_of: tuple[int, ...]
    groups: int

    @classmethod
    def of(cls, service: Service) -> Self:
        """The way of the cache of a batch of *service*."""
        model, workload = service.model, service.prefill_run.workload
        one, whole = workload.model_copy(update={"global_batch": 1}), ParallelPlan()
        known = {kind: one.cache_bytes(whole, [kind]) for kind in set(model.layer_kinds)}
        reads, answers = service.prefill.plan, service.decode.plan
        there = chunk_spans(workload, answers)
        return cls(
            reads=reads,
            answers=answers,
            prompts=service.prefill.batch // reads.dp,
            layer_bytes=tuple(known[kind] for kind in model.layer_kinds),
            layers=chunk_spans(workload, reads),
            stage_of=tuple(stage for stage, span in enumerate(there) for _ in span),
            groups=1 if model.latent else model.key_value_heads,
        )

    @property
    def request_bytes(self) -> int:
        """The whole cache of one prompt."""
        return sum(self.layer_bytes)

    @property
    def count(self) -> int:
        """Number of pieces."""
        routes = len(head_routes(self.groups, self.reads.tp, self.answers.tp))
        return self.reads.dp * self.prompts * len(self.layer_bytes) * routes

    def pieces(self, seat: NpuSeat) -> Iterator[CachePiece]:
        """Pieces from one NPU that reads prompts, by micro-batch, layer and prompt."""
        every = head_routes(self.groups, self.reads.tp, self.answers.tp)
        routes = [route for route in every if route.source == seat.tensor]
        each, source = self.reads.micro_batch, seat.npu(self.reads)
        npus = {to: self.reads.npus + to.npu(self.answers) for to in seats(self.answers)}
        for microbatch in range(self.prompts // each):
            first = seat.replica * self.prompts + microbatch * each
            for layer in self.layers[seat.stage]:
                head_bytes, stage = self.layer_bytes[layer] // self.groups, self.stage_of[layer]
                for prompt in range(first, first + each):
                    for _, tensor, heads in routes:
                        yield CachePiece(
                            source=source,
                            target=npus[NpuSeat(stage, tensor, prompt % self.answers.dp)],
                            microbatch=microbatch,
                            prompt=prompt,
                            layer=layer,
                            size_bytes=heads * head_bytes,
                        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The cache of one batch of prompts on its way.

    Attributes:
        arrival_ns: When the last piece is there, from the start of the reading.
        busiest_ns: How long the NPU that hands over or gets most is busy with it.
    """

    arrival_ns: int
    busiest_ns: int


def transfer(
    routes: CacheRoutes, made: Mapping[tuple[int, int], int], platform: Platform
) -> Transfer:
    """Send every piece as soon as it is made and those made before it are sent.

    Args:
        routes: Which pieces there are.
        made: In ns, when those of each micro-batch and layer are made; see ``made_ns``.
        platform: The machine of both pools.

    Raises:
        InfeasibleError: A piece is on its way for longer than can be counted.
    """
    links = _Links(platform.dimensions)
    arrival, sent, received = 0, 0, defaultdict[int, int](int)
    for seat in seats(routes.reads):
        free = busy = 0
        pieces = routes.pieces(seat)
        for piece in sorted(pieces, key=lambda piece: made[piece.microbatch, piece.layer]):
            took = links.message_ns(piece)
            free = max(free, made[piece.microbatch, piece.layer]) + took
            busy += took
            received[piece.target] += took
        arrival, sent = max(arrival, free), max(sent, busy)
    return Transfer(arrival_ns=arrival, busiest_ns=max(sent, *received.values()))


def made_ns(reading: NodeTimes) -> dict[tuple[int, int], int]:
    """End of the attention of each micro-batch and layer, which makes keys and values."""
    found: dict[tuple[int, int], int] = {}
    ends, first = reading.execution.end_ns.tolist(), 0
    for stage in reading.graph.stages:
        nodes = attention_nodes(reading.graph, stage.stage)
        found |= {at: ends[first + node] for at, node in nodes.items()}
        first += stage.nodes
    return found


def attention_nodes(graph: TrainingGraph, stage: int) -> dict[tuple[int, int], int]:
    """Position of the compute node of a *stage* that ends the attention, by micro-batch, layer."""
    kinds = [{kernel.kind for kernel in operator.kernels} for operator in graph.operators]
    has_core = np.array(["attention" in each for each in kinds])
    nodes = graph.stages[stage]
    computes = np.flatnonzero(nodes.kind == NodeKind.COMPUTE)
    chosen = computes[has_core[nodes.item[computes]]]
    places = zip(nodes.microbatch[chosen].tolist(), nodes.layer[chosen].tolist(), strict=True)
    return dict(zip(places, chosen.tolist(), strict=True))


class _Links:
    """Times of messages between NPUs of a machine.

    A message is charged for the outermost dimension in which the two NPUs differ.
    """

    def __init__(self, dimensions: Sequence[Dimension]) -> None:
        self._dimensions = dimensions
        self._known: dict[tuple[int, int, int], int] = {}

    def message_ns(self, piece: CachePiece) -> int:
        """Time of *piece* on its way on an idle link."""
        key = piece.source, piece.target, piece.size_bytes
        if key not in self._known:
            self._known[key] = self._time_ns(*key)
        return self._known[key]

    def _time_ns(self, source: int, target: int, size_bytes: int) -> int:
        found = 0
        for number, dimension in enumerate(self._dimensions):
            at, to = source % dimension.npus, target % dimension.npus
            if at != to:
                hops = dimension.shape.hops(dimension.npus, at, to)
                link = dimension.link_bandwidth_bytes_per_s / 1e9
                time_ns = message_ns(hops, dimension.latency_s * 1e9, size_bytes, link)
                if time_ns >= MAX_NS:
                    raise _too_slow(dimension, number, time_ns * 1e-9)
                found = int(time_ns)
            source //= dimension.npus
            target //= dimension.npus
        return found


def _too_slow(dimension: Dimension, number: int, time_s: float) -> InfeasibleError:
    latency, bandwidth = dimension_fields(dimension, f"platform.dimensions[{number}]")
    is_late = dimension.latency_s * dimension.npus > time_s / 2
    field = latency if is_late else bandwidth
    return too_long(field, "a piece of the cache takes at least", time_s)
