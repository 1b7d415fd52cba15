"""Trust in accelerators, from what the tables of residuals hold of them."""

import re
from pathlib import Path

import pytest

from simcore import accelerator_trust, load_npu, shipped_names

PAGE = Path(__file__).parents[3] / "docs" / "calibration.md"


def test_the_page_lists_every_accelerator_with_the_trust_in_it() -> None:
    told = dict(
        re.findall(r"^\| (\w+) \| ((?:few )?(?:m|d|s)[^|]+?) \|$", PAGE.read_text(), re.MULTILINE)
    )
    expected = {name: accelerator_trust(load_npu(name)) for name in shipped_names("npus")}
    assert {name: told.get(name) for name in expected} == expected


@pytest.mark.parametrize(
    ("npu", "words"),
    [("a100_80", "measured: "), ("gaudi2", "few measured runs: 3"), ("wse3", "data sheet only")],
)
def test_trust_follows_the_number_of_measured_runs(npu: str, words: str) -> None:
    assert accelerator_trust(load_npu(npu)).startswith(words)


def test_a_part_of_the_same_chip_borrows_trust() -> None:
    other = load_npu("h100_80").model_copy(update={"name": "h100_nvl"})
    assert accelerator_trust(other).startswith("same chip as h")
