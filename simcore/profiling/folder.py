"""Writes folders of kernel times, which run files name: ``npu.kernels: {tables: ./FOLDER}``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from simcore.compute.tables.kinds import TABLE_KINDS
from simcore.compute.tables.store import KernelTables
from simcore.errors import ConfigError
from simcore.files.yaml_file import FILE_VERSION
from simcore.machine.kernel_folder import SOURCE, find_folder


@dataclass(frozen=True, slots=True)
class KernelTime:
    """Time of one kernel.

    Attributes:
        kind: One of ``TABLE_KINDS``.
        format: One of ``TABLE_FORMATS``; 16 bits of either kind are ``bf16``.
        shape: Coordinates, in the order of the kind's.
        us: Its time.
    """

    kind: str
    format: str
    shape: tuple[float, ...]
    us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTime:
    """Time of one collective among the accelerators of a node.

    Attributes:
        name: ``all_reduce`` and so on.
        npus: Members.
        size_bytes: All-gather: the shard of one member; otherwise the full buffer.
        us: Time.
    """

    name: str
    npus: int
    size_bytes: int
    us: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Kernel times and where they come from.

    Attributes:
        kernels: The times.
        collectives: Times of collectives.
        source: Provenance by key, for ``source.yaml``: device, driver, versions, date.
        npu: Accelerator on which they ran, by name; empty: that which will name the folder.
    """

    kernels: Sequence[KernelTime]
    source: Mapping[str, object]
    collectives: Sequence[CollectiveTime] = ()
    npu: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)


def write_profile(profile: Profile, folder: Path) -> None:
    """Write *profile* to a new *folder*, and read it back.

    Raises:
        ConfigError: The folder holds something, cannot be written, or there are no times.
    """
    if not profile.kernels:
        raise ConfigError(str(folder), "must be given at least one kernel to hold", got="none")
    check_new(folder)
    head = {"version": FILE_VERSION} | ({"npu": profile.npu} if profile.npu else {})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind in TABLE_KINDS:
            times = [one for one in profile.kernels if one.kind == kind]
            if times:
                _write(folder / f"{kind}.csv", _lines(kind, times))
        if profile.collectives:
            _write(folder / "collective.csv", _collective_lines(profile.collectives))
        text = yaml.safe_dump(head | dict(profile.source), sort_keys=False, allow_unicode=True)
        _write(folder / SOURCE, [text.rstrip("\n")])
    except OSError as error:
        raise ConfigError(str(folder), "must be writable", got=error.strerror) from None
    found = find_folder(folder.name or ".", at="--out", beside=folder.absolute().parent)
    KernelTables(found.place, found.texts())


def check_new(folder: Path) -> None:
    """Refuse a *folder* that holds something, before anything is measured.

    Raises:
        ConfigError: It does.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError("--out", "must be a new or an empty folder", got=str(folder))


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _lines(kind: str, times: Sequence[KernelTime]) -> Iterable[str]:
    yield ",".join(("format", *TABLE_KINDS[kind].shape, "us"))
    for one in sorted(times, key=lambda each: (each.format, each.shape)):
        yield ",".join((one.format, *(f"{size:.10g}" for size in one.shape), f"{one.us:.5g}"))


def _collective_lines(times: Sequence[CollectiveTime]) -> Iterable[str]:
    yield "collective,npus,bytes,us"
    for one in times:
        yield f"{one.name},{one.npus},{one.size_bytes},{one.us:.5g}"
