"""Every family and routing of the registries keeps its contract."""

import sys
from pathlib import Path

import numpy as np
import pytest
from every_case import with_every

from simcore.errors import ConfigError
from simcore.graphs.families import FAMILIES, Family, build_family
from simcore.graphs.routing import ROUTINGS, Demands
from simcore.graphs.structure import describe

SAMPLES: dict[str, dict[str, object]] = {
    "ring": {"n": 6},
    "mesh": {"dims": [3, 2]},
    "torus": {"dims": [3, 4]},
    "twisted_torus": {"dims": [2, 4], "twist": 2},
    "torus_slice": {"cubes": [1, 2], "cube": 3},
    "hypercube": {"d": 3},
    "fully_connected": {"n": 5},
    "star": {"n": 4},
    "hyperx": {"dims": [2, 3], "terminals": 2},
    "leaf_spine": {"leaves": 3, "npus_per_leaf": 2, "spines": 2},
    "fat_tree": {"k": 4},
    "rails": {"servers": 2, "npus_per_server": 2, "servers_per_pod": 1, "spines": 1},
    "nvl_rails": {"racks": 2, "npus_per_rack": 4, "nvswitches": 2, "rails": 2, "spines": 1},
    "domains": {
        "npus_per_domain": 2,
        "networks": {"mesh": {"family": "mesh", "params": {"dims": [3]}}},
        "outside": "mesh",
    },
    "dragonfly": {"p": 1, "a": 2, "h": 1},
    "dragonfly_plus": {"p": 1, "leaves": 2, "spines": 2, "h": 1},
    "hybrid_cube_mesh": {"generation": "p100"},
    "islands": {"sizes": [2, 3], "joins": [[1, 2]]},
    "bcube": {"n": 2, "k": 1},
    "dcell": {"n": 2, "k": 1},
    "slim_fly": {"q": 3, "terminals": 1},
}
OPTIONS: dict[str, dict[str, object]] = {"dmodk": {"divisors": (1, 2, 4, 8)}}
GRIDS = ("ring", "mesh", "torus", "torus_slice", "hypercube")


def test_every_family_has_a_sample() -> None:
    assert set(SAMPLES) == set(FAMILIES)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_states_its_source_its_parameters_and_a_connected_network(name: str) -> None:
    family = FAMILIES[name]
    assert family.__doc__
    assert family.parameters.__doc__
    graph = build_family(family, SAMPLES[name])
    assert graph.links == 2 * graph.cables
    assert graph.link_from[::2].tolist() == graph.link_to[1::2].tolist()
    assert describe(graph).unreachable_pairs == 0
    if graph.dims:
        assert np.prod(graph.dims) == graph.npus


@pytest.mark.parametrize("name", FAMILIES)
def test_a_failed_cable_is_gone_and_no_other(name: str) -> None:
    whole = build_family(FAMILIES[name], SAMPLES[name])
    less = build_family(FAMILIES[name], {**SAMPLES[name], "failed": [0]})
    assert less.link_from.tolist() == whole.link_from[2:].tolist()
    assert less.nodes == whole.nodes


@with_every("rule", ROUTINGS)
@with_every("name", FAMILIES)
def test_every_routing_finds_ways_in_every_family(name: str, rule: str) -> None:
    graph = build_family(FAMILIES[name], SAMPLES[name])
    source, target = (index.ravel() for index in np.indices((graph.npus, graph.npus)))
    count = len(source)
    demands = Demands(
        source=source, target=target, number=np.arange(count), size_bytes=np.ones(count)
    )
    routing = ROUTINGS[rule]
    options = routing.options.build("", **OPTIONS.get(rule, {}))
    if rule == "dimension_order" and name not in GRIDS:
        with pytest.raises(ConfigError, match="must be asked of a ring, mesh, torus or hypercube"):
            routing.routes(graph, demands, options)
        return
    table = routing.routes(graph, demands, options)
    lengths = np.diff(table.offsets)
    assert (lengths[source == target] == 0).all()
    of_flow = np.repeat(np.arange(count), lengths)
    for node, net in ((source, 1.0), (target, -1.0)):
        out = table.parts * (graph.link_from[table.links] == node[of_flow])
        into = table.parts * (graph.link_to[table.links] == node[of_flow])
        found = np.bincount(of_flow, out - into, count)
        np.testing.assert_allclose(found[source != target], net)


OUTSIDE = '''
from simcore.graphs.families import Family, FamilyParameters
from simcore.graphs.graph import Wiring


class PathParameters(FamilyParameters):
    """Size.

    Attributes:
        n: NPUs.
    """

    n: int


class Path(Family):
    """A path."""

    parameters = PathParameters
    npus_forward = True

    def wire(self, parameters: PathParameters) -> Wiring:
        wiring = Wiring(parameters.n)
        wiring.cables("hop", range(parameters.n - 1), range(1, parameters.n))
        return wiring
'''


def test_a_family_from_outside_is_one_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_path.py").write_text(OUTSIDE)
    tmp_path.chmod(0o700)
    monkeypatch.syspath_prepend(tmp_path)
    family = FAMILIES["own_path:Path"]
    assert isinstance(family, Family)
    found = describe(build_family(family, {"n": 4}))
    assert (found.links, found.diameter_links, found.bisection_links) == (3, 3, 1)
    with pytest.raises(ConfigError, match=r"params\.m: unknown key"):
        build_family(family, {"m": 4})
    del sys.modules["own_path"]
