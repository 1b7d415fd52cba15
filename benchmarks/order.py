"""Says how well layouts of one model on one machine could be put in order, and by what knowledge.

    python benchmarks/order.py ROWS.csv

Rank correlation and extra time of the first (``simcore/validation/score.py``) of

- the predictions, of all rows and of each source by itself;
- the best order that any function of the table's columns can give: rows that agree in all of them
  are one, told by the mean of their ranks, and the first is the best of these choices;
- the predictions, with the rows of one source in their place in that best order;
- the predictions, moved by a Gaussian process of their residuals over model, layout, accelerator
  and software, from other rows alone: all with other columns, all outside the group of layouts, all
  of other models, of other widths, tensor parallel sizes and micro-batches or of one of these, and
  of other sources. Of several scales the best is told, chosen on these very rows, so that each line
  flatters. That process has seen what no simulator has, so it bounds what is left for mechanisms.
"""

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from kernel_table import Floats
from numpy.typing import NDArray

from simcore.validation.machine import Machines
from simcore.validation.report import training_s
from simcore.validation.rows import MeasuredRow
from simcore.validation.score import LAYOUT_GROUP, LEAST_LAYOUTS, Compared, compare, ranking
from simcore.validation.training import TrainingPredictor

Ints = NDArray[np.int64]
TOLD = (
    *("id", "source_loc", "iter_time_s", "tflops_per_gpu", "mfu_pct", "tokens_per_s", "notes"),
    *("tokens_per_s_per_gpu", "flops_convention", "primary_metric", "iter_time_origin"),
    *("confidence", "seen"),
)
"""Columns of where a row is from and what was measured: none of them describes the run."""
DOUBLINGS = {
    **{"hidden": 1.0, "tp": 1.0, "pp": 1.0, "micro_batch": 1.0, "ep": 1.0, "seq_len": 1.0},
    **{"layers": 0.5, "vp": 0.5, "num_gpus": 0.4, "global_batch": 0.3, "dp": 0.3},
}
"""Columns by whose doublings runs differ, and how much one counts."""
KINDS = {"gpu": 1.0, "recompute": 0.7, "dp_sharding": 0.7, "precision": 0.5, "heads": 0.3}
"""Columns by which they differ or not, likewise."""
SCALES = (0.3, 0.6, 1.0)
NOISES = (0.01, 0.02, 0.05)
"""Of residuals that the process cannot explain; it explains 0.1."""
LEFT_OUT: dict[str, tuple[str, ...] | None] = {
    "rows with other columns": None,
    "rows outside the group": LAYOUT_GROUP,
    "rows of other models": ("source", "model"),
    "rows of other width, tp or micro-batch": ("source", "hidden", "tp", "micro_batch"),
    "rows of other widths": ("source", "hidden"),
    "rows of other tp": ("source", "tp"),
    "rows of other micro-batches": ("source", "micro_batch"),
    "rows of other sources": ("source",),
}
"""Rows that tell, by the columns in which they differ from one foretold; None: any of all."""


def columns_of(found: Sequence[Compared], names: Sequence[str] | None = None) -> Ints:
    """(R,) number of the content of the columns *names*, by default all that describe a run."""
    texts = [
        str([text for name, text in one.row.cells.items() if name not in TOLD])
        if names is None
        else str([one.row.text(name) for name in names])
        for one in found
    ]
    return np.asarray(np.unique(texts, return_inverse=True)[1], np.int64)


def best_order(found: Sequence[Compared]) -> Floats:
    """(R,) mean rank in its group of all rows that agree with a row in every column.

    Of all orders of tied rows this has the greatest rank correlation: of two neighbours, the one
    with the less mean rank comes first. Where these are equal, the one whose slowest row is faster.
    """
    groups, alike = columns_of(found, LAYOUT_GROUP), columns_of(found)
    measured = np.array([one.measured_s for one in found])
    ranks = np.empty(len(found))
    for number in range(groups.max() + 1):
        rows = np.flatnonzero(groups == number)
        ranks[rows] = (measured[rows][:, None] >= measured[rows]).sum(axis=1)
    means = np.bincount(alike, ranks) / np.bincount(alike)
    slowest = np.zeros(means.size)
    np.maximum.at(slowest, alike, ranks)
    return np.asarray((means + 1e-4 * slowest)[alike], np.float64)


def moved(found: Sequence[Compared], predicted_s: Floats) -> list[Compared]:
    """The rows with other predictions, which only need to be in order."""
    return [
        replace(one, predicted_s=float(f"{s:.9g}"))
        for one, s in zip(found, predicted_s, strict=True)
    ]


