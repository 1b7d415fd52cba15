"""Hashes of the code and versions of the packages that results depend on."""

import platform
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from simcore import shipped_folder, source_digests

DECIDING = ("simcore-dse", "numpy", "numba", "llvmlite", "optuna", "scipy")
"""Packages that results depend on."""

OTHERS = ("ray", "pandas")


def code_digests(texts: Iterable[str] = ()) -> dict[str, str]:
    """Hashes of the sources that results depend on.

    Those of both packages, part by part: ``simcore/engines``, ``dse/run``; of the tables behind
    error bands; and of the components from outside whose names stand in *texts*.
    """
    found = source_digests()
    named = [name for name in found if any(name in text for text in texts)] if found else []
    return {**_own_digests(), **{name: found[name] for name in named}}


@lru_cache(1)
def _own_digests() -> dict[str, str]:
    digests = {}
    for package in ("simcore", "dse"):
        root = Path(str(files(package)))
        for part in sorted(root.iterdir()):
            sources = sorted(part.rglob("*.py")) if part.is_dir() else [part]
            if not sources or sources[0].suffix != ".py":
                continue
            found = blake2b(digest_size=12)
            for path in sources:
                found.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
            digests[f"{package}/{part.stem}"] = found.hexdigest()
    return {**digests, "simcore/measured_tables": _measured_tables()}


def _measured_tables() -> str:
    """Hash of the tables behind error bands, which stand in the metrics of every trial."""
    found = blake2b(digest_size=12)
    for path in sorted((shipped_folder("configs") / "validation").glob("*.*")):
        found.update(f"{path.name}\n".encode() + path.read_bytes())
    return found.hexdigest()


@lru_cache(1)
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that are installed, by name."""
    found = {"python": platform.python_version()}
    for name in (*DECIDING, *OTHERS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
