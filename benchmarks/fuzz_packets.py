"""Cases of packets, sound and damaged: rings of flows, hosts that nothing reaches, rates of 0."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

from fuzz_damage import damaged_data, json_bytes

RATE = 100 * 10**9
CASE: dict[str, Any] = {
    "name": "small",
    "topology": {
        "num_nodes": 6,
        "switches": [4, 5],
        "links_cols": ["a", "b", "rate_bps", "delay_ns"],
        "links": [[0, 4, RATE, 500], [1, 4, RATE, 500], [2, 5, RATE, 500], [3, 5, RATE, 500],
                  [4, 5, RATE, 500], [4, 5, RATE, 500]],
    },
    "params": {
        "cc_mode": 1, "rate_ai": "20Mb/s", "buffer_size": 16, "has_win": 1,
        "kmin_kb": {str(RATE): 100}, "kmax_kb": {str(RATE): 400}, "pmax": {str(RATE): 0.2},
    },
    "flows_cols": ["id", "src", "dst", "size_bytes", "start_ns_or_delay_after_deps", "deps"],
    "flows": [[0, 0, 2, 20_000, 0, []], [1, 1, 2, 20_000, 0, []], [2, 2, 0, 5_000, 100, [0, 1]],
              [3, 3, 1, 1, 0, [2]]],
    "link_changes": [[5_000, 4, 5, RATE // 2]],
}  # fmt: skip


def damaged_case(rng: Random) -> bytes:
    """A case that cannot be, or one whose values are damaged like those of any other file."""
    case = deepcopy(CASE)
    if rng.random() < 0.6:
        rng.choice(_WAYS)(case, rng)
    return json_bytes(case if rng.random() < 0.5 else damaged_data(case, rng))


def use_case(content: bytes, folder: Path) -> None:
    """Run it as ``simcore packets`` does."""
    from simcore.files.json_file import read_json
    from simcore.packets.case import case_of
    from simcore.packets.run import run_case

    path = folder / "case.json"
    path.write_bytes(content)
    outcome = run_case(case_of(read_json(path)))
    # a run that can never end says which flows wait for what
    assert outcome.is_complete or "never end" in outcome.message, outcome


def _circle(case: dict[str, Any], rng: Random) -> None:
    flows = case["flows"]
    rng.choice(flows[:3])[5] = [rng.choice([2, 3])]


def _to_itself(case: dict[str, Any], rng: Random) -> None:
    flow = rng.choice(case["flows"])
    flow[1] = flow[2]


def _without_link(case: dict[str, Any], rng: Random) -> None:
    links = case["topology"]["links"]
    for _ in range(rng.randint(1, len(links))):
        links.pop(rng.randrange(len(links)))


def _other_link(case: dict[str, Any], rng: Random) -> None:
    link = rng.choice(case["topology"]["links"])
    link[rng.randrange(4)] = rng.choice([0, -1, 1, 1.5, "fast", None, 1 << 63, 10**12, 4, 99])


def _other_flow(case: dict[str, Any], rng: Random) -> None:
    flow = rng.choice(case["flows"])
    flow[rng.randrange(6)] = rng.choice([0, -1, 1.5, "1", None, [], [0], [[0]], 4, 99, 1 << 24])


def _other_parameter(case: dict[str, Any], rng: Random) -> None:
    key = rng.choice([*case["params"], "control", "routing", "retry_ns", "train", "lane_weights"])
    case["params"][key] = rng.choice(
        [0, -1, 1, 7, 1 << 40, "hpcc", "spray", "ugal", "credits", None, [], [1, 1], {}, "1Tb/s"]
    )


def _unknown_key(case: dict[str, Any], rng: Random) -> None:
    rng.choice([case, case["topology"], case["params"]])["flow"] = 1


def _losses(case: dict[str, Any], rng: Random) -> None:
    case["params"]["link_error_rate"] = rng.choice([0.01, 0.5, 1.0, 2.0, -0.1])


def _link_fails(case: dict[str, Any], rng: Random) -> None:
    changes = [
        [rng.choice([0, 1_000]), 4, 5, 0],
        [rng.choice([0, 1_000]), *rng.sample(range(6), 2), 0],
    ]
    case["link_changes"] = changes[: rng.randint(1, 2)]


_WAYS = (
    _circle, _to_itself, _without_link, _other_link, _other_flow, _other_parameter, _unknown_key,
    _losses, _link_fails,
)  # fmt: skip