def nearness(found: Sequence[Compared], scale: float) -> Floats:
    """(R, R) covariance of residuals of two rows, 1 for equal ones."""
    apart = np.zeros((len(found), len(found)))
    for name, weight in DOUBLINGS.items():
        value = np.log2([one.row.number(name) or 1.0 for one in found])
        apart += (scale * weight * (value[:, None] - value)) ** 2
    different = np.zeros_like(apart)
    for name, weight in KINDS.items():
        kind = columns_of(found, (name,))
        different += weight * (kind[:, None] != kind)
    return np.asarray(np.exp(-np.sqrt(apart) - different), np.float64)


class Learnt(NamedTuple):
    """Gaussian process of residuals: (R,) residuals, (R, R) inverse of their covariance."""

    residual: Floats
    inverse: Floats

    @classmethod
    def of(cls, found: Sequence[Compared], scale: float, noise: float) -> "Learnt":
        predicted = np.array([one.predicted_s for one in found], np.float64)
        residual = np.log([one.measured_s for one in found]) - np.log(predicted)
        covariance = 0.01 * nearness(found, scale) + noise**2 * np.eye(residual.size)
        return cls(residual, np.linalg.inv(covariance))

    def foretold(self, left_out: Ints) -> Floats:
        """(R,) residuals as all rows with another number in *left_out* tell them.

        Source: leave-out predictions of a Gaussian process from the inverse of its covariance, C.
        Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", 2006, section 5.4.2.
        """
        weighed, mean = self.inverse @ self.residual, np.empty(self.residual.size)
        for number in range(left_out.max() + 1):
            rows = np.flatnonzero(left_out == number)
            own = self.inverse[np.ix_(rows, rows)]
            mean[rows] = self.residual[rows] - np.linalg.solve(own, weighed[rows])
        return mean


def tell(what: str, found: Sequence[Compared], *, best_first: bool = False) -> None:
    """Print both figures."""
    order = ranking(found)
    extra = order.least_extra_time if best_first else order.extra_time
    print(f"{what:58} Spearman {order.spearman:.3f}, extra time {extra:.1%}", flush=True)


def layout_sources(found: Sequence[Compared]) -> list[str]:
    """Sources with groups of layouts."""
    sizes = Counter(tuple(one.row.text(name) for name in LAYOUT_GROUP) for one in found)
    return sorted({group[0] for group, size in sizes.items() if size >= LEAST_LAYOUTS})


def with_one_source_known(found: Sequence[Compared]) -> None:
    """Print what is reached where all layouts of one source are in their best order."""
    known_s = best_order(found)
    for source in layout_sources(found):
        own = [one.row.text("source") == source for one in found]
        predicted = [
            replace(one, predicted_s=float(known)) if mine else one
            for one, known, mine in zip(found, known_s, own, strict=True)
        ]
        tell(f"with the best order of {source[:36]}", predicted)


def with_residuals(found: Sequence[Compared]) -> None:
    """Print what is reached with residuals of other rows, each at the best of the scales."""
    learnt = [Learnt.of(found, scale, noise) for scale, noise in product(SCALES, NOISES)]
    predicted = np.array([one.predicted_s for one in found], np.float64)
    for what, names in LEFT_OUT.items():
        left_out = columns_of(found, names)
        tried = [moved(found, predicted * np.exp(one.foretold(left_out))) for one in learnt]
        orders: list[tuple[str, Callable[[list[Compared]], float]]] = [
            ("Spearman", lambda one: -ranking(one).spearman),
            ("extra time", lambda one: ranking(one).extra_time),
        ]
        for name, least in orders:
            tell(f"moved by {what}, best {name}", min(tried, key=least))


def predicted_rows(page: str | None) -> list[Compared]:
    """The rows of the table that the command line names, with their predictions.

    Args:
        page: Of the program, whose first line describes it.
    """
    parser = argparse.ArgumentParser(description=(page or "").split("\n")[0])
    parser.add_argument("rows", type=Path)
    rows = list(MeasuredRow.all_of(parser.parse_args().rows))
    predictor = TrainingPredictor(Machines())
    every = compare(rows, [predictor.predict(row) for row in rows], training_s)
    return [one for one in every if one.predicted_s is not None]


def main() -> None:
    """Do what the command line says."""
    found = predicted_rows(__doc__)
    tell("predicted", found)
    for source in layout_sources(found):
        tell(f"of {source}", [one for one in found if one.row.text("source") == source])
    tell("best order of the columns", moved(found, best_order(found)), best_first=True)
    with_one_source_known(found)
    with_residuals(found)


if __name__ == "__main__":
    main()
