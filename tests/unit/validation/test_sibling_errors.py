"""Errors of ratios of two predictions of one model on one accelerator."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from simcore import load_run, shipped_folder, sibling_error
from simcore.validation.bands.classes import SERVING, TRAINING
from simcore.validation.bands.residuals import Chain, Group, read_groups
from simcore.validation.bands.siblings import (
    SHARE,
    left_out_coverage,
    shipped_errors,
    sibling_errors,
)

CONFIGS = shipped_folder("configs")
TABLES = {
    chain.name: read_groups(Path(CONFIGS) / "validation" / chain.file, chain)
    for chain in (TRAINING, SERVING)
}


def group(source: str, *residuals: float, npu: str = "a", layout: str = "tensor") -> Group:
    return Group(
        levels=("dense", "16-bit", npu, layout),
        source=source,
        model="m",
        parameters=10,
        npus=8,
        residuals=residuals,
    )


def test_an_error_that_all_runs_share_is_none_of_their_ratios() -> None:
    biased = [group("one", 0.5, 0.5, 0.51), group("one", 0.505, layout="pipeline")]
    assert sibling_errors(TRAINING, biased)["dense"].log_ratio == pytest.approx(0.01)


def test_pairs_of_different_accelerators_or_sources_say_nothing() -> None:
    alone = [group("one", 0.0), group("one", 0.9, npu="b"), group("two", 0.4)]
    assert sibling_errors(TRAINING, alone) == {}


def test_each_source_counts_alike_whatever_its_number_of_runs() -> None:
    many = group("many", *np.random.default_rng(0).normal(0, 1e-3, 60).tolist())
    few = [group(f"few {at}", 0.0, 0.3) for at in range(2)]
    assert sibling_errors(TRAINING, [many, *few])["dense"].log_ratio == pytest.approx(0.3)


@pytest.mark.parametrize("chain", [TRAINING, SERVING], ids=lambda chain: chain.name)
def test_shipped_errors_are_those_of_the_shipped_tables(chain: Chain) -> None:
    shipped = shipped_errors()
    told = shipped.training if chain is TRAINING else shipped.serving
    assert told == sibling_errors(chain, TABLES[chain.name])


@pytest.mark.parametrize("chain", [TRAINING, SERVING], ids=lambda chain: chain.name)
def test_sources_foretell_the_pairs_of_one_that_is_left_out(chain: Chain) -> None:
    held = np.mean(list(left_out_coverage(chain, TABLES[chain.name]).values()))
    assert abs(held - SHARE) < 0.06


def test_siblings_compare_better_than_if_their_errors_were_independent() -> None:
    """Pairs of runs of different sources share nothing but the simulator."""
    dense = [one for one in TABLES["training"] if one.levels[0] == "dense"]
    each = [(one.source, value) for one in dense for value in one.residuals]
    some = [each[at] for at in np.random.default_rng(0).permutation(len(each))[:400]]
    apart = [abs(a - b) for (s, a), (t, b) in combinations(some, 2) if s != t]
    run = load_run(CONFIGS / "runs" / "gpt3_175b_1024_a100.yaml")
    assert sibling_error(run).log_ratio < np.quantile(apart, SHARE)


def test_a_kind_that_nobody_measured_has_the_largest_error() -> None:
    known = shipped_errors().training.values()
    run = load_run(CONFIGS / "runs" / "dlrm_2p6t_256_h100.yaml")
    assert sibling_error(run).log_ratio == max(error.log_ratio for error in known)
