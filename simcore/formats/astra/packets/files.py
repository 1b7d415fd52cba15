"""Reads the files of ASTRA-sim's packet front-end: topologies, settings, logical dimensions."""

import re
from collections.abc import Iterator
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import MAX_TABLE_BYTES, read_text
from simcore.files.json_file import read_json
from simcore.network import NetworkDimension
from simcore.packets.case import MOST_NODES, Topology, next_hops_of
from simcore.packets.parameters import MOST_RATE, Parameters

_RATE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([kKMGT]?)(?:bps|b/s)")
_UNITS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_DELAY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)(ns|us|ms|s)?")
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, None: 10**9}
_LONGEST_NS = 10**12
_MAPS = {"KMIN_MAP": "kmin_kb", "KMAX_MAP": "kmax_kb", "PMAX_MAP": "pmax"}
_KEYS = {name.upper(): name for name in Parameters.model_fields} | _MAPS


def read_logical(path: Path) -> tuple[NetworkDimension, ...]:
    """The logical dimensions of a file, innermost first; links between NPUs are told elsewhere.

    Args:
        path: JSON, ``{"logical-dims": ["4", "2"]}``.

    Raises:
        ConfigError: It holds something else.
    """
    data = read_json(path)
    sizes = data.get("logical-dims") if isinstance(data, dict) else None
    if not isinstance(sizes, list) or not sizes:
        raise ConfigError(f"{path} logical-dims", "must be a list of numbers of NPUs", got=sizes)
    return tuple(
        NetworkDimension(
            topology="switch",
            npus=_count(size, f"{path} logical-dims[{d}]", 2, MOST_NODES),
            bytes_per_ns=1.0,
            latency_ns=0.0,
        )
        for d, size in enumerate(sizes)
    )


def read_topology(path: Path, hops: Path | None, parameters: Parameters) -> Topology:
    """The network of a topology file.

    Args:
        path: ``nodes switches links``, the ids of the switches, then ``a b rate delay error_rate``
            of each link.
        hops: JSON, ``{"rows": [[switch, next hops, destinations], ...]}``: their order where
            several are equally near; None: that of descending ids.
        parameters: Of the run.

    Raises:
        ConfigError: A line breaks a rule.
    """
    words = _Words(path)
    nodes = words.count("number of nodes", 2, MOST_NODES)
    switch_count = words.count("number of switches", 0, nodes)
    link_count = words.count("number of links", 1, 16 * MOST_NODES)
    switches = tuple(words.count("switch", 0, nodes - 1) for _ in range(switch_count))
    if len(set(switches)) < len(switches):
        raise ConfigError(f"{path}", "must name each switch once", got=list(switches))
    links = []
    for index in range(link_count):
        words.place = f"link {index}"
        ends = words.count("first end", 0, nodes - 1), words.count("second end", 0, nodes - 1)
        if ends[0] == ends[1]:
            raise words.error("second end", "must be another node than the first", ends[1])
        links.append((*ends, words.rate(), words.delay()))
        words.no_errors()
    words.end()
    buffer_bytes = parameters.buffer_size << 20
    listed = {} if hops is None else next_hops_of(read_json(hops), nodes)
    return Topology(nodes, switches, tuple(links), buffer_bytes, listed)


class _Words:
    """Words of a topology file, one after another."""

    def __init__(self, path: Path) -> None:
        self._path, self.place = path, "head"
        self._words: Iterator[str] = iter(read_text(path, MAX_TABLE_BYTES).split())

    def error(self, what: str, rule: str, got: object) -> ConfigError:
        return ConfigError(f"{self._path} {self.place}: {what}", rule, got=got)

    def count(self, what: str, least: int, most: int) -> int:
        return _count(self._next(what), f"{self._path} {self.place}: {what}", least, most)

    def rate(self) -> int:
        word = self._next("rate")
        match = _RATE.fullmatch(word)
        rate = round(float(match[1]) * _UNITS[match[2]]) if match else 0
        if not 1 <= rate <= MOST_RATE:
            raise self.error("rate", "must be a rate above 0 such as 100Gbps", word)
        return rate

    def delay(self) -> int:
        word = self._next("delay")
        match = _DELAY.fullmatch(word)
        delay_ns = int(float(match[1]) * _NS[match[2]]) if match else -1
        if not 0 <= delay_ns <= _LONGEST_NS:
            raise self.error("delay", "must be a time such as 1000ns or 0.001ms", word)
        return delay_ns

    def no_errors(self) -> None:
        word = self._next("error rate")
        try:
            lossless = float(word) == 0
        except ValueError:
            lossless = False
        if not lossless:
            rule = "must be 0 (ERROR_RATE_PER_LINK of the settings is for all links)"
            raise self.error("error rate", rule, word)

    def end(self) -> None:
        word = next(self._words, None)
        if word is not None:
            self.place = "end"
            raise self.error("a word", "must not follow the last link", word)

    def _next(self, what: str) -> str:
        word = next(self._words, None)
        if word is None:
            raise self.error(what, "must be told, but the file ends here", None)
        return word


def read_parameters(path: Path) -> Parameters:
    """The settings of a file of lines ``KEY VALUE``; keys that change no run are passed over.

    Raises:
        ConfigError: A value breaks a rule.
    """
    found: dict[str, object] = {}
    for number, line in enumerate(read_text(path, MAX_TABLE_BYTES).splitlines(), 1):
        words = line.split()
        name = _KEYS.get(words[0]) if words else None
        if name is None:
            continue
        place = f"{path} line {number}: {words[0]}"
        if len(words) < 2:
            raise ConfigError(place, "must have a value", got=None)
        found[name] = _map(words[1:], place) if words[0] in _MAPS else _value(words[1])
    try:
        return Parameters.from_file_data(found, at="")
    except ConfigError as error:
        raise ConfigError(f"{path} {key_of(error.at)}", error.rule, got=error.got) from None


def topology_file(path: Path) -> Path | None:
    """The topology file that a file of settings names (TOPOLOGY_FILE); None: it names none.

    A relative path starts where the command runs, as in ASTRA-sim, or else beside the settings.
    """
    named = None
    for line in read_text(path, MAX_TABLE_BYTES).splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == "TOPOLOGY_FILE":
            named = Path(words[1])
    if named is None or named.is_file():
        return named
    return path.parent / named


def key_of(name: str) -> str:
    """The key under which a file tells a parameter."""
    for key, parameter in _MAPS.items():
        name = name.replace(parameter, key)
    return name.upper()


def _map(words: list[str], place: str) -> dict[int, object]:
    count = _count(words[0], place, 0, 1 << 16)
    if len(words) != 1 + 2 * count:
        rule = f"must be followed by {count} pairs of a rate and a value, as its first word says"
        raise ConfigError(place, rule, got=len(words) - 1)
    return {
        _count(rate, place, 1, MOST_RATE): _value(value)
        for rate, value in zip(words[1::2], words[2::2], strict=True)
    }


def _value(word: str) -> object:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return word


def _count(word: object, place: str, least: int, most: int) -> int:
    text = str(word)
    if not (text.isascii() and text.isdigit() and len(text) < 19 and least <= int(text) <= most):
        raise ConfigError(place, f"must be a whole number from {least} to {most}", got=word)
    return int(text)
