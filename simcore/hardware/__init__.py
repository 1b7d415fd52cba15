"""The machine as data: accelerators, network dimensions and whole platforms, read from files."""

from simcore.hardware.dimension import MOST_NPUS, Dimension
from simcore.hardware.json_schema import json_schemas
from simcore.hardware.load import load_npu, load_platform
from simcore.hardware.npu import Efficiency, Npu, NpuSources, ScaleUpDomain
from simcore.hardware.platform import Platform

__all__ = [
    "MOST_NPUS",
    "Dimension",
    "Efficiency",
    "Npu",
    "NpuSources",
    "Platform",
    "ScaleUpDomain",
    "json_schemas",
    "load_npu",
    "load_platform",
]
