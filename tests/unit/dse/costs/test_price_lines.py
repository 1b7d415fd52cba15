"""Which prices decide: the answer of the report against studies run with other price books."""

from pathlib import Path

import pytest
import yaml

import dse
from dse.costs import load_prices, price_lines
from dse.costs.bill import Biller
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.evaluate.designs.runs import DesignRuns
from dse.report.prices import price_sensitivity, told
from dse.results.result import StudyResult
from dse.study.compile import find_study, load_study_file
from simcore import load_npu
from simcore.parts import Part

STUDY = "gpt3_175b_1024_networks.yaml"
BOOK = Path(__file__).parents[4] / "configs" / "costs" / "default.yaml"


def file_with(prices: str, folder: Path) -> Path:
    """The study with a book of prices."""
    path = Path(load_study_file(STUDY).folder, STUDY)
    data = yaml.safe_load(path.read_text())
    data["cost"]["prices"] = prices
    data["search"]["fidelity"] = ["phases_together"]  # prices do not depend on it
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


def run_with(prices: str, folder: Path) -> StudyResult:
    """Random designs of the study, the same for every book."""
    file = file_with(prices, folder)
    return dse.run_study(file, trials=24, sampler="random", executor="serial", settle=0)


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return run_with("default", tmp_path_factory.mktemp("usual"))


def best_product(result: StudyResult) -> int:
    values = {
        row.number: row.evaluation.objectives["iteration_time"]
        * row.evaluation.objectives["capital_cost"]
        for row in result.rows
        if row.is_feasible
    }
    return min(values, key=lambda number: (values[number], number))


def best_product_at(result: StudyResult, prices: Path, folder: Path) -> int:
    """Likewise of the designs of *result*, each judged anew with other prices."""
    study = load_study_file(file_with(str(prices), folder))
    evaluator = build_evaluator(study.evaluator_input)
    found = [(row.number, evaluate(evaluator, study.goals, row.design)) for row in result.rows]
    values = {
        number: one.objectives["iteration_time"] * one.objectives["capital_cost"]
        for number, one in found
        if one.state == "complete"
    }
    return min(values, key=lambda number: (values[number], number))


def test_upsets_are_those_of_studies_with_other_prices(usual: StudyResult, tmp_path: Path) -> None:
    found = next(s for s in price_sensitivity(usual) if " x " in s.measure)
    assert found.winner == best_product(usual)
    assert "accelerators.a100_80" in found.lines
    assert not any(line.startswith(("network_tiers", "power")) for line in found.lines)
    upsets = {(upset.line, upset.told): upset.winner for upset in found.upsets}
    book = yaml.safe_load(BOOK.read_text())
    for part, key in [
        ("scale_up", "switch"),
        ("scale_up", "direct"),
        ("scale_out", "first_tier"),
        ("scale_out", "direct"),
    ]:
        for factor in (0.7, 1.3):
            amount = float(book[part][key].split()[0]) * factor
            moved = {**book, part: {**book[part], key: f"{amount!r} USD/(GB/s)"}}
            (tmp_path / "moved.yaml").write_text(yaml.safe_dump(moved))
            expected = best_product_at(usual, tmp_path / "moved.yaml", tmp_path)
            told = "30% lower" if factor < 1 else "30% higher"
            assert upsets.get((f"{part}.{key}", told), found.winner) == expected
    book["scale_up"]["npus"] = 8
    (tmp_path / "moved.yaml").write_text(yaml.safe_dump(book))
    other = run_with(str(tmp_path / "moved.yaml"), tmp_path)
    assert [row.design for row in other.rows] == [row.design for row in usual.rows]
    expected = best_product(other)
    assert expected == best_product_at(usual, tmp_path / "moved.yaml", tmp_path)
    assert upsets.get(("scale_up.npus", "8 in place of 72"), found.winner) == expected
    assert "scale_up.npus" in found.lines


def test_of_designs_that_cost_the_same_the_winner_is_on_the_front(usual: StudyResult) -> None:
    """A cost that half of the designs share: the best of them in the rest wins."""
    front = {usual.rows[at].number for at in usual.front}
    assert {
        entry.winner for entry in price_sensitivity(usual) if " x " not in entry.measure
    } <= front


def test_a_winner_that_no_price_unseats_is_told_so(usual: StudyResult) -> None:
    found = [s for s in price_sensitivity(usual) if not s.upsets]
    for entry in found:
        assert told(entry) == [
            f"Trial {entry.winner} is the best in {entry.measure}, and stays so if any one price "
            "moves by 30%, or as far as its sources disagree, and if any one size that prices hang "
            "on is half or twice as large."
        ]


