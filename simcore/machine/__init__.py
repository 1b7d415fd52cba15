"""The machine as data: accelerators, network dimensions and whole platforms, read from files."""

from simcore.machine.array import SystolicArray
from simcore.machine.dimension import MOST_NPUS, Dimension
from simcore.machine.load import load_npu, load_platform
from simcore.machine.npu import Efficiency, Npu
from simcore.machine.physical import scale_up_dimensions, unbuildable
from simcore.machine.platform import Platform

__all__ = [
    "MOST_NPUS",
    "Dimension",
    "Efficiency",
    "Npu",
    "Platform",
    "SystolicArray",
    "load_npu",
    "load_platform",
    "scale_up_dimensions",
    "unbuildable",
]
