"""The shipped model behind the name of a checkpoint."""

import re
from functools import cache

from simcore.validation.rows import UnsupportedRow
from simcore.workload import Model, load_net

CHECKPOINTS = {
    r"deepseek-(r1|v3(\.1)?)": "deepseek_v3",
    r"deepseek-v3\.2(-exp)?": "deepseek_v3_2",
    r"glm-5": "glm5",
    r"kimi-k2(\.\d)?": "kimi_k2",
    r"llama-7b": "llama_7b",
    r"llama-2-7b": "llama2_7b",
    r"llama-2-70b": "llama2_70b",
    r"llama-3(\.[13])?-8b": "llama3_8b",
    r"llama-3(\.[13])?-70b": "llama3_70b",
    r"llama-3\.1-405b": "llama3_405b",
    r"llama-4-scout.*": "llama4_scout",
    r"llama-4-maverick.*": "llama4_maverick",
    r"aquila-7b": "aquila_7b",
    r"bloom-7b1": "bloom_7b1",
    r"decilm-7b": "decilm_7b",
    r"gemma-7b": "gemma_7b",
    r"gpt-j-6b": "gpt_j_6b",
    r"mistral-7b": "mistral_7b",
    r"mixtral-8x7b": "mixtral_8x7b",
    r"mixtral-8x22b": "mixtral_8x22b",
    r"minimax-m2(\.\d)?": "minimax_m2",
    r"opt-6\.7b": "opt_6_7b",
    r"qwen1\.5-7b": "qwen1_5_7b",
    r"qwen2(\.5)?-7b": "qwen2_7b",
    r"qwen2(\.5)?-72b": "qwen2_72b",
    r"qwen3-32b": "qwen3_32b",
    r"qwen3-30b-a3b": "qwen3_30b_a3b",
    r"qwen3-235b-a22b": "qwen3_235b_a22b",
    r"qwen3\.5-397b-a17b": "qwen3_5_397b_a17b",
    r"gpt-oss-20b": "gpt_oss_20b",
    r"gpt-oss-120b": "gpt_oss_120b",
}
"""Names of checkpoints, without maker, date and number format, and models of ``configs/models``."""

CONTEXTS = {
    r"(llama|aquila)-7b": 2048,
    r"(bloom|gpt-j|opt)-.*": 2048,
    r"llama-2-.*": 4096,
}
"""Tokens of prompt and answer for which older checkpoints have places: ``max_position_embeddings``
or ``seq_length`` of the released config.json."""

_ANY_CONTEXT = 2**30

_ENDINGS = r"(-(instruct|chat|hf|it|base|fp8|fp4|nvfp4|bf16|mxfp4|v0\.\d|\d{4}))*$"


@cache
def served_model(name: str) -> Model:
    """The model of the checkpoint *name*, such as ``nvidia/Llama-3.1-8B-Instruct-FP8``.

    Rows ask for it over and over: each file is read once.

    Raises:
        UnsupportedRow: No shipped model has its shape.
    """
    plain = _plain(name)
    for pattern, shipped in CHECKPOINTS.items():
        if re.fullmatch(pattern, plain):
            model = load_net(shipped)
            if isinstance(model, Model):
                return model
    raise UnsupportedRow(f"no model of configs/models has the shape of {name or '(none)'}")


def context_of(name: str) -> int:
    """Tokens of prompt and answer together for which the checkpoint *name* has places."""
    fits = (size for pattern, size in CONTEXTS.items() if re.fullmatch(pattern, _plain(name)))
    return next(fits, _ANY_CONTEXT)


def _plain(name: str) -> str:
    """*name* without its maker and what tells versions and formats apart."""
    plain = name.split("/")[-1].lower().replace(" ", "-").replace("meta-", "")
    return re.sub(_ENDINGS, "", plain)
