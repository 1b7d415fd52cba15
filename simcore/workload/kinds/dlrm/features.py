"""Lookups, the exchange of vectors, and the bottom MLP beside them."""

from dataclasses import dataclass
from math import ceil

from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, Kernel
from simcore.workload.kinds.dlrm.dense import DenseLayer
from simcore.workload.kinds.dlrm.placement import INDEX_BYTES, Holding, Tables
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.kernel_costs import host_lookup, lookup
from simcore.workload.program.layer import BlockParameters, LayerRow, LayerWork
from simcore.workload.program.work import PassWriter


@dataclass(frozen=True, slots=True, kw_only=True)
class DlrmShare(NpuShare):
    """One NPU's part: rows are its own samples.

    Attributes:
        npus: NPUs over which the tables are spread.
        held: What the busiest of them holds.
        tables: How the tables are kept.
        table_bytes: Of a number in a table.
        exchange_bytes: Of a number that travels.
    """

    npus: int
    held: Holding
    tables: Tables
    table_bytes: float
    exchange_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureLayer(LayerRow):
    """Everything before the vectors meet.

    Attributes:
        vectors: That come home for each sample, that of the bottom MLP included.
        width: Of each.
        bottom: The bottom MLP.
    """

    vectors: int
    width: int
    bottom: tuple[DenseLayer, ...]

    def work(self, share: NpuShare, plan: ParallelPlan) -> LayerWork:
        if not isinstance(share, DlrmShare):
            raise AssertionError("a recommendation model has a share of its tables")
        return FeatureWork(layer=self, share=share)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureWork(LayerWork):
    """The forward and the backward pass.

    The bottom MLP waits for no other NPU and runs beside the exchanges. A lookup reads its rows;
    the backward pass reads and writes them, with the optimizer's number of each row.

    Source: M. Naumov et al., "Deep Learning Recommendation Model", arXiv:1906.00091, section 4.
    """

    layer: FeatureLayer
    share: DlrmShare

    @property
    def parameters(self) -> BlockParameters:
        return BlockParameters(split=sum(layer.parameters for layer in self.layer.bottom))

    @property
    def kept_bytes(self) -> int:
        """Inputs of the bottom MLP, its vector, those that came home, and the indices."""
        share, layer = self.share, self.layer
        elements = sum(part.kept_elements for part in layer.bottom) + layer.vectors * layer.width
        return share.element_bytes * share.rows * elements + self._index_bytes

    @property
    def input_bytes(self) -> int:
        return self.kept_bytes

    def forward(self, work: PassWriter) -> None:
        start = work.fork()
        if not self.share.tables.prefetched_indices:
            self._exchange_indices(work)
        work.compute("lookup", self._lookups("lookup", passes=1))
        self._exchange(work, "vectors", backward=False)
        home = work.fork()
        work.resume(start)
        for layer in self.layer.bottom:
            work.compute("bottom", layer.forward(self.share))
        if self.share.tables.prefetched_indices:
            computed = work.fork()
            work.resume(start)
            self._exchange_indices(work)  # of the next iteration: nothing here waits for them
            work.resume(computed)
        work.resume(home + work.fork())

    def backward(self, work: PassWriter) -> None:
        start = work.fork()
        self._exchange(work, "vector gradients", backward=True)
        work.compute("table update", self._lookups("table update", passes=2))
        updated = work.fork()
        work.resume(start)
        for layer in reversed(self.layer.bottom):
            inputs, weights = layer.backward(self.share)
            work.compute("bottom", inputs, weights)
        work.resume(updated + work.fork())

    def _exchange_indices(self, work: PassWriter) -> None:
        work.collective("indices", CollectiveKind.ALL_TO_ALL, Axis.TABLES, self._index_bytes)

    def _exchange(self, work: PassWriter, name: str, *, backward: bool) -> None:
        share, kind = self.share, CollectiveKind.ALL_TO_ALL
        size = share.exchange_bytes * share.rows * share.npus * share.held.vectors
        if share.tables.sharding == "row":
            kind = CollectiveKind.ALL_GATHER if backward else CollectiveKind.REDUCE_SCATTER
            size = size / share.npus if backward else size
        work.collective(name, kind, Axis.TABLES, ceil(size * self.layer.width))

    def _lookups(self, name: str, *, passes: int) -> list[Kernel]:
        """*passes*: times that the rows are moved; with two, the optimizer's numbers too."""
        share = self.share
        samples = share.rows * share.npus
        width = self.layer.width * share.table_bytes
        moved = passes * samples * share.held.lookups * width
        if passes > 1:
            moved += 2 * 4 * samples * share.held.indices
        far = share.tables.host_part * (1 - share.tables.cached_part) * moved
        kernels = [lookup(name, moved - far + self._pooled_bytes)]
        return [*kernels, host_lookup(f"{name} in host memory", far)] if far else kernels

    @property
    def _pooled_bytes(self) -> float:
        """Bytes of the vectors that are summed here, written or read."""
        share = self.share
        vectors = share.rows * share.npus * share.held.vectors
        return share.exchange_bytes * vectors * self.layer.width

    @property
    def _index_bytes(self) -> int:
        share = self.share
        return ceil(INDEX_BYTES * share.rows * share.npus * share.held.indices - 1e-6)
