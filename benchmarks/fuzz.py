"""Feeds damaged files to simulator and search: each is taken, or refused with a sentence.

    python benchmarks/fuzz.py [--mutants 2000] [--seed 0] [--kinds study,run] [--keep FOLDER]

For every kind of input a sound one is damaged in so many ways: bytes changed, cut and doubled,
words swapped, values replaced by extreme ones, keys renamed, doubled and dropped. Each mutant is
used, as its command would use it, in a child process with 2 GB for data. A traceback, a crash, a
sentence of several lines, a warning of numpy, more than 10 s of CPU time or more memory is a
failure: its inputs are kept and the exit code is 1. Prints a line per kind.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import BinaryIO, TextIO

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fuzz_kinds import KINDS, Kind

LIMIT_S, LIMIT_WALL_S = 10.0, 600.0
LIMIT_BYTES = 2 << 30
LONGEST_SENTENCE = 3000
FAILURES = ("fault", "lost", "memory", "no sentence")


@dataclass
class Score:
    """What became of the mutants of one kind."""

    counts: Counter[str] = field(default_factory=Counter)
    longest_s: float = 0.0
    peak_bytes: int = 0
    failures: list[dict[str, object]] = field(default_factory=list)


def mutant(kind: Kind, number: int, seed: int) -> bytes:
    """One mutant; the same for the same *number* and *seed*."""
    return kind.mutant(Random(f"{kind.name} {seed} {number}"))


def outcome(kind: Kind, content: bytes, folder: Path) -> dict[str, object]:
    """Whether *content* is taken, and with which sentence it is refused."""
    from simcore import SimcoreError

    try:
        kind.use(content, folder)
    except MemoryError:
        return {"status": "memory", "message": ""}
    except SimcoreError as error:
        text = str(error)
        plain = 0 < len(text) <= LONGEST_SENTENCE and "\n" not in text
        status = "refused" if plain else "no sentence"
        if "more memory than there is" in text:
            status = "memory"
        return {"status": status, "message": text[:300]}
    except Exception:
        return {"status": "fault", "message": traceback.format_exc()[-1500:]}
    return {"status": "accepted", "message": ""}


def child(kind: Kind, numbers: range, seed: int, folder: Path, out: TextIO) -> None:
    """Use mutants in *folder*; one line of JSON for each to *out*."""
    warnings.simplefilter("error", RuntimeWarning)  # numpy's, which nobody should meet
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_BYTES, LIMIT_BYTES))
    for number in numbers:
        content = mutant(kind, number, seed)
        forget_peak()
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S)  # ends this process where it runs out
        start = time.process_time()
        found = outcome(kind, content, folder)
        spent = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps({**found, "cpu_s": spent, "bytes": peak()}), file=out, flush=True)


@contextmanager
def forked(kind: Kind, numbers: range, seed: int, folder: Path) -> Iterator[tuple[int, BinaryIO]]:
    """A child of this process, which has imported and compiled what there is, and what it tells."""
    sys.stdout.flush()
    reading, writing = os.pipe()
    number = os.fork()
    if number == 0:
        status = 1
        try:
            os.close(reading)
            with os.fdopen(writing, "w") as out:
                child(kind, numbers, seed, folder, out)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)  # this process's own ends, such as its temporary folders, are not its
    os.close(writing)
    with os.fdopen(reading, "rb", buffering=0) as told:
        try:
            yield number, told
        finally:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(number, 0)


def forget_peak() -> None:
    """Begin to measure the peak of memory anew, where the system lets us."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> int:
    """Most memory that this process held, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run_kind(name: str, mutants: int, seed: int) -> Score:
    """All mutants of a kind, with a new child after one that was lost."""
    kind, score, done = KINDS[name], Score(), 0
    with scratch(kind) as folder:
        kind.use(kind.sound, folder)  # imports and compiles what there is, for all children
    while done < mutants:
        with scratch(kind) as folder, forked(kind, range(done, mutants), seed, folder) as process:
            while done < mutants:
                found = _line(*process)
                _count(score, found, done)
                done += 1
                if found["status"] == "lost":
                    break
    return score


@contextmanager
def scratch(kind: Kind) -> Iterator[Path]:
    """A folder that holds what *kind* needs beside its input."""
    with tempfile.TemporaryDirectory() as text:
        kind.prepare(Path(text))
        yield Path(text)


def _line(child: int, told: BinaryIO) -> dict[str, object]:
    with selectors.DefaultSelector() as selector:
        selector.register(told, selectors.EVENT_READ)
        ready = selector.select(LIMIT_WALL_S)
    line = told.readline() if ready else b""
    if line:
        return dict(json.loads(line))
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) if ready else 0
    why = "killed after 10 CPU s" if ended == -signal.SIGPROF else f"ended with {ended}"
    return {"status": "lost", "message": why if ready else "waits for something"}


def _count(score: Score, found: dict[str, object], number: int) -> None:
    score.counts[str(found["status"])] += 1
    score.longest_s = max(score.longest_s, float(str(found.get("cpu_s", 0.0))))
    score.peak_bytes = max(score.peak_bytes, int(str(found.get("bytes", 0))))
    if found["status"] in FAILURES:
        score.failures.append({"mutant": number, **found})


def keep_failures(name: str, score: Score, seed: int, target: Path) -> None:
    """Write the input of each failure under *target*."""
    kind = KINDS[name]
    for failure in score.failures:
        number = int(str(failure["mutant"]))
        folder = target / f"{name}-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kind.prepare(folder)
        (folder / "mutant").write_bytes(mutant(kind, number, seed))
        (folder / "failure.txt").write_text(f"{failure['status']}\n{failure['message']}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutants", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    args = parser.parse_args()
    failed = 0
    for name in args.kinds.split(","):
        start = time.monotonic()
        score = run_kind(name, args.mutants, args.seed)
        failed += len(score.failures)
        keep_failures(name, score, args.seed, args.keep)
        for failure in score.failures[:3]:
            print(f"{name} {failure['mutant']}: {failure['status']}: {failure['message']}")
        figures = {
            "kind": name,
            "mutants": args.mutants,
            **{key: score.counts[key] for key in ("accepted", "refused")},
            "failed": len(score.failures),
            "longest_cpu_s": round(score.longest_s, 2),
            "peak_mb": score.peak_bytes >> 20,
            "wall_s": round(time.monotonic() - start),
        }
        print(json.dumps(figures), flush=True)
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
