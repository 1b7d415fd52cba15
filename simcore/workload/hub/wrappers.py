"""Models with parts that text does not pass."""

WRAPPERS = frozenset(
    {
        ("gemma3", "gemma3_text"),
        ("llama4", "llama4_text"),
        ("mistral3", "ministral3"),
        ("mistral3", "mistral"),
        ("mistral3", "mistral4"),
        ("qwen2_5_vl", "qwen2_5_vl_text"),
        ("qwen2_vl", "qwen2_vl_text"),
        ("qwen3_5", "qwen3_5_text"),
        ("qwen3_5_moe", "qwen3_5_moe_text"),
        ("qwen3_vl", "qwen3_vl_text"),
        ("qwen3_vl_moe", "qwen3_vl_moe_text"),
        ("aya_vision", "cohere2"),
        ("cohere2_vision", "cohere2"),
        ("got_ocr2", "qwen2"),
        ("idefics3", "llama"),
        ("internvl", "llama"),
        ("internvl", "qwen2"),
        ("internvl", "qwen3"),
        ("internvl", "qwen3_moe"),
        ("lfm2_vl", "lfm2"),
        ("llava", "llama"),
        ("llava", "mistral"),
        ("llava_next", "llama"),
        ("llava_next", "mistral"),
        ("llava_next", "qwen2"),
        ("llava_onevision", "qwen2"),
        ("ovis2", "qwen2"),
        ("paligemma", "gemma"),
        ("paligemma", "gemma2"),
        ("smolvlm", "llama"),
        ("vipllava", "llama"),
    }
)
"""Models with vision, and the part of theirs that text passes."""
