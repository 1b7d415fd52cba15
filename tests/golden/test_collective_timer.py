"""One member standing for all gives the times that ASTRA-sim printed for every member."""

import json
from pathlib import Path
from typing import Any

import pytest
from every_case import with_every

from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.terms import CollectiveKind

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "astra"
TOPOLOGY = {
    "Ring": "ring",
    "FullyConnected": "fully_connected",
    "Switch": "switch",
}
NAMES = {
    "ring": "ring",
    "halvingDoubling": "halving_doubling",
    "doubleBinaryTree": "double_binary_tree",
}
KEYS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")


def _algorithm(astra_name: str) -> str | None:
    return astra_name if astra_name.startswith("direct") else NAMES.get(astra_name)


def _odd(npus: int) -> bool:
    """Whether a ring stands in for halving-doubling: no power of two."""
    return npus & (npus - 1) != 0


def _foldable(case: dict[str, Any]) -> bool:
    system, expected = case["system"], case["expected"]["congestion_unaware"]
    lists = [system.get(f"{key}-implementation", ["none"]) for key in KEYS]
    known = {_algorithm(name) for names in lists for name in names}
    sizes = case["network"]["npus_count"]
    return (
        expected["status"] == "ok"
        and "quirk" not in case["tags"]
        and case["category"] != "custom-collective"
        and not ("halving_doubling" in known and any(_odd(n) for n in sizes))
        and len(case["workload"].get("all_npus", [])) == 1
        and case["comm_group"] is None
        and not case["cli"]
        and system.get("model-shared-bus", 0) == 0
        and None not in known
        and "double_binary_tree" not in known
        and all(len(names) == len(case["network"]["topology"]) for names in lists)
        and "involved_dim" not in case["workload"]["all_npus"][0]["attrs"]
        and case["workload"]["all_npus"][0]["type"] == "COMM_COLL"
        and case["workload"]["all_npus"][0]["attrs"]["comm_type"][1] != 5
    )


def _cases() -> list[dict[str, Any]]:
    if not GOLDEN.is_dir():
        return []
    cases = [json.loads(path.read_text()) for path in sorted((GOLDEN / "cases").glob("*.json"))]
    chosen = []
    for case in cases:
        try:
            if _foldable(case):
                chosen.append(case)
        except KeyError:
            continue
    return chosen


CASES = _cases()


@pytest.mark.skipif(not CASES, reason="the golden runs of ASTRA-sim are not beside this checkout")
def test_there_are_cases_of_every_symmetric_kind() -> None:
    assert len(CASES) > 60


@with_every("case", CASES)
def test_folded_collective_takes_the_cycles_of_astra_sim(case: dict[str, Any]) -> None:
    network, given = case["network"], case["system"]
    dimensions = [
        Dimension.build(
            topology=TOPOLOGY[kind],
            npus=npus,
            bandwidth_bytes_per_s=link * 2**30 * _links(kind, npus),
            latency_s=latency * 1e-9,
        )
        for kind, npus, link, latency in zip(
            network["topology"],
            network["npus_count"],
            network["bandwidth"],
            network["latency"],
            strict=True,
        )
    ]
    vectors: dict[str, Any] = {
        key.replace("-", "_"): tuple(_algorithm(name) for name in given[f"{key}-implementation"])
        for key in KEYS
        if f"{key}-implementation" in given
    }
    system = System.build(
        chunks=given["preferred-dataset-splits"],
        active_chunks_per_dimension=given.get("active-chunks-per-dimension", 1),
        endpoint_delay_s=given.get("endpoint-delay", 10) * 1e-9,
        collective_optimization=(
            "local_bw_aware" if given["collective-optimization"] == "localBWAware" else "baseline"
        ),
        **vectors,
    )
    timer = CollectiveTimer(dimensions, system, given.get("local-mem-bw", 0) * 1e9)
    attributes = case["workload"]["all_npus"][0]["attrs"]
    placement = Placement(
        extent=tuple(network["npus_count"]), stride=(1,) * len(network["npus_count"])
    )
    kind = CollectiveKind(attributes["comm_type"][1])
    time = timer.time(kind, placement, attributes["comm_size"][1])
    assert time.held_ns == 0
    finish = case["expected"]["congestion_unaware"]["finish_cycles"]
    assert finish == [time.duration_ns] * case["npus"]


def _links(kind: str, npus: int) -> int:
    return {"Ring": 2, "FullyConnected": npus - 1, "Switch": 1}[kind]
