"""Folders with kernel times of one's own: found beside a file, and held to their content."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.files.input_file import MIB, is_kept, is_there, kept_text, read_text

SOURCE = "source.yaml"
"""File that says where the times of a folder come from."""

TABLE_NAMES = (
    "product",
    "attention_decode",
    "attention_prefill",
    "latent_decode",
    "latent_prefill",
    "experts",
    "elementwise",
    "norm",
    "copy",
    "optimizer",
)
"""Kinds of kernels that a folder may hold, each in a CSV file of its name."""

MAX_TABLE_BYTES = 4 * MIB
"""Longest table of kernel times; the longest shipped one has 0.7 MiB."""

_FILES = (SOURCE, *(f"{name}.csv" for name in TABLE_NAMES))


@dataclass(frozen=True, slots=True)
class KernelFolder:
    """A folder with kernel times, as a file names it.

    Attributes:
        path: As the file gives it.
        digest: Hash of all that it holds: another content is another accelerator.
        place: Where it lies.
    """

    path: str
    digest: str
    place: Path = field(compare=False, repr=False)

    def __str__(self) -> str:
        return self.path

    def texts(self) -> dict[str, str]:
        """Texts of its files by name.

        Raises:
            ConfigError: They are no longer those that were found.
        """
        found = _texts(self.place)
        if _digest(found) != self.digest:
            rule = "must not change while it is used"
            raise ConfigError("platform.npu.kernels.tables", rule, got=self.path)
        return found


def is_path(tables: object) -> bool:
    """True if *tables* is no name of shipped tables, but the path of a folder."""
    return isinstance(tables, str) and "/" in tables


def find_folder(path: str, *, at: str, beside: Path | None = None) -> KernelFolder:
    """The folder *path*, below that of the file that names it.

    Args:
        path: Relative.
        at: Place of *path* in its file, for errors.
        beside: Folder of that file; the current one by default.

    Raises:
        ConfigError: It leads elsewhere, or holds no tables.
    """
    root = (beside or Path.cwd()).absolute()
    if Path(path).is_absolute() or ".." in Path(path).parts:
        rule = "must be a folder below that of the file, such as ./kernels, without '..'"
        raise ConfigError(at, rule, got=path)
    place = root / path
    try:
        ways_out = [name for name in ("", *_FILES) if not _is_below(place / name, root)]
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(at, f"must be the path of a folder ({error})", got=path) from None
    if ways_out:
        raise ConfigError(at, f"must hold no link that leads out of {root}", got=path)
    texts = _texts(place)
    if not texts.keys() - {SOURCE}:
        known = ", ".join(name for name in _FILES if name != SOURCE)
        raise ConfigError(at, f"must be a folder with at least one of {known}", got=path)
    return KernelFolder(path, _digest(texts), place)


def with_folder(npu: Mapping[str, Any], *, at: str, beside: Path | None) -> dict[str, Any]:
    """The table *npu* with the folder that it names in place of its path.

    Raises:
        ConfigError: As ``find_folder``.
    """
    kernels = npu.get("kernels")
    if not isinstance(kernels, dict) or not is_path(kernels.get("tables")):
        return dict(npu)
    place = f"{at}.kernels.tables" if at else "kernels.tables"
    folder = find_folder(kernels["tables"], at=place, beside=beside)
    return {**npu, "kernels": {**kernels, "tables": folder}}


def _is_below(path: Path, root: Path) -> bool:
    return path.resolve().is_relative_to(root.resolve())


def _texts(place: Path) -> dict[str, str]:
    """Texts of the files of the folder; where some are kept, of none that are not."""
    kept = any(is_kept(place / name) for name in _FILES)
    there = [name for name in _FILES if (is_kept if kept else is_there)(place / name)]
    return {name: _text(place / name) for name in there}


def _text(path: Path) -> str:
    return kept_text(path, lambda: read_text(path, MAX_TABLE_BYTES))


def _digest(texts: Mapping[str, str]) -> str:
    found = blake2b(digest_size=12)
    for name in sorted(texts):
        found.update(f"{name} {len(texts[name])}\n{texts[name]}".encode())
    return found.hexdigest()
