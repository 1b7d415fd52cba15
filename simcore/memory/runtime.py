"""Memory that a run takes beyond the tensors that it asks for.

Measured figures are few and scatter; those here are bounded, from the publications named beside
them, and the same for every model, machine and source.
"""

from dataclasses import dataclass

from simcore.memory.footprint import Footprint
from simcore.terms import FORMATS
from simcore.workload.base import Workload
from simcore.workload.graph import Axis
from simcore.workload.groups import group_layouts
from simcore.workload.plan import ParallelPlan

CONTEXT_BYTES = 500_000_000
"""Driver's context with the kernels that are loaded: 300 MB where they are loaded when first
used, above 1,000 MB where they all are. Source: PyTorch, issue 107667."""
GROUP_BYTES = 544 * 2**20
"""Buffers of NCCL for a group: 544 MB (2 accelerators) to 688 MB (3 or 4) on A100 with NVLink.
Source: NCCL, issue 964."""
PRODUCT_BYTES = 32 * 2**20
"""Workspace of matrix products. Source: NVIDIA, cuBLAS documentation, ``cublasSetWorkspace`` (what
it recommends from Hopper on)."""
TRAINING_RESERVE = 0.05
"""Part of all that an allocator cannot use or temporary tensors take. Source: Megatron-LM,
``theoretical_memory_usage.py``; S. Rajbhandari et al., SC 2020, section 3.2 (30 % at the worst)."""
ENGINE_RESERVE = 1 / 9
"""Likewise where an engine of inference leaves a tenth of the memory. Source: vLLM,
``gpu_memory_utilization`` (0.9 unless told otherwise)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeMemory:
    """Memory of a run beyond its tensors, on one NPU.

    Attributes:
        context_bytes: Of the driver.
        communication_bytes: Buffers of the groups in which the NPU communicates.
        workspace_bytes: Of products, and the gradients of activations while a block is passed
            backwards, which are as large as what it keeps.
        copies_bytes: Weights once more in the format of the products, below 16 bits.
        reserve: Part of all bytes that fragments waste.
    """

    context_bytes: int = 0
    communication_bytes: int = 0
    workspace_bytes: int = 0
    copies_bytes: int = 0
    reserve: float = 0.0

    @property
    def total_bytes(self) -> int:
        """All but what fragments waste."""
        beside = self.context_bytes + self.communication_bytes
        return beside + self.workspace_bytes + self.copies_bytes

    def parts(self) -> dict[str, int]:
        """Bytes by what they are for."""
        return {
            "context of the driver": self.context_bytes,
            "communication buffers": self.communication_bytes,
            "workspace": self.workspace_bytes,
            "weights in the format of products": self.copies_bytes,
        }


def runtime_memory(workload: Workload, plan: ParallelPlan, needed: Footprint) -> RuntimeMemory:
    """Memory of *workload* under *plan* beyond the tensors that are *needed*."""
    groups = [axis for axis in group_layouts(workload, plan) if axis is not Axis.EMBEDDING]
    flowing_bytes = needed.fullest.block_bytes if workload.trains else 0
    return RuntimeMemory(
        context_bytes=CONTEXT_BYTES,
        communication_bytes=GROUP_BYTES * len(groups),
        workspace_bytes=PRODUCT_BYTES + flowing_bytes,
        copies_bytes=_copies_bytes(workload, plan, needed.fullest.weights_bytes),
        reserve=TRAINING_RESERVE if workload.trains else ENGINE_RESERVE,
    )


def _copies_bytes(workload: Workload, plan: ParallelPlan, weights_bytes: int) -> int:
    """Narrow copies of weights that are stored in 16 bits, where they stay for all micro-batches.

    Source: TransformerEngine, issues 1261 and 1880 (1 byte per weight, 2 where both directions
    have a copy of their own; none where weights themselves are stored so).
    """
    name = workload.product_format
    if not workload.trains or not name or plan.gathers_again:
        return 0
    narrow = FORMATS[name].weight_bytes
    if workload.weight_bytes <= narrow:
        return 0
    return int(weights_bytes * narrow / workload.weight_bytes)
