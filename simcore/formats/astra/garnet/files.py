"""Reads the network file of ASTRA-sim's Garnet front-end, lines of ``key: value``."""

from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import MAX_TABLE_BYTES, read_text
from simcore.flits.garnet import ALL_TO_ALL, SWITCH, TORUS, GarnetNetwork
from simcore.flits.settings import MOST_CHANNELS, MOST_FLITS
from simcore.registry import did_you_mean

_MOST = 1 << 20
_KEYS = {
    "num-npus": ("npus", 2, 4096), "num-packages": ("packages", 1, 4096),
    "package-rows": ("rows", 1, 4096), "local-rings": ("local_rings", 1, 64),
    "vertical-rings": ("vertical_rings", 1, 64), "horizontal-rings": ("horizontal_rings", 1, 64),
    "links-per-tile": ("links_per_tile", 1, 64), "flit-width": ("flit_bits", 1, _MOST),
    "package-packet-size": ("packet_bytes", 1, _MOST), "tile-link-width": ("local_bits", 1, _MOST),
    "package-link-width": ("package_bits", 1, _MOST),
    "vcs-per-vnet": ("channels", 1, MOST_CHANNELS), "router-latency": ("router_latency", 1, 1000),
    "local-link-latency": ("local_latency", 1, 100_000),
    "package-link-latency": ("package_latency", 1, 100_000),
    "buffers-per-vc": ("buffers", 1, 1 << 30),
}  # fmt: skip
_SAMPLE = {
    "local-rings": 1, "vertical-rings": 1, "horizontal-rings": 1, "links-per-tile": 1,
    "package-rows": 1,
}  # fmt: skip
"""Keys that only some topologies need."""
_UNUSED = (
    "local-packet-size", "local-link-efficiency", "package-link-efficiency", "routing-algorithm",
)  # fmt: skip
"""Keys that the front-end reads and does not use; routes follow from the topology."""


def read_garnet(path: Path, notes: list[str]) -> GarnetNetwork:
    """The network of a file.

    Args:
        path: Lines of ``key: value``.
        notes: Receives remarks on keys that are not used.

    Raises:
        ConfigError: A key is missing, or a value breaks its rule.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(read_text(path, MAX_TABLE_BYTES).splitlines(), 1):
        text = line.partition("#")[0].strip()
        key, colon, value = text.partition(":")
        if text and not colon:
            raise ConfigError(f"{path} line {number}", "must be 'key: value'", got=text)
        if text:
            found[key.strip()] = value.strip()
    known = ("topology", *_KEYS, *_UNUSED)
    for key in found:
        if key not in known:
            notes.append(f"{path}: the key {key!r} is ignored{did_you_mean(key, known)}.")
    kinds = (TORUS, SWITCH, ALL_TO_ALL)
    if found.get("topology") not in kinds:
        rule = f"must be one of {', '.join(kinds)}"
        raise ConfigError(f"{path} topology", rule, got=found.get("topology"))
    values = {name: _number(path, found, key) for key, (name, _, _) in _KEYS.items()}
    _check_parts(path, values)
    return GarnetNetwork(topology=found["topology"], **values)


def _number(path: Path, found: dict[str, str], key: str) -> int:
    text = found.get(key, str(_SAMPLE.get(key, "")))
    _, least, most = _KEYS[key]
    if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
        rule = f"must be a whole number from {least} to {most:,}"
        raise ConfigError(f"{path} {key}", rule, got=text or None)
    return int(text)


def _check_parts(path: Path, values: dict[str, int]) -> None:
    npus, packages, rows = values["npus"], values["packages"], values["rows"]
    if npus % packages:
        raise ConfigError(f"{path} num-packages", f"must divide num-npus, {npus}", got=packages)
    if packages % rows:
        raise ConfigError(f"{path} package-rows", f"must divide num-packages, {packages}", got=rows)
    flits = -(-values["packet_bytes"] * 8 // values["flit_bits"])
    if flits > MOST_FLITS:
        rule = f"must be at most {MOST_FLITS:,} flits of flit-width"
        raise ConfigError(f"{path} package-packet-size", rule, got=values["packet_bytes"])
