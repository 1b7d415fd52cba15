"""Groups that cross: in a common order all finish; where there is no choice nothing changes."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest

from simcore.errors import ConfigError
from simcore.formats.astra import AstraFiles, AstraResult, simulate_files
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.formats.chakra.messages import Value
from simcore.terms import CollectiveKind, NodeKind

KINDS = (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL)
BACKENDS = ("congestion_unaware", "congestion_aware")
SYSTEM = {
    "scheduling-policy": "LIFO",
    "collective-optimization": "baseline",
    "preferred-dataset-splits": 2,
    "trace-enabled": 1,
    "all-reduce-implementation": ["ring"],
    "all-gather-implementation": ["direct"],
    "all-to-all-implementation": ["direct"],
}


class Traces:
    """Traces of a few NPUs, and the groups that their collectives name."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.npus = rng, rng.randrange(3, 9)
        self.nodes: list[list[Node]] = [[] for _ in range(self.npus)]
        self.groups: dict[int, list[int]] = {}

    def add(self, npu: int, kind: NodeKind, after: Sequence[int], **values: Value) -> int:
        number = len(self.nodes[npu])
        node = Node(
            id=number,
            name=f"n{number}",
            type=int(kind),
            duration_micros=self.rng.randrange(60),
            data_deps=tuple(after),
            attributes=tuple(attribute(name, value) for name, value in values.items()),
        )
        self.nodes[npu].append(node)
        return number

    def collective(self, *, chained: bool) -> None:
        """A collective of some NPUs, behind compute nodes that last another time on each."""
        members = self.rng.sample(range(self.npus), self.rng.randrange(2, self.npus))
        key = len(self.groups) + 1
        self.groups[key] = members
        what, size = int(self.rng.choice(KINDS)), self.rng.randrange(10**4, 10**7)
        for npu in members:
            after = [self.add(npu, NodeKind.COMPUTE, self.before(npu, chained=chained))]
            values: dict[str, Value] = {"comm_type": what, "comm_size": size, "pg_name": str(key)}
            self.add(npu, NodeKind.COLLECTIVE, after, **values)

    def message(self, tag: int, *, chained: bool) -> None:
        """A message, upon whose arrival its receiver goes on."""
        source, target = self.rng.sample(range(self.npus), 2)
        values = {"comm_tag": tag, "comm_size": self.rng.randrange(10**4, 10**7)}
        before = self.before(source, chained=chained)
        self.add(source, NodeKind.SEND, before, comm_dst=target, **values)
        before = self.before(target, chained=chained)
        received = self.add(target, NodeKind.RECV, before, comm_src=source, **values)
        self.add(target, NodeKind.COMPUTE, [received])

    def before(self, npu: int, *, chained: bool) -> list[int]:
        """What a new node waits for: the last one, or some node or none."""
        known = range(len(self.nodes[npu]))
        if chained:
            return [*known[-1:]]
        return self.rng.sample(known, min(len(known), self.rng.randrange(2)))

    def write(self, folder: Path) -> AstraFiles:
        folder.mkdir(parents=True)
        for npu, nodes in enumerate(self.nodes):
            full = nodes or [Node(id=0, name="idle", type=int(NodeKind.COMPUTE))]
            write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), full)
        (folder / "groups.json").write_text(json.dumps(self.groups))
        (folder / "system.json").write_text(json.dumps(SYSTEM))
        (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
        lists = {"topology": "Switch", "npus_count": self.npus, "bandwidth": 50, "latency": 500}
        text = "".join(f"{name}: [{value}]\n" for name, value in lists.items())
        (folder / "network.yml").write_text(text)
        return AstraFiles(
            workload=folder / "w",
            system=folder / "system.json",
            network=folder / "network.yml",
            remote_memory=folder / "memory.json",
            comm_group=folder / "groups.json",
            folder=folder,
        )


def random_traces(seed: int, *, chained: bool) -> Traces:
    rng = Random(seed)
    traces = Traces(rng)
    for tag in range(rng.randrange(4, 14)):
        if rng.random() < 0.7:
            traces.collective(chained=chained)
        else:
            traces.message(tag, chained=chained)
    return traces


def times(result: AstraResult) -> list[list[int]]:
    output = result.output
    columns = (output.finish_ns, *output.node_start_ns, *output.node_end_ns)
    return [column.tolist() for column in columns]


@pytest.mark.parametrize("rendezvous", ["false", "true"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_groups_that_cross_finish_in_a_common_order(
    tmp_path: Path, backend: str, rendezvous: str
) -> None:
    hung = 0
    for seed in range(60):
        files = random_traces(seed, chained=False).write(tmp_path / str(seed))
        options: dict[str, object] = {"rendezvous-protocol": rendezvous}
        hung += bool(simulate_files(files, backend, options).unfinished)
        result = simulate_files(files, backend, options | {"group-order": "common"})
        assert not result.unfinished, (seed, result.output.waiting)
        assert not [note for note in result.notes if "group-order" in note]
    assert hung > 20


@pytest.mark.parametrize("backend", BACKENDS)
def test_npus_without_a_choice_run_as_ever(tmp_path: Path, backend: str) -> None:
    for seed in range(40):
        files = random_traces(seed, chained=True).write(tmp_path / str(seed))
        own = simulate_files(files, backend, {})
        assert not own.unfinished
        assert times(simulate_files(files, backend, {"group-order": "common"})) == times(own)


def test_alike_npus_stay_alike(tmp_path: Path) -> None:
    traces = Traces(Random(1))
    values = {"comm_type": int(KINDS[0]), "comm_size": 4096}
    for npu in range(traces.npus):
        traces.nodes[npu] = []
        traces.rng.seed(1)
        for _ in range(4):
            before = traces.add(npu, NodeKind.COMPUTE, [])
            traces.add(npu, NodeKind.COLLECTIVE, [before], **values)
    files = traces.write(tmp_path / "alike")
    results = [
        simulate_files(files, "congestion_unaware", {"group-order": order})
        for order in ("own", "common")
    ]
    assert [result.output.classes for result in results] == [1, 1]


def test_nodes_that_no_order_reaches_are_told(tmp_path: Path) -> None:
    traces = Traces(Random(3))
    traces.groups = {1: [0, 1], 2: [1, 0]}
    for npu, order in ((0, "12"), (1, "21")):
        before: list[int] = []
        for name in order:
            values: dict[str, Value] = {"comm_type": int(KINDS[0]), "comm_size": 4096}
            before = [traces.add(npu, NodeKind.COLLECTIVE, before, pg_name=name, **values)]
    files = traces.write(tmp_path / "stuck")
    result = simulate_files(files, "congestion_unaware", {"group-order": "common"})
    assert result.unfinished == [0, 1]
    assert any("2 nodes wait for each other" in note for note in result.notes)


def test_starts_never_come_before_those_that_dependencies_allow(tmp_path: Path) -> None:
    traces = random_traces(5, chained=False)
    files = traces.write(tmp_path / "order")
    result = simulate_files(files, "congestion_unaware", {"group-order": "common"})
    for npu, nodes in enumerate(traces.nodes):
        start, end = result.output.node_start_ns[npu], result.output.node_end_ns[npu]
        slots = [n.id for n in nodes if n.type in (int(NodeKind.SEND), int(NodeKind.COLLECTIVE))]
        slots.sort(key=lambda node: int(start[node]))
        assert (np.diff([t for node in slots for t in (start[node], end[node])]) >= 0).all()
        for node in nodes:
            assert all(end[parent] <= start[node.id] for parent in node.data_deps)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"group-order": "comon"}, "must be one of own, common .did you mean 'common'"),
        (
            {"group-order": "common", "communication-streams": "2"},
            "communication-streams: must be 1 with --group-order=common",
        ),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, object], rule: str) -> None:
    files = random_traces(1, chained=True).write(tmp_path / "wrong")
    with pytest.raises(ConfigError, match=rule):
        simulate_files(files, "congestion_unaware", options)
