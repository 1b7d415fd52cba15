"""Fits what silicon reaches and what software costs to measured training runs.

    python benchmarks/fit_compute.py ROWS.csv [--write] [--kept FILE] [--folds 5] [--only STACK]

One set of values per silicon and one per software stack (``fit_values.py``), none per source, model
or cluster; all are fitted together, since a stack runs on several accelerators. A run's time is
taken as its simulated time, moved by what new values change of the compute time of its busiest
stage, bubbles included; after the search the files are written, and a second round starts from the
newly simulated times. Sources weigh alike on each silicon and for each kind of model, however many
rows they have. What is known of a value beforehand counts like measured runs do (maximum a
posteriori), so that a value which few runs tell stays where kernels that were timed by themselves
put it. The last line is one JSON object. ``--only`` fits the values of one silicon or stack and
leaves all others as the files hold them.
"""

import argparse
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from fit_files import write_family, write_stack
from fit_problem import Block, Key, blocks_of, family_of, free_values
from fit_samples import Sample, samples
from fit_values import FAMILIES, STACKS
from kernel_table import Flags, Floats
from scipy.optimize import least_squares

from simcore.validation.rows import MeasuredRow

TOO_SLOW = 1.3
"""Weight of errors of predictions that are slower than the measured run, beside those faster."""
FULL_SOURCE = 6
"""Runs from which on a source has its full weight on one silicon, with dense models and with those
that have experts."""
CORNER = 0.03
"""Size of an error below which it counts quadratically, above it linearly."""
LAYOUT = 10.0
"""Weight of differences within groups of layouts of one model on one machine, which ranking needs,
beside that of the errors of one source."""
KNOWN = 0.0025
"""Weight of what is known of a value, of one standard deviation, beside an error of a source."""


class Problem:
    """Squares whose sum is least at the fitted values.

    Args:
        listed: The runs.
        seen: (R,) those that count.
        only: Owner whose values are fitted; empty: all.
    """

    def __init__(
        self, listed: Sequence[Sample], blocks: Sequence[Block], seen: Flags, only: str = ""
    ) -> None:
        free = free_values()
        self.free = {key: value for key, value in free.items() if only in ("", key[0])}
        self._blocks = blocks
        self._keys = list(self.free)
        self._known = np.log([free.known for free in self.free.values()])
        self._spread = np.array([free.spread for free in self.free.values()])
        self.bounds = tuple(np.log([(f.low, f.high) for f in self.free.values()]).T)
        cells = np.array([f"{s.source}|{family_of(s.npu)}|{s.has_experts}" for s in listed])
        numbers = np.unique(cells, return_inverse=True)[1]
        runs = np.bincount(numbers, seen)[numbers]
        full = np.minimum(1, runs / FULL_SOURCE)
        self._weights = np.where(seen, full / np.maximum(1, runs), 0.0)
        self._seen = seen

    def values_at(self, x: Floats) -> dict[Key, float]:
        return dict(zip(self._keys, np.exp(x).tolist(), strict=True))

    @property
    def start(self) -> Floats:
        low, high = self.bounds
        return np.clip(self._known, low + 1e-3, high - 1e-3)

    def residuals(self, x: Floats) -> Floats:
        fitted = self.values_at(x)
        parts = [self._of_block(block, fitted) for block in self._blocks]
        return np.concatenate([*parts, np.sqrt(KNOWN) * (x - self._known) / self._spread])

    def slopes(self, x: Floats) -> Floats:
        """Forward differences, of the blocks alone that a value changes."""
        step, fitted = 1e-4, self.values_at(x)
        plain = [self._of_block(block, fitted) for block in self._blocks]
        sizes = [part.size for part in plain]
        ends = np.cumsum([0, *sizes])
        found = np.zeros((ends[-1] + x.size, x.size))
        for column, key in enumerate(self._keys):
            moved = {**fitted, key: fitted[key] * np.exp(step)}
            for number, block in enumerate(self._blocks):
                if key in block.touched:
                    change = self._of_block(block, moved) - plain[number]
                    found[ends[number] : ends[number + 1], column] = change / step
        found[ends[-1] + np.arange(x.size), np.arange(x.size)] = np.sqrt(KNOWN) / self._spread
        return found

    def _of_block(self, block: Block, fitted: dict[Key, float]) -> Floats:
        error, chosen = block.errors(fitted), block.places
        weighed = error * np.where(error > 0, TOO_SLOW, 1.0)
        own = np.sqrt(self._weights[chosen]) * _rooted(weighed)
        seen, among = self._seen[chosen], block.samples
        counts = np.bincount(among.layouts, seen)[among.layouts]
        means = np.bincount(among.layouts, error * seen)[among.layouts] / np.maximum(1, counts)
        parts = np.where(seen & among.varied, 1 / np.maximum(1, counts), 0.0)
        if not parts.any():
            return own
        share = LAYOUT * among.varied.sum() / max(1, self._varied)
        weights = np.sqrt(share * parts / parts.sum())
        return np.concatenate([own, weights * _rooted(error - means)])

    @property
    def _varied(self) -> int:
        return sum(int(block.samples.varied.sum()) for block in self._blocks)


