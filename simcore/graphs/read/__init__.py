"""Networks from files: families by name, lists of links, graphs of other programs."""

from simcore.graphs.network_table import NetworkFile
from simcore.graphs.read.link_list import graph_of_links
from simcore.graphs.read.network_file import graph_of_table, read_networks

__all__ = ["NetworkFile", "graph_of_links", "graph_of_table", "read_networks"]
