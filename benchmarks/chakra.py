"""Reads, drains and writes a large Chakra trace; prints one JSON object on its last line.

    python benchmarks/chakra.py [--nodes 200000] [--trace FILE.et]

Without a file it makes one: nodes of about 300 bytes with 6 attributes, like those of a training
step of a large language model. CPU seconds of this process; the first call of each kernel is left
out.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from trace_feeders import drain_v1, drain_v3

from simcore.formats.chakra import (
    Metadata,
    Node,
    Trace,
    attribute,
    read_nodes,
    read_trace,
    write_trace,
)


def made_nodes(count: int) -> list[Node]:
    nodes = []
    for i in range(count):
        name = f"transformer.layer.{i % 96}.attention.query_key_value.forward.batch.{i % 8}.{i}"
        tensors = tuple(f"tensor.{i - j}.{k}" for j in (0, 1) for k in ("value", "4194304"))
        nodes.append(
            Node(
                id=i + 1,
                name=name,
                type=7 if i % 5 == 0 else 4,
                data_deps=tuple(p for p in (i, i - 3) if p > 0),
                duration_micros=i % 700,
                attributes=(
                    attribute("is_cpu_op", False),
                    attribute("num_ops", 1 << 30),
                    attribute("tensor_size", 1 << 22),
                    attribute("comm_type", 0),
                    attribute("comm_size", 1 << 20),
                    attribute("inputs", tensors),
                ),
            )
        )
    return nodes


def timed(work: object, *args: object, **options: object) -> tuple[float, object]:
    start = time.process_time()
    result = work(*args, **options)  # type: ignore[operator]
    return time.process_time() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=200_000)
    parser.add_argument("--trace", type=Path)
    args = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = args.trace or Path(folder) / "w.0.et"
        if args.trace is None:
            nodes = made_nodes(args.nodes)
            seconds, _ = timed(write_trace, path, Metadata(version="0.0.4"), nodes)
            figures["write_nodes_per_s"] = len(nodes) / seconds
            del nodes
        small = Path(folder) / "small.et"
        write_trace(small, Metadata(version="0.0.4"), made_nodes(10))
        drain_v3(read_trace(small))
        seconds, trace = timed(read_trace, path)
        assert isinstance(trace, Trace)
        count = len(trace)
        figures["nodes"] = count
        figures["bytes_per_node"] = path.stat().st_size / count
        figures["read_nodes_per_s"] = count / seconds
        arrays = (trace.table, trace.data_start, trace.data_deps, trace.ctrl_start, trace.ctrl_deps)
        figures["array_bytes_per_node"] = sum(array.nbytes for array in arrays) / count
        figures["drain_v1_nodes_per_s"] = count / timed(drain_v1, trace)[0]
        figures["drain_v3_nodes_per_s"] = count / timed(drain_v3, trace)[0]
        figures["objects_nodes_per_s"] = count / timed(lambda: list(read_nodes(path)[1]))[0]
    print(json.dumps({key: round(value, 1) for key, value in figures.items()}))


if __name__ == "__main__":
    main()
