"""Damaged inputs are taken or refused with a sentence: no fault, no hang, no flood of memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["run", "et", "host", "rule"]


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_inputs_are_taken_or_refused_with_a_sentence(kind: str, tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "fuzz.py"
    command = [sys.executable, str(script), "--mutants", "100", "--seed", "2026", "--kinds", kind]
    done = subprocess.run(
        [*command, "--keep", str(tmp_path)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["accepted"] + figures["refused"] == figures["mutants"] == 100
    assert figures["accepted"] >= 5
    assert figures["refused"] >= 20
