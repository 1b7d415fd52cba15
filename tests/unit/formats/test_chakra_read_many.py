"""Many traces at a time are read as each of them would be alone."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from simcore.errors import ConfigError
from simcore.files.input_file import open_descriptor
from simcore.formats.chakra import (
    Metadata,
    Node,
    attribute,
    build_graph,
    read_many,
    read_trace,
    write_trace,
)
from simcore.formats.chakra.read_many import TraceReader
from simcore.formats.chakra.trace import Trace


def write(path: Path, count: int, shift: int = 0, metadata: Metadata | None = None) -> None:
    nodes = [
        Node(
            id=shift + 2 * number,
            name=f"n{number}",
            type=4,
            duration_micros=number + shift,
            data_deps=(shift + 2 * number - 2,) if number % 3 else (),
            ctrl_deps=(shift,) if number > 4 else (),
            attributes=(attribute("num_ops", number),),
        )
        for number in range(count)
    ]
    write_trace(path, metadata or Metadata(version="0.0.4"), nodes)


def reader(paths: list[Path]) -> TraceReader:
    return TraceReader([str(path) for path in paths], lambda n: open_descriptor(paths[n]))


def equal(one: Trace, other: Trace) -> bool:
    columns = ("table", "data_start", "data_deps", "ctrl_start", "ctrl_deps")
    same = [np.array_equal(getattr(one, name), getattr(other, name)) for name in columns]
    return one.path == other.path and all(same)


@pytest.mark.parametrize("batch_bytes", [300, 2000, read_many.BATCH_BYTES])
def test_traces_are_those_of_the_files_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch_bytes: int
) -> None:
    monkeypatch.setattr(read_many, "BATCH_BYTES", batch_bytes)
    paths = [tmp_path / f"w.{number}.et" for number in range(9)]
    for number, path in enumerate(paths):
        write(path, 3 + 5 * (number % 4), shift=100 * (number % 4))
    write(paths[5], 4, metadata=Metadata(version="1.0.0"))
    write(paths[6], 60)
    paths[7].write_bytes(gzip.compress(paths[1].read_bytes()))
    many = reader(paths)
    found = [trace for batch in many.traces() for trace in batch.each()]
    assert many.content_of == [0, 1, 2, 3, 0, 4, 5, 6, 0]
    alone = [read_trace(paths[number]) for number in (0, 1, 2, 3, 5, 6, 7)]
    assert all(equal(one, other) for one, other in zip(found, alone, strict=True))


def test_graphs_of_many_files_are_those_of_each(tmp_path: Path) -> None:
    paths = [tmp_path / f"w.{number}.et" for number in range(4)]
    for number, path in enumerate(paths):
        write(path, 4 + number, shift=10 * number)
    nodes = [Node(id=9, type=4, data_deps=(3,)), Node(id=3, type=4), Node(id=4, type=4)]
    write_trace(paths[2], Metadata(version="0.0.4"), nodes)
    (batch,) = reader(paths).traces()
    graph = build_graph(batch)
    for number, path in enumerate(paths):
        alone = build_graph(read_trace(path))
        first, end = graph.first[number : number + 2].tolist()
        edges = graph.dep_start[first : end + 1]
        assert graph.ids[first:end].tolist() == alone.ids.tolist()
        assert (edges - edges[0]).tolist() == alone.dep_start.tolist()
        assert graph.dep[edges[0] : edges[-1]].tolist() == alone.dep.tolist()


@pytest.mark.parametrize("cut", [0, 1, 5, 60, -1])
def test_a_broken_file_among_many_is_told_as_if_it_were_alone(tmp_path: Path, cut: int) -> None:
    paths = [tmp_path / f"w.{number}.et" for number in range(3)]
    for number, path in enumerate(paths):
        write(path, 8, shift=number)
    paths[1].write_bytes(paths[1].read_bytes()[:cut])
    with pytest.raises(ConfigError) as alone:
        read_trace(paths[1])
    with pytest.raises(ConfigError) as among:
        list(reader(paths).traces())
    assert str(among.value) == str(alone.value)
