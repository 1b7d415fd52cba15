"""Evaluations that studies share: what was simulated once is not simulated again.

An entry is found by a hash of all that an evaluation depends on: the code of simulator and cost
models, the run with everything that its file names, the prices, and the metrics that are asked
for. It holds the metrics, or the rule that is broken; objectives and limits are worked out anew.
Failures and bounds are never kept.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path
from typing import Any

from dse.code_digests import code_digests
from dse.costs import load_prices
from dse.evaluate import Answer, Evaluation, Task
from dse.evaluate.base import Account, Measured, judge
from dse.evaluate.designs.runs import DesignRuns
from dse.objectives import needed_metrics
from dse.plain_files import check_database
from dse.run.terms import Evaluations
from dse.space import Design
from dse.study.compile import Study
from simcore import ConfigError, files_kept

FILE = "evaluations-2.db"
"""Its number is that of its format: another format is another file."""

MAX_ENTRIES = 500_000
"""Entries of a cache, of about 1 kB each; the oldest make room."""

WORKER = "cache"
"""Worker of designs whose outcome was found."""

_TABLE = (
    "CREATE TABLE IF NOT EXISTS evaluation "
    "(number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, outcome BLOB NOT NULL)"
)
_INSERT = "INSERT OR IGNORE INTO evaluation (key, outcome) VALUES (?, ?)"
_MAKE_ROOM = "DELETE FROM evaluation WHERE number <= (SELECT max(number) FROM evaluation) - ?"
_UNUSABLE = (sqlite3.Error, zlib.error, ValueError, TypeError, KeyError)
_BUSY_S = 2.0
_DECIDING = ("simcore/", "dse/evaluate", "dse/costs")


def can_be_cached(study: Study) -> bool:
    """True if one run decides each outcome."""
    file = study.file
    alone = not study.goals.scenarios and not file.calibration and not file.metrics
    return study.evaluator.is_decided_by_run and alone


class EvaluationCache:
    """A folder of evaluations; several studies may use it at once.

    It only saves time: where it cannot be read or written any more, it is used no more.
    """

    def __init__(self, folder: Path, study: Study) -> None:
        """Open or make the cache.

        Raises:
            ConfigError: The folder cannot be written, or holds something else.
        """
        what = study.evaluator_input
        self._runs, self._goals = DesignRuns(what), what.goals
        self._about = _about(study)
        self._connection: sqlite3.Connection | None = None
        path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            check_database(path, to_write=True)
            self._connection = _opened(path)
        except (OSError, sqlite3.Error, UnicodeDecodeError) as error:
            rule = "must be a folder for a cache that can be written; remove a damaged one"
            raise ConfigError("execution.cache", rule, got=f"{path}: {error}") from None

    def close(self) -> None:
        """Let others have it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def find(self, design: Design) -> Evaluation | None:
        """The outcome of a design, if it is known."""
        if self._connection is None:
            return None
        try:
            statement = "SELECT outcome FROM evaluation WHERE key = ?"
            key = self._key(design)
            row = self._connection.execute(statement, (key,)).fetchone()
            return None if row is None else self._read(_opened_entry(key, row[0]))
        except ConfigError:  # a design that no run file allows; its evaluation tells
            return None
        except _UNUSABLE:
            self.close()
            return None

    def keep(self, found: Iterable[tuple[Design, Evaluation]]) -> None:
        """Keep outcomes; failures are passed over."""
        if self._connection is None:
            return
        kept = [
            (self._key(design), outcome)
            for design, outcome in found
            if outcome.state in ("complete", "infeasible")
        ]
        rows = [(key, _sealed_entry(key, _packed(outcome))) for key, outcome in kept]
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.executemany(_INSERT, rows)
            self._connection.execute(_MAKE_ROOM, (MAX_ENTRIES,))
            self._connection.execute("COMMIT")
        except (sqlite3.Error, UnicodeDecodeError):
            self.close()

    def _key(self, design: Design) -> bytes:
        run = self._runs.run(design).model_dump_json()
        return blake2b(f"{self._about}\n{run}".encode(), digest_size=24).digest()

    def _read(self, packed: bytes) -> Evaluation:
        data = json.loads(zlib.decompress(packed))
        if data["metrics"]:
            account = Account(data["metrics"], tuple(data["notes"]))
            return judge(Measured(account, 0.0), self._goals, data["fidelity"])
        return Evaluation(
            state="infeasible",
            constraints=data["constraints"],
            fidelity=data["fidelity"],
            reason=data["reason"],
        )


class CachedEvaluations:
    """Stands in front of a dispatcher, and answers what the cache knows."""

    def __init__(self, dispatcher: Evaluations, cache: EvaluationCache) -> None:
        self._dispatcher, self._cache = dispatcher, cache
        self._under_way: dict[int, Design] = {}
        self._known: list[Answer] = []

    def submit(self, tasks: Iterable[Task]) -> None:
        """Queue designs that are not known yet."""
        for task in tasks:
            outcome = self._cache.find(task.design)
            if outcome is None:
                self._under_way[task.number] = task.design
                self._dispatcher.submit([task])
            else:
                answer = Answer(number=task.number, evaluation=outcome, worker=WORKER)
                self._known.append(answer)

    def finished(self, timeout_s: float) -> list[Answer]:
        """Answers that are known or have come in."""
        known, self._known = self._known, []
        answers = self._dispatcher.finished(0.0 if known else timeout_s)
        if answers:
            self._cache.keep((self._under_way.pop(a.number), a.evaluation) for a in answers)
        return known + answers


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, timeout=_BUSY_S)
    try:
        for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", _TABLE):
            connection.execute(statement)
        connection.execute("SELECT key, outcome FROM evaluation LIMIT 1")
    except BaseException:
        connection.close()
        raise
    return connection


def _packed(outcome: Evaluation) -> bytes:
    data = {
        "metrics": dict(outcome.metrics),
        "constraints": dict(outcome.constraints),
        "fidelity": outcome.fidelity,
        "notes": outcome.notes,
        "reason": outcome.reason,
    }
    return zlib.compress(json.dumps(data).encode(), 1)


def _sealed_entry(key: bytes, packed: bytes) -> bytes:
    """With a checksum, so that no entry is taken for another one or for what it was not."""
    return zlib.crc32(key + packed).to_bytes(4, "big") + packed


def _opened_entry(key: bytes, sealed: bytes) -> bytes:
    packed = sealed[4:]
    if _sealed_entry(key, packed) != sealed:
        raise ValueError("a damaged entry")
    return packed


def _about(study: Study) -> str:
    """All that the outcomes of a study depend on besides the run, as a text."""
    goals, file = study.goals, study.file
    parts: dict[str, Any] = {
        "evaluator": file.evaluator,
        "code": code_that_decides(study),
        "metrics": sorted(needed_metrics(goals)),
        "memory": goals.memory_margin,
        "physical": file.physical,
    }
    if file.cost is not None:
        with files_kept(study.files):
            prices = load_prices(file.cost.prices, beside=file.cost.beside(study.folder))
        parts["cost"] = [file.cost.model, file.cost.network, prices.model_dump_json()]
    return json.dumps(parts, sort_keys=True)


def code_that_decides(study: Study) -> dict[str, str]:
    """Hashes of the code that turns a run into metrics."""
    return {
        name: digest
        for name, digest in code_digests(study.texts).items()
        if name.startswith(_DECIDING) or not name.startswith("dse/")
    }
