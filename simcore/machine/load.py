"""Reads accelerators and platforms: a shipped name, a path, or a table written in place."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.files.resources import find_config
from simcore.files.yaml_file import read_table
from simcore.machine.graph_dimensions import with_networks
from simcore.machine.kernel_folder import with_folder
from simcore.machine.npu import Npu
from simcore.machine.platform import Platform
from simcore.machine.stack import load_stack


def load_npu(given: object, *, at: str = "npu", beside: Path | None = None) -> Npu:
    """The accelerator that *given* describes.

    Args:
        given: An ``Npu``, a shipped name, a path ending in .yaml, or a table of values.
        at: Place of *given* in its file, for errors.
        beside: Folder against which a path is taken; the current one by default.

    Raises:
        ConfigError: No such file, or a value in it breaks a rule.
    """
    if isinstance(given, Npu):
        return given
    found = _find(given, kind="npus", at=at, beside=beside)
    try:
        table = with_folder(found.table, at=found.at, beside=found.folder)
        npu = Npu.from_file_data(table, at=found.at)
        if npu.stack:
            place = f"{found.at}.stack" if found.at else "stack"
            npu = load_stack(npu.stack, at=place).on(npu, replace=False)
        return npu
    except ConfigError as error:
        raise found.named(error) from None


def load_platform(given: object, *, at: str = "platform", beside: Path | None = None) -> Platform:
    """The platform that *given* describes; its ``npu`` may again be a name, a path or a table.

    Args:
        given: A ``Platform``, a shipped name, a path ending in .yaml, or a table of values.
        at: Place of *given* in its file, for errors.
        beside: Folder against which paths are taken; the current one by default.

    Raises:
        ConfigError: No such file, or a value in it breaks a rule.
    """
    if isinstance(given, Platform):
        return given
    found = _find(given, kind="platforms", at=at, beside=beside)
    try:
        if "npu" in found.table:
            place = f"{found.at}.npu" if found.at else "npu"
            found.table["npu"] = load_npu(found.table["npu"], at=place, beside=found.folder)
        place = f"{found.at}." if found.at else ""
        table = with_networks(found.table, at=place, beside=found.folder)
        return Platform.from_file_data(table, at=found.at)
    except ConfigError as error:
        raise found.named(error) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A table to check, and where it stands: in a file of its own, or at a place in another."""

    table: dict[str, Any]
    at: str
    folder: Path | None
    path: Path | None = None

    def named(self, error: ConfigError) -> ConfigError:
        """*error* with the file before its place, unless a file is named there already."""
        return error if self.path is None else error.in_file(self.path)


def _find(given: object, *, kind: str, at: str, beside: Path | None) -> _Found:
    if isinstance(given, dict):
        return _Found(table=dict(given), at=at, folder=beside)
    if not isinstance(given, str):
        raise ConfigError(at, "must be a name, a path to a .yaml file or a table", got=given)
    path = find_config(kind, given, at=at, beside=beside)
    return _Found(table=read_table(path), at="", folder=path.parent, path=path)
