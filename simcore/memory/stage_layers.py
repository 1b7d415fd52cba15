"""Layers of the stages of a pipeline as footprints count them: alike ones once, by their kinds."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import cast

from simcore.memo import Key, key_of_one
from simcore.terms import LayerKind
from simcore.workload.schedules import SCHEDULES
from simcore.workload.spans import layer_spans, spans_of_stage

Kinds = tuple[LayerKind, ...]

Counts = tuple[tuple[LayerKind, int], ...]
"""Kinds of layers, each once, and how often it is there."""


@dataclass(frozen=True, slots=True, eq=False)
class ChunkLayers:
    """Neighbouring layers of a stage.

    Attributes:
        kinds: Of each.
        times: Chunks of the stage with these kinds.
    """

    kinds: Kinds
    times: int
    _parted: dict[tuple[int, int], tuple[Counts, Counts]] = field(default_factory=dict)

    def parted(self, redone: int, every: int) -> tuple[Counts, Counts]:
        """Layers whose inputs alone are kept, and those of which all is.

        Args:
            redone: So many layers, from the first on, are repeated in the backward pass.
            every: The input of every so many of these is kept.
        """
        found = self._parted.get((redone, every))
        if found is None:
            found = _counted(self.kinds[:redone:every]), _counted(self.kinds[redone:])
            self._parted[redone, every] = found
        return found


@dataclass(frozen=True, slots=True, eq=False)
class StageLayers:
    """Layers of stages that are alike.

    Attributes:
        stage: The first of them.
        chunks: Those that differ.
        kinds: Of all layers.
        of_kind: The same, counted.
    """

    stage: int
    chunks: tuple[ChunkLayers, ...]
    kinds: Kinds
    of_kind: Counts
    _windows: dict[int, tuple[Counts, ...]] = field(default_factory=dict)

    def neighbours(self, together: int) -> tuple[Counts, ...]:
        """The ways in which *together* layers follow each other, fewer where there are no more."""
        found = self._windows.get(together)
        if found is None:
            size = min(together, len(self.kinds))
            starts = range(len(self.kinds) - size + 1)
            windows = dict.fromkeys([self.kinds[at : at + size] for at in starts])
            found = self._windows[together] = tuple([_counted(one) for one in windows])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PipelineLayers:
    """Layers of all stages.

    Attributes:
        stages: Those that differ in their layers or are at an end.
        of_stage: Number of each stage among these.
    """

    stages: tuple[StageLayers, ...]
    of_stage: tuple[int, ...]


def pipeline_layers(
    kinds: Kinds, pp: int, interleave: int, chunk_layers: tuple[int, ...], *, mirrors: bool
) -> PipelineLayers:
    """Layers of *pp* stages.

    Args:
        kinds: Of all layers of the model.
        pp: Stages.
        interleave: Chunks of each.
        chunk_layers: Layers of each chunk; empty: as equal as possible.
        mirrors: The second chunks of the stages lie in reverse order.
    """
    return _pipeline_layers(key_of_one(kinds), pp, interleave, chunk_layers, mirrors)


@lru_cache(maxsize=1024)
def _pipeline_layers(
    key: Key, pp: int, interleave: int, chunk_layers: tuple[int, ...], mirrors: bool
) -> PipelineLayers:
    kinds = cast(Kinds, key.parts[0])
    spans = layer_spans(len(kinds), pp * interleave, chunk_layers)
    numbers: dict[tuple[bool, bool, tuple[Kinds, ...]], int] = {}
    firsts, of_stage = list[int](), list[int]()
    for stage in range(pp):
        own = spans_of_stage(spans, stage, pp, mirrors=mirrors)
        chunks = tuple([kinds[span.start : span.stop] for span in own])
        number = numbers.setdefault((stage == 0, stage == pp - 1, chunks), len(numbers))
        if number == len(firsts):
            firsts.append(stage)
        of_stage.append(number)
    found = []
    for first, (_, _, chunks) in zip(firsts, numbers, strict=True):
        flat = tuple([kind for chunk in chunks for kind in chunk])
        each = tuple([ChunkLayers(*one) for one in Counter(chunks).items()])
        found.append(StageLayers(first, each, flat, _counted(flat)))
    return PipelineLayers(tuple(found), tuple(of_stage))


def _counted(kinds: Iterable[LayerKind]) -> Counts:
    return tuple(Counter(kinds).items())


@lru_cache(maxsize=1024)
def held_units(
    schedule: str, pp: int, batches: int, interleave: int, group: int
) -> tuple[Sequence[tuple[int, int]], ...]:
    """``PipelineSchedule.held_units`` of each stage."""
    units = SCHEDULES[schedule]().held_units
    return tuple([units(stage, pp, batches, interleave, group) for stage in range(pp)])
