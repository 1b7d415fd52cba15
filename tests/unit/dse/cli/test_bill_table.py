"""Bills of materials in terminals of any usual width."""

from pathlib import Path

import pytest

from dse.cli.bill_table import print_bill
from dse.costs import load_prices
from dse.costs.bill import Biller
from simcore import load_run

RUNS = Path(__file__).parents[4] / "configs" / "runs"


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_each_part_of_a_bill_takes_one_whole_line(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    platform = load_run(RUNS / "gpt3_175b_1024_a100.yaml").platform
    bill = Biller(load_prices()).bill(platform)
    monkeypatch.setenv("COLUMNS", str(width))
    print_bill(bill, platform)
    table = capsys.readouterr().out.split("\nall")[0].split("* estimate")[0].splitlines()
    rows = [row for row in table[1:] if row.split()[0] != "all"]
    assert len(rows) == len(bill.lines)
    assert all(len(row) <= width and "…" not in row for row in rows)
