"""What searching all knobs of P1 at once gains over searching one part of them.

``python benchmarks/scopes.py [--trials 1000] [--seed 0]`` prints, for both of COSMIC's rewards, the
best design of each scope over the system that COSMIC starts from. Plan and collectives alone are
enumerated exactly; network and all knobs are searched. COSMIC (arXiv 2505.15020) reports gains of
1.50 to 48.41 of the full stack over single stacks.
"""

import argparse
from collections.abc import Mapping
from typing import Any

from dse.evaluate import build_evaluator
from dse.results.result import StudyResult
from dse.run.runner import Runner
from dse.study.compile import compile_study, load_study_file

FULL = "p1_cosmic_1024.yaml"
REWARDS = ("time_network_cost", "time_bandwidth")
PARTS = {
    "plan": ("plan.",),
    "collectives": ("system.",),
    "network": ("platform.",),
    "all": ("plan.", "system.", "platform."),
}


def scope(part: str, reward: str, trials: int, seed: int) -> StudyResult:
    """The best of one part of the knobs; the others as in the run."""
    source = load_study_file(FULL)
    data = source.file.model_dump(by_alias=True, exclude_none=True)
    data["space"] = _kept(data["space"], PARTS[part])
    data["objectives"] = {reward: "minimise"}
    data["seed"] = seed
    data["search"] = {"sampler": "design", "trials": trials}
    data["execution"] = {"executor": "serial"}
    study = compile_study(data, folder=source.folder)
    runner = Runner(study, out=None, resume=False, watcher=None)
    small = study.space.counts.searched <= 5000
    return runner.enumerate() if small else runner.search(None)


def _kept(space: Mapping[str, Any], starts: tuple[str, ...]) -> dict[str, Any]:
    """The knobs whose names start so, and the rules about them alone."""
    return {
        "products": [p for p in space["products"] if p["of"][0].startswith(starts)],
        "axes": {name: axis for name, axis in space["axes"].items() if name.startswith(starts)},
        "require": [rule for rule in space["require"] if rule.startswith(starts)],
    }


def baseline(reward: str) -> float:
    """The reward of the run that all scopes start from."""
    data = load_study_file(FULL).file.model_dump(by_alias=True, exclude_none=True)
    study = compile_study({**data, "objectives": {reward: "minimise"}})
    evaluator = build_evaluator(study.evaluator_input)
    design = next(study.space.designs())
    values = {name: _of_run(data["run"], name) for name in design}
    return study.goals.values(evaluator.metrics(values))[reward]


def _of_run(run: Mapping[str, Any], name: str) -> Any:
    from simcore import get_path, parse_quantity

    value = get_path(run, name)
    return parse_quantity(value, "B/s") if name.endswith(".bandwidth") else value


def main() -> None:
    """Print a table per reward."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for reward in REWARDS:
        start = baseline(reward)
        best = {
            part: scope(part, reward, options.trials, options.seed).summary["best"][reward]
            for part in PARTS
        }
        single = min(best[part] for part in PARTS if part != "all")
        print(f"\n| {reward} | best | baseline / best |\n|---|--:|--:|")
        print(f"| as COSMIC starts | {start:.6g} | 1.00 |")
        for part, value in best.items():
            print(f"| {part} | {value:.6g} | {start / value:.2f} |")
        print(f"\nall knobs over the best single part: {single / best['all']:.2f}")
        worst = max(best[part] for part in PARTS if part != "all")
        print(f"all knobs over the worst single part: {worst / best['all']:.2f}")


if __name__ == "__main__":
    main()
