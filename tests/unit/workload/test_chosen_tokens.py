"""How the NPUs of a tensor parallel group come to a token: what travels, and where rules end it."""

from typing import Any

import pytest

from simcore.config import load_run
from simcore.errors import InfeasibleError
from simcore.simulation import Simulator, simulate_run
from simcore.terms import CollectiveKind
from simcore.workload import build_graph
from simcore.workload.graph import Axis

MODEL = {"name": "tiny", "layers": 2, "hidden": 256, "heads": 8, "ffn": 512, "vocabulary": 4096}
SWITCH = {"topology": "switch", "npus": 4, "bandwidth": "100 GB/s", "latency": "1 us"}
RUN: dict[str, Any] = {
    "workload": {
        "kind": "inference",
        "model": MODEL,
        "step": "decode",
        "sequence": 128,
        "global_batch": 16,
    },
    "platform": {"npu": "h100_80", "dimensions": [SWITCH]},
    "plan": {"tp": 4, "schedule": "forward", "micro_batch": 16},
    "system": {"chunks": 1, "all_gather": "ring"},
}
ROWS, PART = 16, 4096 // 4
KIND = CollectiveKind


@pytest.mark.parametrize(
    ("logits", "told"),
    [
        ("largest", [(KIND.ALL_REDUCE, 4 * ROWS)]),
        ("all_gather", [(KIND.ALL_GATHER, 2 * ROWS * PART)]),
        ("gather", [(KIND.GATHER, 2 * ROWS * PART), (KIND.BROADCAST, 8 * ROWS)]),
    ],
)
def test_logits_travel_as_the_plan_says(
    logits: str, told: list[tuple[CollectiveKind, int]]
) -> None:
    run = load_run(RUN, {"plan.logits": logits})
    graph = build_graph(run.workload, run.plan)
    ends = ("largest logit", "logits", "chosen tokens")
    found = [one for one in graph.collectives if one.name in ends]
    assert [(one.kind, one.size_bytes) for one in found] == told
    assert {one.axis for one in found} == {Axis.TP}


def test_a_gather_and_the_way_back_take_what_their_rounds_take() -> None:
    """Every NPU waits for the first one, which has 3 parts of the logits come, and its tokens."""
    times = {
        name: simulate_run(load_run(RUN, {"plan.logits": name})).iteration_time_s
        for name in ("all_gather", "gather")
    }
    hop_s, part_s, tokens_s = 2e-6, 2 * ROWS * PART / 100e9, 8 * ROWS / 100e9
    ring_s = 3 * (hop_s + part_s)
    binomial_s = 2 * hop_s + 3 * part_s  # one part, then two
    back_s = 2 * (hop_s + tokens_s)
    # endpoints handle each of some ten messages for 10 ns
    assert times["gather"] - times["all_gather"] == pytest.approx(
        binomial_s + back_s - ring_s, abs=1e-7
    )


def test_members_that_end_one_by_one_are_followed_where_messages_meet() -> None:
    stays = {"plan.logits": "gather", "placement": [0, 1, 2, 3]}
    found = [
        Simulator().simulate(load_run({**RUN, "backend": "flow"}, values))
        for values in ({"plan.logits": "gather"}, stays)
    ]
    assert found[0].iteration_time_s == found[1].iteration_time_s
    assert found[0].engine == "events"


def test_one_npu_gathers_nothing() -> None:
    alone = {"plan.tp": 1, "plan.dp": 4, "plan.micro_batch": 4}
    times = [
        simulate_run(load_run(RUN, {**alone, "plan.logits": name})).iteration_time_s
        for name in ("largest", "gather")
    ]
    assert times[0] == times[1]


def test_training_chooses_no_tokens() -> None:
    training = {"workload": {"model": MODEL, "sequence": 128, "global_batch": 16}}
    run = load_run({**RUN, **training, "plan": {"tp": 4, "logits": "gather"}})
    with pytest.raises(InfeasibleError, match=r"tokens_are_chosen: .* logits must be largest"):
        simulate_run(run)
