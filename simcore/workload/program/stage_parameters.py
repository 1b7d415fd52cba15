"""Parameters that one NPU of a stage holds."""

from typing import NamedTuple, Self

from simcore.workload.base import Net
from simcore.workload.graph import Axis
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.gradients import Bucket
from simcore.workload.program.layer import BlockParameters


class StageParameters(NamedTuple):
    """Parameters of one stage on one NPU, after the splits over tp, etp and ep.

    Attributes:
        dense: Of all layers, but for routed experts.
        experts: Of all routed experts.
        table: Token table (first stage; also on the last if tied over several stages).
        head: Output head of the last stage, unless it is the table of the same NPU.
        whole: Of layers and final norm, those that tp does not split.
        final_norm: The norm before the head, last stage.
        shared_table: Parameters of a tied table that another stage holds too.
        is_first, is_last: Place of the stage in the pipeline.
        has_head, has_table: The stage runs the output head, the token lookup.
    """

    dense: int
    experts: int
    table: int
    head: int
    whole: int
    final_norm: int
    shared_table: int
    is_first: bool
    is_last: bool
    has_head: bool
    has_table: bool

    @classmethod
    def of(
        cls,
        model: Net,
        plan: ParallelPlan,
        share: NpuShare,
        *,
        stage: int,
        layers: BlockParameters,
    ) -> Self:
        """Parameters of *stage*, whose layers hold *layers* together."""
        is_first, is_last = stage == 0, stage == plan.last_stage
        first = is_first and model.vocabulary > 0
        last = is_last and model.vocabulary > 0
        tied_here = model.tied_embeddings and first
        shared = model.tied_embeddings and (first or last) and plan.last_stage > 0
        final_norm = model.final_norm_parameters if last else 0
        return cls(
            dense=layers.split + layers.whole,
            experts=layers.experts,
            table=share.table_parameters + model.position_parameters if first else 0,
            head=share.table_parameters if last and not tied_here else 0,
            whole=layers.whole + final_norm,
            final_norm=final_norm,
            shared_table=share.table_parameters if shared else 0,
            is_first=is_first,
            is_last=is_last,
            has_head=last,
            has_table=first,
        )

    @property
    def outside(self) -> int:
        """All but the routed experts."""
        return self.dense + self.table + self.head + self.final_norm

    @property
    def total(self) -> int:
        return self.outside + self.experts

    @property
    def head_bucket(self) -> Bucket:
        return Bucket(name="head", axis=Axis.DP, parameters=self.head + self.final_norm)

    @property
    def table_bucket(self) -> Bucket:
        return Bucket(name="token table", axis=Axis.DP, parameters=self.table)
