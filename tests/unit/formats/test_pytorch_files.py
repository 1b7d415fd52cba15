"""PyTorch and Kineto traces that hold what cannot be are refused at the place of the value."""

import copy
import gzip
import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from simcore.errors import ConfigError
from simcore.formats.pytorch.convert import convert_pytorch
from simcore.formats.pytorch.device import read_device_trace
from simcore.formats.pytorch.host import read_host_trace

THREAD = "[pytorch|profiler|execution_trace|thread]"
TENSORS = {"values": [[1, 2, 0, 64, 4, "cuda:0"]], "shapes": [[8]], "types": ["Tensor(float)"]}
NODES = [
    {"id": 1, "name": THREAD, "ctrl_deps": 1},
    *(
        {
            "id": 2 + number,
            "name": "record_param_comms",
            "ctrl_deps": 1,
            "inputs": TENSORS,
            "attrs": [{"name": "rf_id", "value": 10 + number}],
        }
        for number in range(2)
    ),
]


def event(category: str, name: str, ts: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "tid": 1, "ts": ts, "dur": 5, "args": args}


EVENTS = [
    event("cpu_op", "record_param_comms", 0, **{"External id": 1, "Record function id": 10}),
    event("cuda_runtime", "cudaLaunchKernel", 1, **{"External id": 1, "correlation": 7}),
    event("kernel", "ncclDevKernel_AllReduce", 2, correlation=7, stream=3),
]


def convert(folder: Path, nodes: Any = None, events: Any = None) -> int:
    host = {"schema": "1.1.1", "nodes": NODES if nodes is None else nodes}
    (folder / "host.json").write_text(json.dumps(host))
    (folder / "device.json").write_text(json.dumps({"traceEvents": events or EVENTS}))
    device = read_device_trace(folder / "device.json")
    return len(convert_pytorch(read_host_trace(folder / "host.json"), device).nodes)


def changed(entries: list[Any], at: int, **values: Any) -> list[Any]:
    copied = copy.deepcopy(entries)
    copied[at].update(values)
    return copied


def test_the_sound_traces_are_converted(tmp_path: Path) -> None:
    assert convert(tmp_path) > 2


@pytest.mark.parametrize(
    ("at", "values", "sentence"),
    [
        (1, {"id": 1}, r"host\.json nodes: each needs an id of its own, but got 1\."),
        (1, {"id": True}, r"host\.json nodes\[1\]\.id: must be a whole number"),
        (1, {"id": 2**64}, r"nodes\[1\]\.id: must be a whole number from 0 to 2\^63 - 1"),
        (1, {"ctrl_deps": "x"}, r"nodes\[1\]\.ctrl_deps: must be a whole number"),
        (1, {"name": ["x"]}, r"nodes\[1\]\.name: must be a text"),
        (1, {"attrs": 3}, r"nodes\[1\]\.attrs: must be a list, but got 3"),
        (1, {"attrs": [{"name": "tid", "value": 2**70}]}, r"nodes\[1\] tid: must be a whole"),
        (1, {"inputs": {"values": 5}}, r"nodes\[1\]\.inputs\.values: must be a list"),
        (
            1,
            {"inputs": {**TENSORS, "values": [[1, 2, 0, 64, "x", "cuda"]]}},
            r"node 2 \(.*\): a tensor must list",
        ),
        (
            1,
            {"inputs": {**TENSORS, "values": [[1, 2, 0, 2**62, 4, "cuda"]]}},
            r"node 2 \(.*\): a tensor must list",
        ),
        (2, {"attrs": [{"name": "rf_id", "value": 10}]}, "needs an rf_id of its own, but got 10"),
    ],
)
def test_a_host_node_that_cannot_be_is_told(
    at: int, values: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        convert(tmp_path, nodes=changed(NODES, at, **values))


def test_operators_that_call_each_other_in_a_circle_are_told(tmp_path: Path) -> None:
    nodes = [{**NODES[0], "ctrl_deps": 2}, NODES[1]]
    (tmp_path / "host.json").write_text(json.dumps({"schema": "1.1.1", "nodes": nodes}))
    with pytest.raises(ConfigError, match="node 2: no operator may be called by one that it calls"):
        convert_pytorch(read_host_trace(tmp_path / "host.json"))


@pytest.mark.parametrize(
    ("at", "values", "sentence"),
    [
        (0, {"tid": [1]}, r"device\.json traceEvents\[0\]\.tid: must be a number or a text"),
        (0, {"ts": float("nan")}, r"traceEvents\[0\]\.ts: must be a time"),
        (0, {"dur": -1}, r"traceEvents\[0\]\.dur: must be a time from 0"),
        (0, {"dur": 10**400}, r"traceEvents\[0\]\.dur: must be a time from 0"),
        (0, {"name": 4}, r"traceEvents\[0\]\.name: must be a text"),
        (2, {"args": {"stream": "x"}}, r"traceEvents\[2\]\.args\.stream: must be a whole number"),
        (2, {"args": {"correlation": 1e300}}, r"traceEvents\[2\]\.args\.correlation: must be"),
        (2, {"args": {"Process Group Name": 1}}, r"args\.Process Group Name: must be a text"),
    ],
)
def test_a_device_event_that_cannot_be_is_told(
    at: int, values: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        convert(tmp_path, events=changed(EVENTS, at, **values))


def test_events_of_kinds_that_are_not_used_may_hold_anything(tmp_path: Path) -> None:
    odd = {"ph": "X", "cat": "python_function", "ts": "x", "tid": [], "args": 3}
    assert convert(tmp_path, events=[*EVENTS, odd, 5, None]) == convert(tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"[" * 100_000, "must have at most 64 levels"),
        (b'{"nodes": ["\\ud800"]}', "must hold whole characters"),
        (b'{"nodes": ' + b"9" * 5000 + b"}", "must be valid JSON, but got 'a number of too many"),
        (gzip.compress(bytes(100_000_000), mtime=0), "must unpack to at most 67,108,864 bytes"),
        (b"\xff\xfe{\0}\0", "must be UTF-8 text"),
    ],
)
def test_json_that_is_damaged_or_unfolds_is_refused_at_once(
    content: bytes, sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "host.json").write_bytes(content)
    start = process_time()
    with pytest.raises(ConfigError, match=sentence):
        read_host_trace(tmp_path / "host.json")
    assert process_time() - start < 2


def test_brackets_in_texts_are_no_levels(tmp_path: Path) -> None:
    nodes = changed(NODES, 1, name='[["\\' * 200)
    assert convert(tmp_path, nodes=nodes) == convert(tmp_path)


def test_many_events_of_one_thread_take_time_in_proportion(tmp_path: Path) -> None:
    operators = [event("cpu_op", "aten::mm", 3000.0 * number) for number in range(20_000)]
    start = process_time()
    convert(tmp_path, events=[*EVENTS, *operators])
    assert process_time() - start < 5
