"""Chakra execution traces (MLCommons): one file of protobuf messages per NPU."""

from simcore.formats.chakra.feeder import drain_v1, drain_v3
from simcore.formats.chakra.graph import DependencyGraph, build_graph
from simcore.formats.chakra.messages import Attribute, IoInfo, Metadata, Node, attribute
from simcore.formats.chakra.read import read_trace
from simcore.formats.chakra.stream import read_nodes
from simcore.formats.chakra.trace import Trace
from simcore.formats.chakra.writer import TraceWriter, write_trace

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
