"""Rules that the launch files of all tools that serve have in common."""

from dse.launch.base import Job, check_divisions, refuse, refuse_unless
from dse.launch.script import Flags


def check_serving(job: Job, tool: str) -> None:
    """Refuse what no tool that serves has an option for.

    Raises:
        ConfigError: The design asks for it; names it.
    """
    work = job.serving
    refuse_unless(tool, job.plan, {"schedule": ("forward",), "dispatch_group": (None,)})
    check_divisions(job, tool)
    if work.speculation is not None:
        rule = f"must be left out for {tool}: options for it are not written here"
        refuse("workload.speculation", rule, work.speculation.tokens)
    if work.global_batch % job.plan.dp:
        rule = f"must be a multiple of dp = {job.plan.dp} for {tool}"
        refuse("workload.global_batch", rule, work.global_batch)


def read_tokens(job: Job) -> int:
    """Tokens of a replica in one step: whole prompts, or one of each sequence and a chunk."""
    work, sequences = job.serving, job.serving.global_batch // job.plan.dp
    if work.step == "prefill":
        return sequences * work.sequence
    return sequences + (work.chunk.tokens if work.chunk else 0)


def number_flags(job: Job, tool: str, *, cache: str) -> Flags:
    """Formats of weights, products and cache.

    Args:
        job: The design.
        tool: Its name.
        cache: The name of a cache in fp8.

    Raises:
        ConfigError: There is no option for one of them.
    """
    work = job.serving
    precision = str(work.precision)
    weights = work.formats.weights if work.formats else str(work.weight_format or precision)
    for key, value in (("precision", precision), ("weight_format", weights)):
        if value not in ("bf16", "fp16", "fp8"):
            rule = f"must be bf16, fp16 or fp8 for {tool}: options for more are not written here"
            refuse(f"workload.{key}", rule, value)
    flags: Flags = [("--dtype", "float16" if precision == "fp16" else "bfloat16")]
    if "fp8" in (precision, weights):
        flags.append(("--quantization", "fp8"))
    if work.formats and work.formats.cache == "fp8":
        flags.append(("--kv-cache-dtype", cache))
    return flags
