"""Many models at once: a manifest in, counts by name out."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.workload.hub.keys import UnmodelledError
from simcore.workload.hub.read import count_hub_model, read_hub_model


def count_models(path: Path) -> dict[str, dict[str, object]]:
    """Counts of all models of a manifest, or of the one model of a ``config.json``.

    A manifest is a list of tables of ``id`` and ``file``, from the manifest's folder. One file
    that cannot be counted does not stop the others: its ``status`` is ``unsupported`` (a part is
    not modelled) or ``error`` (the file is broken), with the sentence as ``reason``.

    Returns:
        By id: ``status``, ``reason`` and the fields of ``ModelCounts``.

    Raises:
        ConfigError: The manifest cannot be read or breaks a rule, or the one model cannot be
            counted.
    """
    data = read_json(path)
    if isinstance(data, Mapping):
        counts = count_hub_model(data, str(path))
        return {str(path): {"status": "ok", "reason": "", **asdict(counts)}}
    if not isinstance(data, list):
        rule = "must be a config.json or a list of tables of id and file"
        raise ConfigError(str(path), rule, got=data)
    results: dict[str, dict[str, object]] = {}
    for at, row in enumerate(data):
        name, file = _entry(row, f"{path}: [{at}]")
        if name in results:
            raise ConfigError(f"{path}: [{at}].id", "must be a name of its own", got=name)
        results[name] = _result(path.parent / file)
    return results


def _entry(row: object, at: str) -> tuple[str, str]:
    if not isinstance(row, Mapping) or set(row) != {"id", "file"}:
        raise ConfigError(at, "must be a table of id and file", got=row)
    for key in ("id", "file"):
        if not isinstance(row[key], str) or not row[key]:
            raise ConfigError(f"{at}.{key}", "must be text", got=row[key])
    return row["id"], row["file"]


def _result(path: Path) -> dict[str, object]:
    try:
        counts = read_hub_model(path)
    except UnmodelledError as error:
        return {"status": "unsupported", "reason": str(error)}
    except ConfigError as error:
        return {"status": "error", "reason": str(error)}
    return {"status": "ok", "reason": "", **asdict(counts)}
