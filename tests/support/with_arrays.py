"""Accelerators with a systolic array, for tests that meet every compute model."""

from simcore.machine import Npu, SystolicArray, load_npu

ARRAY = SystolicArray(
    rows=128, columns=128, arrays=4, clock_hz=1e9,
    ifmap_bytes=2**21, filter_bytes=2**21, ofmap_bytes=2**20,
)  # fmt: skip


def npu_for(compute: str, name: str) -> Npu:
    """The shipped accelerator *name*, with an array where the model *compute* needs one."""
    npu = load_npu(name)
    if compute == "systolic" and npu.array is None:
        return npu.model_copy(update={"array": ARRAY})
    return npu
