"""Parts of a ``config.json`` as the tables of a transformer, and those that it has no table for."""

import re

from simcore.workload.hub.keys import Keys, UnmodelledError
from simcore.workload.hub.parts import NEMOTRON, Widths, attention, has_bias, shared_width
from simcore.workload.hub.read import Opened

_ACTIVATION = re.compile(r"hidden_act|hidden_activation|activation_function|mlp_hidden_act")
_DROPOUT = re.compile(r"attention_dropout|hidden_dropout|resid\w*_p?drop\w*|attn_pdrop|dropout")
_GELU = frozenset({"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python"})


def refuse_parts(opened: Opened) -> None:
    """Refuse a net with parts whose work the generator of workloads does not write.

    Raises:
        UnmodelledError: It has such a part; the sentence names it.
    """
    family, keys = opened.family, opened.keys
    listed, is_decoder = keys.value("layer_types"), family.net == "decoder"
    parts = {
        f"a net of kind {family.net}": not is_decoder and family.net != "hybrid",
        f"{family.linear} layers": family.linear not in ("", "delta"),
        "attention and MLP beside each other": is_decoder and family.norms == 1,
        "norms after attention and MLP": family.norms > 2,
        "norms without parameters": family.norm == "none",
        "a norm of the token vectors": family.final_norms > 1,
        "no norm behind its layers": is_decoder and family.final_norms < 1,
        "an indexer of keys": family.indexer,
        "a norm behind experts": family.expert_norm,
        "norms within attention and MLP": family.sub_norms,
        "attention in chunks": isinstance(listed, list) and "chunked_attention" in listed,
        "attention to near tokens alone in some layers": _is_local(keys),
        "a head with biases": has_bias(keys, family.head_bias),
        "latent attention without a latent of queries": family.latent
        and not keys.has("q_lora_rank"),
    }
    for part, there in parts.items():
        if there:
            rule = "must be a net whose every part is modelled in workloads"
            got = f"{opened.architecture}, which has {part}"
            raise UnmodelledError(f"{keys.at}: model_type", rule, got=got)


def _is_local(keys: Keys) -> bool:
    """True if some layers of GPT-Neo see a window."""
    return "local" in str(keys.value("attention_types")) + str(keys.value("attention_layers"))


def has_dropout(keys: Keys) -> bool:
    """True if a key of the net's dropout has a value above 0."""
    values = (value for name, value in keys.table.items() if _DROPOUT.fullmatch(name))
    return any(isinstance(value, int | float) and value > 0 for value in values)


def mlp_kind(opened: Opened) -> str:
    """Kind of the MLP: with a gate whatever activates it; without, GELU or the squared ReLU.

    Raises:
        UnmodelledError: It has another activation.
    """
    keys = opened.keys
    if opened.family.gated:
        return "swiglu"
    named = {
        value for name, value in keys.table.items() if _ACTIVATION.fullmatch(name) and value
    } or {"gelu" if opened.architecture == "bloom" else ""}
    if named <= _GELU:
        return "gelu"
    if named == {"relu2"}:
        return "squared_relu"
    name = next((n for n in keys.table if _ACTIVATION.fullmatch(n)), "hidden_act")
    raise keys.refuse(name, "must be a GELU or relu2 for an MLP without a gate")


def vectors(opened: Opened, widths: Widths) -> dict[str, int]:
    """Parameters of each block beside its matrices and its norm of the stream."""
    keys, family, hidden = opened.keys, opened.family, widths.hidden
    found = {}
    if family.latent:
        biases = keys.number("q_lora_rank") + keys.number("kv_lora_rank") + hidden
        biases += keys.number("qk_rope_head_dim")
        found["attention"] = biases * keys.flag("attention_bias", False)
    else:
        gates = widths.heads * (family.output_gate and keys.flag("attn_output_gate", True))
        heads = 2 * widths.heads + 2 * widths.kv_heads + gates
        found["attention"] = attention(keys, family, widths).parameters
        found["attention"] -= hidden * widths.head * heads
    inner = widths.mlp * (2 if family.gated else 1)
    found["mlp"] = (inner + hidden) * has_bias(keys, family.mlp)
    if family.experts:
        count, width = keys.number("num_experts", least=0), keys.number(family.experts)
        found["experts"] = count * family.router_biases + hidden * (family.shared == "gated")
        found["expert"] = (2 * width + hidden) * family.expert_biases
    if family.net == "hybrid":
        states, bias = mamba(keys), keys.flag(NEMOTRON.bias)
        wide = states["heads"] * states["head_width"]
        mixed = wide + 2 * states["groups"] * states["state"]
        found["mamba"] = mixed * keys.flag(NEMOTRON.conv_bias)
        found["mamba"] += (wide + mixed + states["heads"] + hidden) * bias
    if family.positions:
        positions = keys.number("max_position_embeddings") + family.more_positions
        found["positions"] = positions * hidden
    return found


def latent(keys: Keys) -> dict[str, int]:
    """Table of latent attention."""
    return {
        "query_rank": keys.number("q_lora_rank"),
        "key_value_rank": keys.number("kv_lora_rank"),
        "plain_width": keys.number("qk_nope_head_dim"),
        "rotary_width": keys.number("qk_rope_head_dim"),
        "value_width": keys.number("v_head_dim"),
    }


def linear(keys: Keys) -> dict[str, int]:
    """Table of linear attention by the gated delta rule."""
    return {
        "key_heads": keys.number("linear_num_key_heads"),
        "value_heads": keys.number("linear_num_value_heads"),
        "key_width": keys.number("linear_key_head_dim"),
        "value_width": keys.number("linear_value_head_dim"),
        "convolution": keys.number("linear_conv_kernel_dim"),
    }


def mamba(keys: Keys) -> dict[str, int]:
    """Table of a state space part by the names of Nemotron-H's keys."""
    return {
        "heads": keys.number(NEMOTRON.heads),
        "head_width": keys.number(NEMOTRON.head),
        "groups": keys.number(NEMOTRON.groups),
        "state": keys.number(NEMOTRON.state),
        "convolution": keys.number(NEMOTRON.kernel),
        "chunk": keys.number("chunk_size", 128),
    }


def experts(opened: Opened, widths: Widths, have: list[bool]) -> dict[str, int]:
    """Table of the experts of layers that *have* them, or (none of those) of a pattern."""
    keys, family = opened.keys, opened.family
    width = keys.number(family.experts)
    found = {
        "count": keys.number("num_experts"),
        "active": keys.number("num_experts_per_tok"),
        "ffn": width,
        "shared_ffn": shared_width(keys, family, width),
    }
    if family.shared == "latent" and keys.has("moe_latent_size"):
        narrow = keys.number("moe_latent_size")
        found["latent_width"] = narrow if narrow != widths.hidden else 0
    groups, chosen = keys.number("n_group", 1), keys.number("topk_group", 1)
    if chosen < groups:
        found["node_limit"] = chosen
    if True in have:
        first = have.index(True)
        step = [*have[first + 1 :], True].index(True) + 1
        # Model: of the layers from first_layer on, those whose number, from 1, ``every`` divides
        found |= {"first_layer": first if step == 1 else 0, "every": step}
        if (first + 1) % step == 0 and first >= step:
            found["first_layer"] = first
    return found
