"""One NPU's part of a layer and of a micro-batch: the rows and widths of its products."""

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Self

from simcore.terms import FORMATS, LayerKind
from simcore.workload.kinds.transformer.expert_paths import ExpertPaths
from simcore.workload.kinds.transformer.masks import visible_share
from simcore.workload.kinds.transformer.model import ENCODER_BLOCKS, Model
from simcore.workload.kinds.transformer.model_parts import (
    NO_VECTORS,
    Indexer,
    LinearAttention,
    Vectors,
)
from simcore.workload.kinds.transformer.states import StateShare, linear_part
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan

if TYPE_CHECKING:  # which gives its share itself
    from simcore.workload.kinds.transformer.workload import TrainingWorkload


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertShare:
    """One NPU's part of the routed experts of a layer.

    Attributes:
        count: Experts of the layer: columns of the router.
        held: Experts (or parts of experts) that the NPU holds.
        rows: Rows of its products, over all experts that it holds.
        sent_rows: Copies of tokens that it sends to the experts, and gets back from them.
        rail_rows: Copies that it sends to other dispatch groups before; 0: there are none.
        replicated: The NPUs of a tensor parallel group hold the same tokens: each works on those
            of its own experts, and the outputs are summed.
        picked_rows: Rows that it sorts by expert: one per token and expert.
        width: Of a token at the experts.
        ffn: Inner width of what it holds of an expert.
        active: Experts per token.
        shared_ffn: Inner width of its part of the shared experts; 0: there are none.
        product_format, weight_bytes: Of the routed experts, as in ``NpuShare``.
        router_format: Number format of the router's product, likewise.
    """

    count: int
    held: int
    rows: int
    sent_rows: int
    rail_rows: int
    picked_rows: int
    width: int
    ffn: int
    active: int
    shared_ffn: int
    product_format: str
    weight_bytes: float
    router_format: str
    replicated: bool = False

    @classmethod
    def of(cls, workload: "TrainingWorkload", plan: ParallelPlan, tokens: int) -> Self | None:
        """The share of an NPU that has *tokens* of its own; of the busiest one, if they differ."""
        experts = workload.model.experts
        if experts is None:
            return None
        load = workload.expert_load.factor(experts.count, plan.ep)
        picked = ceil(tokens * experts.active * load)
        replicated = plan.tp > 1 and not plan.splits_sequence
        if replicated:
            picked = ceil(picked / plan.ep)
        paths = ExpertPaths.of(experts, plan)
        return cls(
            count=experts.count,
            held=experts.count // plan.ep,
            rows=picked if replicated else picked * plan.expert_tp,
            sent_rows=0 if replicated else ceil(tokens * paths.to_npus * load),
            rail_rows=0 if replicated else ceil(tokens * paths.to_groups * load),
            picked_rows=picked,
            width=experts.latent_width or workload.model.hidden,
            ffn=experts.ffn // plan.expert_tp,
            active=experts.active,
            shared_ffn=experts.shared_ffn // plan.tp,
            product_format=workload.product_format,
            weight_bytes=workload.weight_bytes,
            router_format=workload.product_format,
            replicated=replicated,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LatentShare:
    """One NPU's part of latent attention; the products that make the latents are not split.

    Attributes:
        query_rank, key_value_rank: Widths of the latents.
        rotary_width: Width of the key's rotary part.
        key_value_width: Heads x (plain key width + value width).
        product_format: Of the products that make latents, and heads of them, as in ``NpuShare``.
        indexer: Whole on every NPU; None: there is none.
    """

    query_rank: int
    key_value_rank: int
    rotary_width: int
    key_value_width: int
    product_format: str
    indexer: Indexer | None = None

    @property
    def cached_width(self) -> int:
        """Width kept of a token for later ones: its latent, and the rotary part of its key."""
        return self.key_value_rank + self.rotary_width

    @classmethod
    def of(cls, model: Model, plan: ParallelPlan, product_format: str) -> Self | None:
        latent = model.latent
        if latent is None:
            return None
        return cls(
            query_rank=latent.query_rank,
            key_value_rank=latent.key_value_rank,
            rotary_width=latent.rotary_width,
            key_value_width=model.heads // plan.tp * (latent.plain_width + latent.value_width),
            product_format=product_format,
            indexer=latent.indexer,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class VisionShare:
    """One NPU's part of the ends of a vision transformer.

    Attributes:
        pixels: Numbers in a patch.
        classes: Columns of its part of the product with the classes.
    """

    pixels: int
    classes: int

    @classmethod
    def of(cls, model: Model, plan: ParallelPlan) -> Self | None:
        vision = model.vision
        if vision is None:
            return None
        return cls(pixels=vision.pixels, classes=-(-vision.classes // plan.tp))


@dataclass(frozen=True, slots=True, kw_only=True)
class Share(NpuShare):
    """One NPU's part of a transformer's work; rows are micro_batch x sequence / cp tokens.

    Attributes:
        query_width: Query heads x their width.
        key_width: Key heads x their width. Where tp exceeds the key-value heads, each is held,
            and computed, by several NPUs.
        value_width: Value heads x their width.
        output_width: Query heads x width of a value head.
        head_width: Width of one query head.
        ffn: Inner width of the MLP.
        mlp_inputs: Matrices that read the MLP's input.
        sequence: Keys that a query may see, whole.
        scores: Attention scores: micro_batch x heads x (sequence / cp) x sequence.
        score_matrices: Matrices that they form: micro_batch x heads.
        visible: Share of the scores that is computed: 1/2 where a fused kernel skips what the
            causal mask hides, else 1.
        windowed_visible: Likewise in layers with windowed attention.
        dispatch_bytes: Of a number of a token on its way to the experts.
        flash: The attention core is one fused kernel.
        key_rows: Rows of the keys that this NPU reads; 0: those of its queries.
        cache_format: Number format of keys and values below 16 bits, a name of ``FORMATS``.
        gate_width: Gates of the outputs of attention; 0: there are none.
        linear: Its heads of linear attention.
        latent, experts, state, vision: Parts that only some models have.
        vectors: Parameters of each block beside its matrices and its norm.
        encoder: The share of the encoder's layers, which have tokens of their own.
    """

    query_width: int
    key_width: int
    value_width: int
    output_width: int
    head_width: int
    ffn: int
    mlp_inputs: int
    sequence: int
    scores: int
    score_matrices: int
    visible: float
    windowed_visible: float
    dispatch_bytes: float
    flash: bool
    gate_width: int = 0
    linear: LinearAttention | None = None
    latent: LatentShare | None = None
    experts: ExpertShare | None = None
    state: StateShare | None = None
    vision: VisionShare | None = None
    vectors: Vectors = NO_VECTORS
    key_rows: int = 0
    cache_format: str = ""
    encoder: "Share | None" = None

    @classmethod
    def of(cls, workload: "TrainingWorkload", plan: ParallelPlan) -> Self:
        """The share of each NPU; the plan must have passed ``check_splits``."""
        model = workload.model
        share = cls._of_tokens(workload, plan, workload.sequence, visible_share(model))
        if model.vectors:
            share = replace(share, vectors=model.vectors)
        if not model.encoder_layers:
            return share
        encoder = cls._of_tokens(workload, plan, workload.encoder_sequence, 1.0)
        return replace(share, encoder=encoder)

    @classmethod
    def _of_tokens(
        cls, workload: "TrainingWorkload", plan: ParallelPlan, sequence: int, visible: float
    ) -> Self:
        """The share of layers that work on *sequence* tokens, of which *visible* are seen."""
        model, tp = workload.model, plan.tp
        rows = plan.micro_batch * sequence // plan.cp
        thin_rows = rows // tp if plan.splits_sequence else rows
        heads, groups = model.heads // tp, max(1, model.key_value_heads // tp)
        windowed = visible_share(model, window=min(1.0, model.keys_seen / sequence))
        return cls(
            rows=rows,
            thin_rows=thin_rows,
            hidden=model.hidden,
            query_width=heads * model.head_width,
            key_width=groups * model.head_width,
            value_width=groups * model.value_head_width,
            output_width=heads * model.value_head_width,
            head_width=model.head_width,
            ffn=model.ffn // tp,
            mlp_inputs=model.mlp_inputs,
            norm_parameters=model.norm_parameters,
            norm_flop_per_element=5 if model.kind == "llama" else 7,
            vocabulary=-(-model.vocabulary // tp),  # padded to a multiple of tp
            sequence=sequence,
            scores=rows * heads * sequence,
            score_matrices=plan.micro_batch * heads,
            visible=visible if plan.flash_attention else 1.0,
            windowed_visible=windowed if plan.flash_attention else 1.0,
            **workload.stored_formats,
            dispatch_bytes=workload.dispatch_bytes,
            flash=plan.flash_attention,
            fused_loss=plan.fused_loss,
            fused_gradients=plan.fused_gradients,
            mask_bytes=model.mask_bytes,
            gate_width=heads * model.value_head_width if model.output_gate else 0,
            linear=linear_part(model, tp),
            latent=LatentShare.of(model, plan, workload.product_format),
            experts=ExpertShare.of(workload, plan, thin_rows),
            state=StateShare.of(model, plan),
            vision=VisionShare.of(model, plan),
        )

    def of_layer(self, kind: LayerKind) -> "Share":
        return self.entry if kind[0] in ENCODER_BLOCKS else self

    @property
    def entry(self) -> "Share":
        return self.encoder or self

    def with_format(self, name: str) -> Self:
        """The share as products see it whose operands and weights have the format *name*."""
        if name == self.product_format:
            return self
        stored = FORMATS[name or "bf16"].weight_bytes
        return replace(self, product_format=name, weight_bytes=stored)

    @property
    def limited(self) -> "Share":
        """The share as blocks see it whose queries see ``Model.keys_seen`` tokens at most."""
        return replace(self, visible=self.windowed_visible)

    @property
    def queries(self) -> int:
        """Queries of a sequence that meet its keys at once."""
        return self.sequence

    @property
    def core(self) -> "Share":
        """The share as the attention core sees it."""
        return self

    @property
    def cores(self) -> "tuple[Share, ...]":
        """The parts of the core that are kernels of their own."""
        return (self,)

    @property
    def core_elements(self) -> int:
        """Queries, keys, values and outputs of the attention core."""
        keys = (self.key_rows or self.rows) * (self.key_width + self.value_width)
        return self.rows * (self.query_width + self.output_width) + keys

    @property
    def core_bytes(self) -> float:
        """Bytes of these: keys and values may lie in a cache of fewer bits."""
        if not self.cache_format:
            return self.element_bytes * self.core_elements
        queries = self.rows * (self.query_width + self.output_width)
        cached = FORMATS[self.cache_format].weight_bytes * (self.core_elements - queries)
        return self.element_bytes * queries + cached

    @property
    def kv_bytes(self) -> int:
        """Keys and values of the rows of one NPU."""
        return self.element_bytes * self.rows * (self.key_width + self.value_width)

    @property
    def attention_width(self) -> int:
        """Queries, keys, values and gates of one row."""
        return self.query_width + self.key_width + self.value_width + self.gate_width
