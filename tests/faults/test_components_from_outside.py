"""Components of a user's own: built from the guide in a folder of their own, used by name."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from commands_here import run_here
from guide import PARTS, ROOT

DIMENSIONS = [
    {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
    {"topology": "ring", "npus": 2, "bandwidth": "25 GB/s", "latency": "1700 ns"},
]
RUN = {
    "version": 1,
    "workload": {
        "model": {
            **{"kind": "gpt", "name": "one layer of GPT-3", "layers": 1, "vocabulary": 0},
            **{"hidden": 12288, "heads": 96, "ffn": 49152},
        },
        **{"sequence": 256, "global_batch": 4},
    },
    "platform": {"npu": "a100_80", "dimensions": DIMENSIONS},
    "plan": {"tp": 8, "dp": 2},
    "system": {"all_reduce": "ring"},
}
MLP = {
    **RUN,
    "workload": {
        "kind": "parts.mlp:MlpWorkload",
        "model": {"kind": "mlp", "name": "wide", "width": 1024, "layers": 4},
        "global_batch": 256,
    },
    "plan": {"dp": 16, "micro_batch": 16},
}
STUDY = {
    "version": 1,
    "run": RUN,
    "space": {
        "axes": {
            "platform.dimensions[0].topology": {"choices": ["parts.express:ExpressLine", "switch"]},
            "system.all_to_all": {"choices": ["parts.bruck:Bruck", "direct"]},
            "compute": {"choices": ["parts.derated:Derated", "roofline"]},
        }
    },
    "objectives": {"iteration_time": "minimise", "capital_cost": "minimise"},
    "cost": {"model": "parts.rent:Rent", "network": "parts.rent:Rent", "prices": "default"},
    "search": {
        "trials": 6,
        "sampler": "parts.annealing:Hasty",
        "fidelity": ["congestion_unaware", "parts.fifo:Fifo"],
        "promote": 1,
        "controls": 1,
    },
}
PLAIN_SPACE = {"axes": {"plan.micro_batch": {"choices": [1, 2]}}}
FORMULA = {
    "version": 1,
    "evaluator": "parts.formula:Formula",
    "space": {
        "axes": {
            "npus": {"choices": [512, 1024, 2048]},
            "bandwidth": {"ladder": ["25 GB/s", "50 GB/s"]},
        }
    },
    "objectives": {"iteration_time": "minimise", "capital_cost": "minimise"},
    "search": {"trials": 6},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "__init__.py").touch()
    for name, text in PARTS.items():
        (tmp_path / "parts" / f"{name}.py").write_text(text)
    for name, table in {"run": RUN, "mlp": MLP, "study": STUDY, "formula": FORMULA}.items():
        (tmp_path / f"{name}.yaml").write_text(json.dumps(table))
    return tmp_path


STUDIES_IN_ONE_PROCESS = """
import sys
from dse.cli import main
from dse.evaluate.workers.ray_start import ray_kept_up

with ray_kept_up():
    for name in ("study", "formula"):
        words = ["study", f"{name}.yaml", "--out", f"out_{name}", *sys.argv[1:]]
        assert main(words, standalone_mode=False) in (None, 0)
