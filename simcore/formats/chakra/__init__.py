"""Chakra execution traces (MLCommons): one file of protobuf messages per NPU.

Public names are imported when first used: who reads traces need not load what writes them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcore.formats.chakra.feeder import drain_v1, drain_v3
    from simcore.formats.chakra.graph import DependencyGraph, build_graph
    from simcore.formats.chakra.messages import Attribute, IoInfo, Metadata, Node, attribute
    from simcore.formats.chakra.read import read_trace
    from simcore.formats.chakra.stream import read_nodes
    from simcore.formats.chakra.trace import Trace
    from simcore.formats.chakra.writer import TraceWriter, write_trace

_HOMES = {
    "Attribute": "messages",
    "DependencyGraph": "graph",
    "IoInfo": "messages",
    "Metadata": "messages",
    "Node": "messages",
    "Trace": "trace",
    "TraceWriter": "writer",
    "attribute": "messages",
    "build_graph": "graph",
    "drain_v1": "feeder",
    "drain_v3": "feeder",
    "read_nodes": "stream",
    "read_trace": "read",
    "write_trace": "writer",
}

__all__ = [
    "Attribute",
    "DependencyGraph",
    "IoInfo",
    "Metadata",
    "Node",
    "Trace",
    "TraceWriter",
    "attribute",
    "build_graph",
    "drain_v1",
    "drain_v3",
    "read_nodes",
    "read_trace",
    "write_trace",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
