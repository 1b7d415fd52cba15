"""PyTorch's host execution traces and Kineto device traces, and their conversion to Chakra."""

from simcore.formats.pytorch.convert import PytorchConversion, convert_pytorch
from simcore.formats.pytorch.device import DeviceTrace, read_device_trace
from simcore.formats.pytorch.host import HostNode, HostTrace, read_host_trace
from simcore.formats.pytorch.link import LinkedNode, link

__all__ = [
    "DeviceTrace",
    "HostNode",
    "HostTrace",
    "LinkedNode",
    "PytorchConversion",
    "convert_pytorch",
    "link",
    "read_device_trace",
    "read_host_trace",
]
