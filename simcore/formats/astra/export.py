"""Writes ASTRA-sim's configuration files, so that it (or we) can run generated traces."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from simcore.engines.events.input import SystemOptions
from simcore.errors import ConfigError
from simcore.formats.astra.collective_names import name_of
from simcore.formats.astra.network_file import BYTES_PER_GB, TOPOLOGY_NAMES
from simcore.network import NetworkDimension
from simcore.terms import EVERYWHERE


def write_configuration(
    prefix: Path,
    dimensions: Sequence[NetworkDimension],
    options: SystemOptions,
    groups: Mapping[int, Sequence[int]],
) -> list[Path]:
    """Writes ``<prefix>.network.yml``, ``.system.json``, ``.memory.json``, ``.comm_group.json``.

    The last one only where there are groups.

    Args:
        prefix: Prefix of the traces.
        dimensions: The network, innermost first.
        options: The system layer.
        groups: Members of each communicator group by its id.

    Returns:
        The files.
    """
    contents = {
        "network.yml": network_text(dimensions),
        "system.json": json.dumps(system_keys(options), indent=2) + "\n",
        "memory.json": json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}) + "\n",
    }
    if groups:
        named = {str(key): list(members) for key, members in groups.items()}
        contents["comm_group.json"] = json.dumps(named) + "\n"
    files = []
    for suffix, text in contents.items():
        path = Path(f"{prefix}.{suffix}")
        path.write_text(text, encoding="utf-8")
        files.append(path)
    return files


def network_text(dimensions: Sequence[NetworkDimension]) -> str:
    """A network file; its GB are 2^30 bytes."""
    astra_names = {name: astra for astra, name in TOPOLOGY_NAMES.items()}
    for d, dimension in enumerate(dimensions):
        if dimension.topology not in astra_names:
            rule = f"ASTRA-sim knows {', '.join(astra_names)} alone"
            raise ConfigError(f"platform.dimensions[{d}].topology", rule, got=dimension.topology)
    names = [astra_names[dimension.topology] for dimension in dimensions]
    rates = [dimension.bytes_per_ns * 1e9 / BYTES_PER_GB for dimension in dimensions]
    return (
        f"topology: [ {', '.join(names)} ]\n"
        f"npus_count: [ {', '.join(str(dimension.npus) for dimension in dimensions)} ]\n"
        f"bandwidth: [ {', '.join(f'{rate:.17g}' for rate in rates)} ]\n"
        f"latency: [ {', '.join(f'{dimension.latency_ns:.17g}' for dimension in dimensions)} ]\n"
    )


def system_keys(options: SystemOptions) -> dict[str, object]:
    """The keys of a system file."""
    keys: dict[str, object] = {
        "scheduling-policy": options.scheduling.upper(),
        "endpoint-delay": options.endpoint_delay_ns,
        "active-chunks-per-dimension": options.active_chunks_per_dimension,
        "preferred-dataset-splits": options.chunks,
        "collective-optimization": "localBWAware" if options.local_bw_aware else "baseline",
        "local-mem-bw": options.local_mem_bytes_per_ns,
    }
    for kind in EVERYWHERE:
        name, chosen = kind.name.lower().replace("_", "-"), options.algorithms[kind]
        keys[f"{name}-implementation"] = [name_of(one) for one in chosen]
    return keys
