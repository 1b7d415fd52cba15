"""Schedules kept by the content of what they are made of: in memory, and on disk for later runs."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from zipfile import BadZipFile

import numpy as np

from simcore.errors import ConfigError
from simcore.files.input_file import open_input, read_bytes
from simcore.kernels import cache_folder
from simcore.kernels import synthesis as kernels
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.plan import Bools
from simcore.synthesis.schedule import Schedule
from simcore.synthesis.synthesise import Synthesis, synthesise

_MOST_CHUNKS, _ALL_CHUNKS = 32, 1024
"""Chunks of a piece, at most, and of all pieces together."""
_LATE, _FEWER = 0.01, (1, 2, 4, 16)
"""Part of a time, from which latencies are worth schedules of fewer chunks, and their numbers."""
_MOST_FILES = 1000
_COLUMNS = ("link", "at", "to", "into_switch")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeptSchedule:
    """A schedule in the form in which it is timed for pieces of any size.

    Attributes:
        parts: Chunks of a piece.
        link: (S,) link of each send, in the order in which links carry them.
        at, to, into_switch: (S,) see ``kernels.synthesis.retiming.retimed``.
        carried: (L,) pieces that each link carries.
        bandwidth: Least time by the rates of links for a piece of 1.
        latency: Least time by latencies.
        by: What the schedule is.
    """

    parts: int
    link: Ints
    at: Ints
    to: Ints
    into_switch: Bools
    carried: Floats
    bandwidth: float
    latency: float
    by: str


def kept_schedules(fabric: Fabric, kind: str, piece: float) -> tuple[KeptSchedule, ...]:
    """Schedules of a collective of pieces of about *piece* bytes, made where there are none yet.

    Sizes are told apart by factors of 4, so that runs of unlike sizes share schedules. Where
    latencies count there are several, of which another is the fastest at another size.

    Raises:
        SimulationError: Some NPU cannot be reached from another.
    """
    level = max(0, round(np.log2(max(piece, 1.0)) / 2))
    key = _key(fabric, kind, level)
    found = _known().get(key)
    if found is None:
        found = _read(key) or _made(fabric, kind, float(4**level), key)
        _known()[key] = found
    return found


@cache
def _known() -> dict[str, tuple[KeptSchedule, ...]]:
    return {}


def _key(fabric: Fabric, kind: str, level: int) -> str:
    told = sha256(f"{_sources()} {kind} {level} {fabric.npus} {fabric.nodes}".encode())
    told.update(f"{fabric.copies} {fabric.reduces} {fabric.npus_forward}".encode())
    for column in (fabric.tail, fabric.head, fabric.link, fabric.rate, fabric.latency):
        told.update(np.ascontiguousarray(column).tobytes())
    return told.hexdigest()


@lru_cache(maxsize=1)
def _sources() -> str:
    """Digest of the code that makes schedules."""
    return _digest(Path(__file__).parents[1], Path(kernels.__file__).parent)


def _digest(*folders: Path) -> str:
    """Digest of all code in folders and in those below them."""
    files = [file for folder in folders for file in sorted(folder.rglob("*.py"))]
    return sha256(b"\0".join(read_bytes(file) for file in files)).hexdigest()


def _made(fabric: Fabric, kind: str, piece: float, key: str) -> tuple[KeptSchedule, ...]:
    many = max(1, min(_MOST_CHUNKS, _ALL_CHUNKS // fabric.npus))
    found = [synthesise(fabric, kind, piece, many)]
    if found[0].bound.latency > _LATE * found[0].schedule.time:
        found += [synthesise(fabric, kind, piece, few) for few in _FEWER if few < many]
    kept = tuple(_timed_form(one, fabric, piece) for one in found)
    _write(key, kept)
    return kept


def _timed_form(found: Synthesis, fabric: Fabric, piece: float) -> KeptSchedule:
    schedule = found.schedule
    leaves, comes = (_places(schedule, fabric, node) for node in (schedule.tail, schedule.head))
    places, to = np.unique(comes, return_inverse=True)
    at = np.searchsorted(places, leaves)
    there = places[np.minimum(at, max(len(places) - 1, 0))] == leaves if len(places) else at > 0
    parts = round(piece / schedule.part)
    return KeptSchedule(
        parts=parts,
        link=schedule.link,
        at=np.where(there, at, -1),
        to=to.astype(np.int64),
        into_switch=schedule.head >= fabric.npus,
        carried=np.bincount(schedule.link, minlength=fabric.links) / parts,
        bandwidth=found.bound.bandwidth / piece,
        latency=found.bound.latency,
        by=found.by,
    )


def _places(schedule: Schedule, fabric: Fabric, node: Ints) -> Ints:
    """Numbers (S,) of places: chunks at *node*, or at switches that only pass on, of flights."""
    able = np.where(schedule.joins, fabric.reduces, fabric.copies)
    passed_on = (node >= fabric.npus) & ~able
    what = np.where(passed_on, len(schedule.owner) + schedule.flight, schedule.chunk)
    return what * fabric.nodes + node


def _folder() -> Path:
    return cache_folder().parent / "schedules"


def _read(key: str) -> tuple[KeptSchedule, ...] | None:
    """The schedules of a file; None where there is none, or it is not whole."""
    path = _folder() / f"{key}.npz"
    try:
        with open_input(path) as opened, np.load(opened, allow_pickle=False) as file:
            return tuple(_of_file(file, place) for place in range(int(file["count"])))
    except (ConfigError, OSError, ValueError, KeyError, BadZipFile):
        return None


def _of_file(file: Mapping[str, Any], place: int) -> KeptSchedule:
    columns = {name: file[f"{name}{place}"] for name in _COLUMNS}
    columns |= {name: columns[name].astype(np.int64) for name in ("link", "at", "to")}
    parts, bandwidth, latency = file[f"numbers{place}"].tolist()
    return KeptSchedule(
        parts=int(parts),
        carried=file[f"carried{place}"],
        bandwidth=bandwidth,
        latency=latency,
        by=str(file[f"by{place}"]),
        **columns,
    )


def _write(key: str, kept: Sequence[KeptSchedule]) -> None:
    """Keep schedules for later runs, where the folder can be written to."""
    arrays: dict[str, Any] = {"count": np.array(len(kept))}
    for place, one in enumerate(kept):
        columns = {name: getattr(one, name) for name in _COLUMNS}
        columns |= {name: columns[name].astype(np.int32) for name in ("link", "at", "to")}
        numbers = np.array([one.parts, one.bandwidth, one.latency])
        own = {**columns, "carried": one.carried, "numbers": numbers, "by": np.array(one.by)}
        arrays |= {f"{name}{place}": array for name, array in own.items()}
    try:
        _folder().mkdir(mode=0o700, exist_ok=True)
        with NamedTemporaryFile(dir=_folder(), suffix=".tmp", delete=False) as file:
            np.savez_compressed(file, **arrays)
        os.replace(file.name, _folder() / f"{key}.npz")
        files = sorted(_folder().glob("*.npz"), key=lambda path: path.stat().st_mtime)
        for path in files[:-_MOST_FILES]:
            path.unlink()
    except OSError:  # full, read-only, or another process has tidied up
        return
