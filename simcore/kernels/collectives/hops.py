"""Links between two NPUs: the one place where kernels know what a topology is.

Those of topologies that are ``TABLE`` stand in tables; the others' are worked out.
"""

from simcore.kernels.collectives.records import Machine
from simcore.kernels.collectives.topology_codes import FULLY_CONNECTED, RING, SWITCH, TABLE
from simcore.kernels.jit import njit


@njit(cache=True)
def one_dimension(machine: Machine, d: int) -> Machine:
    """A machine of dimension *d* alone."""
    links = machine.links[d : d + 1]
    return Machine(links, machine.distances, machine.delay_ns, machine.memory_bytes_per_s)


@njit(cache=True)
def hops_by_rule(topology: int, npus: int, a: int, b: int) -> int:
    """Links between two NPUs *a* and *b* of a topology that is not ``TABLE``."""
    if topology == FULLY_CONNECTED:
        return 1
    if topology == SWITCH:
        return 2
    apart = abs(a - b)  # ring
    return min(apart, npus - apart)


@njit(cache=True)
def hops(machine: Machine, d: int, a: int, b: int) -> int:
    """Links that a message crosses between coordinates *a* and *b* of dimension *d*."""
    link = machine.links[d]
    npus = link["npus"]
    if link["topology"] == TABLE:
        return int(machine.distances[link["distances"] + a * npus + b])
    return hops_by_rule(link["topology"], npus, a, b)


@njit(cache=True)
def npu_links(machine: Machine, d: int, a: int, b: int) -> int:
    """Links of NPUs among them.

    Next to a switch, and where all are joined to all, a message leaves over one link of its
    sender. On a ring it takes a link of every NPU that it passes, whose messages need it too.
    """
    link = machine.links[d]
    npus = link["npus"]
    if link["topology"] == TABLE:
        return int(machine.distances[link["distances"] + (npus + a) * npus + b])
    return hops_by_rule(RING, npus, a, b) if link["topology"] == RING else 1


@njit(cache=True)
def lowest_difference(machine: Machine, a: int, b: int) -> tuple[int, int, int]:
    """Lowest dimension in which NPUs *a* and *b* differ, and their coordinates; -1: in none."""
    for d in range(machine.links.size):
        npus = machine.links[d]["npus"]
        x, y = a % npus, b % npus
        if x != y:
            return d, x, y
        a //= npus
        b //= npus
    return -1, 0, 0
