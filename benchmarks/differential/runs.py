"""One case run by both programs: what each says in the end, line by line."""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from case import Case

from simcore.errors import SimcoreError
from simcore.formats.astra import AstraFiles, log_lines, simulate_files

_PREFIX = re.compile(r"^\[[^]]+\] \[[^]]+\] \[[^]]+\] ")
_NPU = re.compile(r"^sys\[(\d+)\]")
_NO_FIGURES = ("Post statistics",)
LIMIT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended.

    Attributes:
        code: Exit code; below 0: killed by that signal. None: stopped by the time limit.
        lines: All lines of its log, without what the loggers put in front.
        message: What it said elsewhere.
    """

    code: int | None
    lines: list[str]
    message: str = ""

    @property
    def finished(self) -> dict[int, str]:
        """Per NPU that finished, the line that says so."""
        return {_npu(line): line for line in self.lines if " finished, " in line}

    @property
    def figures(self) -> dict[int, Counter[str]]:
        """Per NPU, the lines that hold figures."""
        found: dict[int, Counter[str]] = defaultdict(Counter)
        for line in self.lines:
            if _NPU.match(line) and not any(word in line for word in _NO_FIGURES):
                found[_npu(line)][line] += 1
        return found


def _npu(line: str) -> int:
    match = _NPU.match(line)
    assert match is not None, line
    return int(match[1])


def run_reference(binary: Path, case: Case, files: AstraFiles) -> Outcome:
    """Run the program that the user named."""
    words = [
        str(binary.resolve()),
        "--workload-configuration=w",
        "--system-configuration=system.json",
        "--network-configuration=network.yml",
        "--remote-memory-configuration=memory.json",
        *(f"--{key}={value}" for key, value in case.options.items()),
    ]
    if files.comm_group is not None:
        words.append("--comm-group-configuration=groups.json")
    try:
        done = subprocess.run(
            words,
            cwd=files.folder,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(code=None, lines=[])
    lines = [_PREFIX.sub("", line) for line in done.stdout.splitlines()]
    return Outcome(code=done.returncode, lines=lines, message=done.stderr.strip())


def run_ours(case: Case, files: AstraFiles, backend: str) -> Outcome:
    """Run this project's simulator."""
    try:
        result = simulate_files(files, backend, case.options | {"log-style": "astra"})
    except SimcoreError as error:
        return Outcome(code=2, lines=[], message=str(error))
    lines = [line.text for line in log_lines(result) if line.level != "debug"]
    notes = " ".join((*result.notes, *result.output.waiting))
    return Outcome(code=1 if result.unfinished else 0, lines=lines, message=notes)
