"""Facts of plans that one process hands on are those that another would have worked out."""

import pickle
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from sixteen_a100 import TABLE

from simcore import DesignBounds, RunTemplate
from simcore.bounds import design_rows
from simcore.bounds.plans.plan_terms import plan_terms
from simcore.memo import Memo

CHOICES: dict[str, list[Any]] = {
    "plan.tp": [1, 2, 4, 5, 8],  # heads do not divide by 5
    "plan.pp": [1, 2, 4],
    "plan.dp": [1, 2, 4, 8],
    "plan.micro_batch": [1, 2],
    "platform.dimensions[0].bandwidth": ["10 GB/s", "200 GB/s"],
}
CODES = {
    path: np.array(column, np.int64)
    for path, column in zip(
        CHOICES, zip(*product(*(range(len(c)) for c in CHOICES.values())), strict=True), strict=True
    )
}


def bounds(memo: Memo | None = None) -> DesignBounds:
    return DesignBounds(RunTemplate.from_table(TABLE), CHOICES, memo)


def answers(of: DesignBounds, codes: Mapping[str, np.ndarray] = CODES) -> list[bytes]:
    found = of.footprint_bytes(codes), of.floor_times_s(codes), of.times_s(codes)
    return [one.tobytes() for one in found]


def test_bounds_with_facts_of_others_are_the_same_to_the_bit() -> None:
    first, second, alone = bounds(), bounds(), bounds()
    first.worked_out()
    expected = answers(first)
    second.worked_out()
    facts = pickle.loads(pickle.dumps(first.worked_out()))
    second.take(facts)
    assert answers(second) == expected == answers(alone)
    assert facts
    assert not second.worked_out(), "all that it was asked for it was told"
    assert np.isfinite(first.times_s(CODES)).sum() > 20
    assert np.isinf(first.times_s(CODES)).any()


def test_facts_of_some_plans_and_in_another_order_change_no_bound() -> None:
    first, second = bounds(), bounds()
    first.worked_out()
    expected = answers(first)
    facts = list(first.worked_out().items())
    answers(second, {path: column[::-7] for path, column in CODES.items()})
    second.take(dict(facts[::-2]))
    assert answers(second) == expected


def test_facts_that_are_told_are_not_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    first = bounds()
    first.worked_out()
    expected = answers(first)

    def fail(*what: object) -> None:
        raise AssertionError("it is known")

    second = bounds()
    second.take(first.worked_out())

    for name in ("plan_terms", "latest_footprint"):
        monkeypatch.setattr(design_rows, name, fail)
    assert answers(second) == expected


def test_bounds_that_share_a_memory_are_the_same_to_the_bit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memo, expected = Memo(), answers(bounds())
    assert answers(bounds(memo)) == expected
    worked_out = []

    def noted(*what: Any) -> Any:
        found = plan_terms(*what)
        worked_out.append(found)  # unless the plan breaks a rule
        return found

    monkeypatch.setattr(design_rows, "plan_terms", noted)
    assert answers(bounds(memo)) == expected
    assert not worked_out
    assert answers(bounds()) == expected
    assert worked_out


def test_facts_are_kept_to_be_handed_on_only_where_somebody_asks() -> None:
    first = bounds()
    answers(first)
    assert not first.worked_out()
