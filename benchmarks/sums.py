"""Tells which measured rows are sums of parts, and what knowing these parts would bring.

    python benchmarks/sums.py ROWS.csv

Runs of a real machine that differ in the number of micro-batches alone lie near a straight line;
rows that lie on one to the last digit were added up from parts. Told are

- by source, how far such rows are from their line;
- of sources whose rows are sums (``ON_LINE``), the parts of rows without a pipeline, measured and
  predicted: one layer of one micro-batch, the rest of a micro-batch, and the rest of an iteration
  by data parallelism;
- how well layouts would be put in order (``order.py``) if a prediction knew these parts.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from order import TOLD, predicted_rows, tell

from simcore.validation.rows import MeasuredRow
from simcore.validation.score import Compared

ON_LINE = 1e-4
"""Largest distance from its line, beside a time, of rows that are sums; timers are coarser."""
LEAST_BATCHES, LEAST_SETS = 3, 10
"""Batches that show a line; such sets of rows that show a habit of a source."""
WIDTH = ("hidden", "tp")
"""Columns of which layers of one width have one value."""

Times = Mapping[str, float]
"""Time of each row in s, by the row's id."""
Part = tuple[str, int]
"""``layer``, ``rest`` and a micro-batch, or ``update``, ``update layer`` and data parallelism."""
Parts = Mapping[tuple[int, ...], Mapping[Part, float]]
"""Time of each part in s, by width."""


class Shape(NamedTuple):
    """Sizes of a row: micro-batch, layers of a stage, replicas, micro-batches and stages."""

    micro_batch: int
    layers: int
    dp: int
    batches: int
    pp: int

    @classmethod
    def of(cls, row: MeasuredRow) -> "Shape":
        batch, micro, layers = (
            row.count(c) or 1 for c in ("global_batch", "micro_batch", "layers")
        )
        dp, pp = row.count("dp") or 1, row.count("pp") or 1
        return cls(micro, layers // pp, dp, batch // dp // micro, pp)

    @property
    def counts(self) -> dict[Part, int]:
        """Times that each part is in an iteration without a pipeline."""
        return {
            ("layer", self.micro_batch): self.batches * self.layers,
            ("rest", self.micro_batch): self.batches,
            ("update", self.dp): 1,
            ("update layer", self.dp): self.layers,
        }


def off_line(found: Sequence[Compared]) -> dict[str, list[float]]:
    """Largest relative distance from a line of each set of rows that differ in batch, by source."""
    sets: dict[str, list[tuple[int, float]]] = defaultdict(list)
    sources = {}
    for one in found:
        told = (*TOLD, "global_batch")
        key = str([text for name, text in one.row.cells.items() if name not in told])
        sets[key].append((one.row.count("global_batch") or 1, one.measured_s))
        sources[key] = one.row.text("source")
    apart: dict[str, list[float]] = defaultdict(list)
    for key, pairs in sets.items():
        batch, time_s = np.array(pairs).T
        if np.unique(batch).size >= LEAST_BATCHES:
            line = np.polyval(np.polyfit(batch, time_s, 1), batch)
            apart[sources[key]].append(float(np.abs(line / time_s - 1).max()))
    return apart


def sums(apart: Mapping[str, Sequence[float]]) -> set[str]:
    """Sources whose rows are sums."""
    return {s for s, off in apart.items() if len(off) >= LEAST_SETS and max(off) < ON_LINE}


def parts_of(
    rows: Sequence[MeasuredRow], time_s: Times
) -> dict[tuple[int, ...], dict[Part, float]]:
    """Parts that add up to the times of those *rows* that have no pipeline.

    Where all of one width have one depth, a layer stands for the rest too.
    """
    widths: dict[tuple[int, ...], list[MeasuredRow]] = defaultdict(list)
    for row in rows:
        if Shape.of(row).pp == 1:
            widths[width_of(row)].append(row)
    found = {}
    for width, members in widths.items():
        counts = [Shape.of(row).counts for row in members]
        names = sorted({name for count in counts for name in count})
        table = np.array([[count.get(name, 0) for name in names] for count in counts], float)
        times = np.array([time_s[row.id] for row in members])
        each = np.linalg.lstsq(table, times, rcond=1e-10)[0]
        found[width] = dict(zip(names, each.tolist(), strict=True))
    return found


def width_of(row: MeasuredRow) -> tuple[int, ...]:
    return tuple(row.count(column) or 1 for column in WIDTH)


def known(row: MeasuredRow, measured: Parts, predicted: Parts, names: Collection[str]) -> float:
    """Time by which a prediction of *row* moves that knows the parts *names*, in s."""
    shape, width = Shape.of(row), width_of(row)
    if width not in measured:
        return 0.0
    moved_s = 0.0
    for part, count in shape.counts.items():
        if part[0] in names and part in measured[width]:
            times = count
            if part[0] == "layer":  # a pipeline fills and drains
                times = (shape.batches + shape.pp - 1) * shape.layers
            moved_s += times * (measured[width][part] - predicted[width][part])
    return moved_s


def tell_parts(measured: Parts, predicted: Parts) -> None:
    """Print the parts, measured and predicted."""
    for width, parts in sorted(measured.items()):
        print(", ".join(f"{name} {value}" for name, value in zip(WIDTH, width, strict=True)))
        for (name, size), time_s in parts.items():
            of = "dp" if name.startswith("update") else "micro-batch"
            told = f"{1e3 * time_s:8.3f} ms, predicted {1e3 * predicted[width][name, size]:8.3f}"
            print(f"  {name:12} {of} {size}: {told}")


def knowing(
    found: Sequence[Compared], measured: Parts, predicted: Parts, of: Collection[str]
) -> Iterator[tuple[str, list[Compared]]]:
    """Predictions of all rows, where those of the sources *of* know some parts."""
    for names in (("layer",), ("rest",), ("update", "update layer"), ("layer", "rest")):
        yield (
            f"with known times of: {', '.join(names)}",
            [
                replace(
                    one, predicted_s=one.predicted_s + known(one.row, measured, predicted, names)
                )
                if one.row.text("source") in of and one.predicted_s is not None
                else one
                for one in found
            ],
        )


def main() -> None:
    """Do what the command line says."""
    found = predicted_rows(__doc__)
    apart = off_line(found)
    for source, off in apart.items():
        told = f"{len(off):4} sets of batches, from their line {np.median(off):.5%} in the median"
        print(f"{source:44} {told}, {max(off):.5%} at most")
    summed = sums(apart)
    own = [one for one in found if one.row.text("source") in summed]
    measured = parts_of([one.row for one in own], {one.row.id: one.measured_s for one in own})
    predicted = parts_of(
        [one.row for one in own], {one.row.id: one.predicted_s or 0.0 for one in own}
    )
    tell_parts(measured, predicted)
    tell("predicted", found)
    for what, moved in knowing(found, measured, predicted, summed):
        tell(what, moved)


if __name__ == "__main__":
    main()
