"""Prices of a front from low to high, and what the run of a study is held against."""

import pytest

import dse
from dse.report.baseline import baseline_lines
from dse.report.front_table import COSTS, RUN, front_table


@pytest.fixture
def result(result_of_llm_gpt: dse.StudyResult) -> dse.StudyResult:
    return result_of_llm_gpt


def test_each_price_of_the_front_has_a_low_and_a_high(result: dse.StudyResult) -> None:
    table = front_table(result)
    at = table.columns.index(COSTS)
    price = table.columns.index("capital cost")
    for row in table.rows:
        low, high = row[at].removesuffix(" MUSD").split(" - ")
        assert float(low) < float(row[price].removesuffix(" MUSD")) < float(high)
    assert table.rows[-1][0] == RUN


def test_prices_without_a_range_have_no_column() -> None:
    found = dse.run_study("p4_dlrm_2p6t_h100.yaml", trials=8, settle=0, executor="serial")
    assert COSTS not in front_table(found).columns


def test_the_run_is_held_against_the_recommended_design_that_betters_it_most(
    result: dse.StudyResult,
) -> None:
    assert result.baseline is not None
    before = result.baseline.evaluation.objectives

    def product(number: int) -> float:
        after = result.rows[number].evaluation.objectives
        return (
            after["iteration_time"]
            / before["iteration_time"]
            * after["capital_cost"]
            / before["capital_cost"]
        )

    best = min((one.trial for one in result.recommended), key=product)
    assert f"; trial {best} against it: " in baseline_lines(result)[0]
