"""Trials as tables: one in memory, or streams of any length in little memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.metrics import plain
from dse.space import Parameter
from dse.study.compile import Study
from dse.study.memory_marks import memory_mark
from dse.study.trials import Trial

if TYPE_CHECKING:
    import pandas as pd

CHUNK_ROWS = 20_000
"""Rows that a stream holds in memory at once: about 30 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Columns that a table of trials shows.

    Columns: ``number, state, params.*, objectives.*, memory, constraints.*, metrics.*, fidelity,
    notes, duration_s, worker, failure, attempts, reason, provenance, repeats``; quantities in base
    units, missing where a knob has no meaning or nothing was evaluated; ``memory`` says so if a
    design is short of it, and is empty else. Types follow from the study, never from the values at
    hand, so that all parts of a stream agree.

    Attributes:
        study: Gives parameters and objectives.
        constraints: Names of constraints.
        metrics: Names of metrics.
    """

    study: Study
    constraints: tuple[str, ...]
    metrics: tuple[str, ...]

    @classmethod
    def of(cls, study: Study, trials: Sequence[Trial]) -> "Columns":
        """Columns that *trials* need."""
        found = [trial.evaluation for trial in trials]
        constraints = {name for e in found for name in e.constraints}
        metrics = {name for e in found for name in e.metrics}
        return cls(
            study=study, constraints=tuple(sorted(constraints)), metrics=tuple(sorted(metrics))
        )

    def frame(self, trials: Sequence[Trial]) -> "pd.DataFrame":
        """One row per trial, in their order."""
        import pandas as pd

        found = [trial.evaluation for trial in trials]
        numbers = {
            "objectives": (self.study.goals.objectives, [e.objectives for e in found]),
            "constraints": (self.constraints, [e.constraints for e in found]),
            "metrics": (self.metrics, [plain(e.metrics) for e in found]),
        }
        columns: dict[str, Any] = {
            "number": pd.array([t.number for t in trials], dtype="int64"),
            "state": _texts([e.state for e in found]),
        }
        for name, parameter in self.study.space.parameters.items():
            columns[f"params.{name}"] = _column(parameter, [t.design.get(name) for t in trials])
        for part, (names, rows) in numbers.items():
            for name, values in zip(names, number_columns(tuple(names), rows), strict=True):
                columns[f"{part}.{name}"] = pd.array(values, dtype="float64")
            if part == "objectives":
                columns["memory"] = _texts([memory_mark(e.metrics) for e in found])
        columns["fidelity"] = _texts([e.fidelity for e in found])
        columns["notes"] = _texts(["; ".join(e.notes) for e in found])
        columns["duration_s"] = _floats([e.duration_s for e in found])
        columns["worker"] = _texts([t.worker for t in trials])
        columns["failure"] = _texts([e.failure for e in found])
        columns["attempts"] = pd.array([e.attempts for e in found], dtype="int64")
        columns["reason"] = _texts([e.reason for e in found])
        columns["provenance"] = pd.array([t.provenance for t in trials], dtype="int64")
        columns["repeats"] = pd.array([t.repeats for t in trials], dtype="Int64")
        return pd.DataFrame(columns)

    def frames(self, trials: Iterable[Trial]) -> Iterator["pd.DataFrame"]:
        """Parts of the table, one after the other; at least one."""
        rest = iter(trials)
        yield self.frame(list(islice(rest, CHUNK_ROWS)))
        while part := list(islice(rest, CHUNK_ROWS)):
            yield self.frame(part)


def trials_frame(study: Study, trials: Sequence[Trial]) -> "pd.DataFrame":
    """One row per trial, in ask order; see ``Columns``."""
    return Columns.of(study, trials).frame(trials)


def write_parquet(columns: Columns, trials: Iterable[Trial], path: Path) -> None:
    """Stream trials to a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.Schema.from_pandas(columns.frame([]), preserve_index=False)
    with pq.ParquetWriter(path, schema) as writer:
        for frame in columns.frames(trials):
            writer.write_table(pa.Table.from_pandas(frame, schema, preserve_index=False))


def write_csv(columns: Columns, trials: Iterable[Trial], out: IO[str]) -> None:
    """Stream trials as comma-separated values."""
    for index, frame in enumerate(columns.frames(trials)):
        out.write(frame.to_csv(index=False, header=index == 0))


def write_json(columns: Columns, trials: Iterable[Trial], out: IO[str]) -> None:
    """Stream trials as a JSON list of objects, one per line."""
    out.write("[")
    start = "\n"
    for frame in columns.frames(trials):
        for line in frame.to_json(orient="records", lines=True).splitlines():
            out.write(f"{start}{line}")
            start = ",\n"
    out.write("\n]\n")


def number_columns(
    names: tuple[str, ...], rows: Sequence[Mapping[str, float]]
) -> NDArray[np.float64]:
    """Numbers by name as columns; not a number where a row has none.

    Returns:
        Array of shape (names, rows), float64.
    """
    result = np.full((len(names), len(rows)), np.nan)
    alike: dict[tuple[str, ...], list[int]] = {}
    for place, row in enumerate(rows):
        alike.setdefault(tuple(row), []).append(place)
    for found, places in alike.items():
        part = np.array([list(rows[place].values()) for place in places], dtype=np.float64)
        for index, name in enumerate(names):
            if name in found:
                result[index, places] = part[:, found.index(name)]
    return result


def _texts(values: Sequence[str | None]) -> Any:
    import pandas as pd

    return pd.array(values, dtype=pd.StringDtype(na_value=np.nan))  # which pandas 3 calls "str"


def _floats(values: Sequence[Any]) -> Any:
    import pandas as pd

    return pd.array([float("nan") if v is None else float(v) for v in values], dtype="float64")


def _column(parameter: Parameter, values: Sequence[Any]) -> Any:
    """An array of one type: flags, counts, numbers or texts."""
    import pandas as pd

    kinds = {type(choice) for choice in parameter.choices}
    if kinds == {bool}:
        return pd.array(values, dtype="boolean")
    if kinds == {int}:
        return pd.array(values, dtype="Int64")
    if kinds <= {int, float}:
        return _floats(values)
    return _texts([None if v is None else str(v) for v in values])
