"""Flows against a packet simulation, where no congestion control holds senders back."""

from pathlib import Path

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
