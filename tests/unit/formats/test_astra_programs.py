"""From traces to programs: durations, peers, groups, and the errors about nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from simcore.engines.events.input import SystemOptions
from simcore.engines.events.programs import LASTS, Program, Programs
from simcore.errors import ConfigError
from simcore.formats.astra.collective_names import algorithms_of
from simcore.formats.astra.system_file import AstraRoofline, AstraSystem
from simcore.formats.astra.traces.load import load_traces
from simcore.formats.astra.traces.node_table import Machine
from simcore.formats.astra.traces.program import BuiltPrograms, build_programs
from simcore.formats.chakra import IoInfo, Metadata, Node, attribute, read_trace, write_trace
from simcore.terms import NodeKind

SYSTEM = AstraSystem(options=SystemOptions())
MACHINE = Machine(npus=4, dimensions=2, has_remote_memory=False, system=SYSTEM)
COMPUTE, SEND, RECV, COLLECTIVE = 4, 5, 6, 7


def node(
    number: int, kind: int, values: Mapping[str, object] | None = None, **fields: object
) -> Node:
    found = tuple(attribute(name, value) for name, value in (values or {}).items())  # type: ignore[arg-type]
    return Node(id=number, type=kind, attributes=found, **fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Built:
    """What came of one file."""

    whole: BuiltPrograms

    @property
    def program(self) -> Program:
        table = Programs(
            bodies=self.whole.bodies, body_of=np.zeros(1, np.int64), transfers=self.whole.transfers
        )
        return table[0]

    @property
    def compute_ns(self) -> int:
        return int(self.whole.compute_ns[0])


def program(
    folder: Path, *nodes: Node, machine: Machine = MACHINE, groups: tuple[int, ...] = ()
) -> Built:
    path = folder / "w.0.et"
    write_trace(path, Metadata(), nodes)
    members: dict[int, tuple[int, ...]] = dict.fromkeys(groups, (0, 1))
    return Built(build_programs(read_trace(path), machine, {}, members))


def with_system(**changes: object) -> Machine:
    return replace(MACHINE, system=replace(SYSTEM, **changes))  # type: ignore[arg-type]


def test_nodes_stand_in_ascending_order_of_id(tmp_path: Path) -> None:
    built = program(
        tmp_path, node(9, COMPUTE, duration_micros=3, data_deps=(2,)), node(2, COMPUTE)
    ).program
    assert built.node_id.tolist() == [2, 9]
    assert built.duration_ns.tolist() == [1, 3000]
    assert built.dep_start.tolist() == [0, 0, 1]
    assert built.dep.tolist() == [0]


@pytest.mark.parametrize(
    ("num_ops", "tensor_size", "expected_ns"),
    [
        (10**9, 10**7, 11111),  # 900 GB/s of memory
        (10**12, 10**6, 10_000_000),  # 100 TFLOPS
        (1, 1, 0),
        (0, 9 * 10**5, 1000),  # no operations: only the memory is busy
    ],
)
def test_roofline_times_are_cut_to_whole_nanoseconds(
    tmp_path: Path, num_ops: int, tensor_size: int, expected_ns: int
) -> None:
    machine = with_system(roofline=AstraRoofline(mem_bytes_per_s=900e9, peak_flop_per_s=100e12))
    values = {"num_ops": num_ops, "tensor_size": tensor_size}
    built = program(tmp_path, node(1, COMPUTE, values, duration_micros=77), machine=machine)
    assert built.program.duration_ns.tolist() == [expected_ns]
    assert built.compute_ns == expected_ns


def test_with_roofline_cpu_nodes_keep_their_duration_and_empty_ones_are_skipped(
    tmp_path: Path,
) -> None:
    machine = with_system(roofline=AstraRoofline(mem_bytes_per_s=900e9, peak_flop_per_s=100e12))
    built = program(
        tmp_path,
        node(1, COMPUTE, {"is_cpu_op": True}, duration_micros=2),
        node(2, COMPUTE, {"num_ops": 5, "tensor_size": 0}),
        machine=machine,
    )
    assert built.program.duration_ns.tolist()[0] == 2000
    assert built.program.skipped.tolist() == [False, True]
    assert built.program.on_cpu.tolist() == [True, False]


def test_replay_gives_every_node_its_duration_and_its_slot(tmp_path: Path) -> None:
    built = program(
        tmp_path,
        node(1, COLLECTIVE, duration_micros=2),
        node(2, RECV),
        node(3, 0),
        node(4, COMPUTE, {"is_cpu_op": True}, duration_micros=4),
        machine=with_system(replay_only=True),
    )
    assert built.program.duration_ns.tolist() == [2000, 1, 1, 4000]
    assert built.program.comm_kind.tolist() == [LASTS, -1, LASTS, -1]
    assert built.program.kind.tolist() == [COLLECTIVE, RECV, COLLECTIVE, COMPUTE]
    assert built.program.peer.tolist() == [-1] * 4
    assert built.compute_ns == 2000 + 1 + 1
    assert not built.program.skipped.any()


def test_collectives_run_over_all_dimensions_unless_told(tmp_path: Path) -> None:
    values = {"comm_type": 0, "comm_size": 8}
    built = program(
        tmp_path,
        node(1, COLLECTIVE, values),
        node(2, COLLECTIVE, values | {"involved_dim": (False, True, True, True)}),
    )
    assert built.program.involved_dims.tolist() == [0b11, 0b10]


@pytest.mark.parametrize(
    ("names", "flags"), [(("ring", "direct"), 2), (("ring",), 1), (("oneRing",), 1), ((), 0)]
)
def test_only_dimensions_with_an_algorithm_need_a_flag(
    tmp_path: Path, names: tuple[str, ...], flags: int
) -> None:
    options = SystemOptions(algorithms={0: algorithms_of(names)} if names else {})
    machine = replace(MACHINE, system=AstraSystem(options=options))

    def involved(count: int) -> list[int]:
        values = {"comm_type": 0, "comm_size": 8, "involved_dim": (True,) * count}
        built = program(tmp_path, node(1, COLLECTIVE, values), machine=machine)
        return [int(bits) for bits in built.program.involved_dims]

    assert involved(flags) == [(1 << flags) - 1]
    if flags:
        with pytest.raises(ConfigError, match=f"involved_dim needs a flag for each of {flags} dim"):
            involved(flags - 1)


def test_a_replay_with_the_compute_model_on_asks_it_for_nothing(tmp_path: Path) -> None:
    roofline = AstraRoofline(mem_bytes_per_s=1e12, peak_flop_per_s=1e15)
    system = AstraSystem(options=SystemOptions(), roofline=roofline, replay_only=True)
    built = program(
        tmp_path,
        node(1, COMPUTE, duration_micros=2),
        node(2, COLLECTIVE, {"pg_name": "7"}),
        machine=replace(MACHINE, system=system),
    )
    assert built.program.duration_ns.tolist() == [2000, 1]
    assert not built.program.group.any()
    figures = built.whole.utilization[0]
    assert figures is not None
    assert (figures.compute_bound_pct, figures.avg_operation_intensity) == (0.0, 0.0)


def test_traces_that_differ_in_groups_alone_share_everything_else(tmp_path: Path) -> None:
    for npu in range(4):
        values = {"comm_type": 0, "comm_size": 8, "pg_name": str(1 + npu // 2)}
        nodes = [node(1, COMPUTE, name="c" * npu), node(2, COLLECTIVE, values, name=f"r{npu}")]
        write_trace(tmp_path / f"w.{npu}.et", Metadata(), nodes)
    groups: dict[int, tuple[int, ...]] = {1: (0, 1), 2: (2, 3)}
    loaded = load_traces(tmp_path / "w", MACHINE, groups, with_nodes=False)
    assert loaded.program_of_npu.tolist() == [0, 1, 2, 3]
    assert [item.group.tolist() for item in loaded.programs] == [[0, 1]] * 2 + [[0, 2]] * 2
    assert [item.name[1] for item in loaded.programs] == ["r0", "r1", "r2", "r3"]
    assert loaded.programs.body_of.tolist() == [0, 0, 0, 0]
    assert loaded.programs.bodies.node_id.tolist() == [1, 2]
    with pytest.raises(ConfigError, match=r"w\.2\.et node 2: pg_name must be the id of a"):
        load_traces(tmp_path / "w", MACHINE, {1: (0, 1)}, with_nodes=False)


def test_nodes_behind_a_cycle_are_remarked_on(tmp_path: Path) -> None:
    built = program(
        tmp_path, node(1, COMPUTE), node(2, COMPUTE, data_deps=(3,)), node(3, 4, data_deps=(2,))
    )
    assert "2 nodes in or behind a cycle never run: [2, 3]" in built.whole.notes[0]
    assert built.compute_ns == 1


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (node(3, COLLECTIVE, {"comm_size": 8}), "a collective needs the attribute comm_type"),
        (node(3, COLLECTIVE, {"comm_type": 8, "comm_size": 8}), "comm_type must be one of"),
        (node(3, COLLECTIVE, {"comm_type": 0, "comm_size": -8}), "comm_size must be 0 bytes"),
        (
            node(3, COLLECTIVE, {"comm_type": 0, "comm_size": 8, "pg_name": "5"}),
            r"pg_name must be the id of a communicator group \(1, 2\), but got 5",
        ),
        (
            node(3, COLLECTIVE, {"comm_type": 0, "comm_size": 8, "is_cpu_op": True}),
            "must not be a CPU operation",
        ),
        (node(3, SEND, {"comm_dst": 1, "comm_size": 8}), "a send needs the attribute comm_tag"),
        (node(3, RECV, {"comm_tag": 1, "comm_size": 8}), "a receive needs .* comm_src"),
        (node(3, SEND, {"comm_dst": 4, "comm_size": 8, "comm_tag": 1}), "an NPU from 0 to 3"),
        (node(3, 2, {"tensor_size": 8}), "needs a memory-type other than"),
        (node(3, 12), "must have a type from 0"),
        (node(3, COMPUTE, duration_micros=2**63), "duration_micros must be at most"),
    ],
)
def test_illegal_nodes_are_named(tmp_path: Path, bad: Node, rule: str) -> None:
    with pytest.raises(ConfigError, match=rf"w\.0\.et node 3: .*{rule}"):
        program(tmp_path, node(1, COMPUTE), bad, groups=(1, 2))


def test_equal_files_share_a_program(tmp_path: Path) -> None:
    for npu in range(4):
        write_trace(tmp_path / f"w.{npu}.et", Metadata(), [node(1 + npu // 2, COMPUTE)])
    loaded = load_traces(tmp_path / "w", MACHINE, {}, with_nodes=False)
    assert loaded.program_of_npu.tolist() == [0, 0, 1, 1]
    assert len(loaded.programs) == 2


def test_a_send_from_another_npu_is_refused(tmp_path: Path) -> None:
    values = {"comm_src": 1, "comm_dst": 2, "comm_size": 8, "comm_tag": 1}
    for npu in range(4):
        write_trace(tmp_path / f"w.{npu}.et", Metadata(), [node(1, SEND, values)])
    with pytest.raises(ConfigError, match="a send must come from, and a receive go to"):
        load_traces(tmp_path / "w", MACHINE, {}, with_nodes=False)


def test_process_groups_of_each_trace_get_keys_of_their_own(tmp_path: Path) -> None:
    values = {"comm_type": 0, "comm_size": 8, "pg_name": "1"}
    for npu in range(4):
        ranks = [0, 1] if npu < 2 else [2, 3]
        text = f'[{{"pg_name": "1", "ranks": {ranks}}}]'
        init = Node(id=1, type=1, inputs=IoInfo(values=repr([text])))
        write_trace(tmp_path / f"w.{npu}.et", Metadata(), [init, node(2, COLLECTIVE, values)])
    loaded = load_traces(tmp_path / "w", MACHINE, {}, with_nodes=False)
    assert loaded.groups == {1: (0, 1), 2: (2, 3)}
    assert [item.group.tolist() for item in loaded.programs] == [[0, 1], [0, 2]]
    first = loaded.programs[0]
    assert first.kind.tolist() == [NodeKind.COMPUTE, NodeKind.COLLECTIVE]
    assert first.on_cpu.tolist() == [True, False]
    assert first.duration_ns.tolist()[0] == 0
