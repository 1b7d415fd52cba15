"""Functions and commands of a user's in studies: what they get, give, and how they fail."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands_here import run_here
from fault_studies import stored, wait_for
from guide import ROOT

FUNCTIONS = """
import os, time
from simcore import InfeasibleError

def noise(design, metrics):
    if design["width"] == 3:
        raise InfeasibleError("noise", "odd widths hum")
    print("this goes nowhere")
    return {"noise_db": 40.0 + design["width"], "notes": ["measured in a hall"]}

def size(design, metrics):
    return {"size_m2": design["width"] * design["length"]}

def time_of(design, metrics):
    return {"iteration_time_s": 1.0 / design["width"]}

time_of.gives = ("iteration_time_s",)

def hangs(design, metrics):
    while design["width"] == 4:
        pass
    return {"noise_db": 1.0}

hangs.gives = ("noise_db",)

def sleeps(design, metrics):
    time.sleep(0.05)
    return {"noise_db": 1.0 + design["width"]}

def eats(design, metrics):
    kept = [bytearray(1 << 20) for _ in range(500 if design["width"] == 4 else 1)]
    return {"noise_db": float(len(kept))}

def dies(design, metrics):
    if design["width"] == 4:
        os._exit(7)
    return {"noise_db": 1.0}

def odd(design, metrics):
    answers = {1: [1], 2: {"noise_db": float("nan")}, 4: {"other_db": 1.0}, 8: {"noise_db": True}}
    return answers.get(design["width"], {"noise_db": 1.0})

def huge(design, metrics):
    return {"noise_db": 10**400 if design["width"] == 4 else 1.0}

def shouts(design, metrics):
    if design["width"] == 4:
        raise ValueError(f"first line\\nsecond \\x1b[31mred {object()}")
    return {"noise_db": 1.0}

def breaks(design, metrics):
    return {"noise_db": 1 / abs(design["width"] - 4)}
"""
PROGRAM = f"""#!{sys.executable}
import json, os, sys, time
asked = json.load(sys.stdin)
width = asked["design"]["width"]
what = sys.argv[1]
if what == "fails" and width == 4:
    sys.exit("no such width")
if what == "hangs" and width == 4:
    if os.fork() == 0:
        time.sleep(60)
    time.sleep(60)
if what == "floods" and width == 4:
    while True:
        print("x" * 65536)
if what == "garbles" and width == 4:
    print("noise: 3 dB")
elif what == "repeats" and width == 4:
    print('{{"noise_db": 40, "noise_db": 41}}')
else:
    print(json.dumps({{"noise_db": 40 + width + asked["metrics"].get("size_m2", 0)}}))
"""
WIDTHS = [1, 2, 3, 4, 6, 8]


def study(**more: Any) -> dict[str, Any]:
    metrics = more.pop("metrics", {})
    return {
        "version": 1,
        "evaluator": "own",
        "metrics": metrics,
        "space": {
            "axes": {
                "width": {"choices": WIDTHS},
                "length": {"ladder": ["2 s", "5 s"]},
            }
        },
        "objectives": {"noise_db": "minimise"},
        "search": {"trials": 100},
        **more,
    }


def step(function: str = "", **more: Any) -> dict[str, Any]:
    code = {"function": f"own_code:{function}"} if function else {}
    return {**code, "gives": ["noise_db"], **more}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "own_code.py").write_text(FUNCTIONS)
    (tmp_path / "program").write_text(PROGRAM)
    (tmp_path / "program").chmod(0o755)
    return tmp_path


QUICK = """
from dataclasses import replace
from dse.__main__ import main
from dse.evaluate import start_crew
from dse.run import runner

def started(*given, **options):
    return start_crew(*given, **{**options, "limits": replace(options["limits"], load_s=1.0)})

