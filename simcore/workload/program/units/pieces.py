"""The pieces of a stage: one forward and one backward pass through a chunk of its layers."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import ClassVar

from simcore.terms import LayerKind
from simcore.workload.offload import OWN
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.gradients import Bucket
from simcore.workload.program.passes import Passes
from simcore.workload.program.piece import (
    CHAIN,
    LOSS,
    TURN,
    Piece,
    Section,
    SectionRun,
    join,
    nothing,
    piece_of,
    seen_from_end,
)
from simcore.workload.program.servers import Server
from simcore.workload.program.units.sections import SectionWriter, Write

_Gates = Callable[[Sequence[Section]], tuple[int, ...] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Neighbouring layers on one stage, and what comes before and after them.

    Attributes:
        layers: Their kinds, in order.
        is_first, is_last: The chunk begins or ends the model, or turns there; otherwise it has
            messages.
        turns: The chunk before or after it in the model is the other one of its stage.
        has_table, has_head: It looks tokens up; it computes logits and loss.
    """

    layers: tuple[LayerKind, ...]
    is_first: bool
    is_last: bool
    has_table: bool
    has_head: bool
    turns: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitWriter:
    """Writes units; equal pieces are written once.

    Attributes:
        sections: Writes what pieces are made of.
        plan: Says which layers are repeated.
    """

    sections: SectionWriter
    plan: ParallelPlan
    known: dict[Hashable, Piece] = field(default_factory=dict)

    size_bytes: ClassVar[int] = 2**14
    """Estimate of what a writer takes that many plans have used."""

    @property
    def passes(self) -> Passes:
        """Writer of passes through layers and ends."""
        return self.sections.passes

    def first(self, chunks: Sequence[Chunk]) -> Piece:
        """The first unit of a stage, which waits for nothing.

        Where the new weights of the iteration before are gathered beside it, those of the later
        *chunks* follow as soon as the network is free.
        """
        plan = self.plan
        if plan.updates.runs_beside and plan.gradient_replicas > 1:
            exchange = Server(means=self.passes.means, parameters=self._parameters(chunks))
            return join([exchange.beside(), self.forward(chunks[0], chain=())])
        if not plan.overlap_weights or plan.zero_stage not in (1, 2):
            return self.forward(chunks[0], chain=())
        unit = self._forward(chunks[0], (), lambda layers: ())
        later = [bucket for chunk in chunks[1:] for bucket in self._buckets(chunk)]
        gathering = piece_of([SectionRun(self.passes.gathering(later).placed(()))])
        return replace(join([unit, gathering]), exits=unit.exits)

    def forward(self, chunk: Chunk, *, chain: tuple[int, ...]) -> Piece:
        """A forward pass that follows *chain*: CHAIN, or nothing for a stage's first unit."""
        key = ("forward", chunk, chain)
        if key not in self.known:
            gate = self._gate(chain, gated=self._streams)
            self.known[key] = self._forward(chunk, chain, gate)
        return self.known[key]

    def backward(self, chunk: Chunk, forward: Piece) -> Piece:
        """The backward pass of what *forward* computed."""
        key = ("backward", chunk)
        if key not in self.known:
            self.known[key] = self._whole_backward(chunk, forward)
        return self.known[key]

    def _whole_backward(self, chunk: Chunk, forward: Piece) -> Piece:
        plan = self.plan
        redone = plan.redone_layers(len(chunk.layers))
        writers = [self.passes.redone_layer] * redone + [self.passes.backward_layer] * (
            len(chunk.layers) - redone
        )
        gate = self._gate((CHAIN,), gated=self._streams_back)
        runs = self._backward(chunk, forward, writers, gate)
        if chunk.has_table:
            runs.append(self._end(self.passes.embedding_backward, runs))
        return piece_of(self._sent(runs, chunk))

    def input_gradients(self, chunk: Chunk, forward: Piece) -> Piece:
        """The backward pass but for the weight gradients of the layers."""
        writers = [self.passes.layer_inputs] * len(chunk.layers)
        return piece_of(self._sent(self._backward(chunk, forward, writers, _no_gate), chunk))

    def weight_gradients(self, chunk: Chunk, entry: tuple[int, ...]) -> Piece:
        """The weight gradients of the layers, and the gradient of the token table."""
        writers = [self.passes.layer_weights] * len(chunk.layers)
        layers = self._layers(writers, chunk.layers[::-1], entry, _no_gate)
        runs = _runs(layers, range(len(layers))[::-1])
        if chunk.has_table:
            runs.append(self._end(self.passes.embedding_backward, runs))
        return piece_of(runs)

    def _backward(
        self, chunk: Chunk, forward: Piece, writers: Sequence[Write], gate: _Gates
    ) -> list[SectionRun]:
        """Receive, head, and the layers from the last to the first."""
        runs: list[SectionRun] = []
        entry: tuple[int, ...] = (CHAIN,)
        if not chunk.is_last:
            runs.append(SectionRun(self.sections.placed(self.passes.receive, entry=entry)))
        elif chunk.turns:
            entry = (CHAIN, TURN)
        elif forward.exits != (forward.last_compute,):
            entry = (CHAIN, LOSS)
        if chunk.has_head:
            runs.append(SectionRun(self.sections.placed(self.passes.head_backward, entry=entry)))
        if runs:
            entry = seen_from_end(runs[-1].section)
        layers = self._layers(writers[::-1], chunk.layers[::-1], entry, gate)
        return runs + _runs(layers, range(len(layers))[::-1])

    def _forward(self, chunk: Chunk, chain: tuple[int, ...], gate: _Gates) -> Piece:
        runs: list[SectionRun] = []
        entry = chain
        if chunk.turns and chunk.is_first:
            entry = (*chain, TURN)
        elif not chunk.is_first:
            runs.append(SectionRun(self.sections.placed(self.passes.receive, entry=chain)))
        elif chunk.has_table:
            lookup = self.passes.embedding_forward
            runs.append(SectionRun(self.sections.placed(lookup, entry=chain, gate=gate([]))))
        if runs:
            entry = seen_from_end(runs[-1].section)
        writers = self._forward_writers(len(chunk.layers))
        layers = self._layers(writers, chunk.layers, entry, gate)
        runs += _runs(layers, range(len(layers)))
        if chunk.has_head:
            runs.append(self._end(self.passes.head_forward, runs, gate(layers)))
        if not chunk.is_last:
            runs.append(self._end(self.passes.send, runs))
        return piece_of(runs)

    def _forward_writers(self, layers: int) -> Sequence[Write]:
        plan = self.plan
        redone = plan.redone_layers(layers) if plan.offload.activations != OWN else 0
        others = layers - redone
        return [self.passes.input_layer] * redone + [self.passes.forward_layer] * others

    def _layers(
        self,
        writers: Sequence[Write],
        kinds: Sequence[LayerKind],
        entry: tuple[int, ...],
        gates: _Gates,
    ) -> list[Section]:
        """A section per layer; once enough neighbours are equal, so are all further ones."""
        layers: list[Section] = []
        gated = self._streams or self._streams_back
        settled = self.plan.prefetch + 2 if gated else 1
        for (write, kind), group in groupby(zip(writers, kinds, strict=True)):
            count, equal = len(list(group)), 0
            for number in range(count):
                section = self.sections.placed(write, kind, entry=entry, gate=gates(layers))
                equal = equal + 1 if layers and section is layers[-1] else 0
                layers.append(section)
                entry = seen_from_end(section)
                if equal == settled:
                    layers += [section] * (count - number - 1)
                    break
        return layers

    def _end(
        self, write: Write, runs: Sequence[SectionRun], gate: tuple[int, ...] | None = None
    ) -> SectionRun:
        """A pass through an end of the model, after *runs*."""
        entry = seen_from_end(runs[-1].section)
        return SectionRun(self.sections.placed(write, entry=entry, gate=gate))

    def _sent(self, runs: list[SectionRun], chunk: Chunk) -> list[SectionRun]:
        """*runs* of a backward pass, and its message unless the chunk begins the model."""
        return runs if chunk.is_first else [*runs, self._end(self.passes.send, runs)]

    @property
    def _streams(self) -> bool:
        """Forward passes bring something in, or take it out."""
        plan = self.plan
        return plan.streams_weights or plan.offload.activations != OWN or plan.offload.cache != OWN

    @property
    def _streams_back(self) -> bool:
        """Backward passes bring something in."""
        plan = self.plan
        offload = plan.offload
        return plan.gathers_again or offload.weights != OWN or offload.activations != OWN

    def _gate(self, chain: tuple[int, ...], *, gated: bool) -> _Gates:
        """Gates of what is brought in, from the layers before in the unit.

        That is when the layer before the *prefetch* that are still ahead has ended, and what it
        keeps is out, and for the first ones after *chain*.
        """
        ahead = self.plan.prefetch

        def gate(layers: Sequence[Section]) -> tuple[int, ...]:
            if len(layers) <= ahead:
                return chain
            since = layers[-1 - ahead :]
            start = -sum([section.nodes for section in since])
            ends = (since[0].last_compute, since[0].stored)
            return tuple([end + start for end in ends if end != CHAIN])

        return gate if gated else _no_gate

    def _parameters(self, chunks: Sequence[Chunk]) -> int:
        """All that the stage holds."""
        held = sum(bucket.parameters for chunk in chunks for bucket in self._buckets(chunk))
        return held + sum(self.passes.table.parameters for chunk in chunks if chunk.has_table)

    def _buckets(self, chunk: Chunk) -> list[Bucket]:
        buckets = [bucket for kind in chunk.layers for bucket in self.passes.layers[kind].buckets]
        return [*buckets, self.passes.head] if chunk.has_head else buckets


