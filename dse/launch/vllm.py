"""vLLM: ``vllm serve`` and its options.

Names and refusals of options: vLLM 0.32.0 (Apache-2.0), ``EngineArgs`` and ``ParallelConfig``.
"""

import json
from typing import ClassVar

from dse.launch.base import Job, LaunchTool, PlanKeys, check_order, head, refuse
from dse.launch.script import Flags, number, options, script
from dse.launch.serving import check_serving, number_flags, read_tokens

_CALL = "vllm serve"
_NAME = "vLLM"
_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}


class Vllm(LaunchTool):
    """A script that serves a model with vLLM."""

    tool: ClassVar[str] = "vLLM 0.32.0"
    file: ClassVar[str] = "vllm.sh"
    trains: ClassVar[bool] = False

    def text(self, job: Job) -> str:
        plan, work = job.plan, job.serving
        check_serving(job, _NAME)
        check_order(job, _NAME, ("tp", "cp", "ep", "pp", "dp"), ("tp", "cp", "ep", "dp", "pp"))
        flags: Flags = [
            ("--tensor-parallel-size", str(plan.tp)),
            ("--pipeline-parallel-size", str(plan.pp)),
            ("--data-parallel-size", str(plan.dp)),
            *_experts(job),
            ("--max-num-seqs", str(work.global_batch // plan.dp)),
            ("--max-num-batched-tokens", str(max(read_tokens(job), work.sequence))),
            ("--max-model-len", str(work.sequence)),
            *number_flags(job, _NAME, cache="fp8"),
        ]
        if plan.cp > 1:
            if work.step != "prefill":
                rule = f"must be 1 in decode for {_NAME}, whose decode groups are NPUs of tp"
                refuse("plan.cp", rule, plan.cp)
            flags.append(("--prefill-context-parallel-size", str(plan.cp)))
        if job.pool:
            role = {"kv_connector": "NixlConnector", "kv_role": _ROLES[job.pool]}
            flags.append(("--kv-transfer-config", json.dumps(role)))
        setup = [f'MODEL="${{MODEL:?set MODEL to the name or folder of {job.model.name}}}"']
        return script(head(job, self), setup, f'{_CALL} "$MODEL"', flags)

    def plan(self, text: str) -> PlanKeys:
        found = options(text, _CALL)
        tp, dp = number(found, "--tensor-parallel-size"), number(found, "--data-parallel-size")
        return {
            "tp": tp,
            "pp": number(found, "--pipeline-parallel-size"),
            "cp": number(found, "--prefill-context-parallel-size"),
            "dp": dp,
            "ep": tp * dp if "--enable-expert-parallel" in found else 1,
            "global_batch": number(found, "--max-num-seqs") * dp,
        }


def _experts(job: Job) -> Flags:
    """The switch of expert parallelism, whose degree is tp x dp.

    Raises:
        ConfigError: The plan's is another, or what it makes of an expert is.
    """
    plan = job.plan
    if job.model.experts is None:
        return []
    whole = plan.tp * plan.dp
    if plan.ep == whole and plan.expert_tp == 1:
        return [("--enable-expert-parallel",)] if whole > 1 else []
    if plan.ep == 1 and plan.dp == 1 and plan.expert_tp == plan.tp:
        return []
    rule = f"must be tp x dp = {whole} with etp 1 for {_NAME}, which has a switch and no size"
    refuse("plan.ep", rule, plan.ep)
