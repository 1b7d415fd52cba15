"""Every nanosecond of a front's designs is told, of training and of services."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[4] / "benchmarks"))

FEW = {"trials": 8, "seed": 0, "promote": 1, "controls": 0, "settle": 0}


@pytest.mark.parametrize("name", ["serve_llama3_70b.yaml", "p1_cosmic_512.yaml"])
def test_the_parts_of_each_time_on_a_shipped_front_sum_to_the_nanosecond(name: str) -> None:
    found = import_module("attribution").of_study(name, FEW)
    assert found["off"] == []
    assert found["exact"] == found["front"] > 0
