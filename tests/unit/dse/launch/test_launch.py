"""Launch files: read back they give the plan that they were written from; the rest is named."""

from itertools import product
from typing import Any

import pytest

from dse.launch import TOOLS, Job
from simcore import ConfigError, Run, RunTemplate

BATCH = 64
TRAINERS = [name for name, tool in TOOLS.items() if tool.trains]
SERVERS = [name for name, tool in TOOLS.items() if not tool.trains]
LLAMA = {"kind": "llama", "layers": 8, "hidden": 64, "heads": 8, "kv_heads": 4, "ffn": 128}
LLAMA |= {"vocabulary": 512, "name": "small"}
EXPERTS = LLAMA | {"experts": {"count": 8, "active": 2, "ffn": 32}}


def _run(model: dict[str, Any], plan: dict[str, Any], npu: str = "h100_80", **workload: Any) -> Run:
    npus = 1
    for axis in ("tp", "cp", "pp", "dp"):
        npus *= plan.get(axis, 1)
    dimension = {"topology": "switch", "npus": npus, "bandwidth": "50 GB/s", "latency": "1 us"}
    table = {
        "workload": {"model": model, "sequence": 128, "global_batch": BATCH, **workload},
        "platform": {"name": "machine", "npu": npu, "dimensions": [dimension]},
        "plan": plan,
    }
    return RunTemplate.from_table(table).with_values({})


def _job(model: dict[str, Any], plan: dict[str, Any], **workload: Any) -> Job:
    return Job(run=_run(model, plan, **workload), title="trial 0 of a study")


def _serving(model: dict[str, Any], plan: dict[str, Any], **workload: Any) -> Job:
    given = {"kind": "inference", "step": "decode"} | workload
    return _job(model, {"schedule": "forward"} | plan, **given)


def _own(job: Job, key: str) -> object:
    """What the design itself says under a key that a launch file was read for."""
    plan = job.plan
    special = {
        "global_batch": BATCH,
        "order": "-".join(plan.order),
        "etp": plan.expert_tp if job.model.experts else 1,
        "shard": plan.shard_npus,
        "sequence_parallel": plan.splits_sequence,
    }
    return special[key] if key in special else getattr(plan, key)


def _plans() -> list[dict[str, Any]]:
    plans = []
    for tp, pp, cp, zero, recompute in product((1, 2), (1, 2), (1, 2), (0, 1, 3), ("none", "full")):
        plan = {"tp": tp, "pp": pp, "cp": cp, "dp": 4, "zero_stage": zero, "recompute": recompute}
        plan |= {"micro_batch": 2, "interleave": pp, "sequence_parallel": tp > 1}
        plans.append(plan | {"cp_kind": "ulysses" if zero == 1 else "ring"})
    return plans


@pytest.mark.parametrize("name", TRAINERS)
def test_a_file_read_back_gives_the_plan_again(name: str) -> None:
    tool, written = TOOLS[name], 0
    wrong: list[object] = []
    for model, plan in product((LLAMA, EXPERTS), _plans()):
        job = _job(model, plan | {"ep": 4 if "experts" in model else 1, "etp": 1})
        try:
            text = tool.text(job)
        except ConfigError as error:
            wrong += [] if error.at.startswith(("plan.", "workload.")) else [error]
            continue
        written += 1
        read = tool.plan(text)
        idle = {"cp_kind"} if plan["cp"] == 1 else set()
        idle |= {"shard"} if not plan["zero_stage"] else set()
        idle |= {"sequence_parallel"} if plan["tp"] == 1 else set()
        idle |= {"schedule"} if plan["pp"] == 1 else set()
        idle |= {"etp"} if "experts" not in model else set()
        wrong += [
            (key, value, _own(job, key), plan)
            for key, value in read.items()
            if key not in idle and value != _own(job, key)
        ]
    assert not wrong
    assert written >= 4


