"""Damaged inputs are taken or refused with a sentence: no fault, no hang, no flood of memory."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["run", "et", "host", "rule"]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """All kinds, one after another, by one process that imports everything once."""
    script = ROOT / "benchmarks" / "fuzz.py"
    words = ["--mutants", "100", "--seed", "2026", "--kinds", ",".join(KINDS)]
    kept = tmp_path_factory.mktemp("failures")
    command = [sys.executable, str(script), *words, "--keep", str(kept)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_inputs_are_taken_or_refused_with_a_sentence(
    kind: str, fuzzed: subprocess.CompletedProcess[str]
) -> None:
    assert fuzzed.returncode == 0, fuzzed.stdout + fuzzed.stderr
    told = {found["kind"]: found for found in map(json.loads, fuzzed.stdout.splitlines())}
    figures = told[kind]
    assert figures["accepted"] + figures["refused"] == figures["mutants"] == 100
    assert figures["accepted"] >= 5
    assert figures["refused"] >= 20
