"""A systolic array with its buffers in plain Python, word by word and line by line.

Written from the description of SCALE-Sim v2's rules, without sharing a line with the simulator:
demand lines are built in full, and each word of each line is looked up in sets.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

NULL = -1


class Case(NamedTuple):
    """One layer on one array; sizes in words, ``bandwidth`` in words per cycle, 0: CALC."""

    ifmap_h: int
    ifmap_w: int
    filt_h: int
    filt_w: int
    channels: int
    num_filt: int
    stride_h: int
    stride_w: int
    dataflow: str
    rows: int
    cols: int
    ifmap_words: int
    filter_words: int
    ofmap_words: int
    bandwidth: int


class Operands:
    """Addresses of the elements of a layer's three matrices."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.eh = -(-(case.ifmap_h - case.filt_h + case.stride_h) // case.stride_h)
        self.ew = -(-(case.ifmap_w - case.filt_w + case.stride_w) // case.stride_w)
        self.m, self.n = self.eh * self.ew, case.num_filt
        self.k = case.filt_h * case.filt_w * case.channels

    def ifmap(self, pixel: int, element: int) -> int:
        case = self.case
        if pixel >= self.m or element >= self.k:
            return NULL
        y = pixel // self.ew * case.stride_h + element // (case.filt_w * case.channels)
        x = pixel % self.ew * case.stride_w
        x += element % (case.filt_w * case.channels) // case.channels
        if y >= case.ifmap_h or x >= case.ifmap_w:
            return NULL
        return (y * case.ifmap_w + x) * case.channels + element % case.channels

    def filter(self, element: int, number: int) -> int:
        return number * self.k + element if element < self.k and number < self.n else NULL

    def ofmap(self, pixel: int, number: int) -> int:
        return pixel * self.n + number if pixel < self.m and number < self.n else NULL


Line = tuple[list[int], list[int], list[int]]


def demand(case: Case, of: Operands) -> Iterator[Line]:
    """Words that the array asks for, cycle by cycle: of ifmap, filter and ofmap."""
    rows, cols = case.rows, case.cols
    across, down, time = {
        "os": (of.m, of.n, of.k),
        "ws": (of.k, of.n, of.m),
        "is": (of.k, of.m, of.n),
    }[case.dataflow]
    for col_fold in range(-(-down // cols)):
        for row_fold in range(-(-across // rows)):
            r0, c0 = row_fold * rows, col_fold * cols
            if case.dataflow == "os":
                yield from _output_stationary(of, r0, c0, rows, cols, time)
            else:
                yield from _stationary(case, of, r0, c0, time)


def _output_stationary(
    of: Operands, r0: int, c0: int, rows: int, cols: int, time: int
) -> Iterator[Line]:
    for line in range(time + rows + cols - 2):
        a = [of.ifmap(r0 + r, line - r) if 0 <= line - r < time else NULL for r in range(rows)]
        b = [of.filter(line - c, c0 + c) if 0 <= line - c < time else NULL for c in range(cols)]
        out = []
        for c in range(cols):
            j = line - (time - 1) - c
            if 0 <= j < rows:
                out.append(of.ofmap(r0 + rows - 1 - j, c0 + c))
        yield a, b, out


def _stationary(case: Case, of: Operands, r0: int, c0: int, time: int) -> Iterator[Line]:
    rows, cols = case.rows, case.cols
    for line in range(time + 2 * rows + cols - 2):
        held = [NULL] * cols
        if line < rows:
            k = r0 + rows - 1 - line
            held = [
                of.filter(k, c0 + c) if case.dataflow == "ws" else of.ifmap(c0 + c, k)
                for c in range(cols)
            ]
        streamed = []
        for r in range(rows):
            t = line - rows - r
            word = NULL
            if 0 <= t < time:
                word = of.ifmap(t, r0 + r) if case.dataflow == "ws" else of.filter(r0 + r, t)
            streamed.append(word)
        out = []
        for c in range(cols):
            t = line - (2 * rows - 1) - c
            if 0 <= t < time:
                out.append(of.ofmap(t, c0 + c) if case.dataflow == "ws" else of.ofmap(c0 + c, t))
        yield (streamed, held, out) if case.dataflow == "ws" else (held, streamed, out)


def streams(case: Case, of: Operands) -> tuple[list[int], list[int]]:
    """Order in which the two read buffers fetch their operand; slots may be null."""
    rows, cols = case.rows, case.cols
    row_starts = {"os": range(0, of.m, rows)}.get(case.dataflow, range(0, of.k, rows))
    col_starts = range(0, of.m if case.dataflow == "is" else of.n, cols)
    if case.dataflow == "os":
        a = [[of.ifmap(r0 + r, k) for r in range(rows)] for r0 in row_starts for k in range(of.k)]
        b = [[of.filter(k, c0 + c) for c in range(cols)] for c0 in col_starts for k in range(of.k)]
        return _diagonals(a), _diagonals(b)
    if case.dataflow == "ws":
        a = [[of.ifmap(m, r0 + r) for r in range(rows)] for r0 in row_starts for m in range(of.m)]
        b = [[of.filter(k, c0 + c) for c in range(cols)] for c0 in col_starts for k in range(of.k)]
        return _diagonals(a), [word for row in b for word in row]
    a = [[of.ifmap(c0 + c, k) for c in range(cols)] for c0 in col_starts for k in range(of.k)]
    b = [[of.filter(r0 + r, n) for r in range(rows)] for r0 in row_starts for n in range(of.n)]
    return [word for row in a for word in row], _diagonals(b)


def _diagonals(matrix: list[list[int]]) -> list[int]:
    height, width = len(matrix), len(matrix[0])
    order = []
    for d in range(height + width - 1):
        for row in range(min(d, height - 1), max(-1, d - width), -1):
            order.append(matrix[row][d - row])
    return order


class Counted:
    """Read buffer that never stalls: its bandwidth is an answer (CALC)."""

    def __init__(self, words: int) -> None:
        self.set_words = words // 100
        self.seen: set[int] = set()
        self.reads = 0
        self.first: int | None = None
        self.flush: int | None = None

    def line(self, words: list[int], cycle: int) -> int:
        for word in words:
            if word == NULL:
                continue
            if self.first is None:
                self.first = cycle
            if word not in self.seen:
                self.reads += 1
                self.seen.add(word)
                if len(self.seen) >= 50 * self.set_words:
                    self.seen.clear()
                    self.flush = cycle
        return 0

    def span(self) -> tuple[int, int]:
        if self.flush is None:
            sets = -(-self.reads // self.set_words)
            return -(-sets * self.set_words // 10), -1
        return (self.first or 0) - (-(-50 * self.set_words // 10)), self.flush + 1

    def account(self) -> tuple[int, int, int]:
        start, stop = self.span()
        return (-start if self.flush is None else start), stop, self.reads


class Fetched:
    """Read buffer with a given bandwidth (USER)."""

    def __init__(self, words: int, bandwidth: int, stream: list[int]) -> None:
        self.half = words - -(-words // 2)
        active = -(-words // 2)
        each = -(-words // 100)
        real = [word for word in stream if word != NULL]
        self.groups = [
            set(real[i : i + each]) for i in range(0, len(real) - len(real) % each + 1, each)
        ]
        count = len(self.groups)
        self.active = min(count, -(-active // each))
        self.ahead = min(count - self.active, -(-self.half // each))
        self.start, self.last, self.fetches = 0, -1, 0
        lines = -(-len(stream) // bandwidth)
        self.initial = min(-(-active // bandwidth), lines)
        self.bandwidth = bandwidth

    def holds(self, word: int) -> bool:
        count = len(self.groups)
        return any(word in self.groups[(self.start + i) % count] for i in range(self.active))

    def line(self, words: list[int], cycle: int) -> int:
        off = 1
        for word in words:
            while word != NULL and not self.holds(word):
                self.start = (self.start + self.ahead) % len(self.groups)
                self.last += -(-self.half // self.bandwidth) + 1
                self.fetches += 1
                off += max(0, self.last - (cycle + off))
        return off - 1

    def account(self) -> tuple[int, int, int]:
        lines = -(-self.half // self.bandwidth)
        words = (self.initial + self.fetches * lines) * self.bandwidth
        return -self.initial, -1 + self.fetches * (lines + 1), words


class Written:
    """Write buffer."""

    def __init__(self, words: int, bandwidth: int) -> None:
        self.words, self.half, self.bandwidth = words, words - -(-words // 2), bandwidth
        self.free, self.drain_end = words, 0
        self.lines: deque[int] = deque()
        self.open = 0
        self.writes = 0
        self.first: int | None = None
        self.stop = 0

    def line(self, words: list[int], cycle: int) -> int:
        delay = 0
        for word in words:
            if word == NULL:
                continue
            self.open += 1
            if self.open == self.bandwidth:
                self.lines.append(self.open)
                self.open = 0
            self.free -= 1
            now = cycle + delay
            if now < self.drain_end:
                if self.free == 0:
                    delay += self.drain_end - now
            elif self.free < self.words - self.half:
                self.drain(now, -(-self.half // self.bandwidth))
        return delay

    def drain(self, now: int, most: int) -> None:
        if self.open:
            self.lines.append(self.open)
            self.open = 0
        count = min(most, len(self.lines))
        if not count:
            return
        last = 0
        for _ in range(count):
            last = self.lines.popleft()
        self.drain_end = now + count - 1
        space = count * self.bandwidth - (self.bandwidth - last)
        self.free += space
        self.writes += space
        if self.first is None:
            self.first = now
        self.stop = self.drain_end

    def finish(self, cycle: int) -> tuple[int, int, int]:
        """What is left goes out from *cycle* on, also while an earlier part still drains."""
        while self.open or self.lines:
            self.drain(cycle, -(-self.half // self.bandwidth))
            cycle = self.drain_end + 1
        return self.first or 0, self.stop, self.writes


def plain_row(case: Case) -> dict[str, float]:
    """Columns of SCALE-Sim's reports."""
    of = Operands(case)
    sizes = (case.ifmap_words, case.filter_words)
    reads: list[Any] = [Counted(words) for words in sizes]
    if case.bandwidth:
        pair = zip(sizes, streams(case, of), strict=True)
        reads = [Fetched(words, case.bandwidth, stream) for words, stream in pair]
    out = Written(case.ofmap_words, case.bandwidth or case.cols)
    stall, index = 0, -1
    row: dict[str, float] = {}
    spans: list[list[int]] = [[], [], []]
    for index, line in enumerate(demand(case, of)):
        cycle = index + stall
        delays = [reads[0].line(line[0], cycle), reads[1].line(line[1], cycle)]
        delays.append(out.line(line[2], cycle))
        for number, words in enumerate(line):
            if any(word != NULL for word in words):
                at = cycle + delays[number] + (number < 2)
                spans[number] = [*spans[number][:1], at]
        stall += max(delays)
    total = index + stall
    row["total_cycles"], row["stall_cycles"] = total, stall
    accounts = [reads[0].account(), reads[1].account(), out.finish(total)]
    names = ("ifmap", "filter", "ofmap")
    for name, (start, stop, count), served in zip(names, accounts, spans, strict=True):
        row[f"{name}_dram_start"], row[f"{name}_dram_stop"] = start, stop
        row[f"{name}_dram_" + ("writes" if name == "ofmap" else "reads")] = count
        row[f"avg_{name}_dram_bw"] = count / (stop - start + 1)
        row[f"{name}_sram_start"], row[f"{name}_sram_stop"] = served[0], served[-1]
    return row
