"""Compute models: how long one NPU works on a kernel."""

from simcore.compute.base import ComputeModel, check_compute_model
from simcore.compute.ideal import IdealRoofline
from simcore.compute.measured import MeasuredKernels
from simcore.compute.recorded import RecordedRoofline
from simcore.compute.roofline import Roofline
from simcore.compute.systolic import SystolicArrays
from simcore.registry import Registry, class_of

COMPUTE_MODELS: Registry[type[ComputeModel]] = Registry(
    "compute model",
    {
        "roofline": Roofline,
        "recorded": RecordedRoofline,
        "ideal": IdealRoofline,
        "measured": MeasuredKernels,
        "systolic": SystolicArrays,
    },
    check=check_compute_model,
    adapt=class_of(ComputeModel),
)

__all__ = [
    "COMPUTE_MODELS",
    "ComputeModel",
    "IdealRoofline",
    "MeasuredKernels",
    "RecordedRoofline",
    "Roofline",
    "SystolicArrays",
]
