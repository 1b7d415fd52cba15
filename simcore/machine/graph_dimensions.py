"""Networks of any form as dimensions of a platform: one dimension for each level."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.graphs.network_table import NetworkFile, network_table
from simcore.machine.dimension import Dimension

KEY = "network"


def is_network(dimension: object) -> bool:
    """True of the table of a dimension that names a network in place of a shape."""
    return isinstance(dimension, Mapping) and KEY in dimension and "topology" not in dimension


def with_levels(dimensions: Sequence[Any]) -> list[Any]:
    """*dimensions* with the levels of each network in the place of its table.

    Raises:
        ConfigError: A network breaks a rule.
    """
    found: list[Any] = []
    for at, given in enumerate(dimensions):
        if not is_network(given):
            found.append(given)
            continue
        place = f"dimensions[{at}]"
        if others := [key for key in given if key != KEY]:
            rule = "must stand alone: a network tells its own NPUs and speeds"
            raise ConfigError(f"{place}.{KEY}", rule, got=others)
        found += network_dimensions(read_network(given[KEY], f"{place}.{KEY}"), f"{place}.{KEY}")
    return found


def with_networks(table: dict[str, Any], *, at: str, beside: Path | None) -> dict[str, Any]:
    """A platform's *table* with the tables of the files that its networks name.

    Raises:
        ConfigError: No such file, or it cannot be read.
    """
    if table.get(KEY) is not None:
        table = {**table, KEY: network_table(table[KEY], at=f"{at}{KEY}", beside=beside)}
    listed = table.get("dimensions")
    if isinstance(listed, list) and any(map(is_network, listed)):
        read = [
            {**one, KEY: network_table(one[KEY], at=f"{at}dimensions[{n}].{KEY}", beside=beside)}
            if is_network(one)
            else one
            for n, one in enumerate(listed)
        ]
        table = {**table, "dimensions": read}
    return table


def read_network(given: object, at: str) -> NetworkFile:
    """The network that *given* tells: itself, its table, or the name of its file.

    Raises:
        ConfigError: It breaks a rule.
    """
    if isinstance(given, NetworkFile):
        return given
    return NetworkFile.from_file_data(network_table(given, at=at), at=at)


def network_dimensions(network: NetworkFile, at: str) -> list[Dimension]:
    """One dimension for each level of *network*, innermost first.

    Raises:
        ConfigError: The network breaks a rule, or two of its NPUs have no way.
    """
    from simcore.flows.kept import kept_levels  # which few runs need

    try:
        levels = kept_levels(network)
    except ConfigError as error:
        raise error.under(at) from None
    return [
        Dimension.build(
            at,
            topology=level.topology,
            npus=level.npus,
            bandwidth_bytes_per_s=level.bandwidth_bytes_per_s,
            latency_s=level.latency_s,
            shares_ports=level.shares_ports,
            network=network,
            level=number,
            in_network=network.in_network if "in_network" in network.model_fields_set else None,
        )
        for number, level in enumerate(levels)
    ]


def faster(dimensions: Sequence[Dimension], at: int, times: float) -> tuple[Dimension, ...]:
    """Dimensions with *times* the bandwidth in that at *at*, or in all of its network."""
    own = dimensions[at]
    if own.network is None:
        rate = own.bandwidth_bytes_per_s * times
        changed = own.model_copy(update={"bandwidth_bytes_per_s": rate})
        return (*dimensions[:at], changed, *dimensions[at + 1 :])
    first = at - own.level
    network = own.network.model_copy(update={"speed": own.network.speed * times, "_key": ""})
    levels = network_dimensions(network, KEY)
    return (*dimensions[:first], *levels, *dimensions[first + len(levels) :])
