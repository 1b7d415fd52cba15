"""Commands: what they print, and how mistakes are told."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner

from dse.cli import main
from dse.evaluate.registry import EVALUATORS
from dse.samplers.registry import SAMPLERS
from dse.study.compile import load_study_file

P5 = Path(load_study_file("p5_vit22b_64.yaml").folder, "p5_vit22b_64.yaml")
GPT = P5.with_name("gpt3_175b_1024_networks.yaml")


def run(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(word) for word in words])
    return result.exit_code, result.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("studies") / "p5"
    code, output = run("study", P5, "--trials", 80, "--executor", "serial", "--out", path)
    assert code == 0, output
    return path


def test_help_is_instant_and_names_all_commands() -> None:
    code = (
        "import sys, time; sys.argv = ['dse', '--help']\n"
        "from dse.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pandas', 'ray', 'optuna', 'numba', 'plotly', 'pydantic', 'rich'}\n"
        "print('heavy:', sorted(heavy & set(sys.modules)), time.process_time())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for name in ("study", "enumerate", "check", "report", "export", "explain"):
        assert f"\n  {name}" in done.stdout
    last = done.stdout.splitlines()[-1]
    assert last.startswith("heavy: []")
    assert float(last.split()[-1]) < 0.3


def test_help_of_a_study_names_every_sampler_and_evaluator() -> None:
    words = set(re.findall(r"\w+", run("study", "--help")[1]))
    assert {*SAMPLERS, *EVALUATORS} <= words


def test_a_study_leaves_the_files_of_the_contract(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert {
        "proposals",
        "evaluated",
        "infeasible",
        "failed",
        "duplicates",
        "hypervolume",
        "reference_point",
        "evaluations_per_s",
        "wall_s",
        "seed",
        "workers",
        "front_size",
    } <= set(summary)
    frame = pd.read_parquet(folder / "trials.parquet")
    assert len(frame) == summary["proposals"] == 80
    assert {"number", "state", "fidelity", "duration_s", "worker"} <= set(frame.columns)
    for part in ("params.", "objectives.", "constraints.", "metrics."):
        assert any(name.startswith(part) for name in frame.columns)
    front = pd.read_csv(folder / "pareto.csv")
    assert list(front.columns) == list(frame.columns)
    assert len(front) == summary["front_size"]
    assert front["objectives.iteration_time"].is_monotonic_increasing
    assert front["objectives.capital_cost"].is_monotonic_decreasing
    assert load_study_file(folder / "study.yaml").file.search.trials == 80


def test_the_report_needs_no_network(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "Designs of the front" in page
    assert 'src="http' not in page
    assert "plotly.js v" in page
    assert "Measured against: not validated here: model0 is no simulation." in page


def test_tables_are_exported(folder: Path, tmp_path: Path) -> None:
    code, text = run("export", folder, "--format", "csv", "--front")
    assert code == 0
    assert text.splitlines()[0].startswith("number,state,params.plan.tp")
    code, text = run("export", folder, "--format", "json")
    assert len(json.loads(text)) == 80
    assert run("export", folder, "--format", "parquet", "--out", tmp_path / "t.parquet")[0] == 0
    assert len(pd.read_parquet(tmp_path / "t.parquet")) == 80
    code, text = run("export", folder, "--format", "parquet")
    assert (code, text) == (2, "dse: --out: parquet needs a file, but got None.\n")


def test_a_journal_of_optuna_holds_the_front(folder: Path, tmp_path: Path) -> None:
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    path = tmp_path / "journal.log"
    code, text = run("export", folder, "--optuna-journal", "--out", path)
    assert code == 0, text
    assert [file.name for file in tmp_path.iterdir()] == ["journal.log"]
    storage = JournalStorage(JournalFileBackend(str(path)))
    study = optuna.load_study(study_name="journal.log", storage=storage)
    assert len(study.trials) == 80
    front = pd.read_csv(folder / "pareto.csv")
    feasible = [one for one in study.best_trials if one.user_attrs["status"] == "complete"]
    assert set(front["number"]) <= {trial.number for trial in feasible}


def test_a_trial_is_explained(folder: Path) -> None:
    number = int(pd.read_csv(folder / "pareto.csv")["number"][0])
    code, text = run("explain", folder, number)
    assert code == 0
    titles = ("objectives", "constraints", "measured against", "one knob were a step away")
    for words in (*titles, "to spare"):
        assert words in text
    code, text = run("explain", folder, 999)
    assert code == 2
    assert "must be one of the trials 0 to 79" in text


def test_check_prints_the_size_of_the_space() -> None:
    code, text = run("check", "p1_cosmic_1024.yaml")
    assert code == 0, text
    assert "161,243,136,000,000" in text
    assert "7,254,835,200,000" in text
    assert "iteration_time (s)" in text


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ([], "design, 1,000 trials, seed 0"),
        (["--trials", "auto", "--islands", "4", "--seed", "7"],
         "design, until the front improves no more (at most 10,000 trials), seed 7, 4 islands"),
        (["--gap", "0.5%", "--hypervolume-gap", "5%", "--sampler", "random"],
         "random, 1,000 trials, or until a gap of 0.5% is proven, "
         "or until a gap of the front of 5% is proven, seed 0"),
    ],
)  # fmt: skip
def test_check_tells_of_the_study_with_the_same_options(options: list[str], told: str) -> None:
    code, text = run("check", "p1_cosmic_512.yaml", *options)
    assert code == 0, text
    assert told in text
    code, text = run("check", "p5_vit22b_64.yaml", "--islands", "4", "--sampler", "exhaustive")
    assert (code, "must be 1 with the sampler exhaustive" in text) == (2, True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("objectives:", "objectivs:", ["objectivs", "did you mean 'objectives'"]),
        (
            "[ring, fully_connected, switch]",
            "[ring, fully_conected, switch]",
            ["topology", "fully_connected", "'fully_conected'"],
        ),
        ("equals: npus", "equals: 1021", ["at least one combination", "plan.tp"]),
        ("model: gpt3_175b", "model: gpt4", ["workload.model", "gpt3_175b", "'gpt4'"]),
        ("150 GB/s, 300 GB/s, 450", "150, 300 GB/s, 450", ["bandwidth", "unit", "150"]),
        ("sampler: design", "sampler: desing", ["search.sampler", "random, tpe", "'desing'"]),
        ("executor: ray", "executor: rey", ["execution.executor", "local", "'rey'"]),
        ("evaluator: simulator", "evaluator: sim", ["evaluator", "model0", "'sim'"]),
        ("iteration_time: min", "iteration_tim: min", ["objectives", "did you mean"]),
        ("[fits_in_memory,", "[fits,", ["constraints[0]", "fits_in_memory"]),
        ("plan.micro_batch: {choices", "plan.microbatch: {choices", ["plan.micro"]),
        ("choices: [lifo, fifo]", "choices: [lifo, themis]", ["system.scheduling", "'themis'"]),
        ("seed: 0", "seed: 0\nseed: 1", ["twice"]),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(
    tmp_path: Path, old: str, new: str, words: list[str]
) -> None:
    text = GPT.read_text()
    assert old in text
    file = tmp_path / "broken.yaml"
    file.write_text(text.replace(old, new, 1))
    for command in (["check", file], ["study", file, "--out", tmp_path / "out"]):
        code, output = run(*command)
        assert code == 2, output
        lines = output.strip().splitlines()
        assert len(lines) == 1, output
        assert lines[0].startswith("dse: ")
        assert lines[0].endswith(".")
        for word in words:
            assert word in lines[0]
    assert not (tmp_path / "out").exists()


def test_an_unknown_study_names_the_shipped_ones() -> None:
    code, text = run("check", "llm_gtp.yaml")
    assert code == 2
    assert "llm_gpt.yaml" in text
    assert "did you mean 'llm_gpt.yaml'" in text


def test_a_folder_that_holds_a_study_is_refused(folder: Path) -> None:
    code, text = run("study", P5, "--executor", "serial", "--out", folder)
    assert code == 2
    assert "--resume" in text


def test_a_space_too_large_to_enumerate_is_refused_with_its_size(tmp_path: Path) -> None:
    code, text = run("enumerate", GPT, "--out", tmp_path / "out")
    assert code == 2
    assert "at most 200,000 designs" in text
    assert not (tmp_path / "out").exists()


def test_ray_gives_what_this_process_gives(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "ray"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "dse",
            "study",
            str(P5),
            "--trials",
            "80",
            "--executor",
            "ray",
            "--quiet",
            "--workers",
            "2",
            "--out",
            str(out),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    ray, serial = (pd.read_parquet(path / "trials.parquet") for path in (out, folder))
    kept = [name for name in serial if str(name).startswith(("params.", "objectives.", "state"))]
    pd.testing.assert_frame_equal(ray[kept], serial[kept])
