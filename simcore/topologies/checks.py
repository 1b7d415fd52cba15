"""Checks of a topology, so that the simulator routes what it states."""

from functools import lru_cache

import numpy as np

from simcore.errors import ConfigError
from simcore.kernels.collectives.topology_codes import TABLE
from simcore.topologies.base import MOST_TABLED_NPUS, Ints, Topology, distances, followed

_COUNTS = (*range(2, 18), 24, 32, 64)


def check_topology(topology: Topology) -> None:
    """Refuse what is no topology: routes that do not end, more links than an NPU has.

    It is asked for 2 to 17, 24, 32 and 64 NPUs; any other count is checked when a dimension has it.

    Raises:
        ConfigError: A rule is broken; says by what, and for how many NPUs.
    """
    if not isinstance(topology, Topology):
        raise ConfigError("topology", "must be an object of a class of Topology", got=topology)
    name = type(topology).__name__
    if type(topology).__hash__ is None:
        raise ConfigError(name, "must be hashable: leave __eq__ and __hash__ alone", got=name)
    if topology.kernel_code != TABLE:
        rule = "must leave kernel_code as it is: kernels know no other shape by heart"
        raise ConfigError(name, rule, got=topology.kernel_code)
    if topology.uniform or topology.cyclic:
        rule = "must leave uniform and cyclic as they are: its routes tell the distances"
        raise ConfigError(name, rule, got="True")
    counts = [npus for npus in _COUNTS if topology.joins(npus)]
    if not counts:
        raise ConfigError(name, "must join some number of 2 to 64 NPUs", got="none")
    for npus in counts:
        check_routes(topology, npus)


def check_npus(topology: Topology, name: str, npus: int) -> None:
    """Refuse a dimension of *npus* NPUs where *topology*, named *name*, cannot join so many.

    Raises:
        ConfigError: Says what it cannot.
    """
    tabled = topology.kernel_code == TABLE
    if tabled and npus > MOST_TABLED_NPUS:
        raise ConfigError("npus", f"must be {MOST_TABLED_NPUS} or less for {name}", got=npus)
    if not topology.joins(npus):
        raise ConfigError("npus", f"is no number of NPUs of a {name}", got=npus)
    if tabled:
        check_routes(topology, npus)


@lru_cache(maxsize=256)
def check_routes(topology: Topology, npus: int) -> None:
    """Refuse routes of *npus* NPUs that lead nowhere, or take more links than there are.

    Raises:
        ConfigError: A rule is broken.
    """
    at = f"{type(topology).__name__} of {npus} NPUs"
    try:
        links, routes = topology.links_per_npu(npus), topology.next_nodes(npus)
    except Exception as error:
        rule = "must state its links and routes for every count that it joins"
        raise ConfigError(at, rule, got=f"{type(error).__name__}: {error}") from error
    if not isinstance(links, int) or links < 1:
        raise ConfigError(at, "links_per_npu must be a whole number of 1 or more", got=links)
    _check_table(routes, npus, at)
    if (routes.shape[0] > npus) != topology.has_switches:
        rule = "has_switches must say whether next_nodes has more rows than there are NPUs"
        raise ConfigError(at, rule, got=topology.has_switches)
    _check_ends(routes, npus, at)
    for npu in range(npus):
        used = set(np.delete(routes[npu], npu).tolist())
        if len(used) > links:
            rule = f"an NPU must use no more than its {links} links (links_per_npu)"
            raise ConfigError(at, rule, got=f"NPU {npu} sends to {len(used)} nodes")
    _check_distances(topology, npus, at)


def _check_distances(topology: Topology, npus: int, at: str) -> None:
    table = distances(topology, npus)
    if bool((table != table.T).any()):
        a, b = np.argwhere(table != table.T)[0].tolist()
        rule = "the way back must have as many links: rings of NPUs send both ways round"
        found = f"{table[a, b]} from NPU {a} to {b} and {table[b, a]} back"
        raise ConfigError(at, rule, got=found)
    for name in ("hops", "least_hops", "most_hops"):
        own = getattr(type(topology), name) is not getattr(Topology, name)
        if own and topology.kernel_code == TABLE:
            rule = f"must leave {name} as it is: its routes tell the distances"
            raise ConfigError(at, rule, got=f"{type(topology).__name__}.{name}")


def _check_table(routes: Ints, npus: int, at: str) -> None:
    whole = isinstance(routes, np.ndarray) and np.issubdtype(routes.dtype, np.integer)
    shaped = whole and routes.ndim == 2 and routes.shape[0] >= npus and routes.shape[1] == npus
    if not shaped:
        rule = f"next_nodes must be an array of integers, a row per node and {npus} columns"
        raise ConfigError(at, rule, got=getattr(routes, "shape", type(routes).__name__))
    if routes.min() < 0 or routes.max() >= routes.shape[0]:
        rule = f"next_nodes must name nodes, 0 to {routes.shape[0] - 1}"
        raise ConfigError(at, rule, got=int(routes.max()))


def _check_ends(routes: Ints, npus: int, at: str) -> None:
    """Every way from an NPU must come to its end."""
    _, ends = followed(routes, np.ones(routes.shape[0], np.int64))
    lost = np.argwhere(ends != np.arange(npus))
    if lost.size:
        source, target = lost[0].tolist()
        rule = "every route must come to its end"
        raise ConfigError(at, rule, got=f"that from NPU {source} to NPU {target} does not")
