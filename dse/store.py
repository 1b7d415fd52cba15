"""The folder of a study: a journal while it runs, tables when it rests."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import yaml

from dse.config import Study
from dse.trials import Trial
from simcore import ConfigError, read_yaml

if TYPE_CHECKING:
    import pandas as pd

STUDY, JOURNAL, TRIALS = "study.yaml", "journal.jsonl", "trials.parquet"
PARETO, SUMMARY, REPORT = "pareto.csv", "summary.json", "report.html"


class StudyFolder:
    """A folder that holds one study.

    Every finished evaluation is a line of the journal before anything else is done with it, so
    that a study can be resumed wherever it was cut off. All other files are written whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._journal: IO[str] | None = None

    @property
    def holds_study(self) -> bool:
        """Whether a study has been started here."""
        return any((self.path / name).exists() for name in (STUDY, JOURNAL, TRIALS))

    def known_trials(self, study: Study, *, resume: bool) -> list[Trial]:
        """The trials that the folder holds already; writes nothing.

        Raises:
            ConfigError: It holds a study and *resume* is false, or it holds another study.
        """
        if self.holds_study and not resume:
            rule = "the folder must not hold a study yet (--resume goes on with it, --out names"
            raise ConfigError("--out", f"{rule} another)", got=str(self.path))
        known = self.read_trials() if (self.path / JOURNAL).exists() else []
        if known:
            self._check_same(study)
        return known

    def open(self, study: Study, known: Sequence[Trial]) -> None:
        """Make the folder ready for more trials; *known* are those that it holds.

        Raises:
            ConfigError: It cannot be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.write_text(STUDY, study_text(study))
            # written anew, since its last line may have been cut off
            self.write_text(JOURNAL, "".join(_line(trial) for trial in known))
            self._journal = (self.path / JOURNAL).open("a", encoding="utf-8")
        except OSError as error:
            raise ConfigError(
                "--out", "must be a folder that can be written", got=str(error)
            ) from None

    def add(self, trial: Trial) -> None:
        """Write a finished evaluation down."""
        if self._journal is not None:
            self._journal.write(_line(trial))
            self._journal.flush()

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def read_trials(self) -> list[Trial]:
        """The trials of the journal in ask order; a last line that was cut off is left out.

        Raises:
            ConfigError: There is no journal, or a line in its middle is broken.
        """
        path = self.path / JOURNAL
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except OSError:
            raise ConfigError(str(path), "must be the journal of a study", got="no file") from None
        except UnicodeDecodeError:
            rule = "must be the journal of a study"
            raise ConfigError(str(path), rule, got="other bytes") from None
        found: dict[int, Trial] = {}
        for index, line in enumerate(lines):
            try:
                trial = Trial.from_data(json.loads(line))
            except (ValueError, TypeError, KeyError):
                if index == len(lines) - 1:
                    break
                at = f"{path} line {index + 1}"
                raise ConfigError(at, "must be a trial", got=line[:40]) from None
            found[trial.number] = trial
        return [found[number] for number in sorted(found)]

    def write_text(self, name: str, text: str) -> None:
        """Write a file whole or not at all."""
        partial = self.path / f".{name}.part"
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, self.path / name)

    def write_tables(
        self, frame: "pd.DataFrame", front: Sequence[int], summary: Mapping[str, Any]
    ) -> None:
        """Write trials, front and summary.

        Args:
            frame: All trials.
            front: Rows of the front, in its order.
            summary: Counts and quality.
        """
        partial = self.path / f".{TRIALS}.part"
        frame.to_parquet(partial, index=False)
        os.replace(partial, self.path / TRIALS)
        self.write_text(PARETO, frame.iloc[list(front)].to_csv(index=False))
        self.write_text(SUMMARY, json.dumps(summary, indent=2) + "\n")

    def _check_same(self, study: Study) -> None:
        """A study may go on with more trials or other workers, not with other designs."""
        path = self.path / STUDY
        old, new = read_yaml(path), study_data(study)
        if not isinstance(old, dict) or not isinstance(old.get("search"), dict):
            raise ConfigError(str(path), "must be the study as run", got=old)
        for data in (old, new):
            for key in ("execution", "versions", "question", "source", "reference_point"):
                data.pop(key, None)
            data["search"].pop("trials", None)
        for key in new:
            if old.get(key) != new[key]:
                rule = f"must be as in {path} for the study to be resumed"
                raise ConfigError(key, rule, got=new[key])


def _line(trial: Trial) -> str:
    return json.dumps(trial.as_data(), separators=(",", ":")) + "\n"


def study_data(study: Study) -> dict[str, Any]:
    """The study as run, as plain data of a study file."""
    data = study.file.model_dump(mode="json", by_alias=True)
    data["folder"] = study.folder or None
    data["versions"] = _versions()
    return data


def study_text(study: Study) -> str:
    """The study as run, as the text of a study file."""
    return yaml.safe_dump(study_data(study), sort_keys=False, allow_unicode=True, width=100)


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for name in ("simcore-dse", "numpy", "numba", "optuna", "ray", "pandas"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
