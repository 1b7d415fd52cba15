"""The training of a convolutional net."""

from collections.abc import Iterator
from typing import ClassVar, Literal

from simcore.workload.base import Extent, Rule, Workload
from simcore.workload.kinds.cnn.net import ConvolutionalNet
from simcore.workload.npu_share import NpuShare
from simcore.workload.plan import ParallelPlan
from simcore.workload.rules import replica_rules


class CnnWorkload(Workload):
    """One training iteration of a convolutional net, which is whole on every NPU.

    ``global_batch`` and ``plan.micro_batch`` count images.
    """

    unit: ClassVar[str] = "images"
    shares_layers: ClassVar[bool] = True

    kind: Literal["cnn"] = "cnn"
    model: ConvolutionalNet
    optimizer: Literal["adam", "sgd", "adagrad"] = "sgd"

    @property
    def model_flop(self) -> float:
        """2 K C R S P Q per image and layer, three times: forward and two gradients."""
        return 6.0 * self.global_batch * self.model.products_per_image

    @property
    def joins_replicas(self) -> bool:
        return self.model.synced_norms

    def rules(self, plan: ParallelPlan) -> Iterator[Rule]:
        yield from replica_rules(self, plan)
        yield (
            plan.fused_loss and plan.fused_gradients,
            "convolutions_are_fused",
            "convolutional nets take fused_loss and fused_gradients: true only",
        )

    def share(self, plan: ParallelPlan) -> NpuShare:
        return NpuShare(
            rows=plan.micro_batch,
            thin_rows=plan.micro_batch,
            **self.stored_formats,
        )

    def extent(self, plan: ParallelPlan) -> Extent:
        largest = max(max(row.input_elements, row.output_elements) for row in self.model.rows)
        return Extent(
            buffer_bytes=4 * plan.micro_batch * largest,
            weights_bytes=4 * self.model.parameters,
            layer_flop=16 * plan.micro_batch * self.model.products_per_image,
            flop=6 * self.global_batch * self.model.products_per_image,
        )
