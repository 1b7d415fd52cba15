"""Knobs over algorithms: every entry of the registry is offered exactly where it is admitted."""

from itertools import product
from typing import Any

import pytest

from dse.study.compile import compile_study
from simcore import ConfigError, RunTemplate, admitted_algorithms
from simcore.collectives import ALGORITHMS, SYNTHESISED, algorithm_named, runnable
from simcore.machine.system import ALGORITHM_KEYS
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES

SHAPES = [("switch", 8), ("switch", 6), ("ring", 4), ("fully_connected", 2), ("mesh", 9)]


@pytest.mark.parametrize("key", ALGORITHM_KEYS)
def test_an_algorithm_is_admitted_where_it_does_the_collective_itself(key: str) -> None:
    kind = CollectiveKind[key.upper()]
    for (topology, npus), network in product(SHAPES, (False, True)):
        found = admitted_algorithms(key, topology, npus, network=network)
        for name in ALGORITHMS:
            algorithm = algorithm_named(name)
            itself = runnable(algorithm, kind, npus) is algorithm
            if name == "in_network":
                itself &= TOPOLOGIES[topology].has_switches
            assert (name in found) == itself, (key, topology, npus, name)
        may = key in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
        assert (SYNTHESISED in found) == (network and may)


def test_an_unknown_collective_is_named() -> None:
    with pytest.raises(ConfigError, match=r"collective: must be one of all_reduce.*'all_reduce'"):
        admitted_algorithms("allreduce", "ring", 4)


def study(platform: dict[str, Any], axes: dict[str, Any], **space: Any) -> Any:
    return compile_study({
        "version": 1,
        "run": {
            "workload": {"model": "gpt3_13b", "sequence": 512, "global_batch": 16},
            "platform": {"npu": "a100_80", **platform},
            "plan": {"tp": 4, "dp": 4},
        },
        "space": {"axes": axes, **space},
        "objectives": {"iteration_time": "minimise"},
    })  # fmt: skip


LINK = {"bandwidth": "50 GB/s", "latency": "500 ns"}
STACK = {
    "dimensions": [
        {"topology": "ring", "npus": 4, **LINK},
        {"topology": "switch", "npus": 4, **LINK},
    ]
}


def test_dimensions_of_one_form_each_offer_what_they_admit() -> None:
    axes = {
        "system.all_reduce[*]": {"choices": "admitted"},
        "system.all_to_all[*]": {"choices": "admitted"},
    }
    knobs = study(STACK, axes).space.parameters
    for slot, key in product((0, 1), ("all_reduce", "all_to_all")):
        topology = ("ring", "switch")[slot]
        assert knobs[f"system.{key}[{slot}]"].choices == admitted_algorithms(key, topology, 4)
    assert "in_network" in knobs["system.all_reduce[1]"].choices
    assert "in_network" not in knobs["system.all_reduce[0]"].choices


def test_forms_that_knobs_choose_tie_algorithms_by_rules() -> None:
    axes = {
        "system.all_reduce[0]": {"choices": "admitted"},
        "platform.dimensions[0].topology": {"choices": ["ring", "switch"]},
    }
    products = [{"of": ["platform.dimensions[*].npus"], "equals": 24}]
    space = study(STACK, axes, products=products).space
    (block,) = [block for block in space.blocks if "system.all_reduce[0]" in block.names]
    seen = set()
    for row in block.tables[2].tolist():
        values = {
            name: space.parameters[name].choices[code]
            for name, code in zip(block.names, row, strict=True)
        }
        form = values["platform.dimensions[0].topology"], values["platform.dimensions[0].npus"]
        seen.add((*form, values["system.all_reduce[0]"]))
    expected = {
        (topology, npus, name)
        for topology, npus in product(("ring", "switch"), (2, 3, 4, 6, 8, 12))
        for name in admitted_algorithms("all_reduce", topology, npus)
    }
    assert seen == expected


def test_levels_of_a_network_have_knobs_of_their_own() -> None:
    network = {"family": "torus", "params": {"dims": [4, 4]}, **LINK}
    axes = {"system.all_gather[*]": {"choices": "admitted"}}
    found = study({"network": network}, axes)
    knobs = found.space.parameters
    assert list(knobs) == ["system.all_gather[0]", "system.all_gather[1]"]
    assert all(SYNTHESISED in knob.choices for knob in knobs.values())
    run = RunTemplate.from_table(found.file.run).with_values(
        {"system.all_gather[0]": "ring", "system.all_gather[1]": SYNTHESISED}
    )
    assert run.system.all_gather == ("ring", SYNTHESISED)


@pytest.mark.parametrize(
    ("axes", "rule"),
    [
        ({"plan.tp": {"choices": "admitted"}}, "must be a list, but for algorithms"),
        ({"system.all_redcue": {"choices": "admitted"}}, "must be one of .*'all_reduce'"),
    ],
)
def test_a_knob_of_no_algorithm_is_refused(axes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        study(STACK, axes)
