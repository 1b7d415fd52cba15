"""Problem that a closed form answers: a model and a machine."""

from dataclasses import dataclass
from math import inf
from typing import Self

from dse.costs import PriceBook
from dse.costs.libra import tier_units
from simcore import ConfigError, Run, TrainingWorkload

EFFICIENCY = 0.7
"""Part of the peak that all closed forms take, as problem P5 does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Model and machine whose designs a closed form compares.

    Attributes:
        layers, hidden, heads, vocabulary, sequence, batch: The model and its global batch.
        layer_parameters: Parameters of the matrices of one layer, in the mean over the layers.
        active_layer_parameters: Those that one token meets; fewer only where experts are routed.
        npus: NPUs of the machine.
        flop_per_s: Peak times efficiency of one NPU.
        memory_bytes: Capacity of one NPU; a design may use 95 % of it.
        npu_usd: Price of one NPU; infinite where nobody tells it.
        latency_s: Per hop, of each dimension.
        usd_per_gb_per_s: Per dimension, price per GB/s of one NPU without and with a switch;
            infinite where no such part is sold.
    """

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int
    batch: int
    layer_parameters: float
    active_layer_parameters: float
    npus: int
    flop_per_s: float
    memory_bytes: float
    npu_usd: float
    latency_s: tuple[float, ...]
    usd_per_gb_per_s: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, run: Run, prices: PriceBook) -> Self:
        """The problem that *run* states: its model on its machine, whatever its plan.

        Raises:
            ConfigError: It trains no transformer, or on no peak of its precision.
        """
        workload, platform = run.workload, run.platform
        layers = getattr(workload.model, "layer_kinds", None)
        if not isinstance(workload, TrainingWorkload) or not layers:
            rule = "closed forms take the training of transformers; use the simulator"
            raise ConfigError("run.workload", rule, got=workload.model.name)
        model = workload.model
        try:
            npu_usd = prices.accelerator_usd(platform.npu)
        except ConfigError:
            npu_usd = inf
        return cls(
            layers=model.layers,
            hidden=model.hidden,
            heads=model.heads,
            vocabulary=model.vocabulary,
            sequence=workload.sequence,
            batch=workload.global_batch,
            layer_parameters=model.matrix_parameters(layers) / model.layers,
            active_layer_parameters=model.active_matrix_parameters / model.layers,
            npus=platform.npus,
            flop_per_s=EFFICIENCY * platform.npu.peak(workload.precision),
            memory_bytes=platform.npu.memory_bytes,
            npu_usd=npu_usd,
            latency_s=tuple(dimension.latency_s for dimension in platform.dimensions),
            usd_per_gb_per_s=tier_units(len(platform.dimensions), prices),
        )

    @property
    def embedding_parameters(self) -> int:
        """Parameters of the token table."""
        return self.vocabulary * self.hidden

    @property
    def compute_s(self) -> float:
        """Time of all products on all NPUs: 6 FLOP per token and parameter that it meets."""
        parameters = self.layers * self.active_layer_parameters + self.embedding_parameters
        flop = 6 * parameters * self.batch * self.sequence
        return flop / (self.npus * self.flop_per_s)


VIT22B_64 = Problem(
    layers=48,
    hidden=6144,
    heads=48,
    vocabulary=0,
    sequence=256,
    batch=512,
    layer_parameters=4 * 6144**2 + 2 * 6144 * 24576,
    active_layer_parameters=4 * 6144**2 + 2 * 6144 * 24576,
    npus=64,
    flop_per_s=EFFICIENCY * 197e12,
    memory_bytes=16e9,
    npu_usd=5000.0,
    latency_s=(1e-6, 2e-6),
    usd_per_gb_per_s=((4.0, 17.0), (7.8, 57.4)),
)
"""ViT-22B on 64 NPUs: 34,560 designs, of which 6,912 can be built and fit. The network prices
are LIBRA's (ISPASS 2024) of the package and pod tiers."""
