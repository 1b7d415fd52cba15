from simcore.compute.base import ComputeModel as ComputeModel
from simcore.compute.ideal import IdealRoofline as IdealRoofline
from simcore.compute.measured import MeasuredKernels as MeasuredKernels
from simcore.compute.recorded import RecordedRoofline as RecordedRoofline
from simcore.compute.registry import COMPUTE_MODELS as COMPUTE_MODELS
from simcore.compute.roofline import Roofline as Roofline
from simcore.compute.systolic import SystolicArrays as SystolicArrays
