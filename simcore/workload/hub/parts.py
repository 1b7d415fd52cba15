"""Parts of a layer: how many parameters each has, and the cache that a token leaves in it."""

from dataclasses import dataclass, replace
from typing import Literal

from simcore.workload.hub.families import Family
from simcore.workload.hub.keys import Keys

NUMBER_BYTES = 2
"""Bytes of a number in the cache (bfloat16)."""

CacheKind = Literal["full", "sliding", "latent"]


@dataclass(frozen=True, slots=True)
class Part:
    """Counts of one part of a layer.

    Attributes:
        parameters: All of them.
        routed: Those of routed experts, of which a token passes a share.
        cache_bytes_per_token: Keys and values of one token.
        cache: Kind of that cache.
    """

    parameters: int
    routed: int = 0
    cache_bytes_per_token: int = 0
    cache: CacheKind = "full"


@dataclass(frozen=True, slots=True)
class Widths:
    """Widths that all parts of a decoder share, from its keys.

    Attributes:
        hidden: Width of the hidden state.
        heads: Heads of queries.
        kv_heads: Heads of keys and of values.
        head: Width of a head.
        mlp: Width of the MLP.
    """

    hidden: int
    heads: int
    kv_heads: int
    head: int
    mlp: int

    @classmethod
    def read(cls, keys: Keys, family: Family) -> "Widths":
        """Widths of a decoder.

        Raises:
            ConfigError: A key is missing or has no usable value.
        """
        hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
        four = 4 * hidden if family.four_hidden else None
        return cls(
            hidden,
            heads,
            _kv_heads(keys, family, heads),
            _head(keys, family, hidden, heads),
            keys.number(family.dense, four) if family.dense else 0,
        )


def _kv_heads(keys: Keys, family: Family, heads: int) -> int:
    if family.kv_heads == "heads":
        return heads
    if family.kv_heads == "multi_query":
        return 1 if keys.flag("multi_query") else heads
    found = keys.number("num_key_value_heads", heads if family.kv_heads == "maybe" else None)
    if heads % found and not family.latent:
        raise keys.refuse("num_key_value_heads", f"must divide the {heads} heads of queries")
    return found


def _head(keys: Keys, family: Family, hidden: int, heads: int) -> int:
    if family.head_dim == "said":
        return keys.number("head_dim")
    given = None if family.head_dim == "derived" else keys.value("head_dim")
    if given is not None:
        return keys.number("head_dim")
    if hidden % heads:
        raise keys.refuse("hidden_size", f"must be a multiple of its {heads} heads: give head_dim")
    return hidden // heads


def has_bias(keys: Keys, switch: bool | str) -> bool:
    """True if a part has biases: always, never, or as a key says.

    Keys that are left out mean no biases, except that of Qwen's first experts.
    """
    return keys.flag(switch, switch == "qkv_bias") if isinstance(switch, str) else switch


def norm_parameters(family: Family, hidden: int) -> int:
    """Parameters of one norm of the hidden state."""
    return {"rms": hidden, "layer": 2 * hidden, "none": 0}[family.norm]


def attention(keys: Keys, family: Family, widths: Widths) -> Part:
    """Attention with a cache of whole heads, shared by groups of queries or not."""
    queries, pairs = widths.heads * widths.head, 2 * widths.kv_heads * widths.head
    count = widths.hidden * (2 * queries + pairs)
    count += (queries + pairs) * has_bias(keys, family.qkv)
    count += widths.hidden * has_bias(keys, family.out)
    count += widths.hidden * queries * (family.output_gate and keys.flag("attn_output_gate", True))
    count += _head_norms(keys, family, widths) + widths.heads * family.sinks
    count += widths.hidden * family.sub_norms
    return Part(count, cache_bytes_per_token=NUMBER_BYTES * pairs)


def _head_norms(keys: Keys, family: Family, widths: Widths) -> int:
    if family.head_norms == "whole":
        return (widths.heads + widths.kv_heads) * widths.head
    if family.head_norms == "head":
        keys.must_be("use_qk_norm", True)
        return 2 * widths.head
    of_one, of_all = 2 * widths.head, (widths.heads + widths.kv_heads) * widths.head
    if family.head_norms == "head_if_said":
        return of_one * keys.flag("use_qk_norm")
    return of_all * keys.flag("use_qk_norm") if family.head_norms == "whole_if_said" else 0


