"""Exact sizes of published spaces, and how knobs, rules and dimensions make them."""

import math
from typing import Any

import pytest

from dse.space import RunFacts, SpaceFile, build_space
from dse.study.compile import load_study_file
from simcore import ConfigError

POWERS = [2**i for i in range(10)]
SHAPE = "platform.dimensions[*].npus"


def space_of(data: dict[str, Any], *, dimensions: int = 4, npus: int | None = None) -> Any:
    setting = RunFacts(dimensions=dimensions, npus=npus, fixed={"workload.global_batch": 512})
    return build_space(SpaceFile.from_file_data(data, at="space"), setting)


def test_cosmic_1024_has_its_published_size() -> None:
    # COSMIC, arXiv 2505.15020, public experiment files: knobs of its 1,024-NPU system
    counts = load_study_file("p1_cosmic_1024.yaml").space.counts
    assert counts.raw == 600 * 16 * 256 * 81 * 81 * 10**4
    assert counts.valid == 328 * 16 * 256 * 54 * 10 * 10**4 == 7_254_835_200_000


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("p1_cosmic_512.yaml", 136 * 2 * 16 * 256 * 54 * 4 * 10**4),
        ("p1_cosmic_2048.yaml", 191 * 2 * 16 * 256 * 54 * 16 * 10**4),
        ("p1_cosmic_1024_4vec.yaml", 328 * 16 * 256**4 * 54 * 10 * 10**4),
        ("p1_cosmic_1024_workload.yaml", 328),
        ("p1_cosmic_1024_collectives.yaml", 4096),
    ],
)
def test_variants_of_the_cosmic_problem_have_their_published_sizes(name: str, valid: int) -> None:
    assert load_study_file(name).space.counts.valid == valid


@pytest.mark.parametrize(
    ("npus", "tuples", "shapes"), [(512, 136, 4), (1024, 164, 10), (2048, 191, 16)]
)
def test_cosmic_splits_and_shapes_are_counted(npus: int, tuples: int, shapes: int) -> None:
    plan = {
        "of": ["plan.tp", "plan.cp", "plan.pp", "plan.dp"],
        "equals": npus,
        "limits": {"plan.cp": POWERS, "plan.pp": [1, 2, 4], "plan.dp": POWERS},
    }
    assert space_of({"products": [plan]}).counts.valid == tuples
    shape = {"of": [SHAPE], "equals": npus, "values": [4, 8, 16]}
    assert space_of({"products": [shape]}).counts.valid == shapes


def test_vit22b_has_its_published_size() -> None:
    counts = load_study_file("p5_vit22b_64.yaml").space.counts
    assert (counts.raw, counts.valid) == (34_560, 16_128)


def sizes_by_scale_up(name: str, dimensions: int) -> dict[int, int]:
    """Plans on each scale-up domain of a shipped study, whatever the rest of the network."""
    space = load_study_file(name).space
    block = next(block for block in space.blocks if "plan.tp" in block.names)
    domain = "platform.dimensions[0].npus"
    columns = [
        block.names.index(name)
        for name in block.names
        if name.startswith("plan.") or name == domain
    ]
    known = {tuple(row) for row in block.tables[dimensions][:, columns].tolist()}
    at = [block.names[column] for column in columns].index(domain)
    sizes = [space.parameters[domain].choices[row[at]] for row in known]
    return {int(size): sizes.count(size) for size in sorted(set(sizes))}


@pytest.mark.parametrize("dimensions", [2, 3])
def test_llama_3_has_its_published_size(dimensions: int) -> None:
    # plans that keep the rules and fit in 76 GB, per scale-up domain; 7,702 in all
    sizes = sizes_by_scale_up("p2_llama3_405b_16k_h100.yaml", dimensions)
    assert sizes == {8: 860, 16: 1_496, 32: 2_268, 64: 3_078}


def test_llama_3_networks_have_their_published_number() -> None:
    # with the machine's knobs 1,309,986 designs: 16 with pods for each one with rails; algorithms
    # of 3 or 2 dimensions, 3 numbers of chunks, 3 orders, 2 ways of an all-reduce
    counts = load_study_file("p2_llama3_405b_16k_h100.yaml").space.counts
    assert counts.valid == 1_309_986 // 17 * (16 * 4**3 + 4**2) * 3 * 3 * 2


def test_the_mixture_of_experts_has_its_published_size() -> None:
    name = "p3_moe_1p8t_9216.yaml"
    sizes = sizes_by_scale_up(name, 2)
    assert sizes == {8: 8_404, 18: 2_120, 36: 4_753, 72: 8_404, 144: 12_267}
    assert load_study_file(name).space.counts.valid == 1_941_192 * 1_728 == 3_354_379_776


def test_the_recommendation_problem_has_its_published_size() -> None:
    # 11 of 16 pairs of machine size and part in host memory have room
    counts = load_study_file("p4_dlrm_2p6t_h100.yaml").space.counts
    assert counts.valid == 58_392_576


