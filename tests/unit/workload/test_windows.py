"""Attention that sees a part of the sequence."""

from typing import Any

import pytest
from graph_sums import total_flop

from simcore.errors import ConfigError
from simcore.workload import (
    Model,
    ParallelPlan,
    TrainingWorkload,
    build_graph,
    load_model,
    total_model_flop,
)

TABLE: dict[str, Any] = {
    "name": "m", "kind": "llama", "layers": 6, "hidden": 64, "heads": 8, "ffn": 128,
}  # fmt: skip
SEQUENCE, BATCH = 64, 4


def attention_flop(**change: Any) -> tuple[float, float]:
    """Executed FLOP of attention, and what the model asks for in all."""
    model = Model.model_validate(TABLE | change)
    workload = TrainingWorkload(model=model, sequence=SEQUENCE, global_batch=BATCH)
    graph = build_graph(workload, ParallelPlan())
    return total_flop(graph, "attention"), total_model_flop(workload)


@pytest.mark.parametrize(
    ("window", "every", "whole"), [(16, 0, 0), (16, 2, 3), (16, 3, 2), (32, 1, 6), (999, 0, 6)]
)
def test_window_hides_the_scores_outside_it(window: int, every: int, whole: int) -> None:
    plain, asked = attention_flop()
    executed, asked_windowed = attention_flop(window=window, global_every=every)
    seen = window / SEQUENCE
    left = (whole + (6 - whole) * (2 * seen - seen**2)) / 6  # of the lower triangle
    assert executed == pytest.approx(plain * left)
    assert asked - asked_windowed == pytest.approx((plain - executed) * 12 / 14)


def test_scores_that_are_stored_are_all_computed() -> None:
    model = Model.model_validate(TABLE | {"window": 16})
    workload = TrainingWorkload(model=model, sequence=SEQUENCE, global_batch=BATCH)
    stored = build_graph(workload, ParallelPlan(flash_attention=False))
    plain = workload.model_copy(update={"model": Model.model_validate(TABLE)})
    whole = build_graph(plain, ParallelPlan(flash_attention=False))
    assert total_flop(stored) == total_flop(whole)


def test_gpt_oss_alternates_windows_of_128_tokens() -> None:
    kinds = [kind[0] for kind in load_model("gpt_oss_120b").layer_kinds]
    assert kinds == ["windowed", "attention"] * 18


@pytest.mark.parametrize("change", [{"causal": False}, {"pattern": "*-*-*-"}])
def test_window_that_cannot_be_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"model.window: must be 0 with latent attention"):
        load_model(TABLE | {"window": 16} | change)
