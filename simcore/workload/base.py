"""Base of every kind of workload, whatever net it trains."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self

from pydantic import Field

from simcore.schema import Schema
from simcore.terms import FORMATS, NARROW_FORMATS, LayerKind, Precision
from simcore.workload.npu_share import NpuShare, StoredFormats
from simcore.workload.plan import ParallelPlan

Rule = tuple[bool, str, str]
"""Result (true: obeyed), name, and what is wrong if not."""

MOMENTS = {"adam": 2, "sgd": 1, "adagrad": 1}
"""Numbers that an optimizer keeps per weight: with SGD the momentum."""


class Net(Protocol):
    """Interface of nets to the generator: layers in order, and ends."""

    @property
    def name(self) -> str: ...
    @property
    def layers(self) -> int: ...
    @property
    def layer_kinds(self) -> tuple[LayerKind, ...]:
        """Parts of each layer."""

    @property
    def parameters(self) -> int: ...
    @property
    def active_parameters(self) -> int:
        """Parameters that one sample meets."""

    @property
    def vocabulary(self) -> int:
        """Rows of the token table; 0 for a net without token table and output head."""

    @property
    def tied_embeddings(self) -> bool: ...
    @property
    def final_norm_parameters(self) -> int: ...
    @property
    def position_parameters(self) -> int:
        """Parameters of a table that lies beside the token table; 0: there is none."""

    @property
    def has_experts(self) -> bool:
        """Some layers have routed experts."""


class WithoutTokens:
    """The ends of a net that has neither token table nor output head, nor routed experts."""

    @property
    def vocabulary(self) -> int:
        return 0

    @property
    def tied_embeddings(self) -> bool:
        return False

    @property
    def final_norm_parameters(self) -> int:
        return 0

    @property
    def position_parameters(self) -> int:
        return 0

    @property
    def has_experts(self) -> bool:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Extent:
    """Bounds of the sizes of a workload under a plan, to be sure that they can be counted.

    Attributes:
        buffer_bytes: Of the largest activation of a micro-batch.
        weights_bytes: Of all weights.
        layer_flop: Of the largest kernel outside the products with weights.
        flop: Of the products with weights of the iteration.
    """

    buffer_bytes: int
    weights_bytes: int
    layer_flop: int
    flop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMemory:
    """Embedding tables that one NPU holds beside its layers.

    Attributes:
        weights_bytes, state_bytes: Tables and what the optimizer keeps of them, in its memory.
        host_bytes: Of both, in the memory of the host.
    """

    weights_bytes: int = 0
    state_bytes: int = 0
    host_bytes: int = 0


class Workload(Schema):
    """One training iteration of a net; ``workload.kind`` names a class.

    An object is made of the table in each run file, frozen and equal to those with equal fields.
    What it answers depends on its fields and the arguments alone, and is remembered for equal ones.

    Attributes:
        kind: Which net is trained: a name of ``kinds.KINDS``.
        global_batch: Sequences, images or samples per iteration, over all NPUs.
        precision: Number format of the matrix products. Weights, activations and messages are
            stored in 4 bytes with fp32 and in 2 otherwise: fp8 and fp4 are formats of the
            operands inside a product (as in Transformer Engine recipes).
        weight_format: In which weights are stored and gathered; by default as activations.
        gradient_format: In which gradients are summed and kept.
        optimizer: What it keeps per weight: ``adam`` two moments, ``sgd`` a momentum, ``adagrad``
            a sum of squares.
        moment_format: In which these are kept: below fp32 with optimizers that know of it.
        kept_format: In which the inputs of products are kept for the backward pass; by default as
            the products read them, as Transformer Engine does (others keep them in 16 bits).
    """

    unit: ClassVar[str] = "tokens"
    """Unit of throughput."""
    spreads_tables: ClassVar[bool] = False
    """Embedding tables are spread over all NPUs, which exchange what they look up."""

    trains: ClassVar[bool] = True
    """There are backward passes and an optimizer step."""

    shares_layers: ClassVar[bool] = False
    """Plans that agree in what ``share`` and ``LayerRow.work`` may depend on have layers in common,
    so that searches take less time. A class promises it for itself, not for those derived from it;
    without the promise every plan is asked, and may decide everything."""

    kind: str
    global_batch: int = Field(ge=1)
    precision: Precision = Precision.BF16
    weight_format: Precision | None = None
    gradient_format: Literal["fp32", "bf16", "fp16"] = "fp32"
    optimizer: Literal["adam", "sgd", "adagrad"] = "adam"
    moment_format: Literal["fp32", "bf16", "fp16", "fp8"] = "fp32"
    kept_format: Precision | None = None

    if TYPE_CHECKING:  # a field of each kind

        @property
        def model(self) -> Net: ...

    @property
    def tokens(self) -> int:
        """Tokens, images or samples per iteration: ``unit`` says which."""
        return self.global_batch

    @property
    def element_bytes(self) -> int:
        """Bytes of one stored weight or activation."""
        return 4 if self.precision is Precision.FP32 else 2

    @property
    def weight_bytes(self) -> float:
        """Bytes of one stored weight."""
        return self.weight_format.bytes if self.weight_format else self.element_bytes

    @property
    def expert_weight_bytes(self) -> float:
        """Bytes of one stored weight of a routed expert."""
        return self.weight_bytes

    @property
    def end_weight_bytes(self) -> float:
        """Bytes of one stored weight of the token table and the output head."""
        return self.weight_bytes

    @property
    def product_format(self) -> str:
        """Format of the operands of products, a name of ``FORMATS``; empty: 16 bits or more."""
        return NARROW_FORMATS.get(self.precision, "")

    @property
    def gradient_bytes(self) -> int:
        """Bytes of one summed gradient."""
        return int(Precision(self.gradient_format).bytes)

    @property
    def joins_replicas(self) -> bool:
        """NPUs that hold the same layers communicate within these."""
        return self.spreads_tables

    def with_batch(self, global_batch: int) -> Self:
        """Copy with another batch."""
        return self.model_copy(update={"global_batch": global_batch})

    @property
    def gained_tokens(self) -> float:
        """Tokens by which an iteration brings each sequence forward: times are told per token."""
        return 1.0

    @property
    def fills_pipeline(self) -> bool:
        """Times are told of iterations that follow each other without a pause."""
        return False

    def table_memory(self, plan: ParallelPlan) -> TableMemory:
        """Embedding tables outside the layers; most nets have none."""
        return TableMemory()

    def cache_bytes(self, plan: ParallelPlan, layers: Sequence[LayerKind]) -> int:
        """Bytes that one NPU keeps of these *layers* for later tokens; 0 in training."""
        return 0

    def cache_moves(self, plan: ParallelPlan, layer: LayerKind) -> tuple[int, int]:
        """Bytes of a micro-batch's cache that a pass of *layer* reads, and those that it adds."""
        return 0, 0

    def beside(self, plan: ParallelPlan) -> "tuple[Workload, ParallelPlan] | None":
        """Another workload that lies on the same NPUs under *plan*, and how it is spread."""
        return None

    def figures(self, time_s: float) -> dict[str, float]:
        """Figures from the time of an iteration, beside throughput: names with units."""
        return {}

    @property
    def time_name(self) -> str:
        """User's name for the time of an iteration."""
        return "iteration time"

    def notes(self, plan: ParallelPlan) -> tuple[str, ...]:
        """Notes for the reader of a result on the workload under *plan*."""
        return ()

    @property
    def moments(self) -> int:
        """Numbers that the optimizer keeps per weight."""
        return MOMENTS[self.optimizer]

    @property
    def moment_bytes(self) -> int:
        """Bytes of each of them."""
        return int(Precision(self.moment_format).bytes)

    @property
    def kept_number_bytes(self) -> float:
        """Bytes of one number of the input of a product, kept for the backward pass.

        Source: TransformerEngine, issue 1764 (inputs are kept in 8 bits, not in 16).
        """
        if self.kept_format:
            return min(self.element_bytes, self.kept_format.bytes + self.kept_format.scale_bytes)
        if not self.product_format:
            return self.element_bytes
        return FORMATS[self.product_format].weight_bytes

    @property
    def stored_formats(self) -> StoredFormats:
        """Number formats for every share of the workload."""
        return {
            "element_bytes": self.element_bytes,
            "weight_bytes": self.weight_bytes,
            "gradient_bytes": self.gradient_bytes,
            "moments": self.moments,
            "moment_bytes": self.moment_bytes,
            "product_format": self.product_format,
            "kept_number_bytes": self.kept_number_bytes,
        }

    @property
    @abstractmethod
    def model_flop(self) -> float:
        """FLOP of one iteration that the net itself asks for: what MFU counts."""

    @abstractmethod
    def rules(self, plan: ParallelPlan) -> Iterator[Rule]:
        """Rules for *plan*, but for the number of NPUs of the platform."""

    @abstractmethod
    def share(self, plan: ParallelPlan) -> NpuShare:
        """One NPU's part of a micro-batch; the plan must have passed ``rules``.

        Of kinds with ``shares_layers`` it may depend on the degrees of the plan but pp, and on how
        layers compute; not on what becomes of their weights and gradients, what they repeat, and
        where and when they run.
        """

    def message_bytes(self, plan: ParallelPlan, share: NpuShare) -> tuple[int, ...]:
        """Size of the messages between each stage and the next one around."""
        return (share.thin_bytes,) * plan.pp

    @abstractmethod
    def extent(self, plan: ParallelPlan) -> Extent:
        """Bounds of the sizes that *plan* leads to."""


def microbatches(workload: Workload, plan: ParallelPlan) -> int:
    """Micro-batches per iteration on each data parallel rank."""
    return workload.global_batch // (plan.dp * plan.micro_batch)
