"""The training of a recommendation model."""

from collections.abc import Iterator
from math import ceil
from typing import ClassVar, Literal

from pydantic import Field

from simcore.terms import Precision
from simcore.workload.base import Extent, Rule, TableMemory, Workload
from simcore.workload.kinds.dlrm.features import DlrmShare
from simcore.workload.kinds.dlrm.net import RecommendationNet
from simcore.workload.kinds.dlrm.placement import Holding, Tables, hold
from simcore.workload.plan import ParallelPlan
from simcore.workload.rules import replica_rules

_ROW_STATE_BYTES = 4


class DlrmWorkload(Workload):
    """One training iteration of a recommendation model.

    Dense layers are whole on every NPU; the tables are spread over all of them and trained by
    row-wise Adagrad, which keeps one number per row. ``global_batch`` and ``plan.micro_batch``
    count samples.

    Attributes:
        tables: How the embedding tables are kept and exchanged.
    """

    unit: ClassVar[str] = "samples"
    spreads_tables: ClassVar[bool] = True
    shares_layers: ClassVar[bool] = True

    kind: Literal["dlrm"] = "dlrm"
    model: RecommendationNet
    tables: Tables = Field(default_factory=Tables)
    optimizer: Literal["adam", "sgd", "adagrad"] = "adagrad"

    @property
    def model_flop(self) -> float:
        """Three forward passes of the products of dense layers and interaction."""
        return 3.0 * self.global_batch * self.model.flop_per_sample

    def rules(self, plan: ParallelPlan) -> Iterator[Rule]:
        yield from replica_rules(self, plan)
        columns, cuts = self.tables.columns, self.tables.sharding == "column"
        yield (
            cuts or columns == 1,
            "columns_need_column_sharding",
            f"tables.columns is {columns}, which takes tables.sharding: column",
        )
        yield (
            self.model.width % columns == 0,
            "width_divides_by_columns",
            f"vectors of width {self.model.width} do not divide by tables.columns = {columns}",
        )

    def share(self, plan: ParallelPlan) -> DlrmShare:
        exchange = self.tables.exchange_format
        return DlrmShare(
            rows=plan.micro_batch,
            thin_rows=plan.micro_batch,
            **self.stored_formats,
            fused_loss=plan.fused_loss,
            fused_gradients=plan.fused_gradients,
            npus=plan.dp,
            held=self._held(plan),
            tables=self.tables,
            table_bytes=self._table_bytes,
            exchange_bytes=Precision(exchange).bytes if exchange else self.element_bytes,
        )

    def table_memory(self, plan: ParallelPlan) -> TableMemory:
        held, far = self._held(plan), self.tables.host_part
        weights = self._table_bytes * held.rows * self.model.width
        state = _ROW_STATE_BYTES * held.states
        return TableMemory(
            weights_bytes=ceil(weights * (1 - far)),
            state_bytes=ceil(state * (1 - far)),
            host_bytes=ceil((weights + state) * far),
        )

    def extent(self, plan: ParallelPlan) -> Extent:
        model = self.model
        widest = max(model.vectors * model.width, *model.bottom, *model.top, model.cross_rank)
        lookups = model.lookups * self.tables.columns
        return Extent(
            buffer_bytes=8 * plan.micro_batch * plan.dp * max(widest, lookups * model.width),
            weights_bytes=4 * model.parameters,
            layer_flop=16 * plan.micro_batch * ceil(model.flop_per_sample),
            flop=3 * self.global_batch * ceil(model.flop_per_sample),
        )

    def _held(self, plan: ParallelPlan) -> Holding:
        shapes = tuple((table.count, table.rows, table.pooling) for table in self.model.tables)
        return hold(shapes, self.tables.sharding, self.tables.columns, plan.dp)

    @property
    def _table_bytes(self) -> float:
        return Precision(self.tables.format).bytes