def latent_attention(keys: Keys, widths: Widths) -> Part:
    """Attention that caches a latent and a rotary key (DeepSeek-V2, arXiv:2405.04434)."""
    latent, rotary = keys.number("kv_lora_rank"), keys.number("qk_rope_head_dim")
    plain, value = keys.number("qk_nope_head_dim"), keys.number("v_head_dim")
    keys.needed("q_lora_rank")
    rank = keys.number("q_lora_rank") if keys.has("q_lora_rank") else 0
    hidden, heads, queries = widths.hidden, widths.heads, widths.heads * (plain + rotary)
    count = hidden * (latent + rotary) + latent + latent * heads * (plain + value)
    count += heads * value * hidden
    count += rank * (hidden + 1 + queries) if rank else hidden * queries
    if keys.flag("attention_bias", False):
        count += rank + latent + rotary + hidden
    return Part(count, cache_bytes_per_token=NUMBER_BYTES * (latent + rotary), cache="latent")


def delta_net(keys: Keys, widths: Widths) -> Part:
    """Linear attention by the gated delta rule (arXiv:2412.06464); its state does not grow."""
    value_heads, value = keys.number("linear_num_value_heads"), keys.number("linear_value_head_dim")
    key_width = keys.number("linear_num_key_heads") * keys.number("linear_key_head_dim")
    inner = value_heads * value
    mixed = 2 * key_width + inner
    count = widths.hidden * (mixed + 2 * inner + 2 * value_heads)
    count += keys.number("linear_conv_kernel_dim") * mixed + 2 * value_heads + value
    return Part(count)


def mamba(keys: Keys, hidden: int) -> Part:
    """A layer of Mamba (arXiv:2312.00752); its state does not grow."""
    inner, rank = keys.number("intermediate_size"), keys.number("time_step_rank")
    state, kernel = keys.number("state_size"), keys.number("conv_kernel")
    count = hidden * 2 * inner + inner * (kernel + keys.flag("use_conv_bias"))
    count += inner * (rank + 2 * state) + rank * inner + inner  # steps, B and C; steps' own layer
    count += inner * state + inner + inner * hidden
    return Part(count + (2 * inner + hidden) * keys.flag("use_bias"))


def mamba2(
    keys: Keys, hidden: int, *, heads: str, head: str, state: str, bias: str
) -> Part:  # fmt: skip
    """A layer of Mamba 2 (arXiv:2405.21060), by the names of its keys; its state does not grow."""
    count = keys.number(heads)
    inner = count * keys.number(head)
    mixed = inner + 2 * keys.number("n_groups") * keys.number(state)
    projected = inner + mixed + count
    total = hidden * projected + (keys.number("conv_kernel") + keys.flag("use_conv_bias")) * mixed
    total += 3 * count + inner + inner * hidden
    return Part(total + (projected + hidden) * keys.flag(bias))


def mlp(keys: Keys, family: Family, widths: Widths) -> Part:
    """The MLP, with a gate or without."""
    into = 2 if family.gated else 1
    count = (into + 1) * widths.hidden * widths.mlp
    count += widths.mlp * family.sub_norms
    return Part(count + (into * widths.mlp + widths.hidden) * has_bias(keys, family.mlp))


def experts(keys: Keys, family: Family, widths: Widths) -> Part:
    """Routed experts, their router, and the expert that every token passes."""
    count, width, hidden = keys.number("num_experts"), keys.number(family.experts), widths.hidden
    latent = hidden
    if family.shared == "latent":
        keys.needed("moe_latent_size")
        latent = keys.number("moe_latent_size", hidden)
    matrices = 3 if family.gated else 2
    biases = (2 * width + hidden) * family.expert_biases
    routed = count * (matrices * latent * width + biases)
    router = count * (hidden + family.router_biases)
    total = routed + router + matrices * hidden * _shared_width(keys, family, width)
    total += 2 * hidden * latent * (latent != hidden) + hidden * (family.shared == "gated")
    return Part(total, routed)


def _shared_width(keys: Keys, family: Family, width: int) -> int:
    if family.shared == "gated":
        return keys.number("shared_expert_intermediate_size")
    if family.shared == "latent":
        return keys.number("moe_shared_expert_intermediate_size")
    if family.shared == "own":
        return keys.number("shared_intermediate_size", least=0)
    if family.shared == "count":
        keys.needed("n_shared_experts")
        return width * keys.number("n_shared_experts", 0, least=0)
    return width if family.shared == "expert" else 0


def with_cache(part: Part, kind: CacheKind) -> Part:
    """Copy of a part, with a cache of this kind."""
    return replace(part, cache=kind)