runner.start_crew = started
main()
"""
"""``dse`` that gives a worker which takes the place of another one 1 s to load, in place of 15."""


def started(
    folder: Path, table: dict[str, Any], *words: str, program: Sequence[str] = ("-m", "dse")
) -> "subprocess.Popen[str]":
    (folder / "study.yaml").write_text(json.dumps(table))
    return subprocess.Popen(
        [sys.executable, *program, "study", "study.yaml", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(
    folder: Path, table: dict[str, Any], *words: str, executor: str = "serial", workers: int = 1
) -> tuple[int, str]:
    """Exit code and words of a study; a serial one runs here, its functions in their processes."""
    if executor == "serial":
        (folder / "study.yaml").write_text(json.dumps(table))
        study = ("dse", "study", "study.yaml", "--executor", "serial", "--out", "out")
        here = run_here(folder, *study, *words)
        return here.returncode, here.stdout + here.stderr
    count = ["--workers", str(workers)]
    process = started(folder, table, "--executor", executor, *count, "--out", "out", *words)
    told = ended(process)
    return process.returncode, told


def ended(process: "subprocess.Popen[str]") -> str:
    """What *process* has written, once it has ended."""
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return out + err


def rows(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "out" / "trials.parquet")


BOTH = {
    "size": {"function": "own_code:size", "gives": ["size_m2"]},
    "noise": {"command": ["program", "plain"], "gives": ["noise_db"], "memory": "2 GB"},
}


@pytest.mark.parametrize(("executor", "workers"), [("serial", 1), ("local", 2), ("ray", 1)])
def test_functions_and_commands_give_metrics_one_after_the_other(
    folder: Path, executor: str, workers: int
) -> None:
    goals = {"noise_db": "minimise", "size_m2": "maximise"}
    table = study(metrics=BOTH, objectives=goals)
    code, told = run(folder, table, executor=executor, workers=workers)
    assert code == 0, told
    found = rows(folder)
    assert len(found) == 12
    size_m2 = found["params.width"] * found["params.length"]
    assert (found["objectives.size_m2"] == size_m2).all()
    assert (found["objectives.noise_db"] == 40 + found["params.width"] + size_m2).all()
    assert set(found["fidelity"]) == {"own"}


def test_the_table_is_the_same_on_any_number_of_workers(folder: Path) -> None:
    table = study(metrics={"noise": step("breaks")})
    tables = []
    for executor, workers in (("serial", 1), ("local", 1), ("local", 2)):
        code, told = run(folder, table, executor=executor, workers=workers)
        assert code == 0, told
        tables.append(rows(folder).drop(columns=["duration_s", "worker"]))
        (folder / "out").rename(folder / f"{executor}{workers}")
    pd.testing.assert_frame_equal(tables[0], tables[1])
    pd.testing.assert_frame_equal(tables[0], tables[2])


@pytest.mark.parametrize(
    ("metrics", "widths", "reason"),
    [
        (step("breaks"), {4}, "metrics.noise failed: ZeroDivisionError: .*"),
        (step("hangs", timeout="0.5 s"), {4}, "metrics.noise took longer than its 0.5 s"),
        (step("eats", memory="300 MB"), {4}, "metrics.noise failed: ran out of memory"),
        (step("dies"), {4}, "metrics.noise ended with code 7"),
        (step("huge"), {4}, r"metrics.noise must give noise_db as a finite .*, but gave 10+\.\.\."),
        (step("shouts"), {4}, r".*: ValueError: first line second \\x1b\[31mred <object object>"),
        (step("odd"), {1, 2, 4, 8}, "metrics.noise must give .*, but gave .*"),
        (step(command=["program", "fails"]), {4}, r"metrics.noise ended .* 1 \(no such width\)"),
        (step(command=["program", "hangs"], timeout="1 s"), {4}, ".* longer than its 1 s"),
        (step(command=["program", "floods"]), {4}, ".* answered with more than 1,048,576 bytes"),
        (step(command=["program", "garbles"]), {4}, ".* must answer with one table in JSON .*"),
        (step(command=["program", "repeats"]), {4}, ".* 'noise_db' twice in one table.*"),
    ],
)
def test_what_does_not_answer_fails_alone_in_one_sentence(
    folder: Path, metrics: dict[str, Any], widths: set[int], reason: str
) -> None:
    code, told = run(folder, study(metrics={"noise": metrics}))
    assert code == 0, told
    found = rows(folder)
    failed = found[found["state"] == "failed"]
    assert set(failed["params.width"]) == widths
    assert set(failed["failure"]) == {"own_code"}
    assert set(failed["attempts"]) == {1}
    assert all(re.fullmatch(reason, one) for one in failed["reason"]), list(failed["reason"])
    assert (found[~found["params.width"].isin(widths)]["state"] == "complete").all()


def test_a_function_may_call_a_design_infeasible_and_add_notes(folder: Path) -> None:
    assert run(folder, study(metrics={"noise": step("noise")}))[0] == 0
    found = rows(folder)
    odd = found[found["params.width"] == 3]
    assert set(odd["state"]) == {"infeasible"}
    assert set(odd["reason"]) == {"noise: odd widths hum"}
    assert "measured in a hall" in str(found[found["params.width"] == 4]["notes"].iloc[0])


def test_a_function_can_be_the_evaluator(folder: Path) -> None:
    table = study(evaluator="own_code:time_of", objectives={"iteration_time": "minimise"})
    code, told = run(folder, table, executor="local", workers=2)
    assert code == 0, told
    found = rows(folder)
    assert (found["objectives.iteration_time"] == 1 / found["params.width"]).all()


def test_a_function_ends_with_the_worker_that_its_time_is_up_for(folder: Path) -> None:
    table = study(
        evaluator="own_code:hangs",
        execution={"timeout": "1 s"},
        space={"axes": {"width": {"choices": [1, 4]}}},
    )
    words = ("--executor", "local", "--workers", "1", "--out", "out")
    process = started(folder, table, *words, program=("-c", QUICK))
    told = ended(process)
    assert process.returncode == 0, told
    assert list(rows(folder)["failure"]) == ["", "timeout"]
    assert not _running(str(folder))


def test_an_objective_of_ones_own_stands_beside_those_of_the_simulator(folder: Path) -> None:
    dimensions = [{"topology": "ring", "npus": 4, "bandwidth": "50 GB/s", "latency": "1 us"}]
    table = study(
        evaluator="simulator",
        run={
            "workload": {"model": "gpt3_175b_4layers", "sequence": 256, "global_batch": 8},
            "platform": {"npu": "a100_80", "dimensions": dimensions},
            "plan": {"tp": 4},
        },
        metrics={"heat": {"function": "heat:heat", "gives": ["heat_w"]}},
        space={"axes": {"plan.micro_batch": {"choices": [1, 2, 4]}}},
        objectives={"iteration_time": "minimise", "heat_w": "minimise"},
        constraints=[{"objective": "heat_w", "at_most": "1 MW"}],
    )
    text = "def heat(design, metrics):\n    return {'heat_w': 1e3 / metrics['iteration_time_s']}\n"
    (folder / "heat.py").write_text(text)
    code, told = run(folder, table)
    assert code == 0, told
    found = rows(folder)
    assert found["objectives.heat_w"].to_numpy() == pytest.approx(
        1e3 / found["objectives.iteration_time"].to_numpy()
    )
    explained = run_here(folder, "dse", "explain", "out", "0")
    assert explained.returncode == 0, explained.stderr
    assert "heat" in explained.stdout


@pytest.mark.parametrize(
    ("metrics", "file", "name"),
    [
        ({"noise": step("noise")}, "own_code.py", "own_code:noise"),
        ({"noise": step(command=["program", "x"])}, "program", "metrics.noise"),
        (
            {"noise": step(command=["program", "x"], files=["data.csv"])},
            "data.csv",
            "metrics.noise",
        ),
        ({"noise": step(command=["program", "data.csv"])}, "data.csv", "metrics.noise"),
    ],
)
def test_changed_code_is_noticed_when_a_study_goes_on(
    folder: Path, metrics: dict[str, Any], file: str, name: str
) -> None:
    (folder / "data.csv").write_text("1\n")
    assert run(folder, study(metrics=metrics), "--trials", "2")[0] == 0
    with (folder / file).open("a") as opened:
        opened.write("# another one\n")
    code, told = run(folder, study(metrics=metrics), "--resume", "--trials", "4")
    assert code == 2
    assert f"the code of {name} has changed" in told
    assert (
        run(folder, study(metrics=metrics), "--resume", "--trials", "4", "--accept-changes")[0] == 0
    )


def test_ctrl_c_keeps_what_there_is_and_leaves_no_process(folder: Path) -> None:
    space = {"axes": {"width": {"ladder": list(range(1, 2001))}}}
    table = study(metrics={"noise": step("sleeps")}, space=space, search={"trials": 2000})
    process = started(folder, table, "--executor", "local", "--workers", "2", "--out", "out")
    wait_for(lambda: len(stored(folder / "out")) > 10 or process.poll() is not None, 120)
    os.killpg(process.pid, signal.SIGINT)
    told = ended(process)
    assert process.returncode == 0, told
    found = rows(folder)
    assert 0 < len(found) < 2000
    assert set(found["state"]) == {"complete"}
    assert not _running(str(folder))


def _running(folder: str) -> list[str]:
    """Processes whose present folder is *folder*."""
    found = []
    for one in Path("/proc").glob("[0-9]*/cwd"):
        try:
            if os.readlink(one) == folder:
                found.append(one.parent.name)
        except OSError:
            continue
    return found


@pytest.mark.parametrize(
    ("metrics", "rule"),
    [
        ({"a": step(command=["/bin/true"])}, r"metrics.a.command: must be a path from the present"),
        ({"a": step(command=["../program"])}, "without '..'"),
        ({"a": step(command=["sh", "-c", "true"])}, "must name a file in the present folder"),
        ({"a": step(command=["link"])}, "must be a file of your own"),
        ({"a": step(command=["open"])}, "must name code that nobody else can change"),
        ({"a": step(command=["own_code.py"])}, r"can be executed \(chmod \+x\)"),
        ({"a": step(function="nothing")}, "must name what .*own_code.py defines"),
        ({"a": {**step(), "function": "os:system"}}, "must name a module that is not Python's own"),
        ({"a": step("noise", command=["program"])}, "must hold one of function, command and expr"),
        ({"a": step("noise", gives=["noise"])}, "must be a word that ends in its unit"),
        ({"a": step("noise"), "b": step("noise")}, "must be a name that nothing else has"),
        ({"a": step("noise", gives=["hum_db"])}, r"objectives.noise_db: an objective must be one"),
        ({}, "metrics: must hold functions or commands"),
        (
            {"a": step(expression="widht * 2")},
            r"metrics.a.expression: .*'width'.*, but got 'widht'",
        ),
    ],
)
def test_what_may_not_be_run_is_refused_in_one_sentence(
    folder: Path, metrics: dict[str, Any], rule: str
) -> None:
    (folder / "link").symlink_to("/bin/sh")
    (folder / "open").write_text(PROGRAM)
    (folder / "open").chmod(0o777)
    code, told = run(folder, study(metrics=metrics))
    assert code == 2, told
    assert re.search(rule, told), told
    assert told.count("\n") == 1
