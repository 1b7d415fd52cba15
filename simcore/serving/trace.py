"""Writes a batch of requests of a service as Chakra traces."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcore.compute import COMPUTE_MODELS
from simcore.config import Run
from simcore.engines.stages.times import operator_times_ns
from simcore.formats.chakra.encode import encode_node
from simcore.formats.chakra.generate import (
    CommunicatorGroups,
    Place,
    StageWriter,
    check_tags,
    communicator_groups,
    write_nodes,
)
from simcore.formats.chakra.messages import Node, attribute
from simcore.formats.chakra.wire import framed
from simcore.serving.routes import CachePiece, CacheRoutes, seats
from simcore.serving.service import Service
from simcore.serving.transfer import attention_nodes
from simcore.terms import NodeKind
from simcore.workload import build_graph
from simcore.workload.graph import TrainingGraph


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pool:
    """One pool's graph, the times of its operators, and its groups.

    Attributes:
        place: Of its NPUs and groups among those of the machine.
    """

    graph: TrainingGraph
    operator_ns: NDArray[np.int64]
    groups: CommunicatorGroups
    place: Place

    @classmethod
    def of(cls, run: Run, place: Place) -> "_Pool":
        graph, compute = build_graph(run.workload, run.plan), COMPUTE_MODELS[run.compute]()
        times = operator_times_ns(
            graph.operators, run.platform.npu, run.workload.precision, compute
        )
        return cls(
            graph=graph,
            operator_ns=times,
            groups=communicator_groups(graph, place),
            place=place,
        )


def write_service(service: Service, prefix: Path) -> tuple[list[Path], dict[int, tuple[int, ...]]]:
    """Writes ``<prefix>.<r>.et`` of every NPU r.

    One batch of prompts is read; its cache is sent piece by piece; then the pool that answers does
    one step, each of its NPUs when it has all the pieces that are meant for it.

    Returns:
        The files, and the members of each communicator group by its id.

    Raises:
        ConfigError: A tag is beyond what the format's readers take (31 bits).
        InfeasibleError: A plan does not fit the model, or its pool the machine.
    """
    whole = service.platform.npus
    reading = _Pool.of(service.prefill_run, Place(machine_npus=whole))
    other = Place(
        machine_npus=whole,
        first_npu=service.prefill.plan.npus,
        first_group=1 + len(reading.groups.members),
    )
    answering = _Pool.of(service.decode_run, other)
    coming: dict[int, list[tuple[int, CachePiece]]] = defaultdict(list)
    files = _write_reading(service, reading, prefix, coming)
    files += _write_answering(answering, prefix, coming)
    return files, {**reading.groups.members, **answering.groups.members}


def _write_reading(
    service: Service, pool: _Pool, prefix: Path, coming: dict[int, list[tuple[int, CachePiece]]]
) -> list[Path]:
    """The NPUs that read, and what each of the others will get, with its tag."""
    routes, plan, files = CacheRoutes.of(service), service.prefill.plan, {}
    writers = [StageWriter(pool.graph, stage, pool.operator_ns) for stage in range(plan.pp)]
    for seat in seats(plan):
        npu, made = seat.npu(plan), attention_nodes(pool.graph, seat.stage)
        content = [writers[seat.stage].content(npu, pool.groups)]
        first = pool.graph.stages[seat.stage].nodes
        for tag, piece in enumerate(routes.sent(seat).each()):
            after = made[piece.microbatch, piece.layer]
            content.append(_message(NodeKind.SEND, first + tag, tag, piece, (after,)))
            coming[piece.target].append((tag, piece))
        files[npu] = write_nodes(prefix, npu, b"".join(content))
    check_tags(max([tag for pieces in coming.values() for tag, _ in pieces], default=0))
    return [files[npu] for npu in sorted(files)]


def _write_answering(
    pool: _Pool, prefix: Path, coming: dict[int, list[tuple[int, CachePiece]]]
) -> list[Path]:
    plan, files = pool.graph.plan, []
    writers: dict[tuple[int, int], StageWriter] = {}
    for npu in range(plan.npus):
        stage, at = plan.stage_and_member(npu)[0], pool.place.first_npu + npu
        pieces = coming[at]
        key = stage, len(pieces)
        if key not in writers:
            place = _after_messages(pool.place, len(pieces))
            writers[key] = StageWriter(pool.graph, stage, pool.operator_ns, place)
        content = [
            _message(NodeKind.RECV, number, tag, piece, ())
            for number, (tag, piece) in enumerate(pieces)
        ]
        content.append(writers[key].content(npu, pool.groups))
        files.append(write_nodes(prefix, at, b"".join(content)))
    return files


def _after_messages(place: Place, messages: int) -> Place:
    """Place of the nodes that wait for so many *messages*."""
    return Place(
        machine_npus=place.machine_npus,
        first_npu=place.first_npu,
        first_group=place.first_group,
        first_node=messages,
        after=tuple(range(messages)),
    )


def _message(
    kind: NodeKind, number: int, tag: int, piece: CachePiece, after: Sequence[int]
) -> bytes:
    node = Node(
        id=number,
        name=f"cache.layer{piece.layer}.prompt{piece.prompt}",
        type=kind,
        data_deps=tuple(after),
        attributes=(
            attribute("is_cpu_op", False),
            attribute("comm_size", piece.size_bytes),
            attribute("comm_src", piece.source),
            attribute("comm_dst", piece.target),
            attribute("comm_tag", tag),
        ),
    )
    return framed(encode_node(node))
