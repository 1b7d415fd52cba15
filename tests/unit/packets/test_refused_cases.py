"""Cases that break a rule are refused with a sentence that names place, rule and value."""

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner
from packet_cases import GBPS, case, star

from simcore.cli.networks.packets import packets
from simcore.errors import ConfigError
from simcore.packets.case import case_of
from simcore.packets.files.manifest import entries_of, run_entries
from simcore.packets.run import run_case

FLOWS = [[0, 1, 2000, 0, []], [1, 2, 3000, 0, [0]], [2, 0, 1, 0, [0, 1]]]
Change = Callable[[dict[str, Any]], None]


def sound() -> dict[str, Any]:
    return star(3, [list(flow) for flow in FLOWS])


def put(*path: Any, value: Any) -> Change:
    def change(data: dict[str, Any]) -> None:
        for key in path[:-1]:
            data = data[key]
        data[path[-1]] = value

    return change


REFUSED: dict[str, tuple[Change, str]] = {
    "circle": (put("flows", 0, 5, value=[2]), "wait for each other in a circle"),
    "own end": (put("flows", 1, 5, value=[1]), "1 after 1"),
    "self": (put("flows", 0, 2, value=0), "another host than its source"),
    "no flow": (put("flows", 1, 5, value=[7]), "ids of flows of this case"),
    "switch": (put("flows", 0, 2, value=3), "must be a host"),
    "no node": (put("flows", 0, 1, value=9), "must be a host"),
    "empty": (put("flows", 0, 3, value=0), "whole number from 1"),
    "early": (put("flows", 0, 4, value=-1), "whole number from 0"),
    "twice": (put("flows", 1, 0, value=0), "id of one flow alone"),
    "short row": (put("flows", 1, value=[1, 2]), "list of 6 values"),
    "no flows": (put("flows", value=[]), "must hold a flow"),
    "no links": (put("topology", "links", value=[]), "reachable from host 0"),
    "rate 0": (put("topology", "links", 0, 2, value=0), "whole number from 1"),
    "half a rate": (put("topology", "links", 0, 2, value=0.5), "whole number from 1"),
    "delay": (put("topology", "links", 0, 3, value=-5), "whole number from 0"),
    "loop": (put("topology", "links", 0, 1, value=0), "from one node to another"),
    "far": (put("topology", "links", 0, 1, value=17), "from 0 to 3"),
    "rate": (put("topology", "links", 0, 2, value=40 * GBPS), "value for links of 40000000000"),
    "switches": (put("topology", "switches", value=[3, 3]), "named once"),
    "nodes": (put("topology", "num_nodes", value=1), "topology.num_nodes"),
    "many": (put("topology", "num_nodes", value=1 << 20), ""),
    "column": (put("topology", "links_cols", value=["a", "b", "rate", "delay_ns"]), "column"),
    "key": (put("flow", value=[]), "did you mean 'flows'"),
    "parameter": (put("params", "has_window", value=1), "did you mean 'has_win'"),
    "unit": (put("params", "rate_ai", value="20 MB"), "must be a rate"),
    "pint": (put("params", "cc_mode", value=10), "is not"),
    "window": (put("params", "cc_mode", value=3), "has_win"),
    "payload": (put("params", "packet_payload_size", value=0), "greater than or equal to 1"),
    "marks": (put("params", "kmax_kb", value={"100000000000": 1}), "at most params.kmax_kb"),
    "buffer": (put("topology", "switch_buffer_bytes", value=0), "switch_buffer_bytes"),
    "params": (put("params", value=[1]), "params"),
    "name": (put("name", value=7), "must be text"),
    "hops": (put("ecmp_next_hops", value={"rows": [[3, [1], [0]]]}), "next hops of node 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_case_that_breaks_a_rule_is_refused(name: str) -> None:
    change, sentence = REFUSED[name]
    data = sound()
    change(data)
    if name == "many":  # a number of nodes that would take too much memory
        data["params"]["has_win"] = 1
        data["topology"]["links"] += [[3, node, 100 * GBPS, 1] for node in range(4, 200)]
        sentence = "pairs of hosts and nodes"
    with pytest.raises(ConfigError, match=sentence or None) as told:
        run_case(case_of(data))
    assert "\n" not in str(told.value)
    assert str(told.value).endswith(".")


def test_hpcc_refuses_links_that_its_records_cannot_name() -> None:
    links = [[0, 2, 40 * GBPS, 10], [1, 2, 40 * GBPS, 10]]
    data = case(links, [[0, 1, 10, 0, []]], [2], cc_mode=3, has_win=1)
    with pytest.raises(ConfigError, match="records of hops can name"):
        run_case(case_of(data))


def _paths(data: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Ways to all values of *data*."""
    found = [before] if before else []
    inner = data.items() if isinstance(data, dict) else enumerate(data)
    for key, value in inner:
        deeper = isinstance(value, dict | list)
        found += _paths(value, (*before, key)) if deeper else [(*before, key)]
    return found


STRANGE: tuple[Any, ...] = (
    None,
    -1,
    0,
    1.5,
    "x",
    [],
    {},
    True,
    1 << 70,
    float("1e300"),
    "1Gb/s",
    [[]],
)


def test_five_hundred_damaged_cases_run_or_are_refused_with_a_sentence() -> None:
    draw = Random(0)
    sentences = []
    paths = _paths(sound())
    for _ in range(500):
        data = json.loads(json.dumps(sound()))
        put(*draw.choice(paths), value=draw.choice(STRANGE))(data)
        try:
            run_case(case_of(data))
        except ConfigError as error:
            sentences.append(str(error))
    assert len(sentences) > 250
    assert not [told for told in sentences if len(told.splitlines()) != 1]


def test_a_manifest_goes_on_after_a_case_that_is_refused(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(json.dumps(sound()))
    (tmp_path / "bad.json").write_text("{}")
    rows = [
        {"id": "bad", "file": "bad.json", "seeds": [1, 2]},
        {"id": "gone", "file": "gone.json"},
        {"id": "good", "file": "good.json", "seeds": [5]},
    ]
    results = run_entries(entries_of(rows), tmp_path)
    assert {name: sorted(found) for name, found in results.items()} == {
        "bad": ["1", "2"], "gone": ["1"], "good": ["5"],
    }  # fmt: skip
    assert results["bad"]["1"]["status"] == results["gone"]["1"]["status"] == "error"
    assert "topology: this key is required" in results["bad"]["2"]["message"]
    assert results["good"]["5"]["status"] == "ok"


@pytest.mark.parametrize("rows", [{}, [], [1], [{"id": "a"}], [{"id": "a", "file": "b"}] * 2])
def test_a_manifest_that_breaks_a_rule_is_refused(rows: Any) -> None:
    with pytest.raises(ConfigError):
        entries_of(rows)


def test_the_command_runs_a_case_and_writes_results_and_trace(tmp_path: Path) -> None:
    file, out, trace = (tmp_path / name for name in ("case.json", "out.json", "trace.csv"))
    file.write_text(json.dumps(sound()))
    words = [str(file), "--out", str(out), "--trace", str(trace)]
    done = CliRunner().invoke(packets, words, catch_exceptions=False)
    assert done.exit_code == 0
    result = json.loads(out.read_text())["small"]["1"]
    assert [row[5] for row in result["flows"]] == [2, 3, 1]
    lines = trace.read_text().splitlines()
    assert lines[0] == "time_ns,node,kind,flow,seq,wire_bytes,mark,rate_before_bps"
    assert lines[1] == "2166,1,D,0,0,1036,0,0"
    assert len(lines) == 1 + 2 * (2 + 3 + 1)


def test_the_command_refuses_a_manifest_without_a_place_for_results(tmp_path: Path) -> None:
    file = tmp_path / "manifest.json"
    file.write_text(json.dumps([{"id": "a", "file": "b.json"}]))
    with pytest.raises(ConfigError, match="--out"):
        CliRunner().invoke(packets, [str(file)], catch_exceptions=False)
    words = [str(file), "--out", str(tmp_path / "out.json")]
    assert CliRunner().invoke(packets, words).exit_code == 2  # nothing could be run