def _rooted(error: Floats) -> Floats:
    """Root of an error's size, rounded off at 0, with its sign: squares of it add up to sizes."""
    return np.sign(error) * np.sqrt(np.hypot(error, CORNER) - CORNER)


def fit(
    listed: Sequence[Sample], blocks: Sequence[Block], seen: Flags, only: str = ""
) -> dict[Key, float]:
    """The values with the least sum of squares, all or those of the owner *only*."""
    problem = Problem(listed, blocks, seen, only)
    found = least_squares(
        problem.residuals,
        problem.start,
        problem.slopes,
        bounds=problem.bounds,
        xtol=1e-3,
        ftol=1e-4,
        max_nfev=40,
    )
    return problem.values_at(found.x)


def predicted(blocks: Sequence[Block], fitted: dict[Key, float], runs: int) -> Floats:
    """(R,) errors of the predicted times, relative to the measured ones."""
    found = np.empty(runs)
    for block in blocks:
        found[block.places] = np.expm1(block.errors(fitted))
    return found


def mean_error(listed: Sequence[Sample], error: Floats) -> dict[str, float]:
    """Mean absolute error by source."""
    by_source: dict[str, list[float]] = defaultdict(list)
    for sample, value in zip(listed, np.abs(error), strict=True):
        by_source[sample.source].append(float(value))
    return {source: sum(e) / len(e) for source, e in by_source.items()}


def held_out(
    listed: Sequence[Sample], blocks: Sequence[Block], folds: int, only: str
) -> Floats | None:
    """(R,) errors on configurations that the fit did not see."""
    if folds < 2:
        return None
    digests = [hashlib.sha256(sample.group.encode()).hexdigest() for sample in listed]
    fold = np.array([int(digest, 16) % folds for digest in digests])
    unseen = np.empty(fold.size)
    for k in range(folds):
        values = fit(listed, blocks, fold != k, only)
        unseen[fold == k] = predicted(blocks, values, len(listed))[fold == k]
    return unseen


def _mean(listed: Sequence[Sample], error: Floats, chosen: Flags) -> float:
    some = [sample for sample, one in zip(listed, chosen, strict=True) if one]
    means = mean_error(some, error[chosen])
    return sum(means.values()) / len(means)


def _told(listed: Sequence[Sample], error: Floats, unseen: Floats | None, runs: Flags) -> str:
    """Sentence on what values were fitted to."""
    sources = len({sample.source for sample, one in zip(listed, runs, strict=True) if one})
    told = f"{int(runs.sum())} published runs of {sources} sources, "
    told += f"mean over sources of the error {_mean(listed, error, runs):.1%}"
    if unseen is not None:
        told += f", on configurations left out of the fit {_mean(listed, unseen, runs):.1%}"
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("rows", type=Path)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--kept", type=Path, help="file in which simulated runs are kept")
    parser.add_argument("--only", default="", help="silicon or stack whose values are fitted")
    parser.add_argument("--write", action="store_true", help="put the values into configs")
    arguments = parser.parse_args()
    listed = samples(list(MeasuredRow.all_of(arguments.rows)), arguments.kept, told=True)
    blocks = blocks_of(listed)
    for block in blocks:
        block.samples.check(block.values({}))
    only = arguments.only
    fitted = fit(listed, blocks, np.ones(len(listed), bool), only)
    error = predicted(blocks, fitted, len(listed))
    unseen = held_out(listed, blocks, arguments.folds, only)
    families = np.array([family_of(sample.npu) for sample in listed])
    stacks = np.array([sample.stack for sample in listed])
    for name in FAMILIES:
        told = _told(listed, error, unseen, families == name)
        print(name, _own(fitted, name), told)
        if arguments.write and only in ("", name):
            write_family(name, fitted, told)
    for name in STACKS:
        told = _told(listed, error, unseen, stacks == name)
        print(name, _own(fitted, name), told)
        if arguments.write and only in ("", name):
            write_stack(name, fitted, told)
    counts = Counter(sample.source for sample in listed)
    for source, mean in sorted(mean_error(listed, error).items()):
        print(f"    {source:48} {counts[source]:4} rows  {mean:6.1%}")
    values = {f"{owner}.{name}": value for (owner, name), value in fitted.items()}
    print(json.dumps({"rows": len(listed), "values": values}))


def _own(fitted: dict[Key, float], owner: str) -> dict[str, float]:
    return {name: float(f"{v:.4g}") for (who, name), v in fitted.items() if who == owner}


if __name__ == "__main__":
    main()
