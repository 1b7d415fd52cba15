"""A sampler that is told of stored trials goes on as if it had proposed them itself."""

from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest

import dse
from dse.evaluate import Evaluation, build_evaluator
from dse.objectives import Goals
from dse.proof.screening import StudyScreen
from dse.samplers.base import Outcome, Proposal, Proposer, ProposerInput
from dse.samplers.design import GenomeSpace
from dse.samplers.design_proposer import DesignProposer
from dse.space import Design, RunFacts, SpaceFile, build_space
from dse.study.compile import load_study_file
from dse.study.trials import Trial

FILE = {
    "products": [
        {"of": ["tp", "pp", "dp"], "equals": 96},
        {"of": ["platform.dimensions[*].npus"], "equals": 96, "dimensions": [2, 3]},
    ],
    "axes": {
        "bandwidth[*]": {"ladder": [1, 2, 4, 8]},
        "kind[*]": {"choices": ["ring", "switch"]},
        "share": {"low": 0.1, "high": 10.0, "log": True},
        "delay[*]": {"low": 20.0, "high": 30.0},
        "stages": {"choices": [1, 2, 4], "when": "pp > 1"},
    },
    "require": ["48 % pp == 0"],
}
SPACE = build_space(SpaceFile.model_validate(FILE), RunFacts(dimensions=3, npus=96, fixed={}))
WHAT = ProposerInput(
    space=SPACE,
    goals=Goals(objectives={"iteration_time": "minimise", "mfu": "maximise"}),
    seed=7,
)


def outcome(design: Design) -> Outcome:
    bandwidth = sum(float(v) for name, v in design.items() if name.startswith("bandwidth"))
    delay = sum(float(v) for name, v in design.items() if name.startswith("delay"))
    waiting = float(design["pp"]) + 3.0 * abs(float(design["share"]) - 1.0) + delay / 50.0
    if float(design["tp"]) == 3:
        return Outcome(objectives={}, violation=1.0)
    objectives = {"iteration_time": bandwidth + float(design["tp"]), "mfu": 9.0 - waiting}
    return Outcome(objectives=objectives, violation=max(0.0, bandwidth - 16.0))


class Talk:
    """A sampler, and all that was said to it."""

    def __init__(self, window: int) -> None:
        self.proposer: Proposer[Any] = DesignProposer(WHAT)
        self.window, self.open = window, list[Proposal[Any]]()
        self.asked: list[Design] = []

    def go_on(self, trials: int) -> list[Design]:
        while len(self.asked) < trials:
            if len(self.open) == self.window:
                oldest = self.open.pop(0)
                found = outcome(oldest.design)
                self.proposer.tell(oldest, found.objectives, found.violation)
            proposal = self.proposer.ask()
            assert proposal is not None
            if len(self.asked) % 7 == 3:  # a twin of it is known, as far as the study can tell
                proposal = self.proposer.vary(proposal, lambda d: d["tp"] != 1) or proposal
            self.asked.append(proposal.design)
            self.open.append(proposal)
        return self.asked

    def recall(self, designs: list[Design]) -> None:
        told = len(designs) - self.window
        proposals = self.proposer.recall(designs, [outcome(d) for d in designs[:told]])
        assert proposals is not None
        self.asked, self.open = list(designs), proposals


@pytest.mark.parametrize("window", [1, 8, 32])
def test_proposals_after_a_recall_are_those_of_a_search_that_never_stopped(window: int) -> None:
    whole = Talk(window).go_on(370)
    for stop in (window + 1, window + 12, 60, 97 + window, 111, 250, 251, 288 + window):
        again = Talk(window)
        again.recall(whole[:stop])
        assert again.go_on(stop + 40) == whole[: stop + 40], stop


def test_designs_by_hand_that_were_asked_for_are_not_asked_for_again() -> None:
    first = Talk(2)
    by_hand = list(first.go_on(9))[3:6]
    whole, again = Talk(2), Talk(2)
    for talk in (whole, again):
        for design in by_hand:
            talk.proposer.enqueue(design)
    again.recall(whole.go_on(40)[:20])
    assert again.go_on(60) == whole.go_on(60)


