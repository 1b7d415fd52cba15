"""Kernel times from SCALE-Sim and from PyTorch traces: what they say is what the tables hold."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.errors import ConfigError
from simcore.formats.pytorch.device import read_device_trace
from simcore.formats.pytorch.host import read_host_trace
from simcore.profiling.folder import KernelTime
from simcore.profiling.scale_sim import read_scale_sim
from simcore.profiling.trace import read_trace

GOLDEN = Path(__file__).parents[3].parent / "shared" / "golden" / "systolic" / "layers.csv"
HEAD = "LayerID, Total Cycles, Stall Cycles, Overall Util %, Mapping Efficiency %, Compute Util %,"
CONVOLUTIONS = (
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, "
    "Strides,"
)


def golden_layers() -> list[dict[str, str]]:
    with GOLDEN.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["stride_h"] == row["stride_w"]]
    return rows[:200]


@pytest.mark.skipif(not GOLDEN.exists(), reason="runs of SCALE-Sim are not here")
def test_layers_that_scale_sim_ran_have_its_shapes_and_its_times(tmp_path: Path) -> None:
    """Its own M, N and K of each layer, and its cycles at 1 GHz."""
    rows, geometry = golden_layers(), ("ifmap_h", "ifmap_w", "filt_h", "filt_w", "channels")
    report = [HEAD, *(f"{i}, {row['total_cycles']}, 0, 1, 1, 1," for i, row in enumerate(rows))]
    layers = [
        ", ".join([row["layer"], *(row[key] for key in (*geometry, "num_filt", "stride_h"))]) + ","
        for row in rows
    ]
    (tmp_path / "COMPUTE_REPORT.csv").write_text("\n".join(report))
    (tmp_path / "topology.csv").write_text("\n".join([CONVOLUTIONS, *layers]))
    times = read_scale_sim(
        tmp_path / "COMPUTE_REPORT.csv", tmp_path / "topology.csv", clock_hz=1e9, format_="bf16"
    )
    shapes = [tuple(float(row[key]) for key in "MNK") for row in rows]
    assert [one.shape for one in times] == shapes
    assert [one.us for one in times] == [float(row["total_cycles"]) / 1e3 for row in rows]


def test_products_of_scale_sim_are_taken_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "report.csv").write_text(f"{HEAD}\n0, 3000, 0, 1, 1, 1,\n")
    (tmp_path / "gemm.csv").write_text("Layer, M, N, K,\nfirst, 64, 128, 256,\n")
    found = read_scale_sim(
        tmp_path / "report.csv", tmp_path / "gemm.csv", clock_hz=1.5e9, format_="fp8"
    )
    assert found == [KernelTime("product", "fp8", (64.0, 128.0, 256.0), 2.0)]


WRONG = [
    ("a,b\n1,2\n", "l,M,N,K\nx,1,2,3\n", r"report.csv: must be a COMPUTE_REPORT.csv of SCALE-Sim"),
    (f"{HEAD}\n0,3,\n1,4,\n", "l,M,N,K\nx,1,2,3\n", r"must list the 1 layers of .*topology.csv"),
    (f"{HEAD}\n0,none,\n", "l,M,N,K\nx,1,2,3\n", r"report.csv:2: column 2 must be a number"),
    (f"{HEAD}\n0,3,\n", "l,M,N,K\nx,1,2\n", r"topology.csv:2: must be a convolution or a product"),
    (f"{HEAD}\n0,3,\n", "l,M,N,K\nx,1,-2,3\n", r"topology.csv:2: column 3 must be a number"),
    (f"{HEAD}\n0,3,\n", f"{CONVOLUTIONS}\nx,2,2,3,3,1,1,1,\n", r"a filter that is no larger than"),
]


@pytest.mark.parametrize(("report", "layers", "told"), WRONG)
def test_files_that_are_none_of_scale_sim_are_refused(
    report: str, layers: str, told: str, tmp_path: Path
) -> None:
    (tmp_path / "report.csv").write_text(report)
    (tmp_path / "topology.csv").write_text(layers)
    with pytest.raises(ConfigError, match=told):
        read_scale_sim(
            tmp_path / "report.csv", tmp_path / "topology.csv", clock_hz=1e9, format_="bf16"
        )


THREAD = "[pytorch|profiler|execution_trace|thread]"


def tensor(number: int, shape: list[int], bytes_each: int = 2) -> list[Any]:
    elements = 1
    for size in shape:
        elements *= size
    return [number, number, 0, elements, bytes_each, "cuda:0"]


def operator(name: str, shapes: list[list[int]], *more: object) -> dict[str, Any]:
    """An operator on tensors of these shapes in bf16, whose output has the first one's."""
    return {
        "name": f"aten::{name}",
        "inputs": {
            "values": [*(tensor(at, shape) for at, shape in enumerate(shapes)), *more],
            "shapes": [*shapes, *([] for _ in more)],
            "types": [*("Tensor(c10::BFloat16)" for _ in shapes), *("Bool" for _ in more)],
        },
        "outputs": {
            "values": [tensor(9, shapes[0])],
            "shapes": [shapes[0]],
            "types": ["Tensor(c10::BFloat16)"],
        },
    }


