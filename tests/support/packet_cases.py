"""Small cases for the packet engine, as files hold them."""

from typing import Any

GBPS = 10**9


def case(
    links: list[list[int]], flows: list[list[Any]], switches: list[int], **params: Any
) -> dict[str, Any]:
    """A case on *links* (a, b, bit/s, ns) with *flows* (src, dst, bytes, start, deps)."""
    nodes = 1 + max(max(link[:2]) for link in links)
    rates = {str(link[2]) for link in links}
    marking = {
        "kmin_kb": dict.fromkeys(rates, 400),
        "kmax_kb": dict.fromkeys(rates, 400),
        "pmax": dict.fromkeys(rates, 1.0),
    }
    return {
        "name": "small",
        "topology": {"num_nodes": nodes, "switches": switches, "links": links},
        "params": {"ack_high_prio": 1, **marking, **params},
        "flows": [[number, *flow] for number, flow in enumerate(flows)],
    }


def star(hosts: int, flows: list[list[Any]], **params: Any) -> dict[str, Any]:
    """A case of *hosts* at one switch, with links of 100 Gb/s and 1 us."""
    links = [[host, hosts, 100 * GBPS, 1000] for host in range(hosts)]
    return case(links, flows, [hosts], **params)


def chain(rates: list[int], delays: list[int], size: int, **params: Any) -> dict[str, Any]:
    """One flow from the first to the last node of a line of links."""
    ends = len(rates)
    links = [[i, i + 1, rates[i], delays[i]] for i in range(ends)]
    return case(links, [[0, ends, size, 0, []]], list(range(1, ends)), **params)
