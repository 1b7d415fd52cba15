"""The ViT-22B problem, solved completely: sizes and front as published with the problem."""

from pathlib import Path

import pytest

from dse import enumerate_study, load_study

# iteration time s, capital cost USD, memory GB, shape, tp, pp, dp, micro-batch, topologies, GB/s
FRONT = [
    (2.079699, 714_800, 10.796, 16, 4, 2, 8, 4, 1, "switch", "ring", 360, 6.25),
    (2.086671, 504_000, 10.154, 4, 16, 4, 4, 4, 1, "fully_connected", "switch", 360, 25),
    (2.094912, 424_640, 10.154, 4, 16, 4, 4, 4, 1, "fully_connected", "ring", 360, 25),
    (2.109190, 415_280, 10.796, 16, 4, 2, 8, 4, 1, "ring", "ring", 360, 6.25),
    (2.168172, 369_200, 10.796, 16, 4, 2, 8, 4, 1, "ring", "ring", 180, 6.25),
    (2.184830, 346_160, 12.080, 8, 8, 1, 16, 4, 1, "ring", "ring", 90, 6.25),
    (2.204823, 334_640, 12.080, 8, 8, 1, 16, 4, 1, "ring", "ring", 45, 6.25),
]


def test_enumeration_gives_the_published_sizes_and_front(tmp_path: Path) -> None:
    result = enumerate_study("p5_vit22b_64.yaml", out=tmp_path / "p5", executor="serial")
    assert result.summary["proposals"] == 16_128
    assert result.summary["evaluated"] == 6_912
    assert result.summary["infeasible"] == 16_128 - 6_912
    assert result.summary["hypervolume"] == pytest.approx(0.2293927, abs=5e-8)
    front = result.pareto_front()
    assert len(front) == len(FRONT)
    for row, expected in zip(front.to_dict("records"), FRONT, strict=True):
        assert row["objectives.iteration_time"] == pytest.approx(expected[0], abs=5e-7)
        assert row["objectives.capital_cost"] == expected[1]
        assert row["metrics.footprint_bytes"] / 1e9 == pytest.approx(expected[2], abs=5e-4)
        assert (
            row["params.platform.dimensions[0].npus"],
            row["params.platform.dimensions[1].npus"],
            row["params.plan.tp"],
            row["params.plan.pp"],
            row["params.plan.dp"],
            row["params.plan.micro_batch"],
            row["params.platform.dimensions[0].topology"],
            row["params.platform.dimensions[1].topology"],
            row["params.platform.dimensions[0].bandwidth"] / 1e9,
            row["params.platform.dimensions[1].bandwidth"] / 1e9,
        ) == expected[3:]
    product = result.trials["objectives.iteration_time"] * result.trials["objectives.capital_cost"]
    assert product.min() == pytest.approx(737_822.0, abs=0.05)
    again = load_study(tmp_path / "p5").pareto_front()
    assert again["number"].tolist() == front["number"].tolist()
