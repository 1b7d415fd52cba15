"""CPU seconds of this tree and of another one, benchmark by benchmark, in turns.

Packages and files of each tree are copied to a temporary folder, and this tree's benchmarks beside
them, so that both answer the same questions whatever is edited meanwhile. A benchmark that does not
load with the packages of the other tree is taken from that tree. Either tree has byte code and
compiled kernels of its own.
"""

import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("simcore", "dse", "configs", "studies")
LEAST_RATIO = 0.97
_SHORT_S, _MORE_OFTEN = 3.0, 5

BENCHMARKS: dict[str, tuple[str, ...]] = {
    "evaluations": (
        "benchmarks/evaluations.py", "--designs=100", "--warm=400",
        "p1_cosmic_1024.yaml", "llm_gpt.yaml",
    ),
    "astra": (
        "benchmarks/astra.py", "--case=ring_256", "--case=torus_16x8x8", "--case=switch_32x32",
        "--case=llm_64_2d", "--case=llm_64_1d_aware",
    ),
    "overhead": ("benchmarks/search/overhead.py", "--trials=4000"),
    "store": ("benchmarks/store.py", "--trials=8000", "--export-rows=20000"),
    "simcore --help": ("-m", "simcore", "--help"),
    "dse --help": ("-m", "dse", "--help"),
}  # fmt: skip
"""Words for Python by the name of what they measure."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree whose packages are measured.

    Attributes:
        checkout: Where it lies.
        scratch: Where its copy, its byte code and its compiled kernels go.
    """

    checkout: Path
    scratch: Path

    @property
    def environment(self) -> dict[str, str]:
        """Variables with which Python finds the packages of this tree and its caches alone."""
        own = {
            "PYTHONPATH": str(self.layout),
            "PYTHONPYCACHEPREFIX": str(self.scratch / "byte-code"),
            "SIMCORE_CACHE_DIR": str(self.scratch / "kernels"),
        }
        left_out = ("PYTHONDONTWRITEBYTECODE", "NUMBA_DISABLE_JIT")
        return {k: v for k, v in os.environ.items() if k not in left_out} | own

    @property
    def layout(self) -> Path:
        return self.scratch / "tree"

    def lay_out(self) -> None:
        """Copy what is measured."""
        self.layout.mkdir(parents=True)
        (self.scratch / "kernels").mkdir(mode=0o700)
        for name in COPIED:
            _copy(self.checkout / name, self.layout / name)
        self.take_benchmarks(ROOT)

    def take_benchmarks(self, checkout: Path) -> None:
        shutil.rmtree(self.layout / "benchmarks", ignore_errors=True)
        _copy(checkout / "benchmarks", self.layout / "benchmarks")

    def run(self, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, *words],
            cwd=self.layout,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def cpu_s(self, words: Sequence[str]) -> float:
        """CPU seconds of one Python and all that it starts; ends this program where it fails."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = self.run(words)
        if done.returncode:
            sys.exit(f"{self.checkout}: {' '.join(words)}\n{done.stderr[-2000:]}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def prepare(self, words: Sequence[str]) -> None:
        """Take the benchmark that *words* name from this tree, or else from the measured one."""
        if words[0] == "-m":
            return
        self.take_benchmarks(ROOT)
        if self.run((words[0], "--help")).returncode:
            print(f"{words[0]} does not load with {self.checkout}: its own is taken", flush=True)
            self.take_benchmarks(self.checkout)


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))


def measure(ours: Tree, theirs: Tree, words: Sequence[str], times: int) -> tuple[float, float]:
    """Median CPU seconds of *words* with either tree, run in turns after a first run of each."""
    for tree in (ours, theirs):
        tree.prepare(words)
    first_s = [tree.cpu_s(words) for tree in (ours, theirs)]  # compiles kernels and byte code
    if max(first_s) < _SHORT_S:
        times *= _MORE_OFTEN
    turns = [(ours.cpu_s(words), theirs.cpu_s(words)) for _ in range(times)]
    mine_s, their_s = zip(*turns, strict=True)
    return median(mine_s), median(their_s)


def ratios(against: Path, scratch: Path, names: Sequence[str], times: int) -> int:
    """Print their CPU seconds over ours; how many of the *names* are slower here than may be."""
    ours, theirs = (
        Tree(checkout.resolve(), scratch / name)
        for checkout, name in ((ROOT, "ours"), (against, "theirs"))
    )
    for tree in (ours, theirs):
        tree.lay_out()
        where = tree.run(("-c", "import simcore; print(simcore.__file__)")).stdout
        if not Path(where.strip()).is_relative_to(tree.layout):
            sys.exit(f"{tree.checkout}: other packages than its own are loaded: {where}")
        tree.cpu_s(("-m", "simcore", "compile"))
    slower = 0
    for name in names:
        our_s, their_s = measure(ours, theirs, BENCHMARKS[name], times)
        ratio = their_s / our_s
        slower += ratio < LEAST_RATIO
        verdict = "" if ratio >= LEAST_RATIO else f"  SLOWER: below {LEAST_RATIO}"
        print(
            f"{name:15} ours {our_s:8.3f} theirs {their_s:8.3f} CPU s  ratio {ratio:.3f}{verdict}",
            flush=True,
        )
    return slower