def has_parts_of_its_own(plan: ParallelPlan) -> bool:
    """True if the first unit of a stage has sections that belong to one plan; see ``first``."""
    return plan.updates.runs_beside or (plan.overlap_weights and plan.zero_stage in (1, 2))


def _no_gate(_layers: Sequence[Section]) -> None:
    """Weights are there."""


def _runs(layers: Sequence[Section], order: range) -> list[SectionRun]:
    """The *layers*, neighbours that are equal as one run."""
    starts = [i for i, section in enumerate(layers) if i == 0 or section is not layers[i - 1]]
    ends = [*starts[1:], len(layers)]
    return [
        SectionRun(layers[start], order[start:end]) for start, end in zip(starts, ends, strict=True)
    ]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageUnits:
    """The units of a stage.

    Attributes:
        pieces: In the order of ``Templates``, without the tail.
        runs: (once, per_batch) of each piece: m micro-batches run it once + m x per_batch times.
        weights: Where backward passes are cut, the weight gradients of one micro-batch.
        late: Those that are computed after the last unit.
    """

    pieces: tuple[Piece, ...]
    runs: tuple[tuple[int, int], ...]
    weights: Piece | None = None
    late: tuple[Piece, ...] = ()


def whole_units(writer: UnitWriter, chunks: Sequence[Chunk]) -> StageUnits:
    """Units of a schedule whose backward passes are whole."""
    forward = [writer.forward(chunk, chain=(CHAIN,)) for chunk in chunks]
    backward = [writer.backward(chunk, piece) for chunk, piece in zip(chunks, forward, strict=True)]
    others = [(0, 1)] * (2 * len(chunks) - 1)
    return StageUnits(
        pieces=(writer.first(chunks), *forward, *backward), runs=((1, 0), (-1, 1), *others)
    )


