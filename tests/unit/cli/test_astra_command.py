"""``simcore astra`` as a process: its words, what it loads, and how it ends."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from simcore.cli.astra import HELP, read_words
from simcore.errors import ConfigError
from simcore.formats.chakra import Metadata, Node, write_trace

ROOT = Path(__file__).resolve().parents[3]
SLOW_TO_LOAD = ("click", "yaml", "numba", "llvmlite", "pydantic", "rich", "hashlib", "gzip", "ray")


def run_words(folder: Path) -> list[str]:
    contents: dict[str, object] = {
        "system.json": {"scheduling-policy": "LIFO", "collective-optimization": "baseline"},
        "memory.json": {"memory-type": "NO_MEMORY_EXPANSION"},
    }
    for name, content in contents.items():
        (folder / name).write_text(json.dumps(content))
    network = "topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
    (folder / "network.yml").write_text(network)
    for npu in range(2):
        node = Node(id=1, type=4, duration_micros=3)
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), [node])
    return [
        f"--workload-configuration={folder / 'w'}",
        f"--system-configuration={folder / 'system.json'}",
        f"--network-configuration={folder / 'network.yml'}",
        f"--remote-memory-configuration={folder / 'memory.json'}",
    ]


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (["--a=1", "--b", "2"], {"a": "1", "b": "2"}),
        (["--a", "--b=x=y"], {"a": "true", "b": "x=y"}),
        (["--a=", "--a", "-3"], {"a": "-3"}),
        ([], {}),
    ],
)
def test_words_are_read_as_astra_sim_reads_them(words: list[str], options: dict[str, str]) -> None:
    assert read_words(words) == options


def test_a_word_without_an_option_is_refused() -> None:
    with pytest.raises(ConfigError, match="takes options, --key=value, but got 'b'"):
        read_words(["--a=1", "b"])


def test_a_run_loads_nothing_that_is_slow_to_load(tmp_path: Path) -> None:
    code = f"""
import sys
from simcore.cli.astra import run_astra
code = run_astra({run_words(tmp_path)!r})
print(code, [name for name in {SLOW_TO_LOAD!r} if name in sys.modules])
"""
    python("-c", code)  # compiles the kernels, for which it needs the compiler, if nobody did yet
    assert python("-c", code).stdout.splitlines()[-1] == "0 []"


def test_bad_input_ends_with_one_sentence(tmp_path: Path) -> None:
    words = run_words(tmp_path)
    done = python("-m", "simcore", "astra", *words[:3])
    assert done.returncode == 2
    assert done.stderr.startswith("simcore: --remote-memory-configuration: must name a file")
    assert done.stderr.count("\n") == 1
    done = python("-m", "simcore", "astra", *words, f"--json={tmp_path / 'no' / 'folder'}")
    assert done.returncode == 2
    assert done.stderr.endswith("must be writable, but got 'No such file or directory'.\n")


def test_a_reader_that_has_seen_enough_is_no_fault(tmp_path: Path) -> None:
    words = " ".join(run_words(tmp_path))
    shell = f"{sys.executable} -m simcore astra {words} | true"
    done = subprocess.run(["sh", "-c", shell], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Traceback" not in done.stderr


def test_help_is_shown_by_the_command_and_by_the_group() -> None:
    assert python("-m", "simcore", "astra", "--help").stdout == HELP
    assert "astra-batch" in python("-m", "simcore", "--help").stdout
