"""Many networks from one file, and their results.

A case that is refused or fails does not stop the others.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from simcore.errors import ConfigError, SimcoreError
from simcore.files.json_file import read_json
from simcore.flits.case import Case, read_case
from simcore.flits.simulate import Deadlock, Metrics, batch, steady
from simcore.flits.waiting import possible_circle, told

MOST_SEEDS = 10_000

Tables = Mapping[str, Sequence[int]]


def read_manifest(path: Path) -> tuple[Tables, list[Mapping[str, Any]]]:
    """Permutations and cases of a manifest.

    Raises:
        ConfigError: It cannot be read, or is none.
    """
    content = read_json(path)
    if not isinstance(content, dict) or not isinstance(content.get("cases"), list):
        raise ConfigError(str(path), "must be an object with a list of cases", got=_kind(content))
    seen = set[str]()
    for number, entry in enumerate(content["cases"]):
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            place = f"{path}: cases[{number}]"
            raise ConfigError(place, "must be an object with an id", got=_kind(entry))
        if entry["id"] in seen:  # results go by it
            raise ConfigError(f"{path}: cases[{number}].id", "must be new", got=entry["id"])
        seen.add(entry["id"])
    tables: dict[str, Sequence[int]] = {}
    if "permutations" in content:
        if not isinstance(content["permutations"], str):
            rule = "must be the name of a file"
            raise ConfigError(f"{path}: permutations", rule, got=_kind(content["permutations"]))
        file = path.parent / content["permutations"]
        found = read_json(file)
        if not isinstance(found, dict):
            raise ConfigError(str(file), "must be an object", got=_kind(found))
        for name, table in found.items():
            if isinstance(table, list):
                tables[name] = _nodes(table, f"{file}: {name}")
    return tables, content["cases"]


def _nodes(table: list[object], place: str) -> list[int]:
    for node in table:
        if not isinstance(node, int) or isinstance(node, bool) or node < 0:
            raise ConfigError(place, "must list nodes, whole numbers from 0 on", got=node)
    return [node for node in table if isinstance(node, int)]


def _kind(value: object) -> str:
    return type(value).__name__


def run_cases(
    tables: Tables,
    cases: Sequence[Mapping[str, Any]],
    on_done: Callable[[str, str], None],
    folder: Path = Path(),
    on_note: Callable[[str, str], None] = lambda *_: None,
) -> dict[str, dict[str, object]]:
    """Results of *cases* by id: status, message, and points with metrics.

    Args:
        tables: Permutations by name.
        cases: What to run.
        on_done: Called with the id and the status of each.
        folder: Where files of networks are looked for.
        on_note: Called with the id and what there is to say of a case before it runs.
    """
    results: dict[str, dict[str, object]] = {}
    for entry in cases:
        name = str(entry["id"])
        try:
            case, asked = _case(entry, folder)
            message = _note(case)
            if message:
                on_note(name, message)
            points = [_point(case, tables, point) for point in asked]
            results[name] = {"status": "ok", "message": message, "points": points}
        except SimcoreError as error:
            results[name] = {"status": "error", "message": str(error), "points": []}
        on_done(name, str(results[name]["status"]))
    return results


def _case(entry: Mapping[str, Any], folder: Path) -> tuple[Case, list[Mapping[str, Any]]]:
    """A case, and the points that are asked for."""
    config, points = entry.get("config"), entry.get("points")
    if not isinstance(config, dict):
        raise ConfigError("config", "must be an object of parameters", got=_kind(config))
    if not isinstance(points, list) or not all(isinstance(point, dict) for point in points):
        raise ConfigError("points", "must be a list of objects", got=_kind(points))
    case = read_case(config, folder)
    if entry.get("nodes", case.nodes) != case.nodes:
        rule = f"must be {case.nodes}, as the topology's parameters say"
        raise ConfigError("nodes", rule, got=entry["nodes"])
    return case, points


def _note(case: Case) -> str:
    circle = possible_circle(case)
    if not circle:
        return ""
    return f"can deadlock: links of routers {told(circle)} may wait for each other"


def _point(case: Case, tables: Tables, point: Mapping[str, Any]) -> dict[str, object]:
    seeds, kind = point.get("seeds", 1), str(point.get("kind", ""))
    if not isinstance(seeds, int) or isinstance(seeds, bool) or not 1 <= seeds <= MOST_SEEDS:
        raise ConfigError("seeds", f"must be from 1 to {MOST_SEEDS}", got=seeds)
    if (kind == "batch") != (case.batch > 0):
        rule = "must be batch where the parameters give a batch_size, and only there"
        raise ConfigError("kind", rule, got=kind)
    rate = 0.0 if kind == "batch" else _rate(case, point)
    stable: list[Metrics] = []
    result: dict[str, object] = {"kind": kind}
    for seed in range(1, seeds + 1):
        try:
            if kind == "batch":
                metrics: Metrics | None = batch(case, tables, seed)
            else:
                metrics = steady(case, tables, seed, rate, is_throughput=kind == "saturation")
        except Deadlock as error:
            result["deadlock"] = str(error)
            continue
        if metrics is not None:
            stable.append(metrics)
    result["unstable"] = seeds - len(stable)
    for name in stable[0] if stable else ():
        values = [metrics[name] for metrics in stable]
        result[name] = {"mean": fmean(values), "values": values}
    return result


def _rate(case: Case, point: Mapping[str, Any]) -> float:
    rate = point.get("offered")
    if not isinstance(rate, int | float) or isinstance(rate, bool) or not 0 < rate <= case.unit:
        what = "packets" if case.unit < case.how.size else "flits"
        rule = f"must be above 0 and at most {case.unit} {what} per node and cycle"
        raise ConfigError("offered", rule, got=rate)
    return float(rate)