def forward_units(writer: UnitWriter, chunks: Sequence[Chunk]) -> StageUnits:
    """Units of a schedule without backward passes, which are empty and never run."""
    forward = [writer.forward(chunk, chain=(CHAIN,)) for chunk in chunks]
    others = [(0, 1)] * (len(chunks) - 1) + [(0, 0)] * len(chunks)
    backward = [nothing()] * len(chunks)
    return StageUnits(
        pieces=(writer.first(chunks), *forward, *backward), runs=((1, 0), (-1, 1), *others)
    )


def separate_units(writer: UnitWriter, chunks: Sequence[Chunk], cut: Sequence[int]) -> StageUnits:
    """Units of a schedule whose weight gradients may be units of their own.

    *cut*: how many of each chunk's backward passes are without them.
    """
    whole, count = whole_units(writer, chunks), len(chunks)
    forward = whole.pieces[1 : 1 + count]
    inputs = [writer.input_gradients(*pair) for pair in zip(chunks, forward, strict=True)]
    weights = [writer.weight_gradients(chunk, (CHAIN,)) for chunk in chunks]
    of_cut = [(times, 0) for times in cut]
    return StageUnits(
        pieces=(*whole.pieces, *inputs, *weights),
        runs=(*whole.runs[: 1 + count], *[(-times, 1) for times in cut], *of_cut, *of_cut),
    )


def cut_units(writer: UnitWriter, chunk: Chunk, late: int, *, none_in_time: bool) -> StageUnits:
    """Units of a schedule that computes weight gradients apart, *late* of them after its last unit.

    A backward unit ends with the weight gradients of the earliest micro-batch that lacks them, but
    for the first *late* ones. *none_in_time*: all are late.
    """
    forward = writer.forward(chunk, chain=(CHAIN,))
    inputs = writer.input_gradients(chunk, forward)
    weights = writer.weight_gradients(chunk, (inputs.last_compute - inputs.nodes,))
    backward = join([inputs, weights])
    before, pieces = inputs if none_in_time else backward, list[Piece]()
    for _ in range(late):
        entry = seen_from_end(before) if pieces else (before.last_compute - before.nodes,)
        before = writer.weight_gradients(chunk, entry)
        pieces.append(before)
    return StageUnits(
        pieces=(writer.first([chunk]), forward, backward, inputs),
        runs=((1, 0), (-1, 1), (-late, 1), (late, 0)),
        weights=weights,
        late=tuple(pieces),
    )
