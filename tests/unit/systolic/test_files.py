"""Tables of layers, and SCALE-Sim's own files."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore.cli.inside.systolic import systolic
from simcore.errors import ConfigError
from simcore.systolic import Array, Dataflow, Layer, report
from simcore.systolic.scale_sim import read_config, topology_cases
from simcore.systolic.table import predict, read_cases

CONFIG = """[general]
run_name = small

[architecture_presets]
ArrayHeight : 16
ArrayWidth : 8
IfmapSramSzkB : 4
FilterSramSzkB : 2
OfmapSramSzkB : 1
IfmapOffset : 0
Dataflow : ws
Bandwidth : 10, 20
MemoryBanks : 1

[run_presets]
InterfaceBandwidth: USER
"""
ARRAY = Array(16, 8, Dataflow.WEIGHT, 4096, 2048, 1024, 10)
NETWORK = """Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,
Conv1, 20, 18, 3, 3, 4, 6, 2,
DP2, 9, 8, 3, 3, 3, 1, 1,
"""  # noqa: E501 - as SCALE-Sim writes it
HEAD = "id,M,N,K,dataflow,rows,cols,ifmap_kb,filter_kb,ofmap_kb,bw_mode,bw_words_per_cycle\n"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_configuration_gives_its_array(tmp_path: Path) -> None:
    assert read_config(written(tmp_path, "a.cfg", CONFIG)) == ARRAY
    calculated = CONFIG.replace("USER", "CALC")
    assert read_config(written(tmp_path, "b.cfg", calculated)).bandwidth is None


def test_each_channel_of_a_depthwise_layer_is_a_layer(tmp_path: Path) -> None:
    cases = topology_cases(written(tmp_path, "net.csv", NETWORK), ARRAY)
    assert cases[0].layer == Layer(20, 18, 3, 3, 4, 6, 2, 2)
    assert [case.id for case in cases[1:]] == [f"DP2Channel_{i}" for i in range(3)]
    assert {case.layer for case in cases[1:]} == {Layer(9, 8, 3, 3, 1, 1)}


def test_products_have_a_topology_of_their_own(tmp_path: Path) -> None:
    cases = topology_cases(written(tmp_path, "net.csv", "Layer, M, N, K,\nfc, 3, 4, 5,\n"), ARRAY)
    assert cases == [("fc", Layer.gemm(3, 4, 5), ARRAY, "")]


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("ArrayHeight : 16", "ArrayHeight : many", "ArrayHeight"),
        ("ArrayWidth : 8", "", "ArrayWidth"),
        ("Dataflow : ws", "Dataflow : rs", "Dataflow"),
        ("Bandwidth : 10, 20", "Bandwidth : -3", "Bandwidth"),
        ("USER", "GUESS", "InterfaceBandwidth"),
        ("[general]", "general", "must be a configuration"),
    ],
)
def test_a_configuration_that_breaks_a_rule_is_refused_by_name(
    tmp_path: Path, old: str, new: str, place: str
) -> None:
    with pytest.raises(ConfigError, match=place):
        read_config(written(tmp_path, "a.cfg", CONFIG.replace(old, new)))


@pytest.mark.parametrize("line", ["Conv1, 20, 18", "Conv1, 20, 18, 30, 3, 4, 6, 2", 'a"b,"c'])
def test_a_line_that_is_no_layer_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    path = written(tmp_path, "net.csv", f"names\n{line}\n")
    with pytest.raises(ConfigError, match=r"net.csv:2"):
        topology_cases(path, ARRAY)


def test_a_wrong_line_of_a_table_is_told_beside_the_others(tmp_path: Path) -> None:
    right = "b,7,6,5,os,4,4,1,1,1,CALC,0\n"
    wrong = "a,7,6,5,xs,4,4,1,1,1,CALC,0\n"
    lines = predict(read_cases(written(tmp_path, "a.csv", HEAD + wrong + right))).text.splitlines()
    assert lines[1].startswith("a,error,")
    assert "os, ws, is" in lines[1]
    assert lines[2].startswith("b,ok,,")


def test_a_table_that_contradicts_itself_is_refused(tmp_path: Path) -> None:
    names = "ifmap_h,ifmap_w,filt_h,filt_w,channels,num_filt,stride_h,stride_w,"
    text = names + HEAD + "8,8,3,3,2,5,1,1,a,99,5,18,os,4,4,1,1,1,CALC,0\n"
    (case,) = read_cases(written(tmp_path, "a.csv", text))
    assert case.message == "M: must be 36, as the geometry beside it says, but got '99'."


def test_the_command_writes_a_report_for_each_layer_of_a_network(tmp_path: Path) -> None:
    config = written(tmp_path, "a.cfg", CONFIG)
    network, out = written(tmp_path, "net.csv", NETWORK), tmp_path / "out.csv"
    words = [str(network), "--config", str(config), "--out", str(out)]
    done = CliRunner().invoke(systolic, words, catch_exceptions=False)
    assert done.exit_code == 0
    first = out.read_text().splitlines()[1].split(",")
    expected = report(Layer(20, 18, 3, 3, 4, 6, 2, 2), ARRAY)
    assert first[:5] == ["Conv1", "ok", "", str(expected.total_cycles), str(expected.stall_cycles)]


def test_a_table_without_an_array_is_refused_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="must have the columns id"):
        read_cases(written(tmp_path, "a.csv", "id,M,N,K\na,1,2,3\n"))
