"""What storing, resuming and exporting cost, up to any number of trials.

``python benchmarks/store.py [--trials 100000] [--export-rows 1000000]`` prints a line per step and
one JSON object at the end. Times are CPU seconds of this process.
"""

import argparse
import json
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from dse.config import Study, load_study_file
from dse.evaluate import Task, build_evaluator
from dse.evaluate.worker import Worker
from dse.store import STORE, StudyFolder
from dse.tables import write_csv, write_parquet
from dse.trials import Trial

FIGURES: dict[str, float] = {}


@contextmanager
def measured(name: str) -> Iterator[None]:
    start_s = time.process_time()
    yield
    FIGURES[name] = time.process_time() - start_s
    print(f"{name:40} {FIGURES[name]:9.3f} s", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--export-rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="Where to write; default: a temporary folder.")
    options = parser.parse_args()
    study = load_study_file("p1_cosmic_1024.yaml")
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = Path(scratch) / "study"
        store_and_resume(study, folder, options.trials)
        export(study, folder, options.export_rows)
    FIGURES["store_ms_per_trial"] = 1e3 * FIGURES["store"] / options.trials
    FIGURES["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps({"benchmark": "store", **vars(options), **FIGURES}, default=str))


def made_trials(study: Study, count: int) -> list[Trial]:
    """Different designs of the space with the outcome of a real evaluation each in turn."""
    from random import Random

    from dse.samplers import ProposerInput, build_proposer

    proposer = build_proposer("random", ProposerInput(space=study.space, goals=study.goals, seed=1))
    asked = [proposer.ask() for _ in range(40)]
    real = [proposal.design for proposal in asked if proposal is not None]
    build_evaluator(study.evaluator_input)
    worker = Worker(study.evaluator_input, "w0")
    answers = worker.evaluate([Task(number=n, design=design) for n, design in enumerate(real)])
    random, trials = Random(1), []
    for number in range(count):
        known = answers[number % len(answers)]
        design = {**real[number % len(real)], "platform.serial": number + random.random()}
        trials.append(Trial(number=number, design=design, evaluation=known.evaluation, worker="w0"))
    return trials


def store_and_resume(study: Study, path: Path, count: int) -> None:
    trials = made_trials(study, count)
    with StudyFolder(path) as folder:
        folder.open(study)
        with measured("store"):
            for trial in trials:
                folder.writer.add(trial)
            folder.writer.flush()
        folder.close()
    FIGURES["bytes_per_trial"] = (path / STORE).stat().st_size / count
    del trials
    with StudyFolder(path) as folder, measured("reload"):
        found = folder.known_trials(study, resume=True)
    assert len(found) == count


def export(study: Study, path: Path, rows: int) -> None:
    """Multiply the rows of the store, as SQL can, then export all of them as streams."""
    with closing(sqlite3.connect(path / STORE)) as store:
        have = store.execute("SELECT count(*) FROM trial").fetchone()[0]
        columns = [row[1] for row in store.execute("PRAGMA table_info(trial)")][2:]
        copied = ", ".join(columns)
        while have < rows:
            more = min(have, rows - have)
            store.execute(
                f"INSERT INTO trial SELECT number + {have}, randomblob(16), {copied} FROM trial "
                f"WHERE number < {more}"
            )
            store.commit()
            have += more
    folder = StudyFolder(path)
    columns_shown = folder.columns(study)
    with measured("export_parquet"):
        write_parquet(columns_shown, folder.read_trials(), path / "all.parquet")
    FIGURES["parquet_mb"] = (path / "all.parquet").stat().st_size / 1e6
    with measured("export_csv"), (path / "all.csv").open("w") as out:
        write_csv(columns_shown, folder.read_trials(), out)
    FIGURES["exported_rows"] = have


if __name__ == "__main__":
    main()
