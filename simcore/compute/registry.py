"""Compute models by the names that runs use."""

from simcore.compute.base import ComputeModel, check_compute_model
from simcore.registry import Registry, class_of

COMPUTE_MODELS: Registry[type[ComputeModel]] = Registry(
    "compute model",
    {
        "roofline": "simcore.compute.roofline:Roofline",
        "recorded": "simcore.compute.recorded:RecordedRoofline",
        "ideal": "simcore.compute.ideal:IdealRoofline",
        "measured": "simcore.compute.measured:MeasuredKernels",
        "systolic": "simcore.compute.systolic:SystolicArrays",
    },
    check=check_compute_model,
    adapt=class_of(ComputeModel),
)
