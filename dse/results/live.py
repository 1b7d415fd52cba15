"""A study as it is at the moment, while another process runs it or afterwards."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dse.results.convergence import convergence_summary
from dse.results.result import StudyResult, summary_of
from dse.results.summary import study_front, study_summary
from dse.store.folder import StudyFolder
from dse.store.follow import StoreFollower
from dse.study.compile import load_study_file
from simcore import ConfigError


class LiveStudy:
    """The study in a folder, read as it grows.

    Attributes:
        study: What was asked.
        follower: Its trials.
        summary: The last one that was written, where it is of all trials; else empty.
    """

    def __init__(self, folder: Path) -> None:
        """Open the study in *folder*.

        Raises:
            ConfigError: There is none, or it is damaged.
        """
        self._folder = StudyFolder(folder)
        if not self._folder.holds_study:
            rule = "must be the folder of a study (the one that dse study --out names)"
            raise ConfigError("DIR", rule, got=str(folder))
        path, self._provenances = self._folder.study_file(), self._folder.read_provenances()
        files = self._provenances[-1].texts() if self._provenances else None
        self.study = load_study_file(path, files=files)
        self.follower = StoreFollower(folder)
        self.summary: Mapping[str, Any] = {}

    def follow(self) -> bool:
        """Take in what has come since the last time.

        Returns:
            True if there is something new.
        """
        is_new, was = self.follower.follow(), self.summary
        found = summary_of(self._folder.path)
        self.summary = found if found.get("proposals") == len(self.follower.trials) else {}
        return is_new or self.summary != was

    @property
    def is_over(self) -> bool:
        """True if the summary of all trials has been written."""
        return bool(self.summary)

    @property
    def state(self) -> str:
        """Word that changes with everything that is new."""
        return f"{self.follower.state}-{'over' if self.is_over else 'runs'}"

    def result(self) -> StudyResult:
        """Trials, front and summary of the moment; reasons and bounds are there at the end."""
        found, finer = self.follower, self.study.levels[1:]
        refined = [t for level in finer for t in found.refined if t.evaluation.fidelity == level]
        rows = [found.trials[number] for number in sorted(found.trials)] + refined
        quality = study_front(self.study, rows)
        summary = dict(self.summary)
        if not summary:
            summary = study_summary(self.study, rows, quality, duplicates=0, wall_s=0.0)
            summary |= convergence_summary(self.study, rows, {})
        return StudyResult(
            study=self.study,
            rows=rows,
            front=quality.front,
            summary=summary,
            folder=self._folder.path,
            provenances=self._provenances,
        )