HEADS = [[2, 512, 32, 128], [2, 512, 8, 128], [2, 512, 8, 128]]
ONE_TOKEN = [[2, 1, 32, 128], [2, 512, 8, 128], [2, 512, 8, 128]]
# dropout at position 7 and the mask at 8, as the operator has them
MASK: tuple[object, ...] = ([], [], 512, 512, 0.0, True)
OPERATORS = [
    (operator("mm", [[64, 256], [256, 128]]), ("product", (64, 128, 256))),
    (operator("addmm", [[128], [64, 256], [256, 128]]), ("product", (64, 128, 256))),
    (operator("bmm", [[1, 64, 256], [1, 256, 128]]), ("product", (64, 128, 256))),
    (operator("bmm", [[4, 64, 256], [4, 256, 128]]), None),
    (
        operator("_flash_attention_forward", HEADS, *MASK),
        ("attention_prefill", (2, 8, 4, 512, 128)),
    ),
    (operator("_flash_attention_forward", HEADS, *MASK[:-1], False), None),
    (
        operator("_flash_attention_forward", ONE_TOKEN, *MASK[:-1], False),
        ("attention_decode", (2, 8, 4, 512, 128)),
    ),
    (operator("add", [[1000], [1000]]), ("elementwise", (6000,))),
    (operator("native_layer_norm", [[10, 100]]), ("norm", (4000,))),
    (operator("copy_", [[1000]]), ("copy", (4000,))),
    (operator("unknown", [[1000]]), None),
]


def traces(folder: Path, entry: dict[str, Any]) -> tuple[Path, Path]:
    """A trace of one operator that launched two kernels of 30 us and 12 us."""
    head = {"id": 1, "name": THREAD, "ctrl_deps": 1}
    node = {**entry, "id": 2, "ctrl_deps": 1, "attrs": [{"name": "rf_id", "value": 10}]}
    ids = {"External id": 1, "Record function id": 10}
    events = [("cpu_op", entry["name"], 0, 20, ids)]
    for at, us in enumerate((30, 12)):
        launch = {"External id": 1, "correlation": 7 + at}
        events.append(("cuda_runtime", "cudaLaunchKernel", 1 + at, 1, launch))
        events.append(("kernel", f"part {at}", 50 * at + 5, us, {"correlation": 7 + at}))
    trace = [
        {"ph": "X", "cat": kind, "name": name, "tid": 1, "ts": ts, "dur": us, "args": args}
        for kind, name, ts, us, args in events
    ]
    (folder / "host.json").write_text(json.dumps({"schema": "1.1.1", "nodes": [head, node]}))
    (folder / "device.json").write_text(json.dumps({"traceEvents": trace}))
    return folder / "host.json", folder / "device.json"


@pytest.mark.parametrize(("entry", "place"), OPERATORS)
def test_an_operator_takes_the_time_of_the_kernels_that_it_launched(
    entry: dict[str, Any], place: tuple[str, tuple[int, ...]] | None, tmp_path: Path
) -> None:
    host, device = traces(tmp_path, entry)
    if place is None:
        with pytest.raises(ConfigError, match=r"must hold operators with kernels"):
            read_trace(read_host_trace(host), read_device_trace(device))
        return
    kind, shape = place
    expected = KernelTime(kind, "bf16", tuple(map(float, shape)), 42.0)
    assert read_trace(read_host_trace(host), read_device_trace(device)) == [expected]


def test_commands_write_folders_that_a_run_takes(tmp_path: Path) -> None:
    host, device = traces(tmp_path, OPERATORS[0][0])
    (tmp_path / "report.csv").write_text(f"{HEAD}\n0, 3000, 0, 1, 1, 1,\n")
    (tmp_path / "gemm.csv").write_text("Layer, M, N, K,\nfirst, 64, 128, 256,\n")
    written = {
        "a": ["pytorch", str(host), "--device", str(device), "--npu", "h100_80"],
        "b": [
            *("scale-sim", str(tmp_path / "report.csv")),
            *("--topology", str(tmp_path / "gemm.csv"), "--clock", "1 GHz"),
        ],
    }
    for name, words in written.items():
        out = str(tmp_path / name)
        ran = CliRunner().invoke(cli, ["kernels", *words, "--out", out, "--date", "2026-03-01"])
        assert ran.exit_code == 0, ran.output
        assert "1 of product bf16" in ran.output
        assert "2026-03-01" in (tmp_path / name / "source.yaml").read_text()
        assert "bf16,64,128,256," in (tmp_path / name / "product.csv").read_text()
        again = CliRunner().invoke(cli, ["kernels", *words, "--out", out])
        assert isinstance(again.exception, ConfigError)
        assert "--out: must be a new or an empty folder" in str(again.exception)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--clock", "fast"], "--clock: must be a number and a unit"),
        (["--clock", "0 GHz"], "--clock: must be above 0 Hz"),
        (["--clock", "1 GHz", "--format", "bf17"], "--format: must be one of bf16, "),
        (["--clock", "1 GHz", "--npu", "h10"], "--npu: must be one of a100_40, "),
        (["--clock", "1 GHz", "--date", "May"], "--date: must be a date such as"),
    ],
)
def test_options_that_are_none_are_refused(words: list[str], told: str, tmp_path: Path) -> None:
    command = ["kernels", "scale-sim", "report.csv", "--topology", "t.csv", *words]
    ran = CliRunner().invoke(cli, [*command, "--out", str(tmp_path / "out")])
    assert isinstance(ran.exception, ConfigError)
    assert told in str(ran.exception)
