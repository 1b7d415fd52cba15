"""Launch files of every tool over random designs: refused by name, or read back as the plan."""

import random
from typing import Any

import pytest

from dse.launch import TOOLS, Job
from simcore import ConfigError, ParallelPlan, RunTemplate

DESIGNS = 120
DENSE = {"kind": "llama", "layers": 8, "hidden": 64, "heads": 8, "kv_heads": 4, "ffn": 128}
DENSE |= {"vocabulary": 512, "name": "small"}
EXPERTS = DENSE | {"experts": {"count": 8, "active": 2, "ffn": 32}}


def _trained(draw: random.Random) -> dict[str, Any]:
    plan: dict[str, Any] = {axis: draw.choice((1, 1, 2, 4)) for axis in ("tp", "cp", "pp", "dp")}
    replicas = plan["cp"] * plan["dp"]
    plan |= {
        "micro_batch": draw.choice((1, 2)),
        "zero_stage": draw.choice((0, 1, 2, 3)),
        "recompute": draw.choice(("none", "selective", "full")),
        "cp_kind": draw.choice(("ring", "all_gather", "ulysses")),
        "ep": draw.choice((1, 1, plan["dp"])),
        "etp": draw.choice((1, plan["tp"])),
        "sequence_parallel": draw.random() < 0.7,
        "overlap_gradients": draw.random() < 0.5,
        "schedule": draw.choice(("1f1b", "1f1b", "gpipe", "zb_h1")) if plan["pp"] > 1 else "1f1b",
        "interleave": draw.choice((1, 2)) if plan["pp"] > 1 else 1,
    }
    if plan["zero_stage"]:
        plan["shard"] = draw.choice([n for n in (1, 2, 4, 8, 16) if replicas % n == 0])
    return plan


def _served(draw: random.Random) -> dict[str, Any]:
    plan: dict[str, Any] = {axis: draw.choice((1, 2, 4)) for axis in ("tp", "pp", "dp")}
    plan |= {"cp": draw.choice((1, 1, 1, 2)), "schedule": "forward"}
    return plan | {"ep": draw.choice((1, plan["tp"] * plan["dp"])), "etp": 1}


def _jobs(*, trains: bool) -> list[Job]:
    """Designs that the simulator takes, on GPUs and on TPUs."""
    draw, found = random.Random(2), list[Job]()
    while len(found) < DESIGNS:
        plan = _trained(draw) if trains else _served(draw)
        npus = max(2, plan["tp"] * plan["cp"] * plan["pp"] * plan["dp"])
        dimension = {"topology": "switch", "npus": npus, "bandwidth": "50 GB/s", "latency": "1 us"}
        work = {"model": draw.choice((DENSE, EXPERTS)), "sequence": 128, "global_batch": 64}
        if not trains:
            work |= {"kind": "inference", "step": draw.choice(("prefill", "decode"))}
        npu = draw.choice(("h100_80", "tpu_v5p"))
        machine = {"name": "machine", "npu": npu, "dimensions": [dimension]}
        try:
            table = {"workload": work, "platform": machine, "plan": plan}
            run = RunTemplate.from_table(table).with_values({})
        except ConfigError:
            continue
        found.append(Job(run=run, title="trial 0 of a study"))
    return found


JOBS = {trains: _jobs(trains=trains) for trains in (False, True)}


def _unsaid(plan: ParallelPlan, job: Job) -> set[str]:
    """Keys of a plan that mean nothing beside its other keys."""
    rules = {
        "cp_kind": plan.cp == 1,
        "shard": not plan.zero_stage or plan.shard_npus == 1,
        "zero_stage": plan.shard_npus == 1,
        "schedule": plan.pp == 1,
        "sequence_parallel": plan.tp == 1,
        "etp": job.model.experts is None,
    }
    return {key for key, idle in rules.items() if idle}


@pytest.mark.parametrize("name", TOOLS)
def test_a_design_is_refused_by_name_or_read_back(name: str) -> None:
    tool, wrong, written = TOOLS[name], list[object](), 0
    for job in JOBS[tool.trains]:
        try:
            text = tool.text(job)
        except ConfigError as error:
            wrong += [] if error.at.startswith(("plan.", "workload.")) else [error]
            continue
        written += 1
        plan = job.plan
        own: dict[str, object] = {
            "global_batch": 64,
            "order": "-".join(plan.order),
            "etp": plan.expert_tp,
            "shard": plan.shard_npus,
            "sequence_parallel": plan.splits_sequence,
        }
        idle = _unsaid(plan, job)
        wrong += [
            (key, value, plan)
            for key, value in tool.plan(text).items()
            if key not in idle and value != own.get(key, getattr(plan, key, None))
        ]
    assert not wrong
    assert written >= 5
