"""Structure of networks: formulas against exact search, counts by hand, what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.errors import ConfigError
from simcore.graphs.families import FAMILIES, build_family
from simcore.graphs.read import NetworkFile, graph_of_table
from simcore.graphs.structure import bisection, describe

SMALL = [
    ("ring", {"n": 7}),
    ("mesh", {"dims": [5, 4]}),
    ("mesh", {"dims": [3, 3, 3]}),
    ("mesh", {"dims": [5, 5]}),
    ("torus", {"dims": [5, 4]}),
    ("torus", {"dims": [3, 3, 2]}),
    ("torus", {"dims": [5, 5]}),
    ("torus", {"dims": [4, 3, 2]}),
    ("torus", {"dims": [2, 2]}),
    ("torus", {"dims": [6, 1]}),
    ("hypercube", {"d": 4}),
    ("fully_connected", {"n": 7}),
    ("star", {"n": 9}),
    ("hyperx", {"dims": [3, 3], "terminals": 3}),
    ("hyperx", {"dims": [3, 4], "terminals": 1}),
    ("hyperx", {"dims": [5], "terminals": 2}),
    ("hyperx", {"dims": [2, 3, 3], "terminals": 2}),
    ("leaf_spine", {"leaves": 4, "npus_per_leaf": 2, "spines": 5}),
    ("leaf_spine", {"leaves": 2, "npus_per_leaf": 3, "spines": 1}),
    ("leaf_spine", {"leaves": 6, "npus_per_leaf": 3, "spines": 2, "planes": 2}),
    ("leaf_spine", {"leaves": 4, "npus_per_leaf": 5, "spines": 3, "links_per_pair": 2}),
    ("fat_tree", {"k": 2, "hosts_per_edge": 3}),
    ("fat_tree", {"k": 4, "hosts_per_edge": 1}),
    ("fat_tree", {"k": 4, "hosts_per_edge": 5}),
    ("fat_tree", {"k": 6, "hosts_per_edge": 2}),
]


@pytest.mark.parametrize(("family", "params"), SMALL)
def test_formulas_of_narrowest_cuts_agree_with_exact_search(family: str, params: dict) -> None:  # type: ignore[type-arg]
    file = NetworkFile(family=family, params=params)
    found = bisection(file.graph())
    formula = file.formula()
    assert found.cables is not None
    if formula is not None:
        assert formula[0] == found.cables


def test_a_search_that_gives_up_says_so() -> None:
    graph = build_family(FAMILIES["slim_fly"], {"q": 5, "terminals": 4})
    found = bisection(graph, most_steps=1000)
    assert found.cables is None
    assert "not found in 1,000 steps" in found.method


def test_parts_of_a_network_that_cannot_reach_each_other_are_counted() -> None:
    found = describe(build_family(FAMILIES["mesh"], {"dims": [4], "failed": [1]}), [(0, 3)])
    assert (found.unreachable_pairs, found.diameter_links, found.distance_sum) == (8, None, None)
    assert found.pairs == [[0, 3, None, None]]


def test_ways_are_counted_beyond_64_bits() -> None:
    found = describe(build_family(FAMILIES["mesh"], {"dims": [40, 40]}), [(0, 1599)], (40, ""))
    assert found.pairs == [[0, 1599, 78, 27217014869199032015600]]  # 78 choose 39


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"family": "fat_treee", "params": {"k": 4}}, "did you mean 'fat_tree'"),
        ({"family": "fat_tree", "params": {"k": 5}}, "params.k: must be even"),
        ({"family": "fat_tree", "params": {"n": 5}}, "params.n: unknown key"),
        (
            {"family": "ring", "params": {"n": 4, "failed": [4]}},
            "failed: must be numbers of cables",
        ),
        ({"family": "slim_fly", "params": {"q": 9, "terminals": 1}}, "params.q: must be a prime"),
        (
            {"family": "dragonfly", "params": {"p": 1, "a": 2, "h": 1, "groups": 4}},
            "params.groups: must be at most 3",
        ),
        (
            {
                "family": "nvl_rails",
                "params": {
                    "racks": 1,
                    "npus_per_rack": 8,
                    "nvswitches": 1,
                    "rails": 3,
                    "spines": 0,
                },
            },
            "params.rails: must divide the 8 NPUs",
        ),
        (
            {
                "family": "ring",
                "params": {"n": 4},
                "cables": {"up": {"bandwidth": "1 GB/s", "latency": "1 ns"}},
            },
            "cables: must be kinds of cables that there are: dim0",
        ),
    ],
)
def test_networks_that_cannot_be_built_are_refused_in_one_sentence(
    table: dict[str, object], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        NetworkFile.from_file_data(table, at="").graph()


def test_speeds_are_those_of_the_kind_of_cable() -> None:
    graph = graph_of_table(
        {
            "family": "star",
            "params": {"n": 2},
            "cables": {"npu-switch": {"bandwidth": "3 GB/s", "latency": "2 us"}},
        }
    )
    assert graph.bytes_per_s.tolist() == [3e9] * 4
    assert graph.latency_ns.tolist() == [2000.0] * 4


def test_show_prints_counts_and_writes_them(tmp_path: Path) -> None:
    file, out = tmp_path / "net.json", tmp_path / "out.json"
    file.write_text(json.dumps({"family": "torus", "params": {"dims": [4, 4]}, "pairs": [[0, 5]]}))
    done = CliRunner().invoke(cli, ["network", "show", str(file), "--json", str(out)])
    assert done.exit_code == 0, done.output
    assert "at most 4 links and 0 switches" in done.output
    assert "0 to 5: 2 links, 2 shortest ways" in done.output
    assert json.loads(out.read_text())["bisection_links"] == 8


def test_the_least_bandwidth_between_halves_counts_cables_by_their_speed() -> None:
    speeds = {"bandwidth": "50 GB/s", "latency": "1 us"}
    table = {
        "family": "leaf_spine",
        "params": {"leaves": 2, "npus_per_leaf": 4, "spines": 2},
        "cables": {"leaf-spine": {**speeds, "bandwidth": "150 GB/s"}},
        **speeds,
    }
    file = NetworkFile.from_file_data(table, at="")
    found = describe(file.graph(), formula=file.formula(), has_speeds=True)
    # two cables of 150 GB/s above one leaf, against four of 50 GB/s of the NPUs of the other side
    assert found.bisection_links == 2
    assert found.bisection_bytes_per_s == 200e9
    even = NetworkFile.from_file_data({**table, "cables": {}}, at="")
    found = describe(even.graph(), formula=even.formula(), has_speeds=True)
    assert found.bisection_links == 2
    assert found.bisection_bytes_per_s == 2 * 50e9
    assert describe(even.graph()).bisection_bytes_per_s is None
