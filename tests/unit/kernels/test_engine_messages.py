"""Times of messages and collectives against closed forms and hand calculation."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from engine_runs import collective, dimension, options, program, receive, run_of, send

from simcore.engines.events.image import build_arena
from simcore.engines.events.input import (
    GridGroup,
    ListGroup,
    RemoteMemory,
    SystemOptions,
    all_npus,
)
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError
from simcore.kernels.events import layout
from simcore.kernels.events.run_loop import run_events, schedule_starts
from simcore.network import BACKENDS
from simcore.terms import CollectiveKind, NodeKind

STEP_NS = 10
IDLE = program([])


def test_a_message_takes_hops_times_latency_plus_bytes_over_bandwidth() -> None:
    programs = [program([send(2)]), IDLE, program([receive(0)]), IDLE]
    output = run_unfolded(run_of([dimension("ring", 4)], programs, SystemOptions()))
    assert output.finish_ns.tolist() == [2 * 500 + 20, 0, 2 * 500 + 20, 0]
    assert output.messages == output.received_messages == 1


# flits have cycles of routers beside, which the tests of their backend count
@pytest.mark.parametrize("backend", sorted({*BACKENDS} - {"flit"}))
@pytest.mark.parametrize(("topology", "hops"), [("ring", 3), ("fully_connected", 1), ("switch", 2)])
def test_every_backend_has_its_closed_form_on_idle_links(
    backend: str, topology: str, hops: int
) -> None:
    programs = [program([send(3)]), IDLE, IDLE, program([receive(0)]), *[IDLE] * 3]
    network = [dimension(topology, 7)]
    output = run_unfolded(run_of(network, programs, SystemOptions(), backend=backend))
    crossings = 1 if backend in ("congestion_unaware", "flow") else hops  # else stored at each hop
    crossing_ns = 22 if backend == "packet" else 20  # 1082 bytes with headers, at 50 bytes per ns
    assert output.finish_ns[3] == hops * 500 + crossings * crossing_ns


def test_an_unknown_backend_is_refused_with_the_choices() -> None:
    inputs = run_of([dimension("ring", 2)], [IDLE], SystemOptions(), backend="congestion_aware_")
    with pytest.raises(ConfigError, match="did you mean 'congestion_aware'"):
        run_unfolded(inputs)


def test_messages_share_a_link_only_on_the_aware_backend() -> None:
    programs = [program([receive(1), receive(2)]), *[program([send(0)])] * 2, IDLE]
    network = [dimension("switch", 4)]
    unaware = run_unfolded(run_of(network, programs, SystemOptions()))
    aware = run_unfolded(run_of(network, programs, SystemOptions(), backend="congestion_aware"))
    assert unaware.finish_ns[0] == 2 * 500 + 20
    assert aware.finish_ns[0] == 2 * (500 + 20) + 20


def test_a_diagonal_message_crosses_both_dimensions_on_the_multidim_backend() -> None:
    network = [dimension("ring", 2), dimension("switch", 2)]
    programs = [program([send(3)]), IDLE, IDLE, program([receive(0)])]
    backend = "congestion_aware_multidim"
    output = run_unfolded(run_of(network, programs, SystemOptions(), backend=backend))
    assert output.finish_ns[3] == 3 * (500 + 20)


@pytest.mark.parametrize("backend", ["congestion_unaware", "congestion_aware"])
def test_a_message_to_oneself_arrives_at_once(backend: str) -> None:
    programs = [program([send(0), receive(0)]), IDLE]
    output = run_unfolded(
        run_of([dimension("ring", 2)], programs, SystemOptions(), backend=backend)
    )
    assert output.finish_ns.tolist() == [0, 0]


def test_rendezvous_adds_the_way_of_the_control_message() -> None:
    programs = [program([send(1)]), program([receive(0)])]
    system = SystemOptions(rendezvous=True)
    output = run_unfolded(run_of([dimension("ring", 2)], programs, system))
    control_ns, message_ns = 500 + 8192 // 50, 500 + 20
    assert output.finish_ns.tolist() == [control_ns + message_ns] * 2


def test_late_members_delay_a_ring_by_the_latest_start() -> None:
    nodes = [collective(CollectiveKind.ALL_GATHER, 100_000)]
    network = [dimension("ring", 4)]
    together = run_unfolded(run_of(network, [program(nodes)], options("ring")))
    start_ns = np.array([0, 40_000, 0, 7], np.int64)
    skewed = run_unfolded(run_of(network, [program(nodes)], options("ring"), start_ns=start_ns))
    assert skewed.finish_ns.max() == together.finish_ns.max() + 40_000


def test_a_grid_group_of_one_dimension_is_a_smaller_machine() -> None:
    nodes = [collective(CollectiveKind.ALL_REDUCE, 1 << 20, group=5)]
    network = [dimension("switch", 8), dimension("switch", 4, latency_ns=900.0)]
    grid = GridGroup(extent=np.array([1, 4]), stride=np.array([1, 1]))
    inside = run_unfolded(
        run_of(network, [program(nodes)], options(["ring", "ring"], chunks=2), groups={5: grid})
    )
    alone = run_unfolded(
        run_of(
            network[1:],
            [program([collective(CollectiveKind.ALL_REDUCE, 1 << 20)])],
            options("ring", chunks=2),
        )
    )
    assert set(inside.finish_ns.tolist()) == set(alone.finish_ns.tolist())


@pytest.mark.parametrize("algorithm", ["ring", "direct", "halvingDoubling", "doubleBinaryTree"])
def test_a_grid_group_of_the_whole_machine_is_the_machine(algorithm: str) -> None:
    network = [dimension("switch", 4), dimension("ring", 8)]
    system = options([algorithm, algorithm], chunks=3)
    grid = GridGroup(extent=np.array([4, 8]), stride=np.array([1, 1]))
    groups: dict[int, ListGroup | GridGroup] = {1: grid, 2: ListGroup(members=np.arange(32))}
    ends = [
        run_unfolded(
            run_of(
                network,
                [program([collective(CollectiveKind.ALL_REDUCE, 1 << 22, group=group)])],
                system,
                groups=groups,
            )
        ).finish_ns.tolist()
        for group in (0, 1, 2)
    ]
    assert ends[0] == ends[1] == ends[2]


def test_a_strided_grid_group_pays_for_the_hops_between_its_members() -> None:
    nodes = [collective(CollectiveKind.ALL_GATHER, 5000, group=1)]
    grid = GridGroup(extent=np.array([2]), stride=np.array([4]))
    output = run_unfolded(
        run_of([dimension("ring", 8)], [program(nodes)], options("ring"), groups={1: grid})
    )
    assert set(output.finish_ns.tolist()) == {STEP_NS + (4 * 500 + 100) + STEP_NS}


def test_collectives_of_different_groups_never_take_each_others_messages() -> None:
    rows = GridGroup(extent=np.array([4, 1]), stride=np.array([1, 1]))
    columns = GridGroup(extent=np.array([1, 4]), stride=np.array([1, 1]))
    nodes = [
        {**collective(CollectiveKind.ALL_REDUCE, 1 << 16, group=group), "dep": list(range(place))}
        for place, group in enumerate((1, 2, 1, 0))
    ]
    output = run_unfolded(
        run_of(
            [dimension("switch", 4), dimension("switch", 4)],
            [program(nodes)],
            options(["ring", "ring"], chunks=4),
            groups={1: rows, 2: columns},
        )
    )
    assert not output.waiting
    assert output.messages == output.received_messages


def test_a_collective_without_partners_ends_at_once() -> None:
    nodes = [collective(CollectiveKind.ALL_REDUCE, 1 << 16, group=3)]
    groups = {3: GridGroup(extent=np.array([1]), stride=np.array([1]))}
    output = run_unfolded(
        run_of([dimension("ring", 2)], [program(nodes)], options("ring"), groups=groups)
    )
    assert output.finish_ns.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("algorithm", "npus", "kind"),
    [
        ("halvingDoubling", 6, CollectiveKind.ALL_REDUCE),
        ("doubleBinaryTree", 6, CollectiveKind.ALL_REDUCE),
        ("halvingDoubling", 8, CollectiveKind.ALL_TO_ALL),
    ],
)
def test_an_algorithm_that_cannot_run_is_refused_before_the_run(
    algorithm: str, npus: int, kind: CollectiveKind
) -> None:
    nodes = [collective(kind, 1 << 16)]
    with pytest.raises(ConfigError, match="cannot run"):
        run_unfolded(run_of([dimension("switch", npus)], [program(nodes)], options(algorithm)))


def test_the_reference_runs_some_of_them_all_the_same() -> None:
    system = replace(options("doubleBinaryTree"), reference_quirks=True)
    nodes = [[collective(kind, 1 << 16)] for kind in (CollectiveKind(0), CollectiveKind(6))]
    ends = [
        run_unfolded(run_of([dimension("switch", 8)], [program(n)], system)).finish_ns.tolist()
        for n in nodes
    ]
    assert ends[0] == ends[1]


def test_serialised_memory_serves_one_request_after_the_other() -> None:
    nodes = [{"kind": NodeKind.MEM_LOAD, "size_bytes": 1000}]
    inputs = run_of([dimension("ring", 3)], [program(nodes)], SystemOptions())
    ends = {}
    for kind in ("per_npu", "pool", "per_node"):
        memory = RemoteMemory(kind=kind, latency_ns=100, bytes_per_ns=10, npus_per_node=2)
        output = run_unfolded(replace(inputs, remote_memory=memory))
        ends[kind] = output.finish_ns.tolist()
    assert ends == {"per_npu": [200] * 3, "pool": [200, 400, 600], "per_node": [200, 400, 200]}


def test_thousands_of_receives_at_once_make_the_arena_grow() -> None:
    count = 5000
    programs = [
        program([{**send(1, tag=tag), "dep": [tag - 1] if tag else []} for tag in range(count)]),
        program([receive(0, tag=tag) for tag in range(count)]),
    ]
    output = run_unfolded(run_of([dimension("ring", 2)], programs, SystemOptions()))
    assert output.finish_ns.tolist() == [count * 520] * 2
    assert output.received_bytes == count * 1000


def test_the_kernels_run_without_compilation_too() -> None:
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from engine_runs import collective, dimension, options, program, run_of
from simcore.engines.events.run import run_unfolded
from simcore.engines.events.image import build_arena
from simcore.terms import CollectiveKind
nodes = program([collective(CollectiveKind.ALL_REDUCE, 1 << 20)])
network = [dimension("ring", 4), dimension("switch", 2)]
print(run_unfolded(run_of(network, [nodes], options(["ring", "ring"], chunks=4))).finish_ns.max())
"""
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    folder = os.path.join(root, "tests", "support")
    ends = {
        disabled: subprocess.run(
            [sys.executable, "-W", "error", "-c", code, folder],
            env={**os.environ, "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": root},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    }
    assert ends["0"] == ends["1"]


def test_a_kernel_that_pauses_or_runs_full_goes_on_where_it_stopped() -> None:
    nodes = program([collective(CollectiveKind.ALL_TO_ALL, 1 << 20)] * 2)
    inputs = run_of([dimension("switch", 16)], [nodes], options("direct4", chunks=3))
    whole = run_unfolded(inputs)
    arena, rates, _ = build_arena(inputs, all_npus(inputs))
    schedule_starts(arena, np.zeros(16, np.int64))
    while True:
        arena[layout.PAUSE_AT] = arena[layout.EVENTS] + 61
        code = run_events(arena, rates)
        if code == layout.ENDED:
            break
        arena = np.concatenate((arena, np.zeros(37, np.int64)))
    assert arena[layout.EVENTS] == whole.events
    assert arena[layout.NOW_NS] == whole.finish_ns.max()
