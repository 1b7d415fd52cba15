"""Parameters that one NPU of a stage holds."""

from dataclasses import dataclass
from typing import Self

from simcore.workload.model import Model
from simcore.workload.plan import ParallelPlan
from simcore.workload.share import Share

HEAD, LAYER, TABLE = "head", "layer", "token table"
"""Names of the gradient buckets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageParameters:
    """Parameters of one stage on one NPU, after the split over tp.

    Attributes:
        layers: Layers of the stage.
        layer: Parameters of one layer; its matrices are split over tp, its norms are not.
        table: Token table (first stage; also on the last if tied over several stages).
        head: Output head of the last stage, unless it is the table of the same NPU.
        norms: All norm parameters of the stage.
        final_norm: The norm before the head, last stage.
        shared_table: Parameters of a tied table that another stage holds too.
        is_first, is_last: Place of the stage in the pipeline.
        has_head, has_table: The stage runs the output head, the token lookup.
    """

    layers: int
    layer: int
    table: int
    head: int
    norms: int
    final_norm: int
    shared_table: int
    is_first: bool
    is_last: bool
    has_head: bool
    has_table: bool

    @classmethod
    def of(cls, model: Model, plan: ParallelPlan, share: Share, *, stage: int, layers: int) -> Self:
        """Parameters of *stage*, which holds *layers* layers."""
        is_first, is_last = stage == 0, stage == plan.pp - 1
        first = is_first and model.vocabulary > 0
        last = is_last and model.vocabulary > 0
        tied_here = model.tied_embeddings and first
        shared = model.tied_embeddings and (first or last) and plan.pp > 1
        final_norm = model.final_norm_parameters if last else 0
        return cls(
            layers=layers,
            layer=share.matrix_parameters + 2 * model.norm_parameters,
            table=share.table_parameters if first else 0,
            head=share.table_parameters if last and not tied_here else 0,
            norms=2 * model.norm_parameters * layers + final_norm,
            final_norm=final_norm,
            shared_table=share.table_parameters if shared else 0,
            is_first=is_first,
            is_last=is_last,
            has_head=last,
            has_table=first,
        )

    @property
    def total(self) -> int:
        return self.layers * self.layer + self.table + self.head + self.final_norm

    @property
    def buckets(self) -> list[tuple[str, int]]:
        """Gradient buckets in the order of the backward pass: name and parameters."""
        buckets = [(HEAD, self.head + self.final_norm)] if self.has_head else []
        buckets += [(LAYER, self.layer)] * self.layers
        return buckets + ([(TABLE, self.table)] if self.has_table else [])
