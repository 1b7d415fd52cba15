"""Expands layers into graph vertices, one function per parallelism keyword.

The first seven keywords give the graphs of Chakra's own converter; the others, which it lacks,
follow the loops of ASTRA-sim 1.0 (S. Rashidi et al., "ASTRA-SIM: Enabling SW/HW Co-Design
Exploration for Distributed DL Training Platforms", ISPASS 2020).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from simcore.errors import ConfigError
from simcore.formats.text_workload.groups import DATA, EVERYONE, MODEL, SUFFIXES
from simcore.formats.text_workload.layers import Layer, LayerPhase, TextWorkload
from simcore.registry import Registry
from simcore.terms import CollectiveKind

_COLLECTIVES = {
    "ALLREDUCE": CollectiveKind.ALL_REDUCE,
    "ALLGATHER": CollectiveKind.ALL_GATHER,
    "REDUCESCATTER": CollectiveKind.REDUCE_SCATTER,
    "ALLTOALL": CollectiveKind.ALL_TO_ALL,
}
NONE = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """A compute or collective vertex; its id is its place in the list.

    Attributes:
        name: Name for the trace.
        waits_for: Ids of earlier vertices.
        micros: Duration of a compute vertex.
        collective: Kind of a collective, else None.
        size_bytes: Its size.
        group: Kind of NPU group over which it runs.
    """

    name: str
    waits_for: tuple[int, ...]
    micros: int = 0
    collective: CollectiveKind | None = None
    size_bytes: int = 0
    group: str = EVERYONE


@dataclass(slots=True)
class Expansion:
    """The graph so far."""

    workload: TextWorkload
    passes: int
    vertices: list[Vertex] = field(default_factory=list)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return self.workload.layers

    @property
    def last(self) -> int:
        """Index of the last layer."""
        return len(self.layers) - 1

    def compute(self, layer: Layer, what: str, micros: int, *waits_for: int | None) -> int:
        """Adds a compute vertex; Nones among the dependencies are dropped."""
        return self._add(f"COMP_NODE_{layer.name}_{what}", waits_for, micros=micros)

    def collective(
        self, name: str, phase: LayerPhase, *waits_for: int | None, group: str = EVERYONE
    ) -> int:
        """Adds a collective vertex; an unknown word is an all-reduce, as in the converter."""
        word = phase.comm
        for suffix, special in SUFFIXES:
            if word.endswith(suffix):
                word, group = word.removesuffix(suffix), special
                break
        kind = _COLLECTIVES.get(word, CollectiveKind.ALL_REDUCE)
        return self._add(
            f"COMM_COLL_NODE_{name}{phase.comm}",
            waits_for,
            collective=kind,
            size_bytes=phase.size_bytes,
            group=group,
        )

    def optional(self, layer: Layer, phase: LayerPhase, waits_for: int, group: str) -> int | None:
        """Adds the phase's collective, unless there is none."""
        if phase.comm == NONE:
            return None
        return self.collective(f"{layer.name}_", phase, waits_for, group=group)

    def _add(
        self,
        name: str,
        waits_for: tuple[int | None, ...],
        *,
        micros: int = 0,
        collective: CollectiveKind | None = None,
        size_bytes: int = 0,
        group: str = EVERYONE,
    ) -> int:
        self.vertices.append(
            Vertex(
                name=name,
                waits_for=tuple(parent for parent in waits_for if parent is not None),
                micros=micros,
                collective=collective,
                size_bytes=size_bytes,
                group=group,
            )
        )
        return len(self.vertices) - 1

    def require_layers(self) -> None:
        """Refuses a workload without layers."""
        if not self.layers:
            raise ConfigError(str(self.workload.path), "must hold layers", got="none")

    def require_count(self) -> None:
        """Refuses a layer count that is not the number of layers."""
        self.require_layers()
        if self.workload.count != len(self.layers):
            rule = f"the layer count must be {len(self.layers)}, the number of layers"
            raise ConfigError(f"{self.workload.path} line 2", rule, got=self.workload.count)


def _micro(graph: Expansion) -> None:
    for _ in range(graph.passes):
        for layer in graph.layers:
            graph.collective(f"{layer.name}_", layer.weight_grad)


