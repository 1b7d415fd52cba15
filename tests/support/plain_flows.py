"""Max-min fair flows in exact fractions, written for clarity: no line is shared with the engine."""

import random
from fractions import Fraction
from typing import Any

Case = dict[str, Any]


def random_case(seed: int) -> Case:
    """A random graph, some cables half-duplex, and up to 14 flows, some capped or waiting."""
    draw = random.Random(seed)
    nodes = draw.randint(2, 7)
    links: list[list[Any]] = []

    def join(a: int, b: int) -> None:
        rate, latency = draw.choice([1, 2, 3, 5, 8]) * 10**9, draw.choice([0, 0, 10, 700])
        if draw.random() < 0.3:
            links.append([len(links), a, b, rate, latency, "half"])
            return
        links.append([len(links), a, b, rate, latency, "simplex"])
        links.append([len(links), b, a, rate, latency, "simplex"])

    for node in range(1, nodes):
        join(draw.randrange(node), node)
    for _ in range(draw.randint(0, nodes)):
        join(*draw.sample(range(nodes), 2))
    flows = [_flow(draw, number, nodes, links) for number in range(draw.randint(1, 14))]
    return {
        "kind": "explicit",
        "graph": {"nodes": nodes, "npus": nodes, "links": links},
        "flows": flows,
    }


def _flow(draw: random.Random, number: int, nodes: int, links: list[list[Any]]) -> list[Any]:
    source = at = draw.randrange(nodes)
    route: list[int] = []
    for _ in range(draw.randint(0, 4)):
        out = [row for row in links if row[1] == at or (row[5] == "half" and row[2] == at)]
        row = draw.choice(out)
        route.append(row[0])
        at = row[2] if row[1] == at else row[1]
    size = draw.choice([0, 1, 1000, 1000, 5000, draw.randint(1, 10**5)])
    start = draw.choice([0, 0, 0, 500, draw.randint(0, 10**5)])
    cap = draw.choice([None, None, None, 10**9, 2 * 10**9, draw.randint(1, 10**10)])
    waits = draw.sample(range(number), draw.randint(0, min(number, 2))) if number else []
    return [number, source, at, size, start, cap, waits, route]


def plain_rates(case: Case, moving: dict[int, list[int]]) -> dict[int, Fraction]:
    """Rates in bytes/ns of the flows in *moving* (their routes): all rise until a link is full."""
    capacity = {row[0]: Fraction(row[3], 10**9) for row in case["graph"]["links"]}
    caps = {flow: case["flows"][flow][5] for flow in moving}
    rates: dict[int, Fraction] = {}
    while len(rates) < len(moving):
        rising = [flow for flow in moving if flow not in rates]
        levels = [Fraction(caps[flow], 10**9) for flow in rising if caps[flow] is not None]
        level_of = {}
        for link, there in capacity.items():
            used = sum(rates[flow] * moving[flow].count(link) for flow in rates)
            crossing = sum(moving[flow].count(link) for flow in rising)
            if crossing:
                level_of[link] = (there - used) / crossing
        level = min([*levels, *level_of.values()])
        for flow in rising:
            capped = caps[flow] is not None and Fraction(caps[flow], 10**9) == level
            if capped or any(level_of[link] == level for link in moving[flow]):
                rates[flow] = level
    return rates


def plain_finish(case: Case) -> list[float]:
    """End of each flow in ns, from event to event."""
    rows = case["flows"]
    latency = {row[0]: row[4] for row in case["graph"]["links"]}
    begin: dict[int, Fraction] = {}
    ends: dict[int, Fraction] = {}
    left: dict[int, Fraction] = {}
    now = Fraction(0)
    while len(ends) < len(rows):
        settled = False
        while not settled:  # what ends at this instant may let others begin at it
            settled = True
            for number, _, _, size, start, cap, waits, route in rows:
                if number not in begin and all(other in ends for other in waits):
                    released = max([ends[other] for other in waits], default=Fraction(0))
                    begin[number] = released + start + sum(latency[link] for link in route)
                if number in ends or begin.get(number, now + 1) > now:
                    continue
                if number not in left:
                    left[number] = Fraction(size)
                if left[number] == 0 or (not route and cap is None):
                    ends[number] = now
                    settled = False
        moving = {n: rows[n][7] for n in left if n not in ends}
        rates = plain_rates(case, moving)
        times = [left[n] / rates[n] for n in moving]
        times += [time - now for n, time in begin.items() if n not in left]
        if not times:
            continue
        step = min(times)
        for n in moving:
            left[n] -= step * rates[n]
        now += step
    return [float(ends[n]) for n in range(len(rows))]
