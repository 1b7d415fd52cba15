"""``simcore profile``: kernels of this machine become tables that a run takes."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from simcore import load_run, simulate_run
from simcore.cli.app import cli
from simcore.compute.tables.kinds import TABLE_KINDS
from simcore.errors import ConfigError
from simcore.profiling.collectives import network_told
from simcore.profiling.folder import CollectiveTime
from simcore.profiling.kernels import MAKERS
from simcore.profiling.shapes import FULL, ON_PROCESSOR, QUICK, Grid

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="PyTorch is not installed")


def profile(*words: str) -> Result:
    return CliRunner().invoke(cli, ["profile", *words])


@pytest.mark.parametrize("grids", [FULL, QUICK, ON_PROCESSOR])
def test_every_kind_has_a_grid_with_the_coordinates_of_its_table(grids: dict[str, Grid]) -> None:
    assert set(grids) == set(MAKERS) <= set(TABLE_KINDS)
    for kind, grid in grids.items():
        assert len(grid.axes) == len(TABLE_KINDS[kind].shape)


def test_without_pytorch_one_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    told = r"torch: must be installed .* pip install 'simcore-dse\[profile\]'"
    with pytest.raises(ConfigError, match=told):
        raise profile("--out", str(tmp_path / "out")).exception or AssertionError


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--kinds", "product,products"], r"--kinds: must be of product, attention_decode"),
        (["--kinds", "collective"], r"--kinds: must name a kind beside collective"),
        (["--device", "tpu"], r"--device: must be one of cuda, cpu"),
    ],
)
def test_unknown_kinds_and_devices_are_refused(
    words: Sequence[str], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=told):
        raise profile("--out", str(tmp_path / "out"), *words).exception or AssertionError


def test_a_dimension_is_told_that_gives_the_measured_times() -> None:
    """Made of the ring's formula: 8 members, 2 us per hop, 100 GB/s."""
    times = [
        CollectiveTime(
            name="all_reduce",
            npus=8,
            size_bytes=size,
            us=1e6 * 14 * (2 * 2e-6 + size / (8 * 100e9)),
        )
        for size in (8, 1 << 20, 1 << 26, 1 << 30)
    ]
    told = network_told(times)["network"]
    assert isinstance(told, dict)
    assert told["dimension"] == {
        "topology": "switch",
        "npus": 8,
        "bandwidth": "100 GB/s",
        "latency": "2 us",
    }


@needs_torch
def test_a_gpu_that_is_not_there_is_missed_in_one_sentence(tmp_path: Path) -> None:
    torch: Any = import_module("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    with pytest.raises(ConfigError, match=r"--device: must be a GPU that PyTorch finds"):
        raise profile("--out", str(tmp_path / "out")).exception or AssertionError


@needs_torch
def test_a_profile_of_this_processor_is_taken_by_a_run(tmp_path: Path) -> None:
    out, kinds = tmp_path / "mine", "product,attention_prefill,norm,optimizer"
    ran = profile("--out", str(out), "--device", "cpu", "--kinds", kinds, "--date", "2026-03-01")
    assert ran.exit_code == 0, ran.output
    source = yaml.safe_load((out / "source.yaml").read_text())
    assert {"torch", "device", "threads", "date"} <= source.keys()
    npu = yaml.safe_load((Path(__file__).parents[3] / "configs/npus/h100_80.yaml").read_text())
    del npu["version"]
    (tmp_path / "run.yaml").write_text(
        yaml.safe_dump(
            {
                "version": 1,
                "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 8},
                "platform": {
                    "npu": {"name": "mine", **npu, "kernels": {"tables": "./mine"}},
                    "dimensions": [
                        {
                            "topology": "switch",
                            "npus": 8,
                            "bandwidth": "300 GB/s",
                            "latency": "1 us",
                        }
                    ],
                },
                "plan": {"tp": 8},
                "compute": "measured",
            }
        )
    )
    plain = {"platform.npu.kernels": {"tables": "h100"}}
    times = [
        simulate_run(load_run(tmp_path / "run.yaml", values)).iteration_time_s
        for values in ({}, plain)
    ]
    assert times[0] > 10 * times[1]  # a processor is no accelerator
