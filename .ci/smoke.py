"""Every part of the product once, as it is installed, with whatever versions this Python finds.

The trials of all executors must agree; all else must end well. Exits with 1 where something fails.
It is run in an empty folder: what it names must come with the installation.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

SYSTEM = {"scheduling-policy": "LIFO", "collective-optimization": "baseline"}
NETWORK = "topology: [ Ring ]\nnpus_count: [ 2 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n"
PACKAGES = ("numpy", "numba", "pandas", "pyarrow", "ray", "optuna", "pydantic", "protobuf")


def run(*words: object) -> str:
    """Output of ``python -m``; ends this program where that fails."""
    command = [sys.executable, "-m", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or "Traceback" in done.stderr:
        sys.exit(f"{' '.join(command)}\nended with {done.returncode}: {done.stderr[-4000:]}")
    return done.stdout


def dse_here(*words: object) -> None:
    """``python -m dse`` without a process of its own; ends this program where that fails."""
    from dse.cli import main as commands

    commands([str(word) for word in words], standalone_mode=False)


def check_installation() -> None:
    """The packages are those of this environment, not those of a checkout."""
    import dse
    import simcore

    for package in (simcore, dse):
        home = Path(str(package.__file__))
        assert home.is_relative_to(sys.prefix), f"{home} is not below {sys.prefix}"


def check_simulators(folder: Path) -> None:
    """A training iteration, and a trace as ASTRA-sim runs it."""
    from simcore.files.resources import shipped_folder
    from simcore.formats.chakra import Metadata, Node, write_trace

    runs = shipped_folder("configs") / "runs"
    told = run("simcore", "simulate", runs / "gpt3_175b_1024_a100.yaml")
    assert "iteration time" in told, told
    (folder / "system.json").write_text(json.dumps(SYSTEM))
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    (folder / "network.yml").write_text(NETWORK)
    for npu in range(2):
        node = Node(id=1, type=4, duration_micros=3)
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), [node])
    options = {"workload": "w", "system": "system.json", "network": "network.yml"}
    words = [f"--{name}-configuration={folder / file}" for name, file in options.items()]
    told = run("simcore", "astra", *words, f"--remote-memory-configuration={folder}/memory.json")
    assert "3000" in told, "a node of 3 us takes 3,000 cycles of 1 ns"


def check_studies(folder: Path) -> None:
    """One study on every executor; one of them is resumed, reported and exported too."""
    import dse

    tables = []
    for executor in ("serial", "local", "ray"):
        study = ["dse", "study", "p5_vit22b_64.yaml", "--executor", executor, "--workers", 2]
        study += ["--quiet", "--out", folder / executor]
        if executor == "serial":
            run(*study, "--trials", 20)
            run(*study, "--trials", 30, "--resume")
        else:
            run(*study, "--trials", 30)
        table = dse.load_study(folder / executor).trials
        assert list(table["number"]) == list(range(30))
        tables.append(table.filter(regex="^(number|state|params|objectives|metrics)"))
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    # with all its levels, of which the last one takes seconds per design where Python runs kernels
    dse.run_study("p1_cosmic_512.yaml", executor="serial", trials=2, settle=0, out=folder / "g")
    # in this process, which has imported what each of four others would
    dse_here("report", folder / "serial")
    for kind in ("csv", "json", "parquet"):
        dse_here("export", folder / "serial", "--format", kind, "--out", folder / f"trials.{kind}")
        assert (folder / f"trials.{kind}").stat().st_size > 1000


def main() -> None:
    """Check all parts and tell which versions they ran with."""
    from importlib.metadata import version

    check_installation()
    with tempfile.TemporaryDirectory() as scratch:
        check_simulators(Path(scratch))
        check_studies(Path(scratch))
    found = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    print(f"works: Python {sys.version.split()[0]}, {found}")


if __name__ == "__main__":
    main()
