"""What storing, resuming and exporting cost, up to any number of trials.

``python benchmarks/store.py [--study p1_cosmic_1024.yaml] [--trials 100000] [--export-rows 1000000]
[--folder DIR]`` prints a line per step and one JSON object at the end. Times are CPU seconds; every
export is a process of its own, whose peak memory is told too. The store of ten million rows takes
10 to 20 GB.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

from dse.evaluate import Task
from dse.evaluate.workers.worker import Worker
from dse.provenance import Provenance
from dse.store.errors import STORE
from dse.store.folder import StudyFolder
from dse.study.compile import Study, load_study_file
from dse.study.trials import Trial

FIGURES: dict[str, float] = {}


@contextmanager
def measured(name: str) -> Iterator[None]:
    start_s = time.process_time()
    yield
    FIGURES[name] = time.process_time() - start_s
    print(f"{name:40} {FIGURES[name]:9.3f} s", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", default="p1_cosmic_1024.yaml")
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--export-rows", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="Where to write; default: a temporary folder.")
    options = parser.parse_args()
    study = load_study_file(options.study)
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = Path(scratch) / "study"
        store_and_resume(study, folder, options.trials)
        export(study, folder, options.export_rows)
    FIGURES["store_ms_per_trial"] = 1e3 * FIGURES["store"] / options.trials
    FIGURES["peak_memory_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps({"benchmark": "store", **vars(options), **FIGURES}, default=str))


def made_trials(study: Study, count: int) -> list[Trial]:
    """The first designs of the space with the outcome of a real evaluation each in turn."""
    designs = list(islice(study.space.designs(), count))
    worker = Worker(study.evaluator_input, "w0")
    real = designs[:: max(len(designs) // 40, 1)]
    answers = worker.evaluate([Task(number=n, design=design) for n, design in enumerate(real)])
    return [
        Trial(number=n, design=d, evaluation=answers[n % len(answers)].evaluation, worker="w0")
        for n, d in enumerate(designs)
    ]


def store_and_resume(study: Study, path: Path, count: int) -> None:
    trials = made_trials(study, count)
    assert len(trials) == count, "the space is too small"
    with StudyFolder(path) as folder:
        folder.open(study, Provenance.of(study))
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
    """Repeat the trials of the store under new numbers, then export all of them."""
    with StudyFolder(path) as folder:
        trials = folder.known_trials(study, resume=True)
        folder.open(study, Provenance.of(study))
        for number in range(len(trials), rows):
            folder.writer.add(replace(trials[number % len(trials)], number=number))
        folder.close()
    FIGURES["exported_rows"] = max(rows, len(trials))
    run_export(path, "front", "--front")
    run_export(path, "journal", "--optuna-journal")
    for kind in ("parquet", "csv", "json"):
        run_export(path, kind, "--format", kind)


def run_export(path: Path, name: str, *options: str) -> None:
    """One ``dse export``; notes CPU time, peak memory and size."""
    out = path / f"all.{name}"
    command = [sys.executable, "-m", "dse", "export", str(path), *options, "--out", str(out)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child, peak_mb = subprocess.Popen(command), 0.0
    while child.poll() is None:
        peak_mb = max(peak_mb, _peak_mb(child.pid))
        time.sleep(0.05)
    assert child.returncode == 0, command
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    FIGURES[f"{name}_cpu_s"] = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    FIGURES[f"{name}_peak_mb"] = peak_mb
    FIGURES[f"{name}_file_mb"] = out.stat().st_size / 1e6
    told = {key: round(value, 1) for key, value in FIGURES.items() if key.startswith(name)}
    print(f"{name:40} {told}", file=sys.stderr)
    out.unlink()


def _peak_mb(pid: int) -> float:
    """Peak memory of a process; what it had before it became another program does not count."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1e3
    return 0.0


if __name__ == "__main__":
    main()
