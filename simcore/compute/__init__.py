"""Compute models: how long one NPU works on a kernel."""

from simcore.compute.base import ComputeModel
from simcore.compute.ideal import IdealRoofline
from simcore.compute.recorded import RecordedRoofline
from simcore.compute.roofline import Roofline
from simcore.registry import Registry

COMPUTE_MODELS: Registry[type[ComputeModel]] = Registry(
    "compute model",
    {
        "roofline": Roofline,
        "recorded": RecordedRoofline,
        "ideal": IdealRoofline,
    },
)

__all__ = ["COMPUTE_MODELS", "ComputeModel", "IdealRoofline", "RecordedRoofline", "Roofline"]
