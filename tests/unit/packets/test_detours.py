"""Ways that are not the shortest, and flowlets."""

from typing import Any

import pytest
from packet_cases import GBPS, case

from simcore.packets.case import case_of
from simcore.packets.run import Outcome, run_case

SWITCHES, HOSTS, MESSAGES = 4, 4, 8  # hosts per switch


def run(data: dict[str, Any]) -> Outcome:
    outcome = run_case(case_of(data))
    assert outcome.is_complete, outcome.message
    return outcome


def mesh(shift: int, **params: Any) -> dict[str, Any]:
    """Four switches, each linked to each other; every host sends to the switch *shift* further."""
    first = SWITCHES * HOSTS
    links = [[host, first + host // HOSTS, 100 * GBPS, 500] for host in range(first)]
    links += [
        [first + a, first + b, 100 * GBPS, 500] for a in range(SWITCHES) for b in range(a + 1, 4)
    ]
    flows: list[list[Any]] = []
    for number in range(MESSAGES):
        for host in range(first):
            before = [len(flows) - first] if number else []
            flows.append([host, (host + shift * HOSTS) % first, 40_000, 100 * host, before])
    return case(links, flows, list(range(first, first + SWITCHES)), enable_qcn=0, **params)


def last_ns(outcome: Outcome) -> int:
    return max(row[4] or 0 for row in outcome.flows)


def test_detours_by_queue_beat_shortest_ways_where_all_send_over_one_link() -> None:
    shortest, ugal = (run(mesh(1, routing=one)) for one in ("ecmp", "ugal"))
    # four hosts share a link; with detours over the other two switches its double is there at most
    assert last_ns(ugal) < 0.85 * last_ns(shortest)
    assert {row[5] for row in ugal.flows} == {40}


def test_valiants_detours_load_the_other_links() -> None:
    first = SWITCHES * HOSTS
    shortest, valiant = (run(mesh(1, routing=one)) for one in ("ecmp", "valiant"))
    loaded = [
        {(a, b) for a, b, most in one.queues if min(a, b) >= first and most > 1036}
        for one in (shortest, valiant)
    ]
    assert len(loaded[0]) == SWITCHES  # one link each
    assert len(loaded[1]) == SWITCHES * (SWITCHES - 2)  # all but those
    assert not loaded[0] & loaded[1]


def test_detours_by_queue_are_not_taken_where_nothing_queues() -> None:
    data = mesh(1, routing="ugal")
    data["flows"] = data["flows"][:1]
    alone = run(data).flows[0][3]
    data["params"]["routing"] = "ecmp"
    assert run(data).flows[0][3] == alone


@pytest.mark.parametrize("gap_ns", [1, 10**12])
def test_flowlets_choose_anew_after_their_pause_alone(gap_ns: int) -> None:
    """Two flows that a hash puts on one of two links part where pauses let them."""
    links = [[host, 4, 100 * GBPS, 500] for host in (0, 1)]
    links += [[host, 5, 100 * GBPS, 500] for host in (2, 3)]
    links += [[4, middle, 100 * GBPS, 500] for middle in (6, 7)]
    links += [[middle, 5, 100 * GBPS, 500] for middle in (6, 7)]
    # a window of a few packets leaves a pause each round trip
    flows = [[0, 2, 600_000, 0, []], [1, 3, 600_000, 10, []]]
    data = case(links, flows, [4, 5, 6, 7], routing="flowlet", flowlet_ns=gap_ns, has_win=1,
                global_t=0, enable_qcn=0)  # fmt: skip
    sprayed = run(data)
    data["params"]["routing"] = "ecmp"
    hashed = run(data)
    if gap_ns > 1:
        assert sprayed.flows == hashed.flows
    else:
        assert last_ns(sprayed) <= last_ns(hashed)