def test_a_design_that_the_space_does_not_hold_is_not_recalled() -> None:
    designs = Talk(1).go_on(3)
    assert DesignProposer(WHAT).recall([{**designs[0], "tp": 7}], []) is None
    assert DesignProposer(WHAT).recall([{**designs[0], "share": 11.0}], []) is None


@pytest.mark.parametrize("problem", ["p5_vit22b_64.yaml"])
def test_a_resumed_study_proposes_what_the_undisturbed_one_does(
    problem: str, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"executor": "serial", "window": 8, "seed": 3}
    whole = dse.run_study(problem, trials=260, **options)
    dse.run_study(problem, trials=140, out=tmp_path / "part", **options)
    rest = dse.run_study(problem, trials=260, out=tmp_path / "part", resume=True, **options)
    columns = [name for name in whole.trials if str(name).startswith(("params", "objectives"))]
    pd.testing.assert_frame_equal(rest.trials[columns], whole.trials[columns])
    assert rest.summary["duplicates"] == whole.summary["duplicates"]
    assert load_study_file(problem).space.counts.searched > 260


def test_many_designs_are_understood_at_once_as_one_by_one() -> None:
    space, random = GenomeSpace(SPACE), Random(5)
    designs = [space.design(space.draw(random)) for _ in range(3000)]
    assert len({tuple(design) for design in designs}) > 2  # with different knobs
    assert space.genomes(designs) == [space.genome(design) for design in designs]


def test_designs_without_lists_of_choices_are_understood_at_once_too() -> None:
    file = SpaceFile.model_validate({"axes": {"share": {"low": 1.0, "high": 3.0}}})
    space = GenomeSpace(build_space(file, RunFacts(dimensions=2, npus=8, fixed={})))
    designs: list[Design] = [{"share": 1.0}, {"share": 2.5}]
    assert space.genomes(designs) == [space.genome(design) for design in designs]
    assert space.genomes([{"share": 4.0}]) is None


def test_interrupted_studies_are_the_same_with_any_number_of_workers(tmp_path: Path) -> None:
    name, out = "p1_cosmic_1024.yaml", tmp_path / "part"
    few: dict[str, Any] = {"executor": "local", "promote": 1, "controls": 0, "settle": 0}
    whole = dse.run_study(name, trials=120, **{**few, "executor": "serial"})
    dse.run_study(name, trials=45, out=out, workers=2, **few)
    dse.run_study(name, trials=75, out=out, resume=True, workers=4, **few)
    rest = dse.run_study(name, trials=120, out=out, resume=True, workers=1, **few)
    decided = ("number", "state", "params", "objectives", "constraints")
    columns = [column for column in whole.trials if str(column).startswith(decided)]
    pd.testing.assert_frame_equal(rest.trials[columns], whole.trials[columns])
    assert set(whole.trials["state"]) >= {"complete", "pruned"}


def test_a_screen_that_recalls_trials_says_what_one_does_that_learned_them() -> None:
    study = load_study_file("p5_vit22b_64.yaml", {"evaluator": "simulator"})
    evaluator = build_evaluator(study.evaluator_input)
    space, random = GenomeSpace(study.space), Random(2)
    designs = [space.design(space.draw(random)) for _ in range(900)]
    names = list(study.goals.objectives)
    trials = [
        Trial(number=at, design=design, evaluation=found_of(at, names, random))
        for at, design in enumerate(designs)
    ]
    learned, recalled = StudyScreen(study, evaluator), StudyScreen(study, evaluator)
    for trial in trials:
        learned.learn(trial)
    recalled.recall(trials[:600])
    recalled.recall(trials[600:])
    verdicts = [learned.verdict(design) for design in designs[:200]]
    assert [recalled.verdict(design) for design in designs[:200]] == verdicts
    assert {verdict and verdict.state for verdict in verdicts} >= {None, "pruned"}


def found_of(number: int, names: list[str], random: Random) -> Evaluation:
    if number % 5 == 0:
        return Evaluation(state="infeasible", constraints={"memory": 0.5})
    values = [2.0 ** random.randint(1, 9), 1e5 * 2.0 ** random.randint(1, 9)]  # some are equal
    return Evaluation(state="complete", objectives=dict(zip(names, values, strict=True)))