def _data(graph: Expansion) -> None:
    graph.require_layers()
    reduced: dict[int, int] = {}
    for _ in range(graph.passes):
        step = None
        for i, layer in enumerate(graph.layers):
            step = graph.compute(layer, "FWD", layer.forward.time, step, reduced.get(i))
        for i in range(graph.last, -1, -1):
            layer = graph.layers[i]
            step = graph.compute(layer, "BWD_WG", layer.weight_grad.time, step)
            reduced[i] = graph.collective(f"{layer.name}_", layer.weight_grad, step)
            if i > 0:
                step = graph.compute(layer, "BWD_IG", layer.input_grad.time, step)


def _model(graph: Expansion) -> None:
    graph.require_count()
    weights: dict[int, int] = {}
    for _ in range(graph.passes):
        done = None
        for i, layer in enumerate(graph.layers):
            step = graph.compute(layer, "FWD", layer.forward.time, done, weights.get(i))
            done = graph.collective(f"{layer.name}_", layer.forward, step)
        before: tuple[int | None, ...] = (done,)
        for i in range(graph.last, -1, -1):
            layer = graph.layers[i]
            step = graph.compute(layer, "BWD_IG", layer.input_grad.time, *before)
            done = graph.collective(f"{layer.name}_", layer.input_grad, step) if i else None
            weights[i] = graph.compute(layer, "BWD_WG", layer.weight_grad.time, step)
            before = (weights[i], done)


def _hybrid(graph: Expansion, input_grad_mark: str) -> None:
    graph.require_count()
    reduced: dict[int, int] = {}
    for _ in range(graph.passes):
        done = None
        for i, layer in enumerate(graph.layers):
            step = graph.compute(layer, "FWD", layer.forward.time, reduced.get(i), done)
            done = graph.collective(f"{layer.name}_", layer.forward, step)
        before: tuple[int | None, ...] = (done,)
        for i in range(graph.last, -1, -1):
            layer = graph.layers[i]
            step = graph.compute(layer, "BWD_IG", layer.input_grad.time, *before)
            done = None
            if i:
                done = graph.collective(f"{layer.name}{input_grad_mark}", layer.input_grad, step)
            weight = graph.compute(layer, "BWD_WG", layer.weight_grad.time, step)
            reduced[i] = graph.collective(f"{layer.name}_", layer.weight_grad, weight)
            before = (weight, done)


def _dlrm(graph: Expansion) -> None:
    graph.require_layers()
    bottom = _last_bottom_layer(graph)
    updated: dict[int, int] = {}
    for _ in range(graph.passes):
        step: int | None = None
        exchanged: int | None = None
        for i, layer in enumerate(graph.layers):
            waits = exchanged if i == bottom else None
            step = graph.compute(layer, "FWD", layer.forward.time, updated.get(i), step, waits)
            if layer.forward.comm == "ALLTOALL":
                done = graph.collective(f"{layer.name}_", layer.forward, step)
                exchanged = done if i == 0 else exchanged
        exchanged = None
        for i in range(graph.last, -1, -1):
            layer = graph.layers[i]
            waits = exchanged if i == 0 else None
            step = graph.compute(layer, "BWD_WG", layer.weight_grad.time, step, waits)
            updated[i] = step
            if layer.weight_grad.comm != NONE:
                updated[i] = graph.collective(f"{layer.name}_", layer.weight_grad, step)
            if i > 0:
                step = graph.compute(layer, "BWD_IG", layer.input_grad.time, step)
            if i == bottom + 1:
                first = graph.layers[0]
                exchanged = graph.collective(f"{first.name}_", first.input_grad, step)


def _last_bottom_layer(graph: Expansion) -> int:
    place = f"{graph.workload.path} line 1"
    rule = f"must name the last layer of the bottom MLP, from 1 to {graph.last - 1}"
    text = graph.workload.arguments[0] if graph.workload.arguments else "none"
    if not text.isdigit() or not 1 <= int(text) < graph.last:
        raise ConfigError(place, rule, got=text)
    if graph.layers[0].forward.comm != "ALLTOALL":
        rule = "the embedding (the first layer) must have the forward collective ALLTOALL"
        raise ConfigError(f"{graph.workload.path} line 3", rule, got=graph.layers[0].forward.comm)
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Roles:
    """Groups of a layer's model and data collectives; None: the layer has no such collective."""

    model: str | None = EVERYONE
    data: str | None = EVERYONE


_LAYER_ROLES = {
    "DATA": _Roles(model=None),
    "MODEL": _Roles(data=None),
    "HYBRID_DATA_MODEL": _Roles(),
    "HYBRID_MODEL_DATA": _Roles(),
}


