"""Broadcast, reduce, gather, scatter and barrier in traces: as ASTRA-sim has them, or simulated."""

import json
from pathlib import Path

import pytest

from simcore.errors import ConfigError
from simcore.formats.astra import AstraFiles, simulate_files
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.terms import CollectiveKind

NPUS, SIZE, DURATION_US = 4, 100_000, 7
STEP_NS = 10 + 2 * 500 + int(SIZE / 50)


def finish_ns(folder: Path, kind: CollectiveKind, **keys: list[str]) -> list[int]:
    """End of each NPU, which all run one collective of *kind*."""
    (folder / "network.yml").write_text(
        f"topology: [Switch]\nnpus_count: [{NPUS}]\nlatency: [500]\n"
        "bandwidth: [46.566128730773926]\n"
    )  # 50 bytes per ns
    system = {"preferred-dataset-splits": 1, "endpoint-delay": 10}
    names = {name.replace("_", "-"): value for name, value in keys.items()}
    (folder / "system.json").write_text(json.dumps(system | names))
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    told = (attribute("comm_type", int(kind)), attribute("comm_size", SIZE))
    node = Node(id=1, name="c", type=7, duration_micros=DURATION_US, attributes=told)
    for npu in range(NPUS):
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), [node])
    files = AstraFiles(
        workload=folder / "w",
        system=folder / "system.json",
        network=folder / "network.yml",
        remote_memory=folder / "memory.json",
        comm_group=None,
        folder=folder,
    )
    return list(simulate_files(files, "congestion_unaware", {}).output.finish_ns.tolist())


def test_a_broadcast_lasts_its_duration_unless_an_algorithm_is_named(tmp_path: Path) -> None:
    assert finish_ns(tmp_path, CollectiveKind.BROADCAST) == [DURATION_US * 1000] * NPUS
    found = finish_ns(tmp_path, CollectiveKind.BROADCAST, broadcast_implementation=["binomial"])
    assert found == [10 + 2 * STEP_NS] * NPUS


@pytest.mark.parametrize("name", ["reduce", "gather", "scatter", "barrier"])
def test_what_astra_sim_refuses_runs_where_an_algorithm_is_named(tmp_path: Path, name: str) -> None:
    kind = CollectiveKind[name.upper()]
    with pytest.raises(ConfigError, match=f"algorithm per dimension .{name}-implementation in"):
        finish_ns(tmp_path, kind)
    algorithm = "dissemination" if name == "barrier" else "binomial"
    found = finish_ns(tmp_path, kind, **{f"{name}_implementation": [algorithm]})
    assert max(found) >= 10 + 2 * (10 + 2 * 500)
    if name == "barrier":  # of one byte each
        assert found == [10 + 2 * (10 + 2 * 500)] * NPUS


def test_an_algorithm_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="ring cannot run broadcast here"):
        finish_ns(tmp_path, CollectiveKind.BROADCAST, broadcast_implementation=["ring"])
    with pytest.raises(ConfigError, match=r"reduce-implementation: algorithm must be one of"):
        finish_ns(tmp_path, CollectiveKind.REDUCE, reduce_implementation=["oneRing"])
