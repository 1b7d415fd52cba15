"""Which prices decide a service: the answer of the report against studies with other books."""

from pathlib import Path
from typing import Any

import pytest
import yaml

import dse
from dse.costs import load_prices
from dse.report.prices import Sensitivity, price_sensitivity
from dse.results.result import StudyResult
from dse.study.compile import load_study_file
from simcore import load_npu

NAME = "serve_llama3_70b.yaml"
BOOK = Path(__file__).parents[4] / "configs" / "costs" / "default.yaml"


def run_with(folder: Path, **accelerators: float) -> StudyResult:
    """Some services of the shipped study on one of three accelerators, at prices in USD."""
    data: dict[str, Any] = yaml.safe_load(Path(load_study_file(NAME).folder, NAME).read_text())
    del data["search"]["gap"]  # a proof asks for the best alone, which no price upsets
    data["space"]["axes"]["platform.npu"] = {"choices": ["h100_80", "h200", "b200"]}
    if accelerators:
        prices = {name: f"{usd!r} USD" for name, usd in accelerators.items()}
        book = yaml.safe_load(BOOK.read_text()) | {"accelerators": prices}
        (folder / "book.yaml").write_text(yaml.safe_dump(book))
        data["cost"]["prices"] = str(folder / "book.yaml")
    (folder / "study.yaml").write_text(yaml.safe_dump(data))
    found = dse.run_study(
        folder / "study.yaml", trials=24, seed=1, sampler="random", executor="serial"
    )
    return found


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return run_with(tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="module")
def sensitivity(usual: StudyResult) -> Sensitivity:
    (found,) = price_sensitivity(usual)
    return found


def usd_per_token(result: StudyResult) -> dict[int, float]:
    rows = [row for row in result.rows if row.is_feasible]
    return {row.number: row.evaluation.objectives["usd_per_token"] for row in rows}


def test_prices_of_a_service_are_those_of_its_parts_and_its_energy(
    usual: StudyResult, sensitivity: Sensitivity
) -> None:
    usd = usd_per_token(usual)
    assert sensitivity.winner == min(usd, key=lambda number: (usd[number], number))
    assert "power.energy" in sensitivity.lines
    assert any(line.startswith("parts.") for line in sensitivity.lines)


def test_another_winner_is_that_of_a_study_with_that_price(
    sensitivity: Sensitivity, tmp_path: Path
) -> None:
    upset = next(up for up in sensitivity.upsets if up.line.startswith("accelerators."))
    name = upset.line.removeprefix("accelerators.")
    factor = {"30% lower": 0.7, "30% higher": 1.3}[upset.told]
    usd = load_prices().accelerator_usd(load_npu(name)) * factor
    found = usd_per_token(run_with(tmp_path, **{name: usd}))
    assert upset.winner == min(found, key=lambda number: (found[number], number))
    lost = found[sensitivity.winner] / found[upset.winner] - 1
    assert lost == pytest.approx(upset.loss, rel=1e-12)
