"""Whatever a file says of a net of any kind, it is simulated or refused in one sentence."""

from typing import Any

import pytest

from simcore import InfeasibleError, SimcoreError, load_run, simulate_run

BASE: dict[str, Any] = {
    "version": 1,
    "platform": {
        "npu": "h100_80",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "25 GB/s", "latency": "1 us"}
        ],
    },
    "plan": {"dp": 8, "micro_batch": 8},
}
ROW = {"op": "conv", "inputs": 3, "outputs": 8, "size": 8, "kernel": 3}
NETS: dict[str, dict[str, Any]] = {
    "cnn": {"groups": [{"times": 1, "rows": [ROW]}]},
    "dlrm": {
        "dense_features": 4,
        "bottom": [8],
        "top": [1],
        "width": 8,
        "tables": [{"count": 8, "rows": 10, "pooling": 2}],
    },
}
PLACES = {
    "cnn": [
        "model.groups[0].times",
        *(f"model.groups[0].rows[0].{key}" for key in ROW),
        "model.groups[0].rows[0].stride",
        "model.synced_norms",
        "model.kind",
        "kind",
        "optimizer",
        "global_batch",
    ],
    "dlrm": [
        *(f"model.{key}" for key in NETS["dlrm"]),
        *(f"model.tables[0].{key}" for key in ("count", "rows", "pooling")),
        *(f"tables.{key}" for key in ("sharding", "columns", "host_part", "format")),
        "model.interaction",
        "model.cross_rank",
    ],
}
VALUES = [0, -1, 1.5, "x", None, 10**9, 10**19, 10**400, True, [], {}]


@pytest.mark.parametrize(
    ("kind", "place"), [(kind, place) for kind, places in PLACES.items() for place in places]
)
def test_a_value_is_taken_or_refused_in_one_sentence(kind: str, place: str) -> None:
    model = {"name": "small", "kind": kind, **NETS[kind]}
    run = {**BASE, "workload": {"kind": kind, "model": model, "global_batch": 64}}
    sentences, times = [], []
    for value in VALUES:
        try:
            result = simulate_run(load_run(run, {f"workload.{place}": value}))
            times.append(result.iteration_time_s)
        except SimcoreError as error:
            sentences.append(str(error))
    assert len(sentences) + len(times) == len(VALUES)
    assert all("\n" not in sentence for sentence in sentences)
    assert all(time_s > 0 for time_s in times)
    assert sentences


@pytest.mark.parametrize("kind", NETS)
@pytest.mark.parametrize("schedule", ["zb_h1", "dualpipe"])
def test_a_net_without_stages_has_no_schedule_that_cuts_backward_passes(
    kind: str, schedule: str
) -> None:
    model = {"name": "small", "kind": kind, **NETS[kind]}
    run = {**BASE, "workload": {"kind": kind, "model": model, "global_batch": 64}}
    with pytest.raises(InfeasibleError, match=f"schedule {schedule} needs pp above 1"):
        simulate_run(load_run(run, {"plan.schedule": schedule}))


DECODER = {
    "name": "small", "kind": "llama", "layers": 2, "hidden": 64, "heads": 8, "vocabulary": 64,
    "experts": {"count": 8, "active": 2, "ffn": 64, "node_limit": 2},
}  # fmt: skip
SERVED: dict[str, Any] = {
    **BASE,
    "workload": {
        "kind": "inference",
        "model": DECODER,
        "step": "decode",
        "sequence": 64,
        "global_batch": 64,
        "steady": True,
        "chunk": {"prompt": 64, "tokens": 16, "prompts": 8},
        "speculation": {"tokens": 2, "acceptance": 0.5, "model": {**DECODER, "name": "tiny"}},
    },
    "plan": {"dp": 8, "ep": 8, "dispatch_group": 2, "micro_batch": 8, "schedule": "forward"},
}


@pytest.mark.parametrize(
    "place",
    [
        *(f"workload.{key}" for key in ("step", "sequence", "steady", "global_batch")),
        *(f"workload.chunk.{key}" for key in ("prompt", "tokens", "prompts")),
        *(f"workload.speculation.{key}" for key in ("tokens", "acceptance", "model")),
        *(f"workload.model.experts.{key}" for key in ("node_limit", "active")),
        *(f"plan.{key}" for key in ("dispatch_group", "scatter_each", "schedule")),
    ],
)
def test_a_value_of_a_step_of_inference_is_taken_or_refused_in_one_sentence(place: str) -> None:
    assert simulate_run(load_run(SERVED)).iteration_time_s > 0
    sentences = []
    for value in VALUES:
        try:
            assert simulate_run(load_run(SERVED, {place: value})).iteration_time_s > 0
        except SimcoreError as error:
            sentences.append(str(error))
    assert sentences
    assert all("\n" not in sentence for sentence in sentences)
