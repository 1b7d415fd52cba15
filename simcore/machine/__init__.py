"""The machine as data: accelerators, network dimensions and whole platforms, read from files."""

from simcore.machine.load import json_schemas, load_npu, load_platform
from simcore.machine.npu import Efficiency, Npu, NpuSources, ScaleUpDomain
from simcore.machine.platform import MOST_NPUS, Dimension, Platform

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
