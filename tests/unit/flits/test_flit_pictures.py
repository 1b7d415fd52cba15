"""The figures behind ``simcore flits --plot``, and the picture itself."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.errors import ConfigError
from simcore.flits.case import read_case
from simcore.flits.manifest import run_cases
from simcore.flits.picture import check_plot, curves, link_map
from simcore.flits.simulate import batch

MESH: dict[str, Any] = {
    "topology": "mesh", "k": 4, "n": 2, "routing_function": "dor", "num_vcs": 2, "vc_buf_size": 4,
    "packet_size": 1, "traffic": "neighbor", "sample_period": 500, "warmup_periods": 1,
}  # fmt: skip
LOADS = [{"kind": "latency", "offered": rate} for rate in (0.3, 0.1)]
CASE = {"id": "mesh", "config": MESH, "points": LOADS}
BATCH: dict[str, Any] = {
    "id": "batch",
    "config": {**MESH, "traffic": "right", "batch_size": 50, "packet_size": 8, "vc_buf_size": 16},
    "points": [{"kind": "batch"}],
}
RIGHT = {"right": [node + 1 if node % 4 < 3 else node for node in range(16)]}


def test_curves_rise_in_load_and_are_those_of_the_results() -> None:
    results = run_cases({}, [CASE], lambda *_: None)
    (curve,) = curves(results, [CASE])
    assert curve.offered == (0.1, 0.3)
    points: Any = results["mesh"]["points"]
    assert curve.latency == tuple(points[at]["packet_latency"]["mean"] for at in (1, 0))


def test_links_that_a_batch_takes_are_in_use_and_the_others_empty() -> None:
    found = link_map(BATCH, RIGHT, Path())
    assert found.side == 4
    cycles = batch(read_case(BATCH["config"]), RIGHT, seed=1)["batch_duration"]
    for router in range(16):
        for other in range(16):
            use = found.use[router, other]
            row, across = router // 4 == other // 4, other - router
            if row and across == 1:
                assert use == pytest.approx(50 * 8 / cycles, rel=0.01)
            elif (row and across == -1) or abs(across) == 4:
                assert use == 0
            else:
                assert np.isnan(use)


def test_the_picture_is_written_and_says_what_it_shows(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "m.json").write_text(json.dumps({"cases": [CASE]}))
    out, plot = tmp_path / "r.json", tmp_path / "p.svg"
    arguments = ["flits", str(tmp_path / "m.json"), "--out", str(out), "--plot", str(plot)]
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    first = plot.read_bytes()
    assert CliRunner().invoke(cli, arguments).exit_code == 0
    assert first == plot.read_bytes()
    assert first.startswith(b"<?xml")


def test_a_picture_of_no_kind_is_refused_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--plot: must end in \.svg"):
        check_plot(tmp_path / "p.txt")
