"""Text workloads whose keywords Chakra's own converter lacks, and reading errors."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore.cli.chakra import chakra
from simcore.errors import ConfigError
from simcore.formats.chakra import read_nodes
from simcore.formats.text_workload.convert import convert_text, write_conversion
from simcore.formats.text_workload.layers import read_text_workload

LAYER = "{} -1 10 {} 100 20 {} 200 30 {} 300 1"


def workload(folder: Path, head: str, *layers: str, count: int | None = None) -> Path:
    path = folder / "net.txt"
    lines = [head, str(len(layers) if count is None else count), *layers]
    path.write_text("\n".join(lines))
    return path


def graph(path: Path, npus: int = 8, passes: int = 1) -> list[tuple[str, list[str]]]:
    """Names of the vertices, and of those they wait for."""
    vertices = convert_text(read_text_workload(path), npus=npus, passes=passes).vertices
    short = [v.name.removeprefix("COMM_COLL_NODE_").removeprefix("COMP_NODE_") for v in vertices]
    return [(short[i], [short[p] for p in v.waits_for]) for i, v in enumerate(vertices)]


def test_inference_runs_forward_and_blocks_on_each_collective(tmp_path: Path) -> None:
    path = workload(
        tmp_path,
        "DISTRIBUTED_INFERENCE",
        LAYER.format("a", "ALLREDUCE", "NONE", "NONE"),
        LAYER.format("b", "NONE", "NONE", "NONE"),
    )
    assert graph(path) == [
        ("a_FWD", []),
        ("a_ALLREDUCE", ["a_FWD"]),
        ("b_FWD", ["a_ALLREDUCE"]),
    ]


def test_transformer_waits_for_input_gradients_but_not_for_weight_gradients(tmp_path: Path) -> None:
    layers = [LAYER.format(name, "ALLREDUCE", "ALLGATHER", "REDUCESCATTER") for name in "ab"]
    path = workload(tmp_path, "HYBRID_TRANSFORMER model_parallel_NPU_group: 4", *layers)
    assert graph(path) == [
        ("a_FWD", []),
        ("a_ALLREDUCE", ["a_FWD"]),
        ("b_FWD", ["a_ALLREDUCE"]),
        ("b_ALLREDUCE", ["b_FWD"]),
        ("b_BWD_IG", ["b_ALLREDUCE"]),
        ("b_ALLGATHER", ["b_BWD_IG"]),
        ("b_BWD_WG", ["b_BWD_IG"]),
        ("b_REDUCESCATTER", ["b_BWD_WG"]),
        ("a_BWD_IG", ["b_BWD_WG", "b_ALLGATHER"]),
        ("a_ALLGATHER", ["a_BWD_IG"]),
        ("a_BWD_WG", ["a_BWD_IG"]),
        ("a_REDUCESCATTER", ["a_BWD_WG"]),
    ]


def test_transformer_collectives_run_in_model_and_data_groups(tmp_path: Path) -> None:
    layer = LAYER.format("a", "ALLREDUCE", "NONE", "REDUCESCATTER")
    path = workload(tmp_path, "HYBRID_TRANSFORMER model_parallel_NPU_group: 4", layer)
    conversion = convert_text(read_text_workload(path), npus=8)
    write_conversion(conversion, tmp_path / "w")
    groups = json.loads((tmp_path / "w.comm_group.json").read_text())
    assert groups == {
        "1": [0, 1, 2, 3],
        "2": [4, 5, 6, 7],
        "3": [0, 4],
        "4": [1, 5],
        "5": [2, 6],
        "6": [3, 7],
    }
    named = [
        attribute.value
        for node in read_nodes(tmp_path / "w.6.et")[1]
        if (attribute := node.attribute("pg_name"))
    ]
    assert named == ["2", "5"]


def test_experts_have_groups_among_the_copies(tmp_path: Path) -> None:
    layer = LAYER.format("a", "ALLTOALL_EP", "NONE", "ALLREDUCE_DP_EP")
    head = "HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 2"
    conversion = convert_text(read_text_workload(workload(tmp_path, head, layer)), npus=8)
    assert sorted(conversion.groups.values()) == [
        (0, 2),
        (0, 4),
        (1, 3),
        (1, 5),
        (2, 6),
        (3, 7),
        (4, 6),
        (5, 7),
    ]


def test_recompute_runs_forward_again_from_the_checkpoint_below(tmp_path: Path) -> None:
    layers = [LAYER.format(name, "NONE", "NONE", "NONE") for name in "abcd"]
    head = (
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 1 "
        "checkpoints: 1 1 checkpoint_initiates: 1 3"
    )
    names = [name for name, _ in graph(workload(tmp_path, head, *layers))]
    assert names[4:8] == ["b_FWD_IN_BCKWD", "c_FWD_IN_BCKWD", "d_BWD_IG", "d_BWD_WG"]
    assert sum("IN_BCKWD" in name for name in names) == 2


def test_customized_layers_have_the_collectives_of_their_own_keyword(tmp_path: Path) -> None:
    layers = [
        LAYER.format("a", "ALLREDUCE", "ALLREDUCE", "ALLREDUCE") + " DATA",
        LAYER.format("b", "ALLGATHER", "ALLGATHER", "ALLGATHER") + " MODEL",
    ]
    names = [name for name, _ in graph(workload(tmp_path, "HYBRID_CUSTOMIZED", *layers))]
    assert [name for name in names if "ALL" in name] == [
        "b_ALLGATHER",
        "b_ALLGATHER",
        "a_ALLREDUCE",
    ]


def test_the_next_pass_waits_for_the_last_ones_weights(tmp_path: Path) -> None:
    layer = LAYER.format("a", "NONE", "NONE", "ALLREDUCE") + " DATA"
    path = workload(tmp_path, "HYBRID_CUSTOMIZED", layer)
    assert graph(path, passes=2)[4] == ("a_FWD", ["a_ALLREDUCE"])


@pytest.mark.parametrize(
    ("head", "layers", "rule"),
    [
        ("MESH", [LAYER], r"line 1: the parallelism keyword must be one of .* got 'MESH'"),
        ("HYBRID_DLRM 1", [LAYER] * 3, "line 3: the embedding"),
        ("HYBRID_CUSTOMIZED", [LAYER], "line 3: the 13th column"),
        ("HYBRID_TRANSFORMER model_parallel_NPU_group: 3", [LAYER], "must divide 8, but got 3"),
        ("HYBRID_TRANSFORMER model_parallel_NPU_group: 4 ep: 3", [LAYER], "must divide 2 copies"),
        ("HYBRID_TRANSFORMER pp: 2", [LAYER], "pp: must be 1"),
        ("HYBRID_TRANSFORMER_FWD_IN_BCKWD checkpoints: 1 7", [LAYER], "checkpoints: must be"),
        ("DATA", ["a -1 -5 NONE 0 1 NONE 0 1 NONE 0 1"], "must be 0 or more, but got -5"),
        ("DATA", [], "must hold layers"),
    ],
)
def test_mistakes_are_told_with_their_line(
    tmp_path: Path, head: str, layers: list[str], rule: str
) -> None:
    filled = [layer.format("a", "ALLREDUCE", "NONE", "NONE") for layer in layers]
    with pytest.raises(ConfigError, match=rule):
        graph(workload(tmp_path, head, *filled))


def test_the_command_converts_and_shows(tmp_path: Path) -> None:
    layer = LAYER.format("a", "NONE", "NONE", "ALLREDUCE")
    source = workload(tmp_path, "DATA", layer, layer.replace("a", "b", 1))
    arguments = ["convert", "text", str(source), "--npus", "2", "--out", str(tmp_path / "x" / "w")]
    done = CliRunner().invoke(chakra, [*arguments, "--time-unit", "ns"], catch_exceptions=False)
    assert done.exit_code == 0
    assert "2 files, 7 nodes per NPU" in done.output
    shown = CliRunner().invoke(
        chakra, ["show", str(tmp_path / "x" / "w"), "--json", str(tmp_path / "o.json")]
    )
    assert "7 (5 compute, 2 collective)" in shown.output
    first = json.loads((tmp_path / "o.json").read_text())[0]
    assert first["communication"] == {"all_reduce": {"nodes": 2, "size_bytes": 600}}
    assert first["critical_path_nodes"] == 6