def test_a_line_moves_alone() -> None:
    prices = load_prices()
    for line in price_lines(prices, [load_npu("h100_80")]):
        before, after = prices.model_dump(), line.moved(prices, 1.3).model_dump()
        changed = [
            (part, key)
            for part in after
            if isinstance(after[part], dict)
            for key in after[part]
            if before[part].get(key) != after[part][key]
        ]
        assert changed == [(line.part, line.key)]
    assert prices.accelerator_usd(load_npu("h100_80")) == 38_750


def test_a_part_moves_as_far_as_its_sources_disagree() -> None:
    prices = load_prices()
    for line in price_lines(prices, [load_npu("h100_80")], prices.parts):
        least, most = line.factors(0.3)
        assert 0 < least <= 0.7 < 1.3 <= most
        if not isinstance(line.amount, Part) or not line.amount.price_usd:
            assert (least, most) == (0.7, 1.3)
            continue
        usd, part = line.amount.price_usd, line.amount
        assert not part.low_usd or least * usd <= part.low_usd + 1e-9 * usd
        assert not part.high_usd or most * usd >= part.high_usd - 1e-9 * usd


@pytest.mark.parametrize("energy_kwh", [1.0, 250.0])
def test_carbon_is_that_of_the_grid(energy_kwh: float) -> None:
    from dse.costs import carbon_kg

    # 0.81 pounds per kWh: US electricity in 2023, US EIA; a pound is 0.4536 kg
    assert carbon_kg(energy_kwh * 3.6e6, load_prices()) == pytest.approx(
        energy_kwh * 0.81 * 0.4536, rel=2e-3
    )


def test_energy_and_carbon_per_token_follow_from_power_and_time(tmp_path: Path) -> None:
    path = Path(load_study_file(STUDY).folder, STUDY)
    data = yaml.safe_load(path.read_text())
    names = ["power", "energy", "energy_per_token", "carbon_per_token", "usd_per_hour"]
    data["objectives"] = dict.fromkeys(["iteration_time", *names, "usd_per_token"], "minimise")
    (tmp_path / "energy.yaml").write_text(yaml.safe_dump(data))
    result = dse.run_study(
        tmp_path / "energy.yaml", trials=12, sampler="random", executor="serial", settle=0
    )
    rows = [row.evaluation.objectives for row in result.rows if row.is_feasible]
    assert rows
    tokens = 1536 * 2048
    for values in rows:
        joule = values["power"] * values["iteration_time"]
        assert values["energy"] == pytest.approx(joule)
        assert values["energy_per_token"] == pytest.approx(joule / tokens)
        assert values["carbon_per_token"] == pytest.approx(joule / tokens / 3.6e6 * 0.367)
        hours = values["iteration_time"] / 3600
        assert values["usd_per_token"] == pytest.approx(values["usd_per_hour"] * hours / tokens)


def test_every_priced_part_of_the_front_is_among_the_prices_asked(tmp_path: Path) -> None:
    path = Path(load_study_file(STUDY).folder, STUDY)
    data = yaml.safe_load(path.read_text())
    data["cost"]["model"] = "bill_of_materials"
    del data["search"]["fidelity"]
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(data))
    result = dse.run_study(file, trials=12, sampler="random", executor="serial", settle=0)
    asked = next(x for x in price_sensitivity(result) if x.measure == "capital cost")
    runs, biller = DesignRuns(result.study.evaluator_input), Biller(load_prices())
    bills = [biller.bill(runs.run(result.rows[at].design).platform) for at in result.front]
    assert max(bill.usd for bill in bills) > 1.3 * min(bill.usd for bill in bills)
    listed = [line for bill in bills for line in bill.lines]
    parts = {one.part for one in listed if one.usd and one.group != "accelerators"}
    assert {name.removeprefix("parts.") for name in asked.lines} >= parts > set()


def test_a_study_of_parts_that_seeks_time_alone_tells_what_its_machines_cost(
    tmp_path: Path,
) -> None:
    data = yaml.safe_load(find_study("llm_gpt.yaml").read_text())
    data["objectives"] = {"iteration_time": "minimise"}
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(data))
    out = tmp_path / "out"
    result = dse.run_study(file, out=out, trials=24, settle=0, sampler="random", executor="serial")
    done = [row for row in result.rows if row.is_feasible]
    assert done
    assert all(row.evaluation.metrics["capital_cost_usd"] > 0 for row in done)
    assert price_sensitivity(result) == [], "no price decides what is fastest"
    assert (out / "report.html").exists()
