"""Reads ASTRA-sim's analytical network file."""

from math import inf
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import MAX_TABLE_BYTES, read_text
from simcore.formats.astra.json_table import JsonTable
from simcore.network import NetworkDimension
from simcore.registry import did_you_mean

BYTES_PER_GB = 1 << 30
"""A GB of this file, and of no other: 2^30 bytes."""

TOPOLOGY_NAMES = {
    "Ring": "ring",
    "FullyConnected": "fully_connected",
    "Switch": "switch",
}
LONGEST_LATENCY_NS = float(1 << 53)
_LONGEST_NUMBER = 30  # characters that surely need no reader of rarer forms
_GRAPHS = (".graphml", ".xml")
_KEYS = ("topology", "npus_count", "bandwidth", "latency")


def read_network(path: Path, notes: list[str]) -> tuple[NetworkDimension, ...]:
    """The dimensions of a network file, innermost first.

    Args:
        path: YAML with the lists ``topology``, ``npus_count``, ``bandwidth`` (GB of 2^30 bytes
            per second, per link and direction) and ``latency`` (ns per link). Or a network of any
            form, as run files name it: ``family`` or ``file``, with its own units; or the file of
            a graph itself: node-link data, a list of links, GraphML, NCCL's XML.
        notes: Receives remarks on keys that are not used.

    Raises:
        ConfigError: A list is missing, has another length, or holds an illegal value.
    """
    if path.suffix in _GRAPHS:
        return _network(path, {"file": path.name})
    text = read_text(path, MAX_TABLE_BYTES)
    data: object = plain_lists(text)
    if data is None:
        from simcore.files.yaml_file import parse_yaml  # takes longer than many a run

        data = parse_yaml(text, str(path))
        if isinstance(data, dict) and ("nodes" in data or "links" in data):
            return _network(path, {"graph": data})
        if isinstance(data, dict) and ("family" in data or "graph" in data or "file" in data):
            return _network(path, data)
    if not isinstance(data, dict):
        raise ConfigError(str(path), "must hold the lists " + ", ".join(_KEYS), got=data)
    JsonTable(data, path=path, notes=notes).note_unknown(_KEYS)
    lists = {key: _list(path, data, key) for key in _KEYS}
    dimensions = len(lists["topology"])
    for key, values in lists.items():
        if len(values) != dimensions:
            rule = f"must have one entry per topology ({dimensions})"
            raise ConfigError(f"{path} {key}", rule, got=values)
    return tuple(_dimension(path, lists, d) for d in range(dimensions))


def _network(path: Path, data: dict[str, object]) -> tuple[NetworkDimension, ...]:
    """The levels of a network of any form."""
    from simcore.flows.kept import kept_levels
    from simcore.graphs.network_table import NetworkFile, network_table

    try:
        table = network_table(data, at="", beside=path.parent)
        network = NetworkFile.from_file_data(table, at="")
        levels = kept_levels(network)
    except ConfigError as error:
        raise error.in_file(path) from None
    return tuple(
        NetworkDimension(
            topology=level.topology,
            npus=level.npus,
            bytes_per_ns=level.link_bytes_per_s / 1e9,
            latency_ns=level.latency_s * 1e9,
            network=network,
            level=number,
        )
        for number, level in enumerate(levels)
    )


def plain_lists(text: str) -> dict[str, list[object]] | None:
    """The lists of a text that holds nothing but ``key: [ plain, words ]`` and comments.

    Nearly all do. Where anything needs a YAML reader, None.
    """
    data: dict[str, list[object]] = {}
    for line in text.split("\n"):
        if not line or line.startswith("# ") or line == "#":
            continue
        key, _, rest = line.partition(": [")
        words, end, after = rest.partition("]")
        values = [_plain_word(word.strip(" ")) for word in words.split(",")]
        more = after.partition(" #")[0].strip(" ")
        if key not in _KEYS or key in data or not end or more or None in values:
            return None
        data[key] = values
    return data


def _plain_word(word: str) -> object:
    if word in TOPOLOGY_NAMES:
        return word
    whole, point, part = word.partition(".")
    digits = word.isascii() and whole.isdigit() and (whole == "0" or whole[0] != "0")
    if not digits or (part and not part.isdigit()) or len(word) > _LONGEST_NUMBER:
        return None
    return float(word) if point else int(word)


def _list(path: Path, data: dict[object, object], key: str) -> list[object]:
    values = data.get(key)
    if not isinstance(values, list) or not values:
        raise ConfigError(f"{path} {key}", "must be a list with an entry per dimension", got=values)
    return values


def _dimension(path: Path, lists: dict[str, list[object]], d: int) -> NetworkDimension:
    name = lists["topology"][d]
    if not isinstance(name, str) or name not in TOPOLOGY_NAMES:
        rule = f"must be one of {', '.join(TOPOLOGY_NAMES)}{did_you_mean(name, TOPOLOGY_NAMES)}"
        raise ConfigError(f"{path} topology[{d}]", rule, got=name)
    npus = lists["npus_count"][d]
    if not isinstance(npus, int) or isinstance(npus, bool) or npus < 2:
        raise ConfigError(f"{path} npus_count[{d}]", "must be 2 or more", got=npus)
    bandwidth = _number(path, lists, "bandwidth", d)
    if not 0 < bandwidth < inf:
        raise ConfigError(f"{path} bandwidth[{d}]", "must be above 0 GB/s", got=bandwidth)
    latency = _number(path, lists, "latency", d)
    if not 0 <= latency <= LONGEST_LATENCY_NS:
        raise ConfigError(f"{path} latency[{d}]", "must be from 0 to 2^53 ns", got=latency)
    return NetworkDimension(
        topology=TOPOLOGY_NAMES[name],
        npus=npus,
        bytes_per_ns=bandwidth * BYTES_PER_GB / 1e9,
        latency_ns=latency,
    )


def _number(path: Path, lists: dict[str, list[object]], key: str, d: int) -> float:
    value = lists[key][d]
    try:
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise TypeError
        return float(value)  # YAML takes 1e3 for a text, ASTRA-sim for a number
    except (TypeError, ValueError, OverflowError):
        raise ConfigError(f"{path} {key}[{d}]", "must be a number", got=value) from None
