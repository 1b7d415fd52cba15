"""Network files: families by name, graphs of other programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.files.yaml_file import read_yaml
from simcore.graphs.graph import NetworkGraph
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.read.link_list import graph_of_links
from simcore.graphs.read.nccl import nccl_table
from simcore.graphs.read.node_link import graphml_table, is_node_link

_READERS = {".graphml": graphml_table, ".xml": nccl_table}


def network_tables(path: Path) -> tuple[list[dict[str, Any]], bool]:
    """Tables of the networks of a file, and whether they stand in a list.

    JSON or YAML names families, or is one graph as networkx writes it; ``.graphml`` is GraphML,
    ``.xml`` a server as NCCL describes it.

    Raises:
        ConfigError: The file cannot be read.
    """
    if path.suffix in _READERS:
        return [{"id": path.stem, "graph": _READERS[path.suffix](path)}], False
    data = read_yaml(path) if path.suffix in (".yaml", ".yml") else read_json(path)
    if isinstance(data, dict) and is_node_link(data):
        return [{"id": path.stem, "graph": data}], False
    if isinstance(data, dict) and "links" in data:
        return [{"id": path.stem, "graph": data}], False
    if not isinstance(data, list):
        return [data], False  # type: ignore[list-item]
    return data, True


def read_networks(path: Path) -> tuple[list[NetworkFile], bool]:
    """The networks of a file, and whether they stand in a list; see ``network_tables``.

    Raises:
        ConfigError: The file cannot be read, or a network breaks a rule.
    """
    tables, listed = network_tables(path)
    try:
        return (_listed(tables), True) if listed else ([_single(tables[0])], False)
    except ConfigError as error:
        raise error.in_file(path) from None


def _single(table: object) -> NetworkFile:
    if isinstance(table, dict):  # as in every file of one object
        table = {key: value for key, value in table.items() if key not in _OF_FILES}
    network = NetworkFile.from_file_data(table, at="")
    if network.graph_table is not None:
        network.graph()
    return network


def _listed(tables: list[dict[str, Any]]) -> list[NetworkFile]:
    if not tables:
        raise ConfigError("", "must hold a network, or a list of networks", got=tables)
    found = [NetworkFile.from_file_data(one, at=f"[{at}]") for at, one in enumerate(tables)]
    names = [one.id for one in found]
    for at, name in enumerate(names):
        if not name or name in names[:at]:
            raise ConfigError(f"[{at}].id", "must be a name of its own", got=name)
    return found


_OF_FILES = ("version", "source")
"""Keys that a shipped file has beside those of its network."""


def graph_of_table(table: object, at: str = "graph") -> NetworkGraph:
    """The graph of a table: a list of links, or a family with the speed of its cables.

    Raises:
        ConfigError: It is neither, or breaks a rule.
    """
    if isinstance(table, Mapping) and "links" in table:
        return graph_of_links(table, at)
    file = NetworkFile.from_file_data(table, at=at)
    if not file.has_speeds:
        rule = "must tell the speed of cables, such as '50 GB/s'"
        raise ConfigError(f"{at}.bandwidth", rule, got=None)
    return file.graph(at)
