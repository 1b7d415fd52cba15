"""Series of a run: they agree with its result, and taking them changes nothing."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from packet_cases import GBPS, star

from simcore.errors import ConfigError
from simcore.packets.case import case_of
from simcore.packets.run import Outcome, run_case
from simcore.packets.views.picture import draw
from simcore.packets.views.series import Series

INCAST: dict[str, Any] = star(
    9, [[host, 8, 200_000, 50 * host, []] for host in range(8)], cc_mode=1, buffer_size=1
)


@pytest.fixture(scope="module")
def sampled() -> tuple[Outcome, Series]:
    case = case_of(INCAST)
    series = Series(case, 500)
    return run_case(case, watch=series), series


def test_a_run_that_is_sampled_ends_as_it_does_otherwise(
    sampled: tuple[Outcome, Series],
) -> None:
    assert sampled[0] == run_case(case_of(INCAST))


def test_depths_stay_below_the_largest_queue_and_come_near(
    sampled: tuple[Outcome, Series],
) -> None:
    outcome, series = sampled
    largest = {(node, to): most for node, to, most in outcome.queues}
    for key, (times, depths) in series.queues().items():
        assert depths.max() <= largest[key]
        assert (times % 500 == 0).all()
    assert series.queues()[9, 8][1].max() > 0.9 * largest[9, 8]


def test_rates_begin_at_the_line_and_end_with_the_flow(sampled: tuple[Outcome, Series]) -> None:
    outcome, series = sampled
    for row in outcome.flows:
        times, rates = series.rates()[int(row[0] or 0)]
        assert rates[0] == 100 * GBPS
        assert int(row[1] or 0) <= times[0] <= times[-1] <= int(row[2] or 0)


def test_pauses_add_up(sampled: tuple[Outcome, Series]) -> None:
    counts = sampled[1].pauses()[1].tolist()
    assert counts == sorted(counts)
    assert 0 < counts[-1] <= sampled[0].pauses


def test_series_are_written_as_parquet(sampled: tuple[Outcome, Series], tmp_path: Path) -> None:
    sampled[1].write(tmp_path / "series.parquet")
    table = pq.read_table(tmp_path / "series.parquet")
    assert table.column_names == ["time_ns", "what", "node", "to", "flow", "value"]
    assert set(table["what"].to_pylist()) == {"queue_bytes", "rate_bps", "pauses"}
    with pytest.raises(ConfigError, match="must be writable"):
        sampled[1].write(tmp_path / "nowhere" / "series.parquet")


def test_a_run_is_drawn_the_same_each_time(sampled: tuple[Outcome, Series], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for name in ("one.svg", "two.svg"):
        draw(tmp_path / name, *sampled)
    text = (tmp_path / "one.svg").read_bytes()
    assert text == (tmp_path / "two.svg").read_bytes()
    assert b"<svg" in text
    with pytest.raises(ConfigError, match=r"must end in \.svg"):
        draw(tmp_path / "run.xyz", *sampled)
