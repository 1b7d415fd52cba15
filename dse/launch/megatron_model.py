"""Options of Megatron-LM for the net: its sizes, norms, experts and latent attention."""

from dse.launch.base import Job, heads_vectors, refuse
from dse.launch.script import Flags
from simcore import Model


def model_flags(job: Job) -> Flags:
    """Options for the model of a job.

    Raises:
        ConfigError: There are none for its MLP.
    """
    model, sequence = job.model, str(job.training.sequence)
    flags: Flags = [
        ("--num-layers", str(model.layers)),
        ("--hidden-size", str(model.hidden)),
        ("--num-attention-heads", str(model.heads)),
        ("--seq-length", sequence),
        ("--max-position-embeddings", sequence),
        ("--vocab-size", str(model.vocabulary)),
        ("--ffn-hidden-size", str(model.ffn or (model.experts.ffn if model.experts else 0))),
    ]
    if model.latent is None:
        flags.append(("--kv-channels", str(model.head_width)))
        if model.key_value_heads < model.heads:
            flags += [("--group-query-attention",)]
            flags += [("--num-query-groups", str(model.key_value_heads))]
        flags += _vectors(model)
    if not model.tied_embeddings:
        flags.append(("--untie-embeddings-and-output-weights",))
    flags += _style(model)
    if model.latent:
        if heads_vectors(model, "Megatron-LM") != "none":
            rule = "must be left out beside latent attention for Megatron-LM"
            refuse("workload.model.vectors.attention", rule, model.name)
        flags += [
            ("--multi-latent-attention",),
            ("--q-lora-rank", str(model.latent.query_rank)),
            ("--kv-lora-rank", str(model.latent.key_value_rank)),
            ("--qk-head-dim", str(model.latent.plain_width)),
            ("--qk-pos-emb-head-dim", str(model.latent.rotary_width)),
            ("--v-head-dim", str(model.latent.value_width)),
        ]
        if model.latent.indexer:
            rule = "must be left out for Megatron-LM: options for it are not written here"
            refuse("workload.model.latent.indexer", rule, model.name)
    return flags + _experts(model)


def _vectors(model: Model) -> Flags:
    """Biases of queries, keys and values, or norms of their heads.

    Raises:
        ConfigError: Attention has other vectors.
    """
    if model.kind == "gpt":
        return _gpt_vectors(model)
    given = heads_vectors(model, "Megatron-LM")
    flags: dict[str, Flags] = {
        "none": [],
        "biases": [("--add-qkv-bias",)],
        "norms": [("--qk-layernorm",)],
    }
    return flags[given]


def _gpt_vectors(model: Model) -> Flags:
    """Biases and positions of a net of the GPT kind, which has both unless its vectors say no.

    Raises:
        ConfigError: It has some of the biases alone, or other vectors.
    """
    vectors, width = model.vectors, model.head_width
    if vectors is None:
        return []
    everywhere = (
        (model.heads + 2 * model.key_value_heads) * width + model.hidden,
        model.ffn + model.hidden if model.ffn else 0,
    )
    found: Flags = [] if vectors.positions else [("--position-embedding-type", "rope")]
    if (vectors.attention, vectors.mlp) == (0, 0):
        found.append(("--disable-bias-linear",))
    elif (vectors.attention, vectors.mlp) != everywhere:
        rule = "must be those of biases everywhere, or none, for Megatron-LM"
        refuse("workload.model.vectors.attention", rule, vectors.attention)
    return found


def _style(model: Model) -> Flags:
    """Norms, activations, biases, positions and dropout."""
    mlp = model.mlp or ("swiglu" if model.kind == "llama" else "gelu")
    flags: Flags = [("--normalization", "RMSNorm" if model.kind == "llama" else "LayerNorm")]
    flags += {"swiglu": [("--swiglu",)], "squared_relu": [("--squared-relu",)], "gelu": []}[mlp]
    if model.kind == "llama" or model.experts or model.mlp == "swiglu":
        # a bias in experts needs etp 1; models of this kind have none
        flags.append(("--disable-bias-linear",))
    if model.kind == "llama":
        # the fused kernel is part of Transformer Engine, without which the options are refused
        flags += [("--position-embedding-type", "rope"), ("--no-rope-fusion",)]
    if not model.mask_bytes:
        flags += [("--attention-dropout", "0.0"), ("--hidden-dropout", "0.0")]
    return flags


def _experts(model: Model) -> Flags:
    experts = model.experts
    if experts is None:
        return []
    flags: Flags = [
        ("--num-experts", str(experts.count)),
        ("--moe-router-topk", str(experts.active)),
        ("--moe-ffn-hidden-size", str(experts.ffn)),
        ("--moe-token-dispatcher-type", "alltoall"),
    ]
    if experts.active == 1:
        flags.append(("--moe-router-pre-softmax",))  # a softmax over one expert would be 1
    if experts.shared_ffn:
        flags.append(("--moe-shared-expert-intermediate-size", str(experts.shared_ffn)))
    if experts.latent_width:
        flags.append(("--moe-latent-size", str(experts.latent_width)))
    if not all("experts" in kind for kind in model.layer_kinds):
        have = [int("experts" in kind) for kind in model.layer_kinds]
        flags.append(("--moe-layer-freq", _counted(have)))
    return flags


def _counted(have: list[int]) -> str:
    """The list as Megatron-LM reads it: runs of equal numbers, ``([0]*3+[1]*58)``."""
    runs: list[tuple[int, int]] = []
    for one in have:
        if runs and runs[-1][0] == one:
            runs[-1] = (one, runs[-1][1] + 1)
        else:
            runs.append((one, 1))
    return "(" + "+".join(f"[{one}]*{count}" for one, count in runs) + ")"
