"""Many runs in one process, each isolated from the others."""

from collections.abc import Callable, Iterable
from pathlib import Path

from simcore.errors import ConfigError, SimcoreError, SimulationError, short
from simcore.files.json_file import read_json
from simcore.formats.astra.options import AstraFiles
from simcore.formats.astra.result import AstraResult, Plain, as_plain, collect, write_memory_traces
from simcore.formats.astra.run import load_run, simulate_run

_REQUIRED = ("id", "backend", "workload", "system", "network", "remote_memory")


def simulate_files(files: AstraFiles, backend: str, options: dict[str, object]) -> AstraResult:
    """Loads, simulates and measures one run.

    Raises:
        SimcoreError: A file is wrong, or the engine refuses it.
    """
    try:
        run = load_run(files, backend, options)
        return collect(run, simulate_run(run))
    except MemoryError:
        raise SimulationError("This run needs more memory than there is.") from None


def read_manifest(path: Path) -> list[dict[str, object]]:
    """The entries of a manifest: a JSON list of objects.

    Raises:
        ConfigError: The file cannot be read, or is no such list.
    """
    data = read_json(path)
    if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
        raise ConfigError(str(path), "must be a JSON list of runs", got=type(data).__name__)
    return data


def run_batch(
    entries: Iterable[dict[str, object]], folder: Path, on_done: Callable[[str, str], None]
) -> dict[str, dict[str, Plain]]:
    """Simulates each entry; a failing one becomes a result of status ``error``.

    Args:
        entries: ``{"id", "backend", "cwd", "workload", "system", "network", "remote_memory",
            "comm_group", "options"}``; see docs/astra-sim.md.
        folder: Where the paths of the entries start.
        on_done: Called with id and status of each run.

    Returns:
        ``{id: {backend: result}}``.
    """
    results: dict[str, dict[str, Plain]] = {}
    for number, entry in enumerate(entries):
        name = str(entry.get("id", number))
        result = _one(entry, folder, number)
        results.setdefault(name, {})[str(entry.get("backend"))] = result
        on_done(name, str(result["status"]))
    return results


def _one(entry: dict[str, object], folder: Path, number: int) -> Plain:
    try:
        files, options = _entry(entry, folder, number)
        result = simulate_files(files, str(entry["backend"]), options)
        write_memory_traces(result)
        return as_plain(result)
    except SimcoreError as error:
        return _failed(str(error))
    except OSError as error:
        return _failed(f"{short(str(error.filename))}: {error.strerror}.")
    except Exception as error:
        import logging

        logging.getLogger(__name__).exception("run %d of the manifest", number)
        return _failed(f"This run met a fault in the simulator ({type(error).__name__}: {error}).")


def _failed(message: str) -> Plain:
    return {"status": "error", "message": " ".join(message.split())}


def _entry(
    entry: dict[str, object], folder: Path, number: int
) -> tuple[AstraFiles, dict[str, object]]:
    at = f"manifest[{number}]"
    for key in _REQUIRED:
        if not isinstance(entry.get(key), str):
            raise ConfigError(f"{at}.{key}", "must be a text", got=entry.get(key))
    options = entry.get("options") or {}
    if not isinstance(options, dict):
        raise ConfigError(f"{at}.options", "must be an object", got=options)
    group = entry.get("comm_group")
    files = AstraFiles(
        workload=folder / str(entry["workload"]),
        system=folder / str(entry["system"]),
        network=folder / str(entry["network"]),
        remote_memory=folder / str(entry["remote_memory"]),
        comm_group=folder / str(group) if group else None,
        folder=folder / str(entry.get("cwd") or "."),
    )
    return files, options