@pytest.mark.parametrize(
    ("name", "plan", "words"),
    [
        ("megatron", {"pp": 2, "schedule": "zb_h1"}, "plan.schedule: must be 1f1b"),
        ("megatron", {"pp": 2, "schedule": "gpipe"}, "got 'gpipe'"),
        ("megatron", {"pp": 2, "interleave": 2, "schedule": "dualpipe"}, "got 'dualpipe'"),
        ("torchtitan", {"pp": 2, "schedule": "zb_h1"}, "got 'zb_h1'"),
        ("torchtitan", {"pp": 2, "interleave": 2, "schedule": "dualpipe"}, "got 'dualpipe'"),
        ("torchtitan", {"dp": 2, "zero_stage": 1}, "plan.zero_stage"),
        ("deepspeed", {"pp": 2}, "built in code"),
        ("maxtext", {"pp": 2}, "plan.schedule: must be gpipe"),
        ("megatron", {"tp": 16}, "must divide the query heads"),
        ("megatron", {"cp": 128}, "workload.sequence: must be a multiple of 2 cp"),
        ("nemo", {"dp": 2, "order": "dp-tp-cp-ep-pp", "tp": 2}, "plan.order"),
    ],
)
def test_what_a_tool_cannot_express_is_named(name: str, plan: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        TOOLS[name].text(_job(LLAMA, plan))


def test_layers_that_no_number_of_chunks_divides_are_laid_out_by_name() -> None:
    job = _job(LLAMA, {"pp": 2, "interleave": 2, "chunk_layers": [1, 2, 2, 3]})
    text = TOOLS["megatron"].text(job)
    assert "Et|tt|tt|tttL" in text
    assert TOOLS["megatron"].plan(text)["chunk_layers"] == (1, 2, 2, 3)
    assert TOOLS["megatron"].plan(text)["interleave"] == 2
    with pytest.raises(ConfigError, match="equally many layers"):
        TOOLS["torchtitan"].text(_job(LLAMA, {"pp": 3}))


def test_sequence_parallelism_without_tp_is_not_asked_for() -> None:
    text = TOOLS["megatron"].text(_job(LLAMA, {"dp": 2, "sequence_parallel": True}))
    assert "--sequence-parallel" not in text


@pytest.mark.parametrize("name", SERVERS)
def test_a_served_plan_read_back_is_the_same(name: str) -> None:
    tool = TOOLS[name]
    for plan in ({"tp": 4}, {"tp": 2, "pp": 2, "dp": 2}, {"tp": 2, "dp": 4}):
        job = _serving(LLAMA, plan)
        read = tool.plan(tool.text(job))
        assert read == {key: _own(job, key) for key in read}
    job = _serving(EXPERTS, {"tp": 2, "dp": 2, "ep": 4, "etp": 1, "sequence_parallel": True})
    read = tool.plan(tool.text(job))
    assert read == {key: _own(job, key) for key in read}


def test_experts_over_some_npus_are_a_size_that_vllm_has_not() -> None:
    job = _serving(EXPERTS, {"tp": 2, "dp": 4, "ep": 4, "etp": 1, "sequence_parallel": True})
    with pytest.raises(ConfigError, match=r"plan\.ep: must be tp x dp = 8"):
        TOOLS["vllm"].text(job)
    assert "--moe-dp-size 2" in TOOLS["sglang"].text(job)


def test_maxtext_is_told_its_hardware_and_how_that_splits_a_sequence() -> None:
    plan = {"cp": 2, "dp": 2, "zero_stage": 3, "cp_kind": "ulysses"}
    told = TOOLS["maxtext"].text(_job(LLAMA, plan, npu="tpu_v5p")).splitlines()
    wanted = {"attention": '"flash"', "use_tokamax_splash": "true", "hardware": '"tpu"'}
    wanted |= {"context_parallel_load_balance": "false"}
    assert {f"{key}: {value}" for key, value in wanted.items()} <= set(told)
    with pytest.raises(ConfigError, match=r"plan\.cp_kind: must be ring or all_gather"):
        TOOLS["maxtext"].text(_job(LLAMA, plan))
    ring = TOOLS["maxtext"].text(_job(LLAMA, plan | {"cp_kind": "ring"}))
    assert 'hardware: "gpu"' in ring
    assert "attention" not in ring
    assert "context_parallel_strategy" not in TOOLS["maxtext"].text(_job(LLAMA, {"dp": 2}))


def test_weights_that_maxtext_would_shard_are_no_whole_copies() -> None:
    with pytest.raises(ConfigError, match=r"plan\.zero_stage: must be 3 with cp or ep"):
        TOOLS["maxtext"].text(_job(LLAMA, {"cp": 2, "dp": 2}))
    plan = {"cp": 2, "dp": 4, "zero_stage": 3, "shard": 2}
    text = TOOLS["maxtext"].text(_job(LLAMA, plan))
    assert "ici_fsdp_parallelism: 1" in text
    assert TOOLS["maxtext"].plan(text)["shard"] == 2


def test_vectors_beside_matrices_are_written_or_named() -> None:
    normed = LLAMA | {"vectors": {"attention": 16}}
    assert "--qk-layernorm" in TOOLS["megatron"].text(_job(normed, {"dp": 2}))
    assert 'decoder_block: "qwen3"' in TOOLS["maxtext"].text(_job(normed, {"dp": 2}))
    for name in ("megatron", "nemo", "maxtext"):
        job = _job(LLAMA | {"vectors": {"mlp": 320}}, {"dp": 2})
        if name == "nemo":  # its recipe holds the model
            TOOLS[name].text(job)
            continue
        with pytest.raises(ConfigError, match=r"workload\.model\.vectors\.mlp"):
            TOOLS[name].text(job)


def test_nemo_names_a_precision_for_both_formats() -> None:
    text = TOOLS["nemo"].text(_job(LLAMA, {"dp": 2}))
    assert 'mixed_precision: "bf16_mixed"' in text
    with pytest.raises(ConfigError, match=r"workload\.gradient_format: must be fp16 with fp16"):
        TOOLS["nemo"].text(_job(LLAMA, {"dp": 2}, precision="fp16"))


def test_a_router_to_one_expert_takes_its_softmax_first() -> None:
    one = LLAMA | {"experts": {"count": 8, "active": 1, "ffn": 32}}
    assert "--moe-router-pre-softmax" in TOOLS["megatron"].text(_job(one, {"dp": 2}))
    assert "--moe-router-pre-softmax" not in TOOLS["megatron"].text(_job(EXPERTS, {"dp": 2}))
