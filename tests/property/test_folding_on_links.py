"""NPUs that are alike on links with fair parts, one for all, against every NPU and message."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from random_systems import random_system
from test_in_step import FAMILY_SAMPLES, case_of, runner

from simcore.engines import each_npu
from simcore.engines.events.fold.relations import first_relation
from simcore.engines.events.fold.run import run_folded
from simcore.engines.events.input import EngineInput, EngineOutput
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError, InfeasibleError
from simcore.workload import build_graph

SEEN: Counter[str] = Counter()


def compared(inputs: EngineInput) -> EngineOutput:
    every, folded = run_unfolded(inputs), run_folded(inputs)
    np.testing.assert_array_equal(folded.finish_ns, every.finish_ns)
    np.testing.assert_array_equal(folded.busy_ns, every.busy_ns)
    for ours, theirs in zip(folded.node_end_ns, every.node_end_ns, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    sums = [(one.messages, one.sent_bytes, one.received_bytes) for one in (folded, every)]
    assert sums[0] == sums[1]
    assert folded.waiting == every.waiting
    SEEN["folded"] += folded.classes < every.classes
    SEEN[folded.unfolded_because] += 1
    return folded


@pytest.mark.parametrize("seed", [*range(1, 12), 20, 28, 34])
def test_folded_equals_unfolded_on_random_systems_with_fair_links(seed: int) -> None:
    try:
        compared(replace(random_system(seed), backend="flow"))
    except ConfigError:
        SEEN["refused"] += 1


@pytest.mark.parametrize(
    "family", ["torus", "leaf_spine", "rails", "dragonfly", "islands", "bcube"]
)
def test_folded_equals_unfolded_on_networks(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert family in FAMILY_SAMPLES
    monkeypatch.setattr(each_npu, "run_folded", compared)
    for seed in (0, 1):
        workload, plan, platform, system = case_of(family, seed)
        try:
            graph = build_graph(workload, plan)
            runner(platform, system, "flow").run_graph(graph)
        except (InfeasibleError, ConfigError):
            SEEN["refused"] += 1


def test_many_of_those_were_folded_and_some_given_up_for_their_order() -> None:
    if not SEEN:
        pytest.skip("the systems above were not part of this session")
    assert SEEN["folded"] >= 8
    assert SEEN["the order of simultaneous events depends on the order of the NPUs"] >= 1


def test_the_first_relation_with_each_partner_is_found() -> None:
    partners = np.array([[3, 1, 3, 1], [5, 5, 5, 2]])
    assert first_relation(partners).tolist() == [[0, 1, 0, 1], [0, 0, 0, 3]]
