"""Timelines keep the rules of the trace format and of the iteration that they show."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

import simcore
from simcore.cli.simulate import simulate
from simcore.formats.timeline.timeline import Timeline

RUN: dict[str, Any] = {
    "workload": {"model": "gpt3_175b_4layers", "sequence": 128, "global_batch": 16},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "ring", "npus": 4, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "switch", "npus": 4, "bandwidth": "25 GB/s", "latency": "1700 ns"},
        ],
    },
    "plan": {"tp": 4, "pp": 2, "dp": 2},
}
SCHEDULES: dict[str, dict[str, Any]] = {
    "gpipe": {"plan.schedule": "gpipe"},
    "1f1b": {},
    "repeats": {"plan.recompute": "full"},
    "interleaved": {"plan.interleave": 2},
    "zb_h1": {"plan.schedule": "zb_h1"},
    "overlapped": {"plan.schedule": "1f1b_overlapped"},
    "dualpipe": {"plan.schedule": "dualpipe", "plan.interleave": 2},
    "congestion": {"backend": "congestion_aware_multidim"},
    "one stage": {"plan.pp": 1, "plan.dp": 4},
}


@pytest.fixture(scope="module", params=SCHEDULES, ids=str)
def laid_out(request: pytest.FixtureRequest) -> Timeline:
    template = simcore.RunTemplate.from_table(RUN)
    return simcore.timeline_run(template.with_values(SCHEDULES[request.param]))


@pytest.fixture(scope="module")
def events(laid_out: Timeline) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(laid_out.trace())["traceEvents"]
    return found


def _ns(us: float) -> int:
    return round(us * 1000)


def _tracks(events: list[dict[str, Any]]) -> dict[tuple[int, int], list[tuple[int, int, str]]]:
    tracks = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = _ns(event["ts"])
            slice_ = (start, start + _ns(event["dur"]), event["name"])
            tracks[event["pid"], event["tid"]].append(slice_)
    return tracks


def test_slices_of_a_track_never_overlap_and_lie_in_the_iteration(
    laid_out: Timeline, events: list[dict[str, Any]]
) -> None:
    tracks = _tracks(events)
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    assert set(tracks) == named
    for slices in tracks.values():
        ordered = sorted(slices)
        assert all(a[1] <= b[0] for a, b in pairwise(ordered))
        assert ordered[0][0] >= 0
        assert all(0 <= start <= end <= laid_out.time_ns for start, end, _ in ordered)


def test_every_message_has_an_arrow_from_its_send_to_its_receive(
    events: list[dict[str, Any]],
) -> None:
    tracks = _tracks(events)
    ends: dict[str, dict[int, int]] = {"s": {}, "f": {}}
    for event in events:
        if event["ph"] in ends:
            of_phase = ends[event["ph"]]
            assert event["id"] not in of_phase
            at = of_phase[event["id"]] = _ns(event["ts"])
            word = "send to" if event["ph"] == "s" else "receive from"
            on = [name for a, b, name in tracks[event["pid"], event["tid"]] if a <= at <= b]
            assert any(name.startswith(word) for name in on)
    assert ends["s"].keys() == ends["f"].keys()
    assert all(at <= ends["f"][number] for number, at in ends["s"].items())
    names = [name for slices in tracks.values() for _, _, name in slices]
    assert len(ends["s"]) == sum(name.startswith("send to") for name in names)


def test_the_critical_path_is_a_track_that_sums_to_the_iteration(
    laid_out: Timeline, events: list[dict[str, Any]]
) -> None:
    track = next(e["pid"] for e in events if e.get("args", {}).get("name") == "critical path")
    parts = sorted(_tracks(events)[track, 1])
    assert parts[0][0] == 0
    assert all(a[1] == b[0] for a, b in pairwise(parts))
    assert sum(end - start for start, end, _ in parts) == laid_out.time_ns


def test_slices_tell_work_bytes_group_and_dimensions(events: list[dict[str, Any]]) -> None:
    told: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event["ph"] == "X" and "cat" in event:
            told[event["cat"]] |= event["args"].keys()
    assert told["forward"] >= {"flop", "bytes", "phase", "microbatch"}
    assert told["collective"] >= {"bytes", "group", "group size", "dimensions", "phase"}
    tensor = [e["args"] for e in events if e.get("cat") == "collective" and e["ph"] == "X"]
    of_tp = [args for args in tensor if args.get("group") == "tp"]
    assert of_tp
    assert all(args["dimensions"] == [0] and args["group size"] == 4 for args in of_tp)
    messages = [e["args"] for e in events if e.get("cat") == "message" and e["ph"] == "X"]
    assert all(args.get("dimensions", [1]) == [1] for args in messages)


def test_memory_counters_reach_the_footprint_and_no_more(
    laid_out: Timeline, events: list[dict[str, Any]]
) -> None:
    graph = laid_out.nodes.graph
    needed = simcore.footprint(graph.workload, graph.plan)
    peaks: dict[int, int] = defaultdict(int)
    for event in events:
        if event["ph"] == "C":
            peaks[event["pid"]] = max(peaks[event["pid"]], sum(event["args"].values()))
    assert peaks == {stage.stage: stage.total_bytes for stage in needed.stages}


def test_the_picture_has_a_title_axes_and_every_colour_in_its_legend(laid_out: Timeline) -> None:
    root = ElementTree.fromstring(laid_out.picture("a <plan> & its time"))
    ns = "{http://www.w3.org/2000/svg}"
    assert root.get("role") == "img"
    assert root.findtext(f"{ns}title") == "a <plan> & its time"
    texts = [text.text or "" for text in root.iter(f"{ns}text")]
    stages = len(laid_out.nodes.graph.stages)
    assert [f"stage {at}" for at in range(stages)] == [t for t in texts if t.startswith("stage")]
    assert any(text.startswith("time, ") for text in texts)
    drawn = {path.get("class") for path in root.iter(f"{ns}path")} - {"axis"}
    keys = {rect.get("class") for rect in root.iter(f"{ns}rect")} - {"ground"}
    assert drawn == keys
    assert "prefers-color-scheme: dark" in "".join(root.itertext())


def test_the_command_writes_both(tmp_path: Path) -> None:
    run, trace, svg = tmp_path / "run.yaml", tmp_path / "t.json", tmp_path / "t.svg"
    run.write_text(json.dumps({"version": 1, **RUN}))
    arguments = [str(run), "--timeline", str(trace), "--svg", str(svg)]
    assert CliRunner().invoke(simulate, arguments, catch_exceptions=False).exit_code == 0
    assert json.loads(trace.read_text())["traceEvents"]
    assert svg.read_text().startswith("<svg")


def test_the_picture_of_the_documentation_is_the_one_that_its_command_draws(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    page = (root / "docs" / "timelines.md").read_text(encoding="utf-8")
    command = next(
        line
        for line in page.replace("\\\n", "").splitlines()
        if "--svg" in line and "--set" in line
    )
    svg = tmp_path / "pipeline.svg"
    words = command.replace("configs/", f"{root}/configs/").split()[4:]
    words[words.index("pipeline.svg")] = str(svg)
    assert CliRunner().invoke(simulate, words, catch_exceptions=False).exit_code == 0
    assert svg.read_text() == (root / "docs" / "images" / "timeline.svg").read_text()
