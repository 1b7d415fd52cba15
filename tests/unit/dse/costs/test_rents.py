"""Prices and rents of shipped accelerators, and the costs of a rented hour."""

import re
from pathlib import Path

import pytest
from every_case import with_every

from dse.costs import load_prices, price_lines, rented_cost
from dse.evaluate.money import CostFile, CostMeter
from dse.objectives import Goals
from simcore import ConfigError, Platform, load_npu, load_platform

NPUS = sorted(path.stem for path in (Path(__file__).parents[4] / "configs/npus").glob("*.yaml"))
YEAR = re.compile(r"20[12]\d|undated|estimate|problem statement|press")


def pod(npu: str) -> Platform:
    dimension = {"npus": 4, "bandwidth": "25 GB/s", "latency": "1 us", "topology": "ring"}
    return load_platform({"npu": npu, "dimensions": [dimension]})


@with_every("name", NPUS)
def test_every_accelerator_has_a_price_a_rent_or_an_explicit_unknown(name: str) -> None:
    npu = load_npu(name)
    source = npu.sources.price
    if npu.price_usd is None and npu.rent_usd_per_hour is None:
        assert source.startswith("unknown")
    else:
        assert YEAR.search(source), f"no date in {source!r}"
    assert ("rent: " in source) == (npu.rent_usd_per_hour is not None)


@with_every("name", NPUS)
def test_a_price_that_is_unknown_is_one_clear_sentence(name: str) -> None:
    npu, prices = load_npu(name), load_prices()
    if npu.price_usd is None:
        with pytest.raises(ConfigError, match=rf"platform\.npu\.price: .*accelerators\.{name}"):
            prices.accelerator_usd(npu)
    if npu.rent_usd_per_hour is None:
        with pytest.raises(ConfigError, match=rf"platform\.npu\.rent: .*rents\.{name}"):
            prices.rent_usd_per_hour(npu)


def test_a_rented_hour_is_npus_times_rent_and_needs_no_price() -> None:
    # Google Cloud's list price of a TPU v4 is 3.22 USD per chip and hour
    goals = Goals(objectives={"usd_per_token": "minimise"})
    meter = CostMeter(CostFile(hour="rented"), goals, "")
    found = meter.metrics(pod("tpu_v4"), 1.8, 1000)
    assert found["usd_per_hour"] == pytest.approx(4 * 3.22)
    assert found["usd_per_token"] == pytest.approx(4 * 3.22 / 3600 * 1.8 / 1000)


def test_rents_of_the_price_book_replace_those_of_accelerators() -> None:
    book = load_prices().model_copy(update={"rents": {"tpu_v4": 2.0}})
    assert rented_cost(pod("tpu_v4"), prices=book).total == 8.0
    line = next(x for x in price_lines(book, [load_npu("tpu_v4")]) if x.name == "rents.tpu_v4")
    assert rented_cost(pod("tpu_v4"), prices=line.moved(book, 1.5)).total == 12.0
