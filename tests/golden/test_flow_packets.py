"""Flows against a packet simulation, without a congestion control and with one."""

from collections import defaultdict
from pathlib import Path
from statistics import median

import pytest
from packet_cases_as_flows import FOLDER, compared

FAMILIES = ("single", "share2", "a2a", "ring", "perm")
CASES = [
    path
    for cc in ("none", "window", "dctcp")
    for family in FAMILIES
    for path in sorted(FOLDER.glob(f"{cc}.{family}.*.json"))
]


@pytest.mark.skipif(not CASES, reason="needs shared/golden/packet")
@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_flows_take_the_time_of_their_packets(path: Path) -> None:
    _, _, mean, last = compared(path)
    assert mean == pytest.approx(1.0, abs=0.02)
    assert last == pytest.approx(1.0, abs=0.01)


MISSED = {  # see docs/networks.md
    "hpcc.share2.diff_rtt",
    "timely.perm.leafspine32_oversub2",
}
REACTING = [
    path
    for cc in ("dcqcn", "hpcc", "timely")
    for family in ("single", "share2", "share4", "a2a", "ring", "perm", "mixed")
    for path in sorted(FOLDER.glob(f"{cc}.{family}.*.json"))
]


@pytest.mark.skipif(not REACTING, reason="needs shared/golden/packet")
def test_flows_whose_senders_react_end_as_their_packets() -> None:
    errors, far = defaultdict(list), set()
    for path in REACTING:
        _, cc, mean, last = compared(path, reacts=True)
        errors[cc].append(abs(mean - 1.0))
        if abs(last - 1.0) > 0.1:
            far.add(path.stem)
    assert far <= MISSED
    assert all(median(own) < 0.02 for own in errors.values())