"""
"""Ray, the server of local workers and the driver take seconds to start: once for both studies."""


def studies(folder: Path, executor: str) -> subprocess.CompletedProcess[str]:
    """Both studies, by a driver that has imported none of their components."""
    path = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run(
        [sys.executable, "-c", STUDIES_IN_ONE_PROCESS, "--executor", executor, "--workers", "1"],
        cwd=folder,
        env={**os.environ, **path},
        capture_output=True,
        text=True,
        timeout=300,
    )


def time_s(folder: Path, file: str, **values: str) -> float:
    sets = [word for path, value in values.items() for word in ("--set", f"{path}={value}")]
    ran = run_here(folder, "simcore", "simulate", file, *sets, "--json", "out.json")
    assert ran.returncode == 0, ran.stderr
    answer = json.loads((folder / "out.json").read_text())
    return float(answer["metrics"]["iteration_time_s"])


def test_the_guide_shows_a_whole_component_of_each_of_these_kinds() -> None:
    assert sorted(PARTS) == [
        *("annealing", "bruck", "derated", "dpu", "express", "fifo", "formula", "mlp", "rent")
    ]


def test_the_components_of_the_guide_are_simulated_by_name(folder: Path) -> None:
    plain = time_s(folder, "run.yaml")
    derated = time_s(folder, "run.yaml", compute="parts.derated:Derated")
    assert plain < derated < 1.6 * plain
    topology = {"platform.dimensions[0].topology": "parts.express:ExpressLine"}
    assert time_s(folder, "run.yaml", **topology) > plain
    assert time_s(folder, "mlp.yaml") > 0
    queued = time_s(folder, "run.yaml", backend="congestion_aware_multidim")
    assert time_s(folder, "run.yaml", backend="parts.fifo:Fifo") == queued > plain


@pytest.mark.parametrize("executor", ["serial", "local", "ray"])
def test_they_run_in_studies_on_workers_that_know_them_by_name_alone(
    folder: Path, executor: str
) -> None:
    if executor == "serial":
        for name in ("study", "formula"):
            words = ("study", f"{name}.yaml", "--executor", executor, "--out", f"out_{name}")
            ran = run_here(folder, "dse", *words)
            assert ran.returncode == 0, ran.stdout + ran.stderr
    else:
        ran = studies(folder, executor)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    summary = json.loads((folder / "out_study" / "summary.json").read_text())
    assert summary["failed"] == 0
    assert summary["evaluated"] == 6
    assert summary["fidelity"]["front"] == "parts.fifo:Fifo"
    rows = pd.read_parquet(folder / "out_formula" / "trials.parquet")
    assert set(rows["fidelity"]) == {"formula"}
    assert len(rows) == 6
    least_s = 4 * 70e9 * 1023 / 1024 / 50e9
    assert rows["objectives.iteration_time"].min() == pytest.approx(least_s)


@pytest.mark.parametrize(
    ("part", "name", "file"),
    [
        ({"cost": {"model": "parts.rent:Rent"}}, "parts.rent:Rent", "parts/rent.py"),
        (
            {"run": {**RUN, "system": {"all_to_all": "window:WINDOWED"}}},
            "window:WINDOWED",
            "window.py",
        ),
        (
            {"space": {"axes": {"compute": {"choices": ["roofline", "parts.derated:Derated"]}}}},
            "parts.derated:Derated",
            "parts/derated.py",
        ),
    ],
    ids=["class", "object of a shipped class", "choice of a knob"],
)
def test_a_changed_component_is_noticed_when_a_study_goes_on(
    folder: Path, part: dict[str, object], name: str, file: str
) -> None:
    text = "from simcore.collectives import Direct\nWINDOWED = Direct(window=8)\n"
    (folder / "window.py").write_text(text)
    plain = {**STUDY, "space": PLAIN_SPACE, "cost": {"model": "whole_machine"}, "search": {}}
    (folder / "study.yaml").write_text(json.dumps({**plain, **part}))
    words = ("dse", "study", "study.yaml", "--executor", "serial", "--out", "out")
    ran = run_here(folder, *words, "--trials", "1")
    assert ran.returncode == 0, ran.stderr
    with (folder / file).open("a") as opened:
        opened.write("# another one\n")
    again = run_here(folder, *words, "--resume", "--trials", "2")
    assert again.returncode != 0
    assert f"the code of {name} has changed" in again.stderr


BROKEN = {
    "divides.py": "1 / 0\n",
    "ends.py": "raise SystemExit(3)\n",
    "asks.py": "import os\nThing = os.no_such_thing\n",
    "open.py": "Thing = 1\n",
    "inner/__init__.py": "raise KeyError('no\\nway')\n",
    "inner/thing.py": "Thing = 1\n",
    "shared/__init__.py": "open('loaded', 'w')\n",
    "shared/thing.py": "Thing = 1\n",
    "steps.py": """from dataclasses import dataclass
from fractions import Fraction
from simcore.collectives import CollectiveAlgorithm, Offset, Step
@dataclass
class Loose(CollectiveAlgorithm):
    def runs(self, kind, members): return members == 4
    def steps(self, kind, members): return [Step(size=Fraction(4), peer=Offset(1))]
class Short(Loose):
    __hash__ = object.__hash__
class Failing(Short):
    def runs(self, kind, members): return members / 0
""",
}


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("os:system", "must name a module that is not Python's own"),
        ("parts.nowhere:Thing", "must name a module on the import path"),
        ("parts.bruck:Nothing", "must name what .*parts/bruck.py defines"),
        ("parts.express:ExpressLine", "must be a CollectiveAlgorithm, or a class of it"),
        ("parts.divides:Thing", r"can be imported \(ZeroDivisionError: division by zero\)"),
        ("parts.ends:Thing", r"can be imported \(SystemExit: 3\)"),
        ("parts.asks:Thing", r"can be imported \(AttributeError: .*no_such_thing"),
        ("parts.inner.thing:Thing", r"can be imported \(KeyError: .*way'\)"),
        ("parts.open:Thing", "code that nobody else can change: other users can write to"),
        ("parts.shared.thing:Thing", "code that nobody else can change: other users can write to"),
        ("parts.steps:Loose", r"must be hashable: .*, but got .Loose"),
        ("parts.steps:Short", "parts.steps:Short: Short, all_reduce among 4: every .* but got 1"),
        ("parts.steps:Failing", r"must answer what is asked of it \(ZeroDivisionError: division"),
    ],
)
def test_what_is_no_component_is_refused_in_one_sentence(
    folder: Path, name: str, rule: str
) -> None:
    for file, text in BROKEN.items():
        (folder / "parts" / file).parent.mkdir(exist_ok=True)
        (folder / "parts" / file).write_text(text)
    (folder / "parts" / "open.py").chmod(0o666)
    (folder / "parts" / "shared").chmod(0o777)
    ran = run_here(folder, "simcore", "simulate", "run.yaml", "--set", f"system.all_to_all={name}")
    assert ran.returncode == 2
    assert re.search(rule, ran.stderr), ran.stderr
    assert ran.stderr.count("\n") == 1
    assert not (folder / "loaded").exists()


def test_a_folder_without_init_is_a_package_too(folder: Path) -> None:
    (folder / "parts" / "__init__.py").unlink()
    assert time_s(folder, "run.yaml", compute="parts.derated:Derated") > 0


def test_a_compute_model_that_would_not_be_asked_is_refused(folder: Path) -> None:
    text = "from simcore.compute import Roofline\nclass Half(Roofline):\n"
    text += "    def kernel_time_ns(self, kernel, npu, precision): return 1\n"
    (folder / "parts" / "half.py").write_text(text)
    ran = run_here(folder, "simcore", "simulate", "run.yaml", "--set", "compute=parts.half:Half")
    assert ran.returncode == 2
    assert "must define operator_time_ns too" in ran.stderr
