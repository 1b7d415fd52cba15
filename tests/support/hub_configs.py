"""Small files of Hugging Face's ``config.json``: a dense net, and one with experts."""

from typing import Any

DENSE: dict[str, Any] = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 10,
    "tie_word_embeddings": False,
}
EXPERTS = DENSE | {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"]}
EXPERTS |= {"num_local_experts": 4, "num_experts_per_tok": 1, "sliding_window": None}
