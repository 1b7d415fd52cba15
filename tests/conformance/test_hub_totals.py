"""Architectures whose counts are held to the totals that their releases state."""

from typing import Any

import pytest

from simcore.workload.hub.read import count_hub_model


def _config(kind: str, hidden: int, layers: int, heads: int, **other: Any) -> dict[str, Any]:
    shape = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads}
    return {"model_type": kind, "tie_word_embeddings": False} | shape | other


TIED: dict[str, Any] = {"tie_word_embeddings": True}
RELEASED = {
    "gpt-j-6b": (6050882784, _config("gptj", 4096, 28, 16, vocab_size=50400)),
    "opt-6.7b": (
        6658473984,
        _config("opt", 4096, 32, 32, ffn_dim=16384, vocab_size=50272, word_embed_proj_dim=4096,
                max_position_embeddings=2048, **TIED),
    ),
    "c4ai-command-r-plus": (
        103810674688,
        _config("cohere", 12288, 64, 96, num_key_value_heads=8, vocab_size=256000,
                intermediate_size=33792, use_qk_norm=True, **TIED),
    ),
    "starcoder2-3b": (
        3030371328,
        _config("starcoder2", 3072, 30, 24, num_key_value_heads=2, vocab_size=49152,
                intermediate_size=12288, use_bias=True, sliding_window=4096, **TIED),
    ),
    "stablelm-2-1.6b": (
        1644515328,
        _config("stablelm", 2048, 24, 32, num_key_value_heads=32, vocab_size=100352,
                intermediate_size=5632, use_qkv_bias=True, use_parallel_residual=False),
    ),
    "phi-3.5-moe": (
        41873153344,
        _config("phimoe", 4096, 32, 32, num_key_value_heads=8, vocab_size=32064,
                intermediate_size=6400, num_local_experts=16, num_experts_per_tok=2,
                attention_bias=True, lm_head_bias=True, sliding_window=131072),
    ),
    "minimax-m2": (
        228689748992,
        _config("minimax_m2", 3072, 62, 48, num_key_value_heads=8, vocab_size=200064,
                head_dim=128, intermediate_size=1536, num_local_experts=256,
                num_experts_per_tok=8),
    ),
    "falcon-rw-1b": (
        1311625216,
        _config("falcon", 2048, 24, 32, vocab_size=50304, multi_query=False, alibi=True,
                bias=True, parallel_attn=False, new_decoder_architecture=False, **TIED),
    ),
    "falcon-mamba-7b": (
        7272665088,
        {"model_type": "falcon_mamba", "hidden_size": 4096, "num_hidden_layers": 64,
         "vocab_size": 65024, "intermediate_size": 8192, "time_step_rank": 256,
         "state_size": 16, "conv_kernel": 4, "use_conv_bias": True, "use_bias": False,
         "tie_word_embeddings": False},
    ),
    "jamba-v0.1": (
        51570323328,
        _config("jamba", 4096, 32, 32, num_key_value_heads=8, vocab_size=65536,
                intermediate_size=14336, num_experts=16, num_experts_per_tok=2,
                expert_layer_period=2, expert_layer_offset=1, attn_layer_period=8,
                attn_layer_offset=4, mamba_d_state=16, mamba_d_conv=4, mamba_expand=2,
                mamba_dt_rank=256, mamba_conv_bias=True, mamba_proj_bias=False),
    ),
    "lfm2-1.2b": (
        1170340608,
        _config("lfm2", 2048, 16, 32, num_key_value_heads=8, vocab_size=65536,
                intermediate_size=12288, conv_bias=False, conv_L_cache=3,
                block_multiple_of=256, block_ffn_dim_multiplier=1.0,
                block_auto_adjust_ff_dim=True,
                layer_types=["conv"] * 10 + ["full_attention"] * 6, **TIED),
    ),
    "falcon-h1-0.5b": (
        521411104,
        _config("falcon_h1", 1024, 36, 8, num_key_value_heads=2, head_dim=64,
                vocab_size=32784, intermediate_size=2048, mamba_d_ssm=1536, mamba_n_heads=24,
                mamba_d_head=64, mamba_d_state=128, mamba_n_groups=1, mamba_d_conv=4,
                mamba_conv_bias=True, mamba_proj_bias=False, projectors_bias=False,
                mamba_rms_norm=False),
    ),
    "falcon-40b": (
        41303293952,
        _config("falcon", 8192, 60, 128, num_kv_heads=8, vocab_size=65024, multi_query=True,
                bias=False, parallel_attn=True, new_decoder_architecture=True, **TIED),
    ),
    "minimax-text-01": (
        456089655296,
        _config("minimax", 6144, 80, 64, num_key_value_heads=8, head_dim=128,
                vocab_size=200064, intermediate_size=9216, num_local_experts=32,
                num_experts_per_tok=2,
                layer_types=([*["linear_attention"] * 7, "full_attention"] * 10)),
    ),
    "recurrentgemma-2b": (
        2682862080,
        _config("recurrent_gemma", 2560, 26, 10, num_key_value_heads=1, head_dim=256,
                vocab_size=256000, intermediate_size=15360, lru_width=2560, conv1d_width=4,
                block_types=["recurrent", "recurrent", "attention"], attention_bias=False,
                **TIED),
    ),
    "bart-large": (
        406291456,
        {"model_type": "bart", "d_model": 1024, "vocab_size": 50265,
         "max_position_embeddings": 1024, "encoder_layers": 12, "decoder_layers": 12,
         "encoder_ffn_dim": 4096, "decoder_ffn_dim": 4096, "encoder_attention_heads": 16,
         "decoder_attention_heads": 16, "tie_word_embeddings": True},
    ),
    "distilbert-base": (
        66985530,
        {"model_type": "distilbert", "dim": 768, "hidden_dim": 3072, "n_layers": 6,
         "n_heads": 12, "vocab_size": 30522, "max_position_embeddings": 512,
         "tie_word_embeddings": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("release", RELEASED)
def test_total_is_the_one_that_the_release_states(release: str) -> None:
    total, config = RELEASED[release]
    assert count_hub_model(config, release).total_parameters == total


def test_a_hybrid_caches_in_its_layers_of_attention_only() -> None:
    counts = count_hub_model(RELEASED["jamba-v0.1"][1], "here")
    assert counts.kv_bytes_per_token_full == 4 * 2 * 2 * 8 * 128


def test_a_hybrid_without_experts_is_counted() -> None:
    _, config = RELEASED["jamba-v0.1"]
    counts = count_hub_model(config | {"num_experts": 1}, "here")
    assert counts.active_parameters == counts.total_parameters < RELEASED["jamba-v0.1"][0] / 4
