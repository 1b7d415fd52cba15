"""Reads many traces: each content once, and small files many at a time."""

import os
from collections.abc import Callable, Iterator
from importlib.util import source_hash
from itertools import pairwise
from pathlib import Path

import numpy as np

from simcore.files.input_file import GZIP_MAGIC
from simcore.formats.chakra.read import check_metadata, decode_frames, read_trace
from simcore.formats.chakra.stream import is_legacy
from simcore.formats.chakra.trace import Trace, Traces
from simcore.formats.chakra.wire import WireError
from simcore.kernels.native import call

Content = tuple[int, bytes] | tuple[bytes, ...]
"""Mark that distinguishes files: the length of short ones, and 64 bits of each block, as
Python does for sources."""

BATCH_BYTES = 2 << 20  # decoded, it still fits caches, and takes little beside the programs
_BLOCK_BYTES = 65536
_SHORTEST_MESSAGE = 2
_SHORT_METADATA = 128


class TraceReader:
    """Reads the traces at some paths.

    Attributes:
        content_of: Per path read so far, which of the distinct contents it has, in the order in
            which they are handed out.
    """

    def __init__(self, paths: list[str], open_file: Callable[[int], tuple[int, int]]) -> None:
        """Prepare for reading.

        Args:
            paths: The files.
            open_file: Open a file by its number; returns descriptor and size.
        """
        self.content_of: list[int] = []
        self._paths, self._open = paths, open_file
        self._known: dict[Content, int] = {}
        self._buffer = np.empty(BATCH_BYTES, np.uint8)
        self._frames = np.empty((BATCH_BYTES // _SHORTEST_MESSAGE, 2), np.int64)
        self._bounds: list[int] = [0]
        self._batch: list[Path] = []
        self._metadata = b""

    def traces(self) -> Iterator[Trace]:
        """The distinct traces, some at a time.

        Raises:
            ConfigError: A file is missing, cut, or no trace; names the place.
        """
        for number, path in enumerate(self._paths):
            descriptor, size = self._open(number)
            try:
                if self._bounds[-1] + size > BATCH_BYTES >= size:
                    yield from self._taken()
                if size > BATCH_BYTES:
                    if self._is_new(_blocks(descriptor)):
                        yield from self._taken()
                        yield read_trace(Path(path))
                else:
                    self._hold(path, descriptor, size)
            finally:
                os.close(descriptor)
        yield from self._taken()

    def _is_new(self, content: Content) -> bool:
        before = len(self._known)
        self.content_of.append(self._known.setdefault(content, before))
        return self.content_of[-1] == before

    def _hold(self, path: str, descriptor: int, size: int) -> None:
        begin = self._bounds[-1]
        view = self._buffer.data[begin : begin + size]
        got = os.readv(descriptor, [view]) if size else 0
        if self._is_new((got, source_hash(view[:got]))):
            self._batch.append(Path(path))
            self._bounds.append(begin + got)

    def _taken(self) -> Iterator[Trace]:
        """The files in the buffer: all at once, or, where one of them is special, one by one."""
        paths, self._batch = self._batch, []
        bounds, self._bounds = self._bounds, [0]
        if not paths:
            return
        traces = self._decoded(paths, bounds)
        if traces is None:
            for path in paths:
                yield read_trace(path)
        else:
            yield traces

    def _decoded(self, paths: list[Path], bounds: list[int]) -> Traces | None:
        after = [self._after_metadata(a, b) for a, b in pairwise(bounds)]
        if min(after) < 0:
            return None
        first = np.empty(len(paths) + 1, np.int64)
        spans = np.array([after, bounds[1:]], np.int64).T.copy()
        if call("find_all_frames", self._buffer, spans, self._frames, first) < len(paths):
            return None
        frames = self._frames[: first[-1]]
        decoded, rows, ends, deps = decode_frames(self._buffer, frames)
        if decoded < frames.shape[0]:
            return None
        used = ends[-1].tolist() if ends.size else (0, 0)
        rows["offset"] -= np.repeat(bounds[:-1], np.diff(first))
        starts = np.concatenate((np.zeros((1, 2), np.int64), ends))
        return Traces(
            path=paths[0],
            first_message=b"",
            table=rows,
            data_start=np.ascontiguousarray(starts[:, 0]),
            data_deps=deps[0][: used[0]],
            ctrl_start=np.ascontiguousarray(starts[:, 1]),
            ctrl_deps=deps[1][: used[1]],
            paths=tuple(paths),
            bounds=first,
        )

    def _after_metadata(self, begin: int, end: int) -> int:
        """Start of the nodes; -1: the file does not begin with short, plain metadata."""
        head = self._buffer[begin : min(end, begin + _SHORT_METADATA)].tobytes()
        length = head[0] if head else 0
        content = head[1 : 1 + length]
        if not 0 < length < _SHORT_METADATA - 1 or len(content) < length:
            return -1
        if content != self._metadata:
            try:
                if head.startswith(GZIP_MAGIC) or is_legacy(content):
                    return -1
                check_metadata(content)
            except WireError:
                return -1
            self._metadata = content
        return begin + 1 + length


def _blocks(descriptor: int) -> tuple[bytes, ...]:
    nothing = source_hash(b"")
    return tuple(iter(lambda: source_hash(os.read(descriptor, _BLOCK_BYTES)), nothing))
