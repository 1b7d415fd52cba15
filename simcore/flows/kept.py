"""Levels of networks, kept by what they are made of: in memory, and on disk for later runs.

To find them takes a simulation of flows, whose kernels load for a second, and gives a few numbers.
"""

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile

from simcore.errors import ConfigError
from simcore.files.input_file import read_bytes, read_text
from simcore.files.json_file import parse_json
from simcore.graphs.network_table import NetworkFile
from simcore.kernels import cache_folder
from simcore.topologies import TOPOLOGIES

_ROOT = Path(__file__).parents[1]
_MADE_BY = ("flows", "graphs", "topologies", "kernels/flows", "kernels/graphs")
"""Folders of the code that levels come from."""
_FROM_OUTSIDE = re.compile(r'"[A-Za-z_][\w.]*:[A-Za-z_]\w*"')
_MOST_FILES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One level of a network, as the dimension that it is like.

    Attributes:
        topology: A name of ``TOPOLOGIES``.
        npus: NPUs of it.
        bandwidth_bytes_per_s: Of all links of one NPU in that dimension together.
        latency_s: Of one of its links.
        shares_ports: It is reached over the ports of NPUs that an inner level uses.
        cables: Kinds of the cables on the ways along it.
        port_bytes_per_s: Of all ports of one NPU, whatever they lead to.
    """

    topology: str
    npus: int
    bandwidth_bytes_per_s: float
    latency_s: float
    shares_ports: bool
    cables: frozenset[str]
    port_bytes_per_s: float

    @property
    def link_bytes_per_s(self) -> float:
        """Bandwidth of one of its links."""
        return self.bandwidth_bytes_per_s / TOPOLOGIES[self.topology].links_per_npu(self.npus)


@lru_cache(maxsize=64)
def kept_levels(network: NetworkFile) -> tuple[Level, ...]:
    """Levels of *network*, innermost first, as ``levels_of`` finds them where none are kept.

    Raises:
        ConfigError: The network breaks a rule, or two of its NPUs have no way.
    """
    path = _path(network)
    found = _read(path) if path else None
    if found is None:
        from simcore.flows.levels import levels_of  # needs a compiler, which few runs do

        found = levels_of(network)
        if path:
            _write(path, found)
    return found


def _path(network: NetworkFile) -> Path | None:
    """The file of a network's levels; None: parts of it are code from outside, which may change."""
    told = json.dumps(network.model_dump(mode="json"), sort_keys=True, default=str)
    if _FROM_OUTSIDE.search(told):
        return None
    return _folder() / f"{sha256(f'{_sources()} {told}'.encode()).hexdigest()}.json"


def _folder() -> Path:
    return cache_folder().parent / "levels"


@lru_cache(maxsize=1)
def _sources() -> str:
    """Digest of the code that levels come from."""
    files = [file for name in _MADE_BY for file in sorted((_ROOT / name).rglob("*.py"))]
    return sha256(b"\0".join(read_bytes(file) for file in files)).hexdigest()


def _read(path: Path) -> tuple[Level, ...] | None:
    """The levels in a file; None where there is none, or it is not whole."""
    try:
        told = parse_json(read_text(path), str(path))
        if not isinstance(told, dict) or told["sum"] != _sum(told["levels"]):
            return None
        return tuple(Level(**{**one, "cables": frozenset(one["cables"])}) for one in told["levels"])
    except (ConfigError, OSError, KeyError, TypeError):
        return None


def _write(path: Path, levels: Sequence[Level]) -> None:
    """Keep *levels* for later runs, where the folder can be written to."""
    rows = [{**asdict(level), "cables": sorted(level.cables)} for level in levels]
    with suppress(OSError):  # full, read-only, or another process has tidied up
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with NamedTemporaryFile("w", dir=path.parent, suffix=".tmp", delete=False) as file:
            json.dump({"sum": _sum(rows), "levels": rows}, file)
        os.replace(file.name, path)
        files = sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime)
        for old in files[:-_MOST_FILES]:
            old.unlink()


def _sum(rows: object) -> str:
    return sha256(json.dumps(rows).encode()).hexdigest()
