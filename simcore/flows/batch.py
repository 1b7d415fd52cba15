"""Many files of flows at once: a manifest in, results by name out."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError, SimcoreError
from simcore.files.json_file import read_json
from simcore.flows.case import read_case


@dataclass(frozen=True, slots=True)
class FlowEntry:
    """One file of a manifest.

    Attributes:
        id: Name of its result.
        file: The file, from the manifest's folder.
        rates: Whether rates over time are asked for.
    """

    id: str
    file: str
    rates: bool = False


def read_flow_manifest(path: Path) -> list[FlowEntry]:
    """Entries of a manifest: a list of ``id``, ``file`` and ``rates``.

    Raises:
        ConfigError: It cannot be read, or breaks a rule.
    """
    data = read_json(path)
    if not isinstance(data, list):
        raise ConfigError(str(path), "must be a list of files", got=data)
    entries, names = [], set()
    for at, row in enumerate(data):
        place = f"{path}: [{at}]"
        if not isinstance(row, Mapping) or set(row) - {"id", "file", "rates"}:
            raise ConfigError(place, "must be a table of id, file and rates", got=row)
        for key in ("id", "file"):
            if not isinstance(row.get(key), str) or not row[key]:
                raise ConfigError(f"{place}.{key}", "must be text", got=row.get(key))
        if not isinstance(row.get("rates", False), bool):
            raise ConfigError(f"{place}.rates", "must be true or false", got=row["rates"])
        if row["id"] in names:
            raise ConfigError(f"{place}.id", "must be a name of its own", got=row["id"])
        names.add(row["id"])
        entries.append(FlowEntry(row["id"], row["file"], row.get("rates", False)))
    return entries


def run_flow_batch(
    entries: list[FlowEntry], folder: Path, on_done: Callable[[str, str], None]
) -> dict[str, dict[str, Any]]:
    """Results of all *entries* by name; one that fails does not stop the others.

    Args:
        entries: Files in *folder*.
        folder: That of the manifest.
        on_done: Told each name and its status, ``ok`` or ``error``.
    """
    results = {}
    for entry in entries:
        try:
            found = _result(folder / entry.file, entry.rates)
        except SimcoreError as error:
            found = {"status": "error", "message": str(error)}
        results[entry.id] = found
        on_done(entry.id, found["status"])
    return results


def _result(path: Path, rates: bool) -> dict[str, Any]:
    case = read_case(path)
    done = case.simulate(rates=rates)
    found: dict[str, Any] = {
        "status": "ok",
        "message": "",
        "finish_ns": done.finish_ns.tolist(),
        "makespan_ns": done.makespan_ns,
        "link_bytes": done.link_bytes.tolist(),
    }
    if case.routed is not None:
        found["routes"] = [
            [[link[0], str(link[1])] if isinstance(link, tuple) else link for link in route]
            for route in case.routed
        ]
    if done.rates is not None:
        found["rates"] = done.rates
    return found
