"""The folded engine equals the unfolded one, NPU by NPU, on systems of all sorts."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_systems import Node, program_of, random_system

from simcore.engines.events.engine_run import EngineRun
from simcore.engines.events.fold.relations import AlikeSet, alike
from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineInput, EngineOutput, ListGroup, SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError
from simcore.formats.astra.collective_names import algorithms_of
from simcore.kernels.events import layout
from simcore.network import NetworkDimension
from simcore.terms import CollectiveKind, NodeKind

SEEDS = range(200)
RING = NetworkDimension(topology="ring", npus=8, bytes_per_ns=50.0, latency_ns=500.0)


def same(one: EngineOutput, other: EngineOutput) -> bool:
    """Whether two outputs agree in all that they say about NPUs."""
    times = zip(
        one.node_start_ns + one.node_end_ns, other.node_start_ns + other.node_end_ns, strict=True
    )
    totals = [
        (o.messages, o.sent_bytes, o.received_messages, o.received_bytes, o.waiting)
        for o in (one, other)
    ]
    return (
        np.array_equal(one.finish_ns, other.finish_ns)
        and np.array_equal(one.busy_ns, other.busy_ns)
        and all(np.array_equal(a, b) for a, b in times)
        and totals[0] == totals[1]
    )


def both(inputs: EngineInput) -> tuple[EngineOutput, EngineOutput] | None:
    """Unfolded and folded, or None where the input is refused."""
    try:
        output = run_unfolded(inputs)
    except ConfigError as error:
        with pytest.raises(ConfigError, match=re.escape(str(error))):
            run_folded(inputs)
        return None
    return output, run_folded(inputs)


def test_folded_equals_unfolded_on_random_systems_and_many_of_them_fold() -> None:
    folded = 0
    for seed in SEEDS:
        outputs = both(random_system(seed))
        if outputs is not None:
            assert same(*outputs), seed
            folded += outputs[1].classes < outputs[0].classes
    assert folded > 80


# In these, what an NPU sends to two groups shares a link or not, depending on the NPU.
SHARED_LINKS = (1274, 2345, 2956)
# In these the order differs from NPU to NPU, and matters.
WRONG_WITHOUT_WATCH = (1330, 1355, 1737, 2089)


def test_npus_that_share_links_with_other_partners_are_not_alike() -> None:
    for seed in SHARED_LINKS:
        outputs = both(random_system(seed))
        assert outputs is not None
        assert same(*outputs), seed


def test_without_the_watch_on_ties_some_results_would_be_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wrong, go_on = 0, EngineRun.go_on

    def heedless(run: EngineRun, until_ns: int) -> int:
        while True:
            code = go_on(run, until_ns)
            run.arena[layout.UNSAFE] = 0
            if code != layout.PAUSED:
                return code

    for seed in WRONG_WITHOUT_WATCH:
        inputs = random_system(seed)
        output = run_unfolded(inputs)
        assert same(output, run_folded(inputs))
        with monkeypatch.context() as patch:
            patch.setattr(EngineRun, "go_on", heedless)
            wrong += not same(output, run_folded(inputs))
    assert wrong == len(WRONG_WITHOUT_WATCH)


def one_ring(programs: list[list[Node]], **options: object) -> EngineInput:
    """Eight NPUs on a ring, each with its nodes."""
    return EngineInput(
        backend="congestion_unaware",
        dimensions=(RING,),
        options=SystemOptions(
            local_mem_bytes_per_ns=1600.0,
            algorithms={int(kind): algorithms_of(["ring"]) for kind in CollectiveKind},
            **options,  # type: ignore[arg-type]
        ),
        programs=tuple(program_of(nodes, [0], npu, 1) for npu, nodes in enumerate(programs)),
        program_of_npu=np.arange(8),
    )


ALL_REDUCE = Node(kind=NodeKind.COLLECTIVE, size=1 << 16, comm=int(CollectiveKind.ALL_REDUCE))


def test_members_of_one_ring_are_one_class_even_if_some_cause_is_far_away() -> None:
    output = run_folded(one_ring([[ALL_REDUCE]] * 8))
    assert output.classes == 1
    assert output.unfolded_because == ""


def test_one_slow_npu_on_a_ring_makes_every_distance_to_it_a_class() -> None:
    slow = [Node(kind=NodeKind.COMPUTE, duration=99), Node(**{**vars(ALL_REDUCE), "deps": (0,)})]
    quick = [Node(kind=NodeKind.COMPUTE, duration=9), Node(**{**vars(ALL_REDUCE), "deps": (0,)})]
    output = run_folded(one_ring([slow] + [quick] * 7))
    assert output.classes == 8
    assert output.unfolded_because == "no two NPUs are alike"


def test_groups_in_which_the_same_happens_are_simulated_once() -> None:
    node = Node(**{**vars(ALL_REDUCE), "group": 0})
    inputs = one_ring([[node]] * 8)
    groups = {1: ListGroup(members=np.array([3, 0, 1, 2])), 2: ListGroup(members=np.arange(4, 8))}
    programs = tuple(program_of([node], [1 + npu // 4], npu, 1) for npu in range(8))
    inputs = EngineInput(
        backend="congestion_unaware",
        dimensions=(NetworkDimension(topology="switch", npus=8, bytes_per_ns=1.0, latency_ns=9.0),),
        options=inputs.options,
        programs=programs,
        program_of_npu=np.arange(8),
        groups=groups,
    )
    output = run_folded(inputs)
    assert output.classes == 1
    assert same(run_unfolded(inputs), output)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.integers(2, 12), st.lists(st.integers(0, 2), min_size=12, max_size=12), st.data())
def test_refinement_finds_the_coarsest_classes_with_alike_partners(
    count: int, colours: list[int], data: st.DataObject
) -> None:
    partners = np.array(
        [[data.draw(st.integers(0, count - 1)) for _ in range(2)] for _ in range(count)]
    )
    traits = np.array(colours[:count])[:, None]
    found = alike(count, [AlikeSet(members=np.arange(count), traits=traits, partners=partners)])
    for one in range(count):
        for other in range(count):
            assert (found[one] == found[other]) == _never_differ(one, other, traits, partners)


def _never_differ(one: int, other: int, traits: np.ndarray, partners: np.ndarray) -> bool:
    """Oracle: follow both along the same relations; their traits must always agree."""
    seen, todo = set(), [(one, other)]
    while todo:
        a, b = todo.pop()
        if (a, b) in seen:
            continue
        seen.add((a, b))
        if traits[a] != traits[b]:
            return False
        todo += list(zip(partners[a].tolist(), partners[b].tolist(), strict=True))
    return True
