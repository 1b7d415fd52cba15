"""Many runs in one process, each isolated from the others."""

from collections.abc import Callable, Iterable
from pathlib import Path

from simcore.errors import ConfigError, SimcoreError, SimulationError, short
from simcore.files.json_file import read_json
from simcore.formats.astra.options import AstraFiles
from simcore.formats.astra.packets import PACKET
from simcore.formats.astra.result import AstraResult, Plain, as_plain, collect, write_memory_traces
from simcore.formats.astra.run import load_run, simulate_run

_REQUIRED = ("id", "backend", "workload", "system", "network", "remote_memory")


def simulate_files(
    files: AstraFiles, backend: str, options: dict[str, object], seed: int = 1
) -> AstraResult:
    """Loads, simulates and measures one run; *seed*: of a packet simulation.

    Raises:
        SimcoreError: A file is wrong, or the engine refuses it.
    """
    try:
        run = load_run(files, backend, options, seed)
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
) -> dict[str, dict[str, object]]:
    """Simulates each entry; a failing one becomes a result of status ``error``.

    Args:
        entries: ``{"id", "backend", "cwd", "workload", "system", "network", "remote_memory",
            "comm_group", "options"}``, and for packets ``"physical_topology", "packet_config",
            "ecmp_next_hops", "seeds"``; see docs/astra-sim.md.
        folder: Where the paths of the entries start.
        on_done: Called with id and status of each run.

    Returns:
        ``{id: {backend: result}}``; for several seeds also ``{backend}_seeds``, their results.
    """
    results: dict[str, dict[str, object]] = {}
    for number, entry in enumerate(entries):
        name = str(entry.get("id", number))
        backend, seeds = str(entry.get("backend")), _seeds(entry)
        runs = [_one(entry, folder, number, seed) for seed in seeds]
        found = results.setdefault(name, {})
        found[backend] = runs[0]
        if len(runs) > 1:
            found[f"{backend}_seeds"] = runs
        on_done(name, str(runs[0]["status"]))
    return results


def _seeds(entry: dict[str, object]) -> list[object]:
    """Seeds of an entry, unchecked; of the analytical backends, which draw nothing, one."""
    seeds = entry.get("seeds")
    listed = entry.get("backend") == PACKET and isinstance(seeds, list) and seeds
    return listed or [1 if seeds is None or entry.get("backend") != PACKET else seeds]


def _one(entry: dict[str, object], folder: Path, number: int, seed: object) -> Plain:
    try:
        files, options = _entry(entry, folder, number)
        if isinstance(seed, bool) or not isinstance(seed, int) or not 1 <= seed < 1 << 32:
            raise ConfigError(f"manifest[{number}].seeds", "must be whole numbers from 1", got=seed)
        result = simulate_files(files, str(entry["backend"]), options, seed)
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
    files = AstraFiles(
        workload=folder / str(entry["workload"]),
        system=folder / str(entry["system"]),
        network=folder / str(entry["network"]),
        remote_memory=folder / str(entry["remote_memory"]),
        comm_group=_path(entry, folder, "comm_group"),
        folder=folder / str(entry.get("cwd") or "."),
        physical_topology=_path(entry, folder, "physical_topology"),
        packet_config=_path(entry, folder, "packet_config"),
        next_hops=_path(entry, folder, "ecmp_next_hops"),
    )
    return files, options


def _path(entry: dict[str, object], folder: Path, key: str) -> Path | None:
    value = entry.get(key)
    return folder / str(value) if value else None