def _customized(graph: Expansion) -> None:
    graph.require_layers()
    roles = []
    for i, layer in enumerate(graph.layers):
        if layer.parallelism not in _LAYER_ROLES:
            rule = f"the 13th column must be one of {', '.join(_LAYER_ROLES)}"
            place = f"{graph.workload.path} line {i + 3}"
            raise ConfigError(place, rule, got=layer.parallelism)
        roles.append(_LAYER_ROLES[layer.parallelism])
    _training(graph, roles, {})


def _transformer(graph: Expansion) -> None:
    graph.require_layers()
    _training(graph, [_Roles(model=MODEL, data=DATA)] * len(graph.layers), {})


def _transformer_recompute(graph: Expansion) -> None:
    graph.require_layers()
    checkpoints = _indices(graph, "checkpoints")
    spans = {}
    for start in _indices(graph, "checkpoint_initiates"):
        below = [checkpoint for checkpoint in checkpoints if checkpoint <= start]
        if not below:
            place = f"{graph.workload.path} line 1 checkpoint_initiates"
            raise ConfigError(place, "needs a checkpoint at or below it", got=start)
        spans[start] = range(max(below), start)
    _training(graph, [_Roles(model=MODEL, data=DATA)] * len(graph.layers), spans)


def _indices(graph: Expansion, key: str) -> tuple[int, ...]:
    values = graph.workload.options.get(key, ())
    if (
        not values
        or len(values) != values[0] + 1
        or not all(0 <= index <= graph.last for index in values[1:])
    ):
        rule = f"must be a count and that many layers from 0 to {graph.last}"
        raise ConfigError(f"{graph.workload.path} line 1 {key}", rule, got=list(values))
    return values[1:]


def _training(graph: Expansion, roles: list[_Roles], recompute: dict[int, range]) -> None:
    """Forward and backward passes; *recompute* names the layers to run again before a layer."""
    reduced: dict[int, int | None] = {}
    for _ in range(graph.passes):
        before: tuple[int | None, ...] = ()
        for i in range(len(graph.layers)):
            before = _forward(graph, i, roles[i], "FWD", (*before, reduced.get(i)))
        for i in range(graph.last, -1, -1):
            for again in recompute.get(i, range(0)):
                before = _forward(graph, again, roles[again], "FWD_IN_BCKWD", before)
            before, reduced[i] = _backward(graph, i, roles[i], before)


def _forward(
    graph: Expansion, i: int, roles: _Roles, what: str, before: tuple[int | None, ...]
) -> tuple[int | None, ...]:
    layer = graph.layers[i]
    step = graph.compute(layer, what, layer.forward.time, *before)
    done = graph.optional(layer, layer.forward, step, roles.model) if roles.model else None
    return (step if done is None else done,)


def _backward(
    graph: Expansion, i: int, roles: _Roles, before: tuple[int | None, ...]
) -> tuple[tuple[int | None, ...], int | None]:
    layer = graph.layers[i]
    step = graph.compute(layer, "BWD_IG", layer.input_grad.time, *before)
    done = graph.optional(layer, layer.input_grad, step, roles.model) if roles.model else None
    weight = graph.compute(layer, "BWD_WG", layer.weight_grad.time, step)
    reduced = graph.optional(layer, layer.weight_grad, weight, roles.data) if roles.data else None
    return (weight, done), weight if reduced is None else reduced


def _inference(graph: Expansion) -> None:
    graph.require_layers()
    before: tuple[int | None, ...] = ()
    for _ in range(graph.passes):
        for i in range(len(graph.layers)):
            before = _forward(graph, i, _Roles(model=MODEL), "FWD", before)


EXPANSIONS: Registry[Callable[[Expansion], None]] = Registry(
    "the parallelism keyword",
    {
        "MICRO": _micro,
        "DATA": _data,
        "MODEL": _model,
        "HYBRID_DATA_MODEL": partial(_hybrid, input_grad_mark="_IG_COMM__"),
        "HYBRID_MODEL_DATA": partial(_hybrid, input_grad_mark="_"),
        "HYBRID_DLRM": _dlrm,
        "HYBRID_DLRM_ENHANCED": _dlrm,
        "HYBRID_CUSTOMIZED": _customized,
        "HYBRID_TRANSFORMER": _transformer,
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD": _transformer_recompute,
        "DISTRIBUTED_INFERENCE": _inference,
    },
)
