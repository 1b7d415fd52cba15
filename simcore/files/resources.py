"""The shipped files: the wheel's own copy, or the folders beside the packages."""

from functools import cache, lru_cache
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import is_kept, is_there
from simcore.registry import did_you_mean

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def shipped_folder(name: str) -> Path:
    """The folder *name* (``configs`` or ``studies``) that came with this installation."""
    for folder in (_PACKAGE / "_shipped" / name, _PACKAGE.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"this installation has no {name} folder; install simcore-dse again")


def shipped_names(kind: str) -> list[str]:
    """Names of the shipped files of one *kind*: ``platforms``, ``npus``, ``models``, ``costs``."""
    folder = shipped_folder("configs") / kind
    try:
        changed_ns = folder.stat().st_mtime_ns
    except FileNotFoundError:
        return []
    return list(_names(folder, changed_ns))


@lru_cache(maxsize=64)  # a study asks for a hundred files by name
def _names(folder: Path, changed_ns: int) -> tuple[str, ...]:
    """Names of the files in *folder*, which was changed last at a time."""
    return tuple(sorted(path.stem for path in folder.glob("*.yaml")))


def find_config(kind: str, name: str, *, at: str, beside: Path | None = None) -> Path:
    """The file that *name* means: a path ending in .yaml (taken from *beside*), or a shipped name.

    Raises:
        ConfigError: Neither exists; lists the shipped names.
    """
    if name.endswith((".yaml", ".yml")):
        path = (beside or Path.cwd()) / name
        if is_kept(path) or is_there(path):
            return path
        raise ConfigError(at, f"must name an existing file, and {path} does not exist", got=name)
    path = shipped_folder("configs") / kind / f"{name}.yaml"
    known = shipped_names(kind)
    if name in known:
        return path
    file = "a .yaml file, a config.json" if kind == "models" else "a .yaml file"
    rule = f"must be {file} or one of {', '.join(known)}{did_you_mean(name, known)}"
    if not known:
        rule = f"must be {file}: none of a short name is shipped"
    raise ConfigError(at, rule, got=name)


def named_file(kind: str, given: Path | str) -> Path:
    """The file that *given* means: a path, or the bare name of a shipped file of one *kind*.

    Raises:
        ConfigError: It is a bare name of none; lists the shipped names.
    """
    path = Path(given)
    if path.suffix or path.name != str(given) or is_kept(path) or is_there(path):
        return path
    return find_config(kind, str(given), at=kind.removesuffix("s"))
