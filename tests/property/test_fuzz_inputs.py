"""Damaged inputs run or are refused with a sentence: no fault, no hang, no flood of memory."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_500_damaged_inputs_run_or_are_refused_with_a_sentence(tmp_path: Path) -> None:
    script = ROOT / "benchmarks" / "fuzz.py"
    command = [sys.executable, str(script), "--mutations", "500", "--seed", "2026"]
    done = subprocess.run(
        [*command, "--keep", str(tmp_path)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(done.stdout.splitlines()[-1])
    assert figures["ok"] + figures["error"] + figures["incomplete"] == figures["mutations"] == 500
    assert figures["ok"] > 20
    assert figures["error"] > 100
    assert figures["longest_s"] < 10
