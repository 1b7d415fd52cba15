"""A study that has been run."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.fidelity.compare import compared_rows
from dse.provenance import Provenance, provenance_summary
from dse.results.baseline import baseline_of
from dse.results.equals import Discernment, Equals
from dse.results.plot import plot_front
from dse.results.recommended import Recommendation, recommended
from dse.results.summary import study_front
from dse.results.trims import Trim, trims_of_front
from dse.store.folder import SUMMARY, StudyFolder
from dse.store.tables import trials_frame
from dse.study.compile import Study, load_study_file
from dse.study.memory_marks import memory_mark
from dse.study.trials import Trial
from simcore import ConfigError, files_kept, read_json

if TYPE_CHECKING:
    import pandas as pd

MAX_HELD = 2_000_000
"""Trials that are read into memory at once: 2 to 4 kB each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyResult:
    """All trials of a study, and its front.

    Attributes:
        study: What was asked.
        rows: The trials, in ask order; after them, level by level, those that were judged again at
            a finer fidelity, under the same numbers.
        front: Positions in *rows* of the front, sorted by the first objective.
        summary: Counts and quality, as in ``summary.json``.
        folder: Where it is stored, or None.
        provenances: What its rows come from, in the order of ``Trial.provenance``.
    """

    study: Study
    rows: Sequence[Trial]
    front: Sequence[int]
    summary: Mapping[str, Any]
    folder: Path | None = None
    provenances: Sequence[Provenance] = ()

    def __repr__(self) -> str:
        """The study in one line: what a notebook prints where it shows no tables."""
        question = self.study.file.question or "study"
        short = [row.number for row in self._front_rows if memory_mark(row.evaluation.metrics)]
        told = f"{len(self.rows)} trials, {len(self.front)} on the front"
        if short:
            told += f", {len(short)} of them short of memory (trial {short[0]})"
        return f"<{type(self).__name__}: {question} {told}>"

    def _repr_html_(self) -> str:
        """The front as a notebook shows it: objectives, marks of memory, knobs."""
        front = self.pareto_front()
        values = [name for name in front if str(name).startswith("objectives.")]
        knobs = [name for name in front if str(name).startswith("params.")]
        marks = ["memory"] if (front["memory"] != "").any() else []
        shown = front[["number", *values, *marks, *knobs]]
        return f"<p>{escape(repr(self)[1:-1])}</p>{shown.to_html(index=False)}"

    @property
    def _front_rows(self) -> list[Trial]:
        return [self.rows[at] for at in self.front]

    @property
    def best(self) -> dict[str, "pd.Series[Any]"]:
        """For each objective the row of ``pareto_front()`` that has the best value of it."""
        front, senses = self.pareto_front(), self.study.goals.objectives
        found = {}
        for name, sense in senses.items() if len(front) else ():
            values = front[f"objectives.{name}"]
            found[name] = front.iloc[
                int(values.argmin() if sense == "minimise" else values.argmax())
            ]
        return found

    def plot(self) -> Any:
        """Draw the front, and what it dominates, as a figure of plotly, which a notebook shows.

        Raises:
            ConfigError: There is no feasible design, or plotly is not installed.
        """
        return plot_front(self.study.goals.objectives, self.compared, self._front_rows)

    @property
    def trials(self) -> "pd.DataFrame":
        """One row per proposal, and one more per finer fidelity at which it was judged again."""
        return trials_frame(self.study, self.rows)

    @property
    def compared(self) -> list[Trial]:
        """The feasible trials that the front was chosen from: no repeats, one fidelity."""
        return [row for _, row in compared_rows(self.study, self.rows)]

    @cached_property
    def discernment(self) -> Discernment:
        """Differences between designs of the front that can be told, and those that cannot."""
        with files_kept(self.study.files):
            return Discernment(self.study, self._front_rows)

    @property
    def equals(self) -> list[Equals]:
        """Groups of designs of the front that cannot be told apart in the simulated objective."""
        return self.discernment.groups

    @cached_property
    def recommended(self) -> list[Recommendation]:
        """At most eight designs of the front to choose from, with reasons."""
        return recommended(self.discernment)

    @cached_property
    def trims(self) -> list[Trim]:
        """Designs that are one of the front with a step less, for under 0.5 % of the time."""
        return trims_of_front(self.study, self.rows, self.discernment.rows)

    def choice_summary(self) -> dict[str, Any]:
        """Entries ``recommended``, ``equals`` and ``trims`` of ``summary.json``."""
        if not self.front:
            return {}
        return {
            "recommended": [asdict(one) for one in self.recommended],
            "equals": [list(group.trials) for group in self.equals],
            "trims": [asdict(trim) for trim in self.trims],
        }

    @property
    def baseline(self) -> Trial | None:
        """The run of the study as its file has it, evaluated; None where it is no design."""
        return baseline_of(self.summary)

    @property
    def convergence(self) -> "pd.DataFrame":
        """Hypervolume, and gap where one is proven, over proposals; empty without a front."""
        import pandas as pd

        found = self.summary.get("convergence", {})
        columns = {name: found.get(name, []) for name in ("proposals", "hypervolume")}
        gaps = {f"gap.{name}": values for name, values in found.get("gap", {}).items()}
        return pd.DataFrame({**columns, **gaps})

    def pareto_front(self) -> "pd.DataFrame":
        """The non-dominated feasible trials, sorted by the first objective."""
        return self.trials.iloc[list(self.front)].reset_index(drop=True)


def load_study(folder: Path | str) -> StudyResult:
    """Read a study back from its folder.

    Raises:
        ConfigError: The folder holds no study.
    """
    store = StudyFolder(Path(folder))
    if not store.holds_study:
        raise ConfigError("DIR", "must be the folder of a study", got=str(folder))
    path, provenances = store.study_file(), store.read_provenances()
    study = load_study_file(path, files=provenances[-1].texts() if provenances else None)
    if store.count_trials() > MAX_HELD:
        rule = f"at most {MAX_HELD:,} trials can be shown at once (dse export has no limit)"
        raise ConfigError(str(folder), rule, got=store.count_trials())
    rows = list(store.read_trials()) + store.read_refined(study)
    summary = summary_of(store.path)
    front = study_front(study, rows).front
    return StudyResult(
        study=study,
        rows=rows,
        front=front,
        summary={**summary, **provenance_summary(provenances, rows, [rows[i] for i in front])},
        folder=store.path,
        provenances=provenances,
    )


def summary_of(folder: Path) -> dict[str, Any]:
    """Content of ``summary.json`` in *folder*; empty where there is none.

    Raises:
        ConfigError: It is no summary.
    """
    path = folder / SUMMARY
    if not path.is_file():
        return {}
    summary = read_json(path)
    if not isinstance(summary, dict):
        raise ConfigError(str(path), "must be the summary of a study", got="something else")
    return summary
