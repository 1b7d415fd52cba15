"""What one NPU holds of a layer and of a micro-batch: the rows and widths of its products."""

from dataclasses import dataclass
from typing import Self

from simcore.workload.plan import ParallelPlan
from simcore.workload.workload import TrainingWorkload


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """One NPU's part of the work on one micro-batch.

    Attributes:
        rows: Tokens: micro_batch x sequence / cp.
        thin_rows: Tokens of the parts that sequence parallelism splits too.
        hidden: Width of the residual stream, whole.
        query_width: Query heads x head width.
        kv_width: Key heads x head width (values have as many). Where tp exceeds the key-value
            heads, each is held, and computed, by several NPUs.
        head_width: Width of one head.
        ffn: Inner width of the MLP.
        mlp_inputs: Matrices that read the MLP's input.
        norm_flop_per_element: 7 for LayerNorm, 5 for RMSNorm.
        vocabulary: Rows of the token table; the table is padded to a multiple of tp.
        sequence: Keys that a query may see, whole.
        scores: Attention scores: micro_batch x heads x (sequence / cp) x sequence.
        visible: Share of the scores that is computed: 1/2 where a fused kernel skips what the
            causal mask hides, else 1.
        element_bytes: Bytes of a stored weight or activation.
        flash: The attention core is one fused kernel.
        mask_bytes: Of a dropout mask per element: 1 for gpt models, which train with dropout.
    """

    rows: int
    thin_rows: int
    hidden: int
    query_width: int
    kv_width: int
    head_width: int
    ffn: int
    mlp_inputs: int
    norm_flop_per_element: int
    vocabulary: int
    sequence: int
    scores: int
    visible: float
    element_bytes: int
    flash: bool
    mask_bytes: int

    @classmethod
    def of(cls, workload: TrainingWorkload, plan: ParallelPlan) -> Self:
        """The share of each NPU; the plan must have passed ``check_splits``."""
        model, tp = workload.model, plan.tp
        rows = plan.micro_batch * workload.sequence // plan.cp
        return cls(
            rows=rows,
            thin_rows=rows // tp if plan.splits_sequence else rows,
            hidden=model.hidden,
            query_width=model.hidden // tp,
            kv_width=max(1, model.key_value_heads // tp) * model.head_width,
            head_width=model.head_width,
            ffn=model.ffn // tp,
            mlp_inputs=model.mlp_inputs,
            norm_flop_per_element=5 if model.kind == "llama" else 7,
            vocabulary=-(-model.vocabulary // tp),
            sequence=workload.sequence,
            scores=rows * (model.heads // tp) * workload.sequence,
            visible=0.5 if plan.flash_attention and model.causal else 1.0,
            element_bytes=workload.element_bytes,
            flash=plan.flash_attention,
            mask_bytes=1 if model.kind == "gpt" else 0,
        )

    @property
    def stream_bytes(self) -> int:
        """The residual stream of a micro-batch, whole hidden width (A in the formulas)."""
        return self.element_bytes * self.rows * self.hidden

    @property
    def thin_bytes(self) -> int:
        """What one NPU holds of the residual stream between the layers."""
        return self.element_bytes * self.thin_rows * self.hidden

    @property
    def kv_bytes(self) -> int:
        """Keys and values of the rows of one NPU."""
        return 2 * self.element_bytes * self.rows * self.kv_width

    @property
    def matrix_parameters(self) -> int:
        """Matrix parameters of one layer on one NPU."""
        attention = 2 * self.hidden * (self.query_width + self.kv_width)
        return attention + (self.mlp_inputs + 1) * self.hidden * self.ffn

    @property
    def table_parameters(self) -> int:
        """Parameters of the token table on one NPU."""
        return self.vocabulary * self.hidden
