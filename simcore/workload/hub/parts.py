"""Parts of a layer: how many parameters each has, and the cache that a token leaves in it."""

from dataclasses import dataclass, replace
from typing import Literal

from simcore.workload.hub.family import Family
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
        found = cls.read_heads(keys, family)
        return replace(found, mlp=_mlp(keys, family, found.hidden))

    @classmethod
    def read_heads(cls, keys: Keys, family: Family) -> "Widths":
        """Widths of a decoder whose MLPs differ by layer; their width here is 0.

        Raises:
            ConfigError: A key is missing or has no usable value.
        """
        hidden, heads = keys.number("hidden_size"), keys.number("num_attention_heads")
        kv_heads, head = _kv_heads(keys, family, heads), _head(keys, family, hidden, heads)
        return cls(hidden, heads, kv_heads, head, 0)


def _mlp(keys: Keys, family: Family, hidden: int) -> int:
    if not family.dense:
        return 0
    width = keys.number(family.dense, 4 * hidden if family.four_hidden else None)
    if family.linear == "recurrent":
        return width // 2
    if family.linear != "convolution" or family.experts:
        return width
    if not keys.flag("block_auto_adjust_ff_dim"):
        return width
    keys.needed("block_ffn_dim_multiplier")
    keys.must_be("block_ffn_dim_multiplier", 1)
    multiple, width = keys.number("block_multiple_of"), 2 * width // 3
    return -(-width // multiple) * multiple if keys.has("block_ffn_dim_multiplier") else width


def _kv_heads(keys: Keys, family: Family, heads: int) -> int:
    if family.kv_heads == "heads":
        return heads
    if family.kv_heads == "multi_query" and keys.flag("new_decoder_architecture", False):
        keys.flag("multi_query", True)
        return keys.number("num_key_value_heads")
    if family.kv_heads == "multi_query":
        return 1 if keys.flag("multi_query") else heads
    found = keys.number("num_key_value_heads", heads if family.kv_heads == "maybe" else None)
    if heads % found and not family.latent:
        raise keys.refuse("num_key_value_heads", f"must divide the {heads} heads of queries")
    return found


def _head(keys: Keys, family: Family, hidden: int, heads: int) -> int:
    if family.latent:
        return 0  # widths of its own
    if family.head_dim == "said":
        return keys.number("head_dim")
    given = None if family.head_dim == "derived" else keys.value("head_dim")
    if given is not None:
        return keys.number("head_dim")
    if hidden % heads and family.head_dim != "rounded":
        raise keys.refuse("hidden_size", f"must be a multiple of its {heads} heads: give head_dim")
    keys.must_be("head_dim", hidden // heads)
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
    if family.output_gate and keys.flag("attn_output_gate", True):
        count += (widths.hidden + has_bias(keys, family.qkv)) * queries
    count += _head_norms(keys, family, widths) + widths.heads * family.sinks
    count += widths.hidden * family.sub_norms
    if family.kv_heads == "multi_query" and keys.flag("new_decoder_architecture", False):
        pairs = 2 * queries  # Falcon's module repeats keys and values for each query, then caches
    return Part(count, cache_bytes_per_token=NUMBER_BYTES * pairs)


def _head_norms(keys: Keys, family: Family, widths: Widths) -> int:
    if family.head_norms == "whole":
        return (widths.heads + widths.kv_heads) * widths.head
    if family.head_norms == "head":
        keys.must_be("use_qk_norm", True)
        return 2 * widths.head
    of_one, of_all = 2 * widths.head, (widths.heads + widths.kv_heads) * widths.head
    if family.head_norms == "biased_if_said":
        return 2 * of_one * keys.flag("qk_layernorm")
    if family.head_norms == "head_if_said":
        return of_one * keys.flag("use_qk_norm")
    return of_all * keys.flag("use_qk_norm") if family.head_norms == "whole_if_said" else 0


def latent_attention(keys: Keys, family: Family, widths: Widths) -> Part:
    """Attention that caches a latent and a rotary key (DeepSeek-V2, arXiv:2405.04434).

    An indexer (DeepSeek-V3.2, arXiv:2512.02556) reads the latent of queries and caches a key more.
    """
    latent, rotary = keys.number("kv_lora_rank"), keys.number("qk_rope_head_dim")
    plain, value = keys.number("qk_nope_head_dim"), keys.number("v_head_dim")
    keys.needed("q_lora_rank")
    rank = keys.number("q_lora_rank") if keys.has("q_lora_rank") else 0
    key = keys.number("index_head_dim") if family.indexer else 0
    hidden, heads, queries = widths.hidden, widths.heads, widths.heads * (plain + rotary)
    count = hidden * (latent + rotary) + latent + latent * heads * (plain + value)
    count += heads * value * hidden
    count += rank * (hidden + 1 + queries) if rank else hidden * queries
    if keys.flag("attention_bias", False):
        count += rank + latent + rotary + hidden
    if family.indexer:
        if not rank:
            raise keys.refuse("q_lora_rank", "must be given, because the indexer reads that latent")
        scorers = keys.number("index_n_heads")
        count += rank * scorers * key + hidden * (key + scorers) + 2 * key
    cached = NUMBER_BYTES * (latent + rotary + key)
    return Part(count, cache_bytes_per_token=cached, cache="latent")


def delta_net(keys: Keys, widths: Widths) -> Part:
    """Linear attention by the gated delta rule (arXiv:2412.06464); its state does not grow."""
    value_heads, value = keys.number("linear_num_value_heads"), keys.number("linear_value_head_dim")
    key_width = keys.number("linear_num_key_heads") * keys.number("linear_key_head_dim")
    inner = value_heads * value
    mixed = 2 * key_width + inner
    count = widths.hidden * (mixed + 2 * inner + 2 * value_heads)
    count += keys.number("linear_conv_kernel_dim") * mixed + 2 * value_heads + value
    return Part(count)


def kimi_delta(keys: Keys, hidden: int) -> Part:
    """Linear attention by the delta rule with a gate for each number (arXiv:2510.26692)."""
    heads, head = keys.number("linear_num_heads"), keys.number("linear_head_dim")
    inner = heads * head
    gates = 2 * (hidden * head + head * inner) + hidden * heads
    taps = 3 * inner * keys.number("linear_conv_kernel_dim")
    return Part(4 * hidden * inner + taps + gates + inner + heads + head)


def mamba(keys: Keys, hidden: int) -> Part:
    """A layer of Mamba (arXiv:2312.00752); its state does not grow."""
    inner, rank = keys.number("intermediate_size"), keys.number("time_step_rank")
    state, kernel = keys.number("state_size"), keys.number("conv_kernel")
    count = _mamba(hidden, inner, rank, state, kernel + keys.flag("use_conv_bias"))
    return Part(count + (2 * inner + hidden) * keys.flag("use_bias"))


def jamba(keys: Keys, hidden: int) -> Part:
    """A layer of Mamba with norms of steps and states (Jamba, arXiv:2403.19887)."""
    inner, rank = keys.number("mamba_expand") * hidden, keys.number("mamba_dt_rank")
    state, kernel = keys.number("mamba_d_state"), keys.number("mamba_d_conv")
    count = _mamba(hidden, inner, rank, state, kernel + keys.flag("mamba_conv_bias"))
    return Part(count + rank + 2 * state + (2 * inner + hidden) * keys.flag("mamba_proj_bias"))


def _mamba(hidden: int, inner: int, rank: int, state: int, taps: int) -> int:
    count = hidden * 2 * inner + inner * taps
    count += inner * (rank + 2 * state) + rank * inner + inner  # steps, B and C; steps' own layer
    return count + inner * state + inner + inner * hidden


@dataclass(frozen=True, slots=True)
class StateKeys:
    """Names of the keys of a layer of Mamba 2, which differ by architecture."""

    heads: str
    head: str
    groups: str
    state: str
    kernel: str
    conv_bias: str
    bias: str


MAMBA2 = StateKeys(
    "num_heads", "head_dim", "n_groups", "state_size", "conv_kernel", "use_conv_bias", "use_bias"
)
NEMOTRON = StateKeys(
    "mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel",
    "use_conv_bias", "use_bias",
)  # fmt: skip
BAMBA = StateKeys(
    "mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv",
    "mamba_conv_bias", "mamba_proj_bias",
)  # fmt: skip

ZAMBA = StateKeys(
    "n_mamba_heads", "mamba_headdim", "mamba_ngroups", "mamba_d_state", "mamba_d_conv",
    "use_conv_bias", "add_bias_linear",
)  # fmt: skip


def mamba2(keys: Keys, hidden: int, names: StateKeys, *, beside: bool = False) -> Part:
    """A layer of Mamba 2 (arXiv:2405.21060); its state does not grow.

    One *beside* attention (Falcon-H1) has a norm, and biases of its last matrix, by own keys.
    """
    heads = keys.number(names.heads)
    inner = heads * keys.number(names.head)
    mixed = inner + 2 * keys.number(names.groups) * keys.number(names.state)
    projected = inner + mixed + heads
    taps = keys.number(names.kernel) + keys.flag(names.conv_bias)
    bias = keys.flag(names.bias)
    has_norm = keys.flag("mamba_rms_norm") if beside else True
    out_bias = keys.flag("projectors_bias") if beside else bias
    if beside:
        keys.number("mamba_d_ssm")
        keys.must_be("mamba_d_ssm", inner)
    elif names in (BAMBA, ZAMBA):
        keys.must_be("mamba_expand", inner / hidden)
    total = hidden * projected + taps * mixed + 3 * heads + inner * has_norm + inner * hidden
    return Part(total + projected * bias + hidden * out_bias)


def recurrent(keys: Keys, widths: Widths) -> Part:
    """A gated linear recurrence (Griffin, arXiv:2402.19427); its state does not grow."""
    width, hidden = keys.number("lru_width"), widths.hidden
    if width % widths.heads:
        raise keys.refuse("lru_width", f"must be a multiple of the {widths.heads} heads")
    gates = 2 * width * (width // widths.heads + 1)
    matrices = 3 * hidden * width + 2 * width + hidden
    return Part(matrices + gates + width + width * (keys.number("conv1d_width") + 1))


def lightning(widths: Widths) -> Part:
    """Linear attention with a norm and a gate (MiniMax-01, arXiv:2501.08313)."""
    inner = widths.heads * widths.head
    return Part(5 * widths.hidden * inner + inner)


def convolution(keys: Keys, hidden: int) -> Part:
    """A short convolution between gates (LFM2); its state does not grow."""
    taps, bias = keys.number("conv_L_cache"), keys.flag("conv_bias")
    return Part(4 * hidden * hidden + hidden * taps + 5 * hidden * bias)


def mlp(keys: Keys, family: Family, widths: Widths) -> Part:
    """The MLP, with a gate or without."""
    into = 2 if family.gated else 1
    count = (into + 1) * widths.hidden * widths.mlp
    count += widths.mlp * family.sub_norms + family.activation
    return Part(count + (into * widths.mlp + widths.hidden) * has_bias(keys, family.mlp))


def experts(keys: Keys, family: Family, widths: Widths) -> Part:
    """Routed experts, their router, and the expert that every token passes."""
    count = keys.number("num_experts", least=0 if family.shared == "own" else 1)
    width, hidden = keys.number(family.experts), widths.hidden
    latent = hidden
    if family.shared == "latent":
        keys.needed("moe_latent_size")
        latent = keys.number("moe_latent_size", hidden)
    matrices = 3 if family.gated else 2
    biases = (2 * width + hidden) * family.expert_biases
    routed = count * (matrices * latent * width + biases)
    router = count * (hidden + family.router_biases)
    total = routed + router + matrices * hidden * shared_width(keys, family, width)
    total += 2 * hidden * latent * (latent != hidden) + hidden * (family.shared == "gated")
    return Part(total + hidden * family.expert_norm, routed)


def shared_width(keys: Keys, family: Family, width: int) -> int:
    """Inner width of the experts that every token passes; *width* is that of a routed one."""
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


def pass_over_experts(keys: Keys, family: Family) -> None:
    """Read the keys of experts of a net no layer of which has any."""
    if not family.experts:
        return
    for name in (
        family.experts, "num_experts", "num_experts_per_tok", "n_shared_experts",
        "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
        "moe_latent_size",
    ):  # fmt: skip
        keys.value(name)


def with_cache(part: Part, kind: CacheKind) -> Part:
    """Copy of a part, with a cache of this kind."""
    return replace(part, cache=kind)