def test_a_rule_may_use_terms_and_choices() -> None:
    space = space_of(
        {
            "axes": {"plan.tp": {"choices": [1, 2, 4]}, "plan.zero_stage": {"choices": [0, 3]}},
            "terms": {
                "shards": "8 / plan.tp",
                "bytes": "16 / (shards if plan.zero_stage == 3 else 1)",
            },
            "require": ["bytes <= 4"],
        }
    )
    designs = [(d["plan.tp"], d["plan.zero_stage"]) for d in space.designs()]
    assert designs == [(1, 3), (2, 3)]


def test_the_number_of_dimensions_may_be_a_knob() -> None:
    space = space_of(
        {
            "products": [
                {
                    "of": [SHAPE],
                    "equals": 64,
                    "values": [2, 4, 8],
                    "dimensions": {2: [0, 3], 3: [0, 1, 3]},
                }
            ],
            "axes": {"platform.dimensions[*].topology": {"choices": ["ring", "switch"]}},
        }
    )
    two = 1  # 8 x 8
    three = sum(a * b * c == 64 for a in (2, 4, 8) for b in (2, 4, 8) for c in (2, 4, 8))
    assert space.counts.valid == two * 2**2 + three * 2**3
    designs = list(space.designs())
    assert len(designs) == space.counts.valid
    assert all(math.prod(v for k, v in d.items() if k.endswith("npus")) == 64 for d in designs)
    assert {len(design) for design in designs} == {4, 6}


def test_a_conditional_knob_counts_only_where_it_has_a_meaning() -> None:
    space = space_of(
        {
            "axes": {
                "plan.tp": {"choices": [1, 2, 4]},
                "plan.sequence_parallel": {"choices": [True, False], "when": "plan.tp > 1"},
            }
        }
    )
    assert space.counts.raw == 6
    assert space.counts.valid == 1 + 2 * 2
    assert sum("plan.sequence_parallel" in design for design in space.designs()) == 4


def test_rules_may_name_values_of_the_run() -> None:
    space = space_of(
        {
            "axes": {"plan.dp": {"choices": [1, 3, 512]}},
            "require": ["workload.global_batch % plan.dp == 0"],
        }
    )
    assert [design["plan.dp"] for design in space.designs()] == [1, 512]


def test_npus_stands_for_the_product_of_the_shape() -> None:
    space = space_of(
        {
            "products": [
                {"of": ["plan.tp", "plan.dp"], "equals": "npus"},
                {"of": [SHAPE], "equals": 16, "values": [2, 4, 8]},
            ]
        },
        dimensions=2,
    )
    assert {d["plan.tp"] * d["plan.dp"] for d in space.designs()} == {16}


def test_narrow_rules_are_counted_apart() -> None:
    counts = space_of(
        {"axes": {"plan.tp": {"choices": [1, 2, 4]}}, "narrow": ["plan.tp < 4"]}
    ).counts
    assert (counts.valid, counts.searched) == (3, 2)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"axes": {}}, "at least one of products and axes"),
        ({"axes": {"plan.tp": {"choices": [1], "ladder": [2]}}}, "exactly one of choices"),
        ({"axes": {"b": {"ladder": ["50 GB/s", 100]}}}, "must have a unit"),
        ({"axes": {"b": {"ladder": ["50 GB/s", "10 s"]}}}, "must have one of the units"),
        ({"axes": {"b": {"ladder": ["50 GB/s", "50 GB/s"]}}}, "values must rise"),
        ({"axes": {"b": {"low": "2 s", "high": "1 s"}}}, "low must be below high"),
        ({"axes": {"a": {"choices": [1, 2]}}, "require": ["aa < 2"]}, "did you mean 'a'"),
        ({"axes": {"a": {"choices": [1, 2]}}, "require": ["a > 2"]}, "at least one combination"),
        ({"axes": {"a": {"low": 1.0, "high": 2.0}}, "require": ["a > 1"]}, "has a range"),
        ({"axes": {"a": {"choices": [1]}}, "terms": {"a": "a + 1"}}, "a word that no knob has"),
        ({"axes": {"a": {"choices": [1]}}, "terms": {"b": "c + 1"}}, "may name knobs and values"),
        ({"axes": {"a": {"choices": [1, 1]}}}, "each choice may stand once"),
        ({"products": [{"of": ["a", "b"], "equals": 7, "values": [2]}]}, "at least one comb"),
        ({"products": [{"of": ["a"], "equals": "npus"}]}, "number of NPUs is known"),
        ({"products": [{"of": [SHAPE], "equals": 8, "dimensions": [9]}]}, "must keep positions"),
    ],
)
def test_a_space_that_makes_no_sense_is_told_so(data: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        space_of(data)


def test_rules_that_tie_too_much_are_refused_with_the_size() -> None:
    axes = {f"k{i}": {"choices": list(range(100))} for i in range(4)}
    with pytest.raises(ConfigError, match="at most 2,000,000 combinations"):
        space_of({"axes": axes, "require": ["k0 + k1 + k2 + k3 < 7"]})
