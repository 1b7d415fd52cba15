"""SGLang: ``sglang.launch_server`` and its options.

Names and refusals of options: SGLang 0.5.23 (Apache-2.0), ``srt/arg_groups``.
"""

from typing import ClassVar

from dse.launch.base import Job, LaunchTool, PlanKeys, check_order, head, refuse
from dse.launch.script import Flags, number, options, script
from dse.launch.serving import check_serving, number_flags, read_tokens

_CALL = "-m sglang.launch_server"
_NAME = "SGLang"


class SgLang(LaunchTool):
    """A script that serves a model with SGLang."""

    tool: ClassVar[str] = "SGLang 0.5.23"
    file: ClassVar[str] = "sglang.sh"
    trains: ClassVar[bool] = False

    def text(self, job: Job) -> str:
        work = job.serving
        check_serving(job, _NAME)
        check_order(job, _NAME, ("tp", "cp", "ep", "pp", "dp"), ("tp", "cp", "ep", "dp", "pp"))
        flags: Flags = [
            *_degrees(job),
            ("--max-running-requests", str(work.global_batch)),
            ("--chunked-prefill-size", str(max(read_tokens(job), 1))),
            ("--context-length", str(work.sequence)),
            *number_flags(job, _NAME, cache="fp8_e4m3"),
        ]
        if job.pool:
            flags.append(("--disaggregation-mode", job.pool))
        setup = [f'MODEL="${{MODEL:?set MODEL to the name or folder of {job.model.name}}}"']
        return script(head(job, self), setup, f'python3 {_CALL} --model-path "$MODEL"', flags)

    def plan(self, text: str) -> PlanKeys:
        found = options(text, _CALL)
        inner, replicas = number(found, "--attn-dp-size"), number(found, "--dp-size")
        cp, whole = number(found, "--attn-cp-size"), number(found, "--tp-size")
        return {
            "tp": whole // (inner * cp),
            "pp": number(found, "--pp-size"),
            "cp": cp,
            "dp": inner * replicas,
            "ep": number(found, "--ep-size"),
            "global_batch": number(found, "--max-running-requests"),
        }


def _degrees(job: Job) -> Flags:
    """Degrees; attention is split within the NPUs of the experts, replicas are apart.

    Raises:
        ConfigError: There is no option for what the plan asks for.
    """
    plan = job.plan
    if plan.cp > 1 and plan.pp > 1:
        refuse("plan.pp", f"must be 1 with cp for {_NAME}", plan.pp)
    if plan.ep == 1:
        if plan.expert_tp != plan.tp and job.model.experts:
            refuse("plan.etp", f"must be tp with ep 1 for {_NAME}", plan.expert_tp)
        if plan.cp > 1 and job.model.experts:
            refuse("plan.cp", f"must be 1 with experts and ep 1 for {_NAME}", plan.cp)
        inner, replicas = 1, plan.dp
    else:
        inner, replicas = plan.dp, 1
    flags: Flags = [
        ("--tp-size", str(plan.tp * plan.cp * inner)),
        ("--pp-size", str(plan.pp)),
    ]
    if replicas > 1:
        flags.append(("--dp-size", str(replicas)))
    if inner > 1:
        flags.append(("--attn-dp-size", str(inner)))
    if plan.cp > 1:
        flags.append(("--attn-cp-size", str(plan.cp)))
    if plan.ep > 1:
        flags.append(("--ep-size", str(plan.ep)))
        if plan.expert_replicas > 1:
            flags.append(("--moe-dp-size", str(plan.expert_replicas)))
    return flags
