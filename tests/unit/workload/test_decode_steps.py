"""Decode steps that follow each other, read chunks of prompts or check guesses: closed forms."""

from typing import Any

import pytest
from graph_sums import bytes_by_axis, total_flop

from simcore.config import load_run
from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.result import IterationResult
from simcore.simulation import run_with_iteration, simulate_run
from simcore.workload import (
    Axis,
    Kernel,
    ParallelPlan,
    TrainingGraph,
    Workload,
    build_graph,
    load_workload,
)

CONTEXT, HIDDEN, VOCABULARY = 4096, 512, 4096
DENSE: dict[str, Any] = {
    "name": "dense", "kind": "llama", "layers": 4, "hidden": HIDDEN, "heads": 8, "kv_heads": 4,
    "ffn": 1024, "vocabulary": VOCABULARY,
}  # fmt: skip
SMALL = DENSE | {"name": "small", "layers": 1, "ffn": 512}
MODELS: dict[str, dict[str, Any]] = {
    "dense": DENSE,
    "windowed": DENSE | {"window": 512, "global_every": 2},
    "routed": DENSE | {"experts": {"count": 8, "active": 2, "ffn": 256, "shared_ffn": 256}},
}
CHUNK = {"prompt": 2048, "tokens": 256, "prompts": 8}


def job(model: object = DENSE, batch: int = 16, **more: Any) -> Workload:
    table = {"kind": "inference", "model": model, "step": "decode", "global_batch": batch}
    return load_workload({**table, "sequence": CONTEXT, **more})


def plan_of(**plan: Any) -> ParallelPlan:
    return ParallelPlan(**{"schedule": "forward", "micro_batch": 4, **plan})


def built(workload: Workload, **plan: Any) -> TrainingGraph:
    return build_graph(workload, plan_of(**plan))


def cores(graph: TrainingGraph) -> list[Kernel]:
    kernels = [kernel for operator in graph.operators for kernel in operator.kernels]
    return [kernel for kernel in kernels if kernel.kind == "attention"]


def simulated(
    npus: int, plan: dict[str, Any], model: object = DENSE, **more: Any
) -> IterationResult:
    return simulate_run(load_run(table(npus, plan, model, **more)))


def table(npus: int, plan: dict[str, Any], model: object = DENSE, **more: Any) -> dict[str, Any]:
    workload = {
        "kind": "inference", "model": model, "step": "decode", "sequence": CONTEXT,
        "global_batch": 16, **more,
    }  # fmt: skip
    link = {"topology": "switch", "npus": npus, "bandwidth": "100 GB/s", "latency": "1 us"}
    return {
        "version": 1,
        "workload": workload,
        "platform": {"npu": "h100_80", "dimensions": [link]},
        "plan": {"schedule": "forward", "micro_batch": 4, **plan},
        "system": {"all_reduce": "direct"},
    }


SPLITS: list[dict[str, Any]] = [{}, {"tp": 4}, {"dp": 2, "tp": 2}, {"pp": 2}, {"pp": 4, "dp": 2}]


@pytest.mark.parametrize("plan", SPLITS)
@pytest.mark.parametrize("model", MODELS)
def test_chunks_add_the_products_and_scores_of_their_tokens(
    model: str, plan: dict[str, Any]
) -> None:
    if model == "routed" and plan.get("tp"):
        plan = {**plan, "sequence_parallel": True}
    workload = job(MODELS[model], chunk=CHUNK)
    net, graph = workload.model, built(workload, **plan)
    tokens, heads = 16 + 8 * 256, 16 + 8
    active = net.active_matrix_parameters  # type: ignore[attr-defined]
    assert total_flop(graph, "gemm") == 2 * tokens * active + 2 * heads * VOCABULARY * HIDDEN
    whole, windowed = (2, 2) if model == "windowed" else (4, 0)
    answers = 16 * (whole * CONTEXT + windowed * 512)
    # all chunks of a prompt together see n^2 / 2 scores, or w n - w^2 / 2 with a window
    prompts = 8 / 8 * (whole * 2048**2 / 2 + windowed * (512 * 2048 - 512**2 / 2))
    assert total_flop(graph, "attention") == 4 * HIDDEN * (answers + prompts)


def test_the_net_itself_asks_for_one_head_per_prompt_not_per_chunk() -> None:
    workload, alone = job(chunk=CHUNK), job()
    net = workload.model
    chunks = 2 * 8 * 256 * net.active_matrix_parameters  # type: ignore[attr-defined]
    chunks += 2 * VOCABULARY * HIDDEN + 4 * HIDDEN * 4 * 2048**2 // 2
    assert workload.model_flop == alone.model_flop + chunks


