"""Compares random runs with a build of ASTRA-sim, figure by figure.

    python benchmarks/differential --binary congestion_unaware=PATH \
        --binary congestion_aware=PATH [--cases 1000] [--seed 1] [--keep FOLDER]

Each case goes through every named program whose backend takes its network. A pair of runs is equal,
misses the same NPUs, meets a known abort of ASTRA-sim, differs on purpose (docs/astra-sim.md) or is
UNEXPLAINED: then its inputs are kept under FOLDER and the exit code is 1. Programs are run, never
built; none is named, none is used.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from case import BACKENDS
from generate import random_case
from judge import Agreement, Verdict, judge
from runs import Outcome, run_ours, run_reference


def main() -> int:
    words = _parser().parse_args()
    binaries = dict(_binary(text) for text in words.binary)
    counts: Counter[Verdict] = Counter()
    whole_logs: Counter[str] = Counter()
    for number in range(words.first, words.first + words.cases):
        case = random_case(words.seed, number)
        with tempfile.TemporaryDirectory() as folder:
            files = case.write(Path(folder) / "case")
            for backend in case.backends:
                if backend not in binaries:
                    continue
                theirs = run_reference(binaries[backend], case, files)
                ours = run_ours(case, files, backend)
                verdict = judge(case, backend, theirs, ours)
                counts[verdict] += 1
                if verdict.agreement is Agreement.EQUAL:
                    whole_logs[_log_agreement(theirs, ours)] += 1
                if verdict.agreement is Agreement.UNEXPLAINED:
                    print(f"case {number} ({case.kind}, {backend}): {verdict.reason}", flush=True)
                    _keep(files.folder, words.keep / f"{words.seed}-{number}")
    _report(counts, whole_logs)
    return int(any(v.agreement is Agreement.UNEXPLAINED for v in counts))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--binary", action="append", required=True, metavar="BACKEND=PATH")
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("differential"))
    return parser


def _binary(text: str) -> tuple[str, Path]:
    backend, _, path = text.partition("=")
    if backend not in BACKENDS or not Path(path).is_file():
        raise SystemExit(f"--binary {text}: must be BACKEND=PATH, BACKEND one of {BACKENDS}.")
    return backend, Path(path)


def _log_agreement(theirs: Outcome, ours: Outcome) -> str:
    if theirs.lines == ours.lines:
        return "whole log equal"
    if sorted(theirs.lines) == sorted(ours.lines):
        return "whole log equal but for the order within a cycle"
    return "other lines differ"


def _keep(folder: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(folder, target)


def _report(counts: Counter[Verdict], whole_logs: Counter[str]) -> None:
    for agreement in Agreement:
        rows = [(v.reason, n) for v, n in counts.most_common() if v.agreement is agreement]
        print(f"{sum(n for _, n in rows):6} {agreement.value}")
        for reason, n in rows:
            if reason:
                print(f"{n:13} {reason}")
    for what, n in whole_logs.most_common():
        print(f"{n:6} of the equal ones: {what}")


if __name__ == "__main__":
    sys.exit(main())
