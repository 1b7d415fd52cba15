"""What must hold of a topology, so that the simulator routes what it states."""

import numpy as np

from simcore.errors import ConfigError
from simcore.kernels.collectives.topology_codes import TABLE
from simcore.topologies.base import Ints, Topology, distances

_COUNTS = (*range(2, 18), 24, 32, 64)


def check_topology(topology: Topology) -> None:
    """Refuse what is no topology: routes that do not end, more links than an NPU has.

    It is asked for 2 to 17, 24, 32 and 64 NPUs.

    Raises:
        ConfigError: A rule is broken; says by what, and for how many NPUs.
    """
    if not isinstance(topology, Topology):
        raise ConfigError("topology", "must be an object of a class of Topology", got=topology)
    name = type(topology).__name__
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


def check_routes(topology: Topology, npus: int) -> None:
    """Refuse routes of *npus* NPUs that lead nowhere, or take more links than there are.

    Raises:
        ConfigError: A rule is broken.
    """
    at = f"{type(topology).__name__} of {npus} NPUs"
    links = topology.links_per_npu(npus)
    if not isinstance(links, int) or links < 1:
        raise ConfigError(at, "links_per_npu must be a whole number of 1 or more", got=links)
    routes = topology.next_nodes(npus)
    _check_table(routes, npus, at)
    if (routes.shape[0] > npus) != topology.has_switches:
        rule = "has_switches must say whether next_nodes has more rows than there are NPUs"
        raise ConfigError(at, rule, got=topology.has_switches)
    _check_ends(routes, npus, at)
    for npu in range(npus):
        used = {int(node) for to, node in enumerate(routes[npu]) if to != npu}
        if len(used) > links:
            rule = f"an NPU must use no more than its {links} links (links_per_npu)"
            raise ConfigError(at, rule, got=f"NPU {npu} sends to {len(used)} nodes")
    table = distances(topology, npus)
    if bool((table != table.T).any()):
        a, b = np.argwhere(table != table.T)[0].tolist()
        rule = "the way back must have as many links: rings of NPUs send both ways round"
        found = f"{table[a, b]} from NPU {a} to {b} and {table[b, a]} back"
        raise ConfigError(at, rule, got=found)
    if topology.hops(npus, 0, npus - 1) != table[0, npus - 1]:
        got = topology.hops(npus, 0, npus - 1)
        raise ConfigError(at, "hops must be the length of the route", got=got)


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
    """Every way from an NPU must come to its end, over no node twice."""
    to = np.arange(npus)
    here = np.tile(np.arange(npus)[:, None], (1, npus))
    for _ in range(routes.shape[0]):
        after = np.where(here == to, to, np.take_along_axis(routes, here, axis=0))
        if bool(((after == here) & (here != to)).any()):
            break
        here = after
    lost = np.argwhere(here != to)
    if lost.size:
        source, target = lost[0].tolist()
        rule = "every route must come to its end"
        raise ConfigError(at, rule, got=f"that from NPU {source} to NPU {target} does not")