def test_a_chunk_reads_the_keys_before_it_and_its_own() -> None:
    answers, prompt = cores(built(job(chunk=CHUNK)))
    (alone,) = cores(built(job()))
    assert answers == alone
    # over the 8 chunks of a prompt: (1 + ... + 8) x 256 keys and values of 4 heads of 64
    keys = sum(range(1, 9)) * 256 // 8
    queries_and_outputs = 2 * 2 * 2 * 256 * HIDDEN
    assert prompt.bytes == 2 * 2 * keys * 2 * 4 * 64 + queries_and_outputs
    assert prompt.m == 256


def test_chunks_share_the_traffic_of_the_step_and_the_cache() -> None:
    workload = job(chunk=CHUNK)
    stream = 2 * (16 + 8 * 256) * HIDDEN
    largest_logit = 4 * (16 + 8)
    assert bytes_by_axis(built(workload, tp=4))[Axis.TP].tolist() == [9 * stream + largest_logit]
    cache, plain = (footprint(each, plan_of()).fullest.cache_bytes for each in (workload, job()))
    assert cache - plain == 8 * 2048 * 2 * 2 * 4 * 64 * 4


def test_the_first_token_comes_after_as_many_steps_as_a_prompt_has_chunks() -> None:
    result = simulated(4, {"tp": 4}, chunk=CHUNK)
    figures = result.metrics()
    assert figures["time_to_first_token_s"] == pytest.approx(8 * result.iteration_time_s)
    assert figures["prompts_per_s"] == pytest.approx(8 / figures["time_to_first_token_s"])
    assert result.tokens_per_s == pytest.approx(16 / result.iteration_time_s)


@pytest.mark.parametrize("plan", SPLITS)
def test_guesses_are_rows_of_the_products_that_read_the_cache_once(plan: dict[str, Any]) -> None:
    workload = job(speculation={"tokens": 3, "acceptance": 0.5})
    net, graph = workload.model, built(workload, **plan)
    rows = 16 * 4
    active = net.active_matrix_parameters + VOCABULARY * HIDDEN  # type: ignore[attr-defined]
    assert total_flop(graph, "gemm") == 2 * rows * active
    assert total_flop(graph, "attention") == 4 * rows * CONTEXT * HIDDEN * 4
    (core,), (alone,) = cores(graph), cores(built(job(), **plan))
    outer = 2 * 2 * 4 * HIDDEN // plan.get("tp", 1)  # queries and outputs of one row each
    assert core.bytes - alone.bytes == 3 * outer
    assert core.m == 4


@pytest.mark.parametrize(
    ("acceptance", "gained"),
    # (1 - a^4) / (1 - a)
    [(0.0, 1.0), (0.5, 1.875), (0.8, 2.952), (1.0, 4.0)],
)
def test_a_step_gains_the_guesses_that_hold_and_one_more(acceptance: float, gained: float) -> None:
    guessed = {"tokens": 3, "acceptance": acceptance}
    none, some = (
        simulated(4, {"tp": 4}, speculation={**guessed, "acceptance": chance}).iteration_time_s
        for chance in (0.0, acceptance)
    )
    assert none / some == pytest.approx(gained, rel=1e-3)


def test_the_model_that_guesses_takes_its_time_and_memory() -> None:
    guess = {"tokens": 3, "acceptance": 0.0}
    free, drafted = (
        simulated(4, {"tp": 4}, speculation=each) for each in (guess, {**guess, "model": SMALL})
    )
    draft = simulated(4, {"tp": 4}, SMALL)
    assert drafted.iteration_time_s == pytest.approx(
        free.iteration_time_s + 3 * draft.iteration_time_s, rel=1e-6
    )
    parts, others = drafted.footprint.components(), draft.footprint.components()
    for name in ("weights", "kv cache"):
        assert parts[name] == free.footprint.components()[name] + others[name]
    busy = drafted.compute_s + drafted.exposed_communication_s + drafted.bubble_s
    assert busy == pytest.approx(drafted.iteration_time_s, rel=1e-6)


def test_a_dense_model_guesses_for_one_with_experts() -> None:
    plan = {"dp": 4, "ep": 4}
    guess = {"tokens": 2, "acceptance": 0.7, "model": SMALL}
    assert simulated(4, plan, MODELS["routed"], speculation=guess).tokens_per_s > 0


