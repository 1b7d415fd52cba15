"""Networks that can come to a standstill, and those that do, are told by the routers that wait."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcore.cli.inside.flits import flits
from simcore.flits.case import read_case
from simcore.flits.simulate import Deadlock, batch
from simcore.flits.waiting import possible_circle

CONFIG: dict[str, Any] = {
    "topology": "anynet", "routing_function": "min", "network_file": "net.txt", "num_vcs": 1,
    "vc_buf_size": 2, "packet_size": 8, "traffic": "uniform",
}  # fmt: skip
RING = "".join(f"router {r} node {r} router {(r + 1) % 6} router {(r - 1) % 6}\n" for r in range(6))
AHEAD = [(node + 2) % 6 for node in range(6)]
STAR = "router 0 router 1 router 2 router 3\n" + "".join(
    f"router {r} node {r - 1} router 0\n" for r in (1, 2, 3)
)


def _is_way_around(routers: list[int]) -> bool:
    steps = {(b - a) % 6 for a, b in zip(routers, routers[1:] + routers[:1], strict=True)}
    return sorted(routers) == list(range(6)) and steps in ({1}, {5})


@pytest.mark.parametrize(("lines", "has_circle"), [(RING, True), (STAR, False)])
def test_a_ring_of_shortest_ways_can_deadlock_and_a_star_cannot(
    tmp_path: Path, lines: str, has_circle: bool
) -> None:
    (tmp_path / "net.txt").write_text(lines)
    circle = possible_circle(read_case(CONFIG, tmp_path))
    assert (circle is not None) == has_circle
    assert circle is None or _is_way_around(circle)


@pytest.mark.parametrize(
    "change",
    [
        {"topology": "fly", "routing_function": "dest_tag", "k": 2, "n": 3},
        {"topology": "mesh", "routing_function": "dor", "k": 3, "n": 2},
        {
            "topology": "flatfly", "routing_function": "ran_min", "k": 3, "n": 2, "c": 4,
            "x": 3, "y": 3, "xr": 2, "yr": 2,
        },
    ],
)  # fmt: skip
def test_ways_in_an_order_of_dimensions_have_no_circle(change: dict[str, Any]) -> None:
    config = {key: value for key, value in CONFIG.items() if key != "network_file"}
    assert possible_circle(read_case({**config, **change})) is None


def test_a_ring_that_is_stuck_names_the_routers_that_wait(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(RING)
    case = read_case({**CONFIG, "traffic": "ahead", "batch_size": 20}, tmp_path)
    with pytest.raises(Deadlock, match=r"^deadlock: no packet has arrived") as found:
        batch(case, {"ahead": AHEAD}, seed=1)
    words = re.search(r"routers ([\d >-]+) wait", str(found.value))
    assert words is not None
    routers = [int(word) for word in words[1].split(" -> ")]
    assert routers[0] == routers[-1]
    assert _is_way_around(routers[:-1])


def test_a_point_that_deadlocks_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "net.txt").write_text(RING)
    points = [{"kind": "saturation", "offered": 1.0}, {"kind": "low", "offered": 0.02}]
    manifest, out = tmp_path / "m.json", tmp_path / "out.json"
    case = {"id": "a", "config": {**CONFIG, "traffic": "ahead"}, "points": points}
    manifest.write_text(json.dumps({"permutations": "tables.json", "cases": [case]}))
    (tmp_path / "tables.json").write_text(json.dumps({"ahead": AHEAD}))
    done = CliRunner().invoke(flits, [str(manifest), "--out", str(out)], catch_exceptions=False)
    assert "a: can deadlock: links of routers" in done.output
    found = json.loads(out.read_text())["a"]
    assert found["message"].startswith("can deadlock")
    full, low = found["points"]
    assert full["unstable"] == 1
    assert full["deadlock"].startswith("deadlock: no packet")
    assert low["unstable"] == 0
    assert "deadlock" not in low
