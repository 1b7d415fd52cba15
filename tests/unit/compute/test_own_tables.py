"""Kernel times of one's own: found beside the file, taken as measured, the rest told."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from simcore import load_run
from simcore.compute import MeasuredKernels
from simcore.compute.tables.account import account_of
from simcore.compute.tables.kinds import TABLE_KINDS
from simcore.errors import ConfigError
from simcore.files.input_file import files_kept
from simcore.machine import Npu, load_npu
from simcore.machine.kernel_folder import TABLE_NAMES, KernelFolder
from simcore.terms import Precision
from simcore.workload.graph import Kernel, Operator, PassPhase

PRODUCTS = "format,m,n,k,us\n" + "".join(
    f"bf16,{m},{n},{k},{m * n * k / 1e8 + 5}\n"
    for m in (16, 256, 4096)
    for n in (512, 8192)
    for k in (512, 8192)
)
RUN: dict[str, Any] = {
    "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 8},
    "platform": {
        "npu": "npu.yaml",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "1 us"}
        ],
    },
    "plan": {"tp": 8},
    "compute": "measured",
}


def write_npu(folder: Path, tables: str = "./mine", **more: Any) -> Path:
    """An accelerator without tables of its own, which names the folder *tables*."""
    data = yaml.safe_load((Path(__file__).parents[3] / "configs/npus/mi300x.yaml").read_text())
    path = folder / "npu.yaml"
    path.write_text(yaml.safe_dump({**data, "kernels": {"tables": tables, **more}}))
    return path


def write_tables(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture
def npu(tmp_path: Path) -> Npu:
    write_tables(tmp_path / "mine", {"product.csv": PRODUCTS})
    return load_npu(str(write_npu(tmp_path)))


def product(m: int, n: int, k: int, format_: str = "") -> Kernel:
    moved = 2.0 * (m * k + m * n + k * n)
    return Kernel("qkv", "gemm", 2.0 * m * n * k, moved, m, n, k, format=format_)


def time_us(kernel: Kernel, npu: Npu, precision: Precision = Precision.BF16) -> float:
    return MeasuredKernels().kernel_time_ns(kernel, npu, precision) / 1e3


def test_a_folder_may_hold_every_kind_of_table_that_is_looked_up() -> None:
    assert set(TABLE_NAMES) == set(TABLE_KINDS)


@pytest.mark.parametrize("shape", [(16, 512, 512), (256, 8192, 512), (4096, 8192, 8192)])
def test_a_measured_shape_takes_its_measured_time(npu: Npu, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    assert time_us(product(m, n, k), npu) == pytest.approx(m * n * k / 1e8 + 5, rel=1e-3)


def test_no_time_beats_the_peaks_of_the_accelerator(tmp_path: Path) -> None:
    write_tables(tmp_path / "mine", {"product.csv": "format,m,n,k,us\nbf16,8192,8192,8192,1\n"})
    npu, kernel = load_npu(str(write_npu(tmp_path))), product(8192, 8192, 8192)
    assert time_us(kernel, npu) * 1e-6 * npu.peak(Precision.BF16) >= kernel.flop


def test_a_repeated_shape_counts_with_its_median(tmp_path: Path) -> None:
    lines = "".join(f"bf16,16,512,512,{us}\n" for us in (90, 50, 40))
    write_tables(tmp_path / "mine", {"product.csv": f"format,m,n,k,us\n{lines}"})
    npu = load_npu(str(write_npu(tmp_path)))
    assert time_us(product(16, 512, 512), npu) == pytest.approx(50, rel=1e-3)


def test_engines_are_those_of_the_files_and_the_fastest_counts(tmp_path: Path) -> None:
    text = "engine,format,m,n,k,us\nold,bf16,16,512,512,90\nnew,bf16,16,512,512,50\n"
    write_tables(tmp_path / "mine", {"product.csv": text})
    for engine, us in (("", 50), ("old", 90), ("new", 50)):
        npu = load_npu(str(write_npu(tmp_path, engine=engine)))
        assert time_us(product(16, 512, 512), npu) == pytest.approx(us, rel=1e-3)
    npu = load_npu(str(write_npu(tmp_path, engine="newest")))
    with pytest.raises(ConfigError, match=r"kernels.engine: must be one of old, new, but got"):
        time_us(product(16, 512, 512), npu)


def test_streaming_kernels_are_looked_up_by_their_bytes(tmp_path: Path) -> None:
    write_tables(
        tmp_path / "mine",
        {
            "elementwise.csv": "bytes,us\n1e6,7\n1e9,900\n",
            "norm.csv": "bytes,us\n1e6,11\n1e9,1100\n",
            "optimizer.csv": "bytes,us\n1e9,1300\n",
        },
    )
    npu = load_npu(str(write_npu(tmp_path)))
    kernels = {
        ("activation", "elementwise"): 900,
        ("mlp norm", "elementwise"): 1100,
        ("optimizer", "optimizer"): 1300,
        ("tokens", "embedding"): 900,
    }
    for (name, kind), us in kernels.items():
        assert time_us(Kernel(name, kind, 0.0, 1e9), npu) == pytest.approx(us, rel=1e-3)


def test_a_product_in_32_bits_takes_no_time_of_16_bits(npu: Npu, tmp_path: Path) -> None:
    plain = npu.model_copy(update={"kernels": None})
    kernel = product(256, 8192, 8192)._replace(bytes=4.0 * 8192 * (256 + 256 + 8192))
    assert time_us(kernel, npu, Precision.FP32) == time_us(kernel, plain, Precision.FP32)
    more = PRODUCTS + "fp32,256,8192,8192,4000\n"
    write_tables(tmp_path / "mine", {"product.csv": more})
    own = load_npu(str(tmp_path / "npu.yaml"))
    assert time_us(kernel, own, Precision.FP32) == pytest.approx(4000, rel=1e-3)


def test_what_is_beyond_the_tables_and_what_none_holds_is_told(npu: Npu) -> None:
    inside, outside = product(256, 512, 512), product(256, 8192, 4 * 8192)
    stream = Kernel("activation", "elementwise", 0.0, 1e9)
    kernels = (inside, outside, stream)
    operators = [Operator(name=k.name, phase=PassPhase.FORWARD, kernels=(k,)) for k in kernels]
    found = account_of(operators, [1, 2, 3], npu, Precision.BF16)
    times = [time_us(kernel, npu) * 1e-6 for kernel in kernels]
    assert found.measured_s == pytest.approx(times[0] + 2 * times[1], rel=1e-3)
    assert found.beyond_s == pytest.approx(2 * times[1], rel=1e-3)
    assert found.farthest == pytest.approx(4)
    assert found.by_roofline_s == {"elementwise": pytest.approx(3 * times[2], rel=1e-3)}
    near = account_of(operators[:1], [1], npu, Precision.BF16)
    assert near.spread < found.spread
    for part in ("./mine", "beyond measured shapes, by up to 4 times", "no table", "elementwise"):
        assert part in found.told()


def test_a_run_file_names_the_folder_beside_it(tmp_path: Path) -> None:
    write_tables(tmp_path / "mine", {"product.csv": PRODUCTS})
    write_npu(tmp_path)
    (tmp_path / "run.yaml").write_text(yaml.safe_dump({"version": 1, **RUN}))
    run = load_run(tmp_path / "run.yaml")
    assert run.platform.npu.kernels is not None
    assert isinstance(run.platform.npu.kernels.tables, KernelFolder)
    assert str(tmp_path) not in run.model_dump_json()


def test_other_content_is_another_accelerator(tmp_path: Path) -> None:
    """So that no cache takes the times of one for those of the other."""
    dumps = []
    for text in (PRODUCTS, PRODUCTS.replace(",16,", ",32,")):
        write_tables(tmp_path / "mine", {"product.csv": text})
        found = load_npu(str(write_npu(tmp_path)))
        dumps.append(found.model_dump_json())
    assert dumps[0] != dumps[1]


def test_tables_that_change_before_they_are_used_are_refused(tmp_path: Path) -> None:
    write_tables(tmp_path / "mine", {"product.csv": PRODUCTS + "bf16,1,1,1,1\n"})
    npu = load_npu(str(write_npu(tmp_path)))
    write_tables(tmp_path / "mine", {"product.csv": PRODUCTS + "bf16,1,1,1,2\n"})
    with pytest.raises(ConfigError, match=r"kernels.tables: must not change while it is used"):
        time_us(product(16, 512, 512), npu)


def test_kept_texts_stand_in_for_the_folder(tmp_path: Path) -> None:
    """As on a worker of a study, which has the texts and no folder."""
    write_tables(tmp_path / "mine", {"product.csv": PRODUCTS + "bf16,1,1,1,3\n"})
    texts: dict[str, str] = {}
    with files_kept(texts):
        path = str(write_npu(tmp_path))
        load_npu(path)
    (tmp_path / "mine" / "product.csv").unlink()
    (tmp_path / "mine" / "norm.csv").write_text("bytes,us\n1,1\n")
    with files_kept(texts):
        assert time_us(product(16, 512, 512), load_npu(path)) > 0


@pytest.mark.parametrize("path", ["/tmp/mine", "../mine", "./a/../../mine", "./no\0folder"])
def test_a_path_that_leads_elsewhere_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"kernels.tables: must be (the path of )?a folder"):
        load_npu(str(write_npu(tmp_path, path)))


@pytest.mark.parametrize("linked", ["", "product.csv"])
def test_a_link_that_leads_elsewhere_is_refused(linked: str, tmp_path: Path) -> None:
    for name in ("outside", "inside"):
        (tmp_path / name).mkdir()
    write_tables(tmp_path / "outside", {"product.csv": PRODUCTS})
    place = tmp_path / "inside" / "mine"
    if linked:
        place.mkdir()
    os.symlink(tmp_path / "outside" / linked, place / linked if linked else place)
    with pytest.raises(ConfigError, match=r"kernels.tables: must hold no link that leads out"):
        load_npu(str(write_npu(tmp_path / "inside")))


WRONG = [
    ("product.csv", "format,m,n,k,us\nbf16,16,512,x,3\n", r"product.csv:2: must have format, m, n"),
    ("product.csv", "format,m,n,k,us\nbf16,16,512,512,nan\n", r"product.csv:2: must have"),
    ("product.csv", "format,m,n,k,us\nbf16,16,512,512,-1\n", r"product.csv:2: must have"),
    ("product.csv", "format,m,n,us\nbf16,16,512,1\n", r"product.csv:2: must have"),
    ("product.csv", "format,m,n,k,us\nbf17,16,512,512,1\n", r"one of the formats bf16, fp8"),
    ("product.csv", "format,m,n,k,us\nbf16,16\n", r"product.csv:2: must have"),
    ("product.csv", "format,m,n,k,us\n", r"must hold at least one kernel"),
    ("source.yaml", "version: 1\nnpu: ../npu.yaml\n", r"source.yaml: npu: must be a table"),
    ("source.yaml", "version: 1\nnpu: 3\n", r"source.yaml: npu: must be a name"),
    ("source.yaml", "- a list\n", r"source.yaml: must be a table of keys and values"),
    ("source.yaml", "version: 1\nnpu: h10\n", r"source.yaml: npu: must be a table, or one of a100"),
]


@pytest.mark.parametrize(("name", "text", "told"), WRONG)
def test_a_file_that_is_none_is_refused_with_its_place(
    name: str, text: str, told: str, tmp_path: Path
) -> None:
    write_tables(tmp_path / "mine", {"product.csv": PRODUCTS, name: text})
    npu = load_npu(str(write_npu(tmp_path)))
    with pytest.raises(ConfigError, match=told):
        time_us(product(16, 512, 512), npu)


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    write_tables(tmp_path / "mine", {"notes.txt": "none yet"})
    told = r"kernels.tables: must be a folder with at least one of product.csv"
    with pytest.raises(ConfigError, match=told):
        load_npu(str(write_npu(tmp_path)))
