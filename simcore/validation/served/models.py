"""The shipped model behind the name of a checkpoint."""

import re

from simcore.validation.rows import UnsupportedRow
from simcore.workload import Model, load_net

CHECKPOINTS = {
    r"deepseek-(r1|v3(\.1)?)": "deepseek_v3",
    r"kimi-k2(\.\d)?": "kimi_k2",
    r"llama-3(\.[13])?-8b": "llama3_8b",
    r"llama-3(\.[13])?-70b": "llama3_70b",
    r"llama-3\.1-405b": "llama3_405b",
    r"llama-4-scout.*": "llama4_scout",
    r"llama-4-maverick.*": "llama4_maverick",
    r"mixtral-8x7b": "mixtral_8x7b",
    r"mixtral-8x22b": "mixtral_8x22b",
    r"minimax-m2(\.\d)?": "minimax_m2",
    r"qwen3-32b": "qwen3_32b",
    r"qwen3-30b-a3b": "qwen3_30b_a3b",
    r"qwen3-235b-a22b": "qwen3_235b_a22b",
    r"gpt-oss-20b": "gpt_oss_20b",
    r"gpt-oss-120b": "gpt_oss_120b",
}
"""Names of checkpoints, without maker, date and number format, and models of ``configs/models``."""

_ENDINGS = r"(-(instruct|chat|hf|it|base|fp8|fp4|nvfp4|bf16|mxfp4|v0\.\d|\d{4}))*$"


def served_model(name: str) -> Model:
    """The model of the checkpoint *name*, such as ``nvidia/Llama-3.1-8B-Instruct-FP8``.

    Raises:
        UnsupportedRow: No shipped model has its shape.
    """
    plain = name.split("/")[-1].lower().replace(" ", "-").replace("meta-", "")
    plain = re.sub(_ENDINGS, "", plain)
    for pattern, shipped in CHECKPOINTS.items():
        if re.fullmatch(pattern, plain):
            model = load_net(shipped)
            if isinstance(model, Model):
                return model
    raise UnsupportedRow(f"no model of configs/models has the shape of {name or '(none)'}")
