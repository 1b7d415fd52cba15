"""Exact max-min flows, routes and structure of graphs: golden/flow."""

import csv
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from every_case import with_every

from simcore.flows.case import case_of
from simcore.flows.simulate import simulate_flows
from simcore.graphs.families import FAMILIES, build_family
from simcore.graphs.read import NetworkFile
from simcore.graphs.structure import describe

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "flow"
CASES = sorted(FOLDER.glob("cases/*.json"))
NUMBERS = ["npus", "switches", "links", "npu_ports_min", "npu_ports_max", "distance_sum"]
NUMBERS += ["diameter_links", "diameter_switches"]
TABLES = ("switches_by_tier", "links_by_kind", "radix_by_tier")


def _rows() -> list[dict[str, str]]:
    if not FOLDER.exists():
        return []
    with (FOLDER / "structure.csv").open() as file:
        return list(csv.DictReader(file))


ROWS = _rows()
pytestmark = pytest.mark.skipif(not CASES, reason="needs shared/golden/flow")


def _plain(route: list[Any]) -> list[Any]:
    return [(s[0], Fraction(s[1])) if isinstance(s, list | tuple) else s for s in route]


@with_every("path", CASES)
def test_flows_end_and_go_where_exact_arithmetic_says(path: Path) -> None:
    data = json.loads(path.read_text())
    want = data["expect"]
    case = case_of(data)
    got = simulate_flows(case.graph, case.routes, case.flows, rates="rates" in want)
    np.testing.assert_allclose(got.finish_ns, want["finish_ns"], rtol=want["rel_tol"])
    carried = [float(Fraction(str(number))) for number in want["link_bytes"]]
    np.testing.assert_allclose(got.link_bytes, carried, rtol=1e-12)
    if case.routed is not None:
        assert list(map(_plain, case.routed)) == list(map(_plain, want["routes"]))  # type: ignore[arg-type]
    if got.rates is not None:
        for steps, expected in zip(got.rates, want["rates"], strict=True):
            for (begin, rate), (end, _) in itertools.pairwise(expected):
                if end - begin > 2:
                    middle = (begin + end) / 2
                    at = [step for step in steps if step[0] <= middle][-1]
                    assert at[1] == pytest.approx(rate, rel=1e-6)


def test_families_number_nodes_and_cables_as_the_files_do() -> None:
    for path in CASES:
        graph = json.loads(path.read_text())["graph"]
        if "family" in graph:
            built = build_family(FAMILIES[graph["family"]], graph["params"])
            ends = [row[1:3] for row in graph["links"]]
            got = np.stack([built.link_from, built.link_to], axis=1).tolist()
            assert (built.nodes, built.npus) == (graph["nodes"], graph["npus"]), path.stem
            assert got == ends, path.stem


@with_every("row", ROWS)
def test_counts_of_networks_are_those_counted_by_others(row: dict[str, str]) -> None:
    file = NetworkFile(
        family=row["family"],
        params=json.loads(row["params"]),
        npus_forward=row["npus_forward"] == "True",
    )
    formula = file.formula()
    if formula is None and not row["bisection_links"]:
        formula = 0, "not looked for: nothing to hold it against"
    pairs = [pair[:2] for pair in json.loads(row["pairs"])]
    got = describe(file.graph(), pairs, formula)
    assert {key: getattr(got, key) for key in NUMBERS} == {key: int(row[key]) for key in NUMBERS}
    assert {k: getattr(got, k) for k in TABLES} == {k: json.loads(row[k]) for k in TABLES}
    assert got.pairs == json.loads(row["pairs"])
    if row["bisection_links"]:
        assert got.bisection_links == int(row["bisection_links"])
