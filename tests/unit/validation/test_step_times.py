"""Steps between those that are simulated."""

import pytest

from simcore.validation.served.steps import KEYS, StepTimes, between, doublings


def test_a_time_that_grows_straight_is_met_everywhere() -> None:
    steps = StepTimes(lambda sequences, keys: 3.0 + 2.0 * sequences + 0.5 * sequences * keys)
    for sequences, keys in ((1, 5), (16, 777), (24, 40_000), (300, 2_000_000)):
        assert steps.with_keys(sequences, keys) == pytest.approx(
            3 + 2 * sequences + 0.5 * sequences * keys
        )
        assert steps.mean_s(sequences, keys, keys + 100) == pytest.approx(
            3 + 2 * sequences + 0.5 * sequences * (keys + 50)
        )


def test_the_mean_follows_a_bend() -> None:
    bend = KEYS[2]
    steps = StepTimes(lambda _, keys: float(max(keys - bend, 0)))
    assert steps.mean_s(1, bend - 100, bend + 100) == pytest.approx(25.0)


def test_few_steps_are_simulated_and_each_once() -> None:
    asked: list[tuple[int, int]] = []

    def simulate(sequences: int, keys: int) -> float:
        asked.append((sequences, keys))
        return 1.0

    steps = StepTimes(simulate)
    for last in (1024, 1100, 2048):
        steps.mean_s(16, 129, last)
    assert len(asked) == len(set(asked)) <= 4


def test_places_double_until_they_hold_all_sequences() -> None:
    assert doublings(1) == (1,)
    assert doublings(20) == (1, 2, 4, 8, 16, 32)
    assert between((1, 2, 4), 3, lambda n: float(n * n)) == 10.0
