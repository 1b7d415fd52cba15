"""Scripts that run a study as soon as they are imported, as each worker of theirs does."""

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import dse

dse.run_study("p5_vit22b_64.yaml", trials=5, executor="local", workers=2)
"""


def test_a_script_without_a_guard_is_told_so_in_one_sentence(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1  # the script's own: workers say nothing
    assert done.stderr.splitlines()[-1].endswith(
        "execution.executor: needs a script to run studies under `if __name__ == '__main__':`, "
        "for workers import it, but got 'local'."
    )