def _closed_pipeline(run: dict[str, Any], steps: int) -> float:
    """Mean time between *steps* of micro-batches that start anew once they have come out."""
    _, iteration = run_with_iteration(load_run(run), every_node=True)
    nodes = iteration.nodes
    assert nodes is not None
    graph = nodes.graph
    stages, batches = len(graph.stages), int(graph.stages[0].microbatch.max()) + 1
    work, way = [], []
    at = 0
    for stage in graph.stages:
        own = slice(at, at + stage.nodes)
        took = (nodes.execution.end_ns - nodes.execution.start_ns)[own]
        first = stage.microbatch == 0
        work.append(int(took[first & (stage.kind == 4)].sum()))
        way.append(int(took[first & (stage.kind == 5)].sum()))
        at += stage.nodes
    free, ends, back = [0] * stages, [], [0] * batches
    for number in range(steps * batches):
        ready = back[number % batches]
        for at, (computing, sending) in enumerate(zip(work, way, strict=True)):
            free[at] = max(free[at], ready) + computing
            ready = free[at] + sending
        back[number % batches] = free[-1]
        ends.append(free[-1])
    return (ends[-1] - ends[batches * (steps // 2) - 1]) / (steps - steps // 2) * 1e-9


@pytest.mark.parametrize(
    ("plan", "batch"),
    [
        ({"pp": 4}, 4),  # one micro-batch is under way
        ({"pp": 4}, 8),
        ({"pp": 4}, 16),
        ({"pp": 2}, 32),
        ({"pp": 2, "chunk_layers": [3, 1]}, 16),
        ({"pp": 2, "dp": 2}, 16),
    ],
)
def test_steady_steps_are_as_far_apart_as_in_a_pipeline_that_is_run_many_times(
    plan: dict[str, Any], batch: int
) -> None:
    npus = plan["pp"] * plan.get("dp", 1)
    run = table(npus, plan, global_batch=batch)
    expected = _closed_pipeline(run, steps=40)
    steady = simulated(npus, plan, global_batch=batch, steady=True)
    assert steady.iteration_time_s == pytest.approx(expected, rel=2e-3)
    alone = simulated(npus, plan, global_batch=batch)
    assert steady.iteration_time_s <= alone.iteration_time_s * (1 + 1e-9)
    for stage in steady.stages:
        parts = sum(stage.compute_s.values()) + sum(stage.exposed_communication_s.values())
        assert stage.bubble_s >= 0
        assert parts + stage.bubble_s == pytest.approx(steady.iteration_time_s)


def test_a_full_pipeline_waits_for_nothing_on_its_slowest_stage() -> None:
    steady = simulated(2, {"pp": 2}, global_batch=64, steady=True)
    assert min(stage.bubble_s for stage in steady.stages) < 1e-3 * steady.iteration_time_s


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"step": "prefill", "chunk": CHUNK}, "chunk"),
        ({"step": "prefill", "steady": True}, "steady"),
        ({"step": "prefill", "speculation": {"tokens": 2, "acceptance": 1}}, "speculation"),
        ({"chunk": {"prompt": 100, "tokens": 33}}, "chunk.tokens"),
        ({"speculation": {"tokens": 0, "acceptance": 1}}, "speculation.tokens"),
        ({"speculation": {"tokens": 1, "acceptance": 1.5}}, "speculation.acceptance"),
        ({"speculation": {"tokens": 1, "acceptance": 1, "model": "lama3_8b"}}, "speculation.model"),
        ({"speculation": {"tokens": 1, "acceptance": 1, "model": "t5_11b"}}, "speculation.model"),
    ],
)
def test_what_a_step_cannot_do_is_told_by_its_place(more: dict[str, Any], place: str) -> None:
    with pytest.raises(ConfigError, match=place):
        job(**more)


@pytest.mark.parametrize(
    ("more", "plan", "rule"),
    [
        ({"chunk": CHUNK | {"prompts": 3}}, {}, "prompts_fill_micro_batches"),
        (
            {"speculation": {"tokens": 1, "acceptance": 1, "model": SMALL}},
            {"pp": 2},
            "draft_is_whole",
        ),
        (
            {"speculation": {"tokens": 1, "acceptance": 1, "model": SMALL | {"heads": 4}}},
            {"tp": 8},
            "heads_divide_by_tp",
        ),
    ],
)
def test_plans_that_a_step_cannot_follow_are_refused(
    more: dict[str, Any], plan: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InfeasibleError) as error:
        built(job(**more), **plan)
    assert error.value.rule == rule
