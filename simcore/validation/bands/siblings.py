"""Difference that can be told between two predictions of one model on one accelerator.

Two such runs, siblings, share most of what makes a prediction wrong, so that their ratio is known
better than either time. Pairs of measured runs say how well: a source's runs of one model on one
accelerator in one number format, in other plans, batches and sizes of the machine. The error of a
pair is the difference of its residuals, ln(measured ratio / predicted ratio).
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcore.config import Run
from simcore.errors import ConfigError
from simcore.files.input_file import files_kept
from simcore.files.resources import shipped_folder
from simcore.files.yaml_file import FILE_VERSION, read_table
from simcore.schema import Schema
from simcore.validation.bands.classes import SERVING, TRAINING, kind_of, kind_of_model
from simcore.validation.bands.residuals import Chain, Group
from simcore.validation.bands.shipped import FOLDER
from simcore.workload import Model
from simcore.workload.kinds import InferenceWorkload

FILE = "siblings.yaml"
SHARE = 0.8
"""Share of measured pairs whose error is no larger, as of the bands of single predictions."""

Floats = NDArray[np.float64]


class SiblingError(Schema):
    """Error of the ratio of two siblings' times.

    Attributes:
        log_ratio: Size of ln(measured ratio / predicted ratio) that ``SHARE`` of the pairs keep to.
        pairs: Measured pairs that say so.
        sources: Publications that they are from; each counts alike.
    """

    log_ratio: float
    pairs: int
    sources: int

    def __str__(self) -> str:
        return (
            f"{exp(self.log_ratio) - 1:.0%} ({SHARE:.0%} of {self.pairs:,} measured pairs of one "
            f"model on one accelerator, {self.sources} sources, keep to that)"
        )


class SiblingErrors(Schema):
    """Content of ``siblings.yaml``: by kind of model.

    Attributes:
        training: Of iterations.
        serving: Of times per output token.
        source: Where the values are from.
    """

    name: str = ""
    training: dict[str, SiblingError]
    serving: dict[str, SiblingError]
    source: str


def sibling_error(run: Run) -> SiblingError:
    """Error of the ratio of the times of two runs that share model and accelerator with *run*.

    A kind of model of which no pair was measured gets the largest error of those that were.
    """
    workload = run.workload
    is_served = isinstance(workload, InferenceWorkload)
    errors = shipped_errors().serving if is_served else shipped_errors().training
    model = workload.model
    kind = kind_of_model(model) if is_served and isinstance(model, Model) else kind_of(run)
    return errors.get(kind) or max(errors.values(), key=lambda error: error.log_ratio)


@cache
def shipped_errors() -> SiblingErrors:
    """The errors that came with this installation; no file that a study names."""
    path = shipped_folder("configs") / FOLDER / FILE
    with files_kept({}):
        return SiblingErrors.from_file_data(read_table(path), at=str(path))


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """Errors of the pairs of one source, (P,) each."""

    source: str
    errors: Floats


def sibling_errors(chain: Chain, groups: Sequence[Group]) -> dict[str, SiblingError]:
    """Errors of pairs by kind of model: the quantile of all pairs, each source counting alike."""
    at = chain.levels.index("kind")
    found = {}
    for kind in sorted({group.levels[at] for group in groups}):
        pairs = _pairs(chain, [group for group in groups if group.levels[at] == kind])
        if pairs:
            found[kind] = SiblingError(
                log_ratio=round(weighted_quantile(pairs, SHARE), 4),
                pairs=sum(each.errors.size for each in pairs),
                sources=len(pairs),
            )
    return found


def _pairs(chain: Chain, groups: Sequence[Group]) -> list[_Pairs]:
    """Pairs of siblings, by source."""
    shared = [at for at, level in enumerate(chain.levels) if level not in ("layout", "regime")]
    families: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for group in groups:
        key = (group.source, group.model, *(group.levels[at] for at in shared))
        families[key] += group.residuals
    errors: dict[str, list[Floats]] = defaultdict(list)
    for (source, *_), residuals in families.items():
        values = np.array(residuals)
        if values.size > 1:
            upper = np.triu_indices(values.size, 1)
            errors[source].append(np.abs(np.subtract.outer(values, values))[upper])
    return [_Pairs(source, np.concatenate(parts)) for source, parts in errors.items()]


def weighted_quantile(pairs: Sequence[_Pairs], share: float) -> float:
    """The least error that *share* of the pairs keep to, where each source has the same weight."""
    errors = np.concatenate([each.errors for each in pairs])
    weights = np.concatenate([np.full(each.errors.size, 1 / each.errors.size) for each in pairs])
    order = np.argsort(errors, kind="stable")
    reached = np.cumsum(weights[order]) >= share * len(pairs) - 1e-9
    return float(errors[order][int(reached.argmax())])


def left_out_coverage(chain: Chain, groups: Sequence[Group]) -> dict[str, float]:
    """Share of each source's pairs inside the error that the other sources of its kind give."""
    at = chain.levels.index("kind")
    found = {}
    for kind in sorted({group.levels[at] for group in groups}):
        pairs = _pairs(chain, [group for group in groups if group.levels[at] == kind])
        for number, each in enumerate(pairs):
            others = pairs[:number] + pairs[number + 1 :]
            if others:
                inside = each.errors <= weighted_quantile(others, SHARE)
                found[f"{kind}, {each.source}"] = float(inside.mean())
    return found


def write_errors(folder: Path, tables: Mapping[str, Sequence[Group]]) -> Path:
    """Write ``siblings.yaml``; *tables*: groups by name of the chain.

    Raises:
        ConfigError: It cannot be written.
    """
    import yaml

    content: dict[str, object] = {"version": FILE_VERSION}
    for chain in (TRAINING, SERVING):
        errors = sibling_errors(chain, tables[chain.name])
        content[chain.name] = {kind: error.model_dump() for kind, error in errors.items()}
    content["source"] = (
        f"pairs of rows of one source, model, accelerator and format in {TRAINING.file} and "
        f"{SERVING.file}; the size of ln(measured ratio / predicted ratio) that {SHARE:.0%} of the "
        "pairs keep to, each source counting alike"
    )
    path = folder / FILE
    text = "# Errors of ratios of predictions; written by `python benchmarks/bands.py siblings`.\n"
    text += yaml.safe_dump(content, sort_keys=False, width=96)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None
    return path
