"""One NPU's part of a micro-batch, for any net."""

from collections.abc import Hashable
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, TypedDict

from simcore.terms import LayerKind

if TYPE_CHECKING:  # which is written with a share
    from simcore.workload.plan import ParallelPlan
    from simcore.workload.program.layer import LayerWork


class StoredFormats(TypedDict):
    """The fields of a share that tell how numbers are stored."""

    element_bytes: int
    weight_bytes: float
    gradient_bytes: int
    moments: int
    moment_bytes: int
    product_format: str
    kept_number_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NpuShare:
    """One NPU's part of the work on one micro-batch.

    Attributes:
        rows: Tokens; of nets without tokens, samples.
        thin_rows: Those of the parts that sequence parallelism splits too.
        hidden: Width of the residual stream, whole; 0: there is none.
        norm_parameters: Of one norm of the stream.
        norm_flop_per_element: 7 for LayerNorm, 5 for RMSNorm.
        vocabulary: Rows of the token table and columns of the head on this NPU; 0: neither exists.
        element_bytes: Bytes of a stored activation.
        weight_bytes: Of a stored weight.
        gradient_bytes: Of a summed gradient.
        moments: Numbers that the optimizer keeps per weight, beside the weight itself.
        moment_bytes: Of each of them.
        product_format: Number format of the operands of products where it has fewer than 16 bits.
        kept_number_bytes: Of a number of the input of a product that is kept for the backward
            pass; 0: as any other stored activation.
        mask_bytes: Of a dropout mask per element of the stream: 1 for models that train with
            dropout.
        fused_loss: The loss is one kernel each way.
        fused_gradients: Each weight gradient and its addition to its sum are one kernel.
    """

    rows: int
    thin_rows: int
    element_bytes: int
    weight_bytes: float
    gradient_bytes: int
    moments: int = 2
    moment_bytes: int = 4
    product_format: str = ""
    kept_number_bytes: float = 0
    hidden: int = 0
    norm_parameters: int = 0
    norm_flop_per_element: int = 0
    vocabulary: int = 0
    mask_bytes: int = 0
    fused_loss: bool = True
    fused_gradients: bool = True

    def of_layer(self, kind: LayerKind) -> "NpuShare":
        """The share as a layer of *kind* sees it."""
        return self

    @property
    def with_loss(self) -> bool:
        """Logits are held against labels."""
        return True

    def named_work(self, part: Hashable, plan: "ParallelPlan") -> "LayerWork":
        """The work of a *part* of a layer that is given by name; kinds without names have none."""
        raise AssertionError(f"{part!r} is no part of a layer that works on {type(self).__name__}")

    @property
    def exit(self) -> "NpuShare":
        """The share as the output head sees it."""
        return self

    @property
    def entry(self) -> "NpuShare":
        """The share as the first layer sees it."""
        return self

    @property
    def stream_bytes(self) -> int:
        """The residual stream of a micro-batch, whole hidden width (A in the formulas)."""
        return self.element_bytes * self.rows * self.hidden

    @property
    def thin_bytes(self) -> int:
        """Bytes of the residual stream between the layers on one NPU."""
        return self.element_bytes * self.thin_rows * self.hidden

    @property
    def copies_inputs(self) -> bool:
        """The input of a product is kept in a format of its own, beside any other use of it."""
        return self.kept_number_bytes not in (0, self.element_bytes)

    def kept(self, elements: int, inputs: int) -> int:
        """Bytes kept of *elements* numbers in all, *inputs* of them as inputs of products."""
        if not self.copies_inputs:
            return self.element_bytes * elements
        return self.element_bytes * (elements - inputs) + ceil(self.kept_number_bytes * inputs)

    @property
    def table_parameters(self) -> int:
        """Parameters of the token table on one NPU."""
        return self.vocabulary * self.hidden
