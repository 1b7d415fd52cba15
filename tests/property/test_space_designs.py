"""Whatever a sampler draws is a valid design, and every valid design can be drawn."""

import math
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.space import Encoding, Gene, RunFacts, Space, SpaceFile, build_space, design_key
from dse.study.compile import load_study_file

SPACES = {
    name: load_study_file(name).space
    for name in ("gpt3_175b_1024_networks.yaml", "p1_cosmic_1024.yaml")
}
ENCODINGS = {
    (name, style): Encoding(space, style)
    for name, space in SPACES.items()
    for style in ("index", "weights", "cuts")
}


def drawn(encoding: Encoding, random: np.random.Generator) -> dict[str, int | float]:
    def value(gene: Gene) -> int | float:
        if gene.kind == "real":
            return float(gene.low + (gene.high - gene.low) * random.random())
        return int(random.integers(gene.size))

    return {gene.name: value(gene) for gene in encoding.genes}


@pytest.mark.parametrize("style", ["index", "weights", "cuts"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_every_draw_of_the_gpt_study_keeps_all_rules(style: str, seed: int) -> None:
    encoding = ENCODINGS["gpt3_175b_1024_networks.yaml", style]
    design: Any = encoding.design(drawn(encoding, np.random.default_rng(seed)))
    sizes = [value for name, value in design.items() if name.endswith("].npus")]
    assert math.prod(sizes) == 1024
    assert len(sizes) in (3, 4)
    assert design["plan.tp"] * design["plan.cp"] * design["plan.pp"] * design["plan.dp"] == 1024
    assert 1536 % (design["plan.dp"] * design["plan.micro_batch"]) == 0
    assert ("plan.sequence_parallel" in design) == (design["plan.tp"] > 1)
    for slot in (0, 1, 2, 3):
        present = f"platform.dimensions[{slot}].npus" in design
        for name in ("topology", "bandwidth"):
            assert (f"platform.dimensions[{slot}].{name}" in design) == present
        assert (f"system.all_reduce[{slot}]" in design) == present
        if present and design[f"system.all_reduce[{slot}]"] == "direct":
            assert design[f"platform.dimensions[{slot}].topology"] == "fully_connected"
    if design["platform.dimensions[0].topology"] == "fully_connected":
        assert design["platform.dimensions[0].npus"] <= 16


@pytest.mark.parametrize("style", ["index", "weights", "cuts"])
@given(seed=st.integers(0, 2**32 - 1))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_every_draw_of_the_cosmic_problem_keeps_all_rules(style: str, seed: int) -> None:
    encoding = ENCODINGS["p1_cosmic_1024.yaml", style]
    design: Any = encoding.design(drawn(encoding, np.random.default_rng(seed)))
    assert math.prod(v for n, v in design.items() if n.endswith("].npus")) == 1024
    assert 96 % design["plan.tp"] == 0
    assert design["platform.dimensions[0].topology"] != "switch"


def small_space(npus: int, most: int) -> Space:
    data = {
        "products": [
            {"of": ["plan.tp", "plan.pp", "plan.dp"], "equals": npus},
            {"of": ["platform.dimensions[*].npus"], "equals": npus, "dimensions": [1, 2]},
        ],
        "axes": {
            "plan.micro_batch": {"choices": [1, 2]},
            "plan.sequence_parallel": {"choices": [True, False], "when": "plan.tp > 1"},
        },
        "require": [f"plan.tp <= {most}", "platform.dimensions[0].npus % plan.tp == 0"],
    }
    setting = RunFacts(dimensions=2, npus=None, fixed={})
    return build_space(SpaceFile.from_file_data(data, at="space"), setting)


@given(npus=st.sampled_from([4, 6, 8, 12]), most=st.sampled_from([1, 2, 4]))
@settings(derandomize=True, deadline=None, max_examples=12)
def test_a_space_lists_each_design_once_and_as_many_as_it_counts(npus: int, most: int) -> None:
    space = small_space(npus, most)
    keys = [design_key(design) for design in space.designs()]
    assert len(keys) == len(set(keys)) == space.counts.valid


@pytest.mark.parametrize("style", ["index", "weights", "cuts"])
def test_every_valid_design_can_be_drawn(style: Literal["index", "weights", "cuts"]) -> None:
    space = small_space(8, 4)
    encoding = Encoding(space, style)
    random = np.random.default_rng(0)
    found = {design_key(encoding.design(drawn(encoding, random))) for _ in range(20_000)}
    assert found == {design_key(design) for design in space.designs()}
