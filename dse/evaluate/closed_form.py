"""Evaluates designs by MODEL-0, the closed form that search machinery is checked with."""

from collections.abc import Sequence

from dse.evaluate.base import Account, Evaluator, EvaluatorInput
from dse.evaluate.designs.run_check import RunChecker
from dse.evaluate.model0 import VIT22B_64, Model0
from dse.evaluate.money import CostMeter
from dse.space import Check, Design
from simcore import ConfigError, InfeasibleError, Run, RunTemplate, TrainingWorkload


class ClosedFormEvaluator(Evaluator):
    """MODEL-0 on the ViT-22B problem; knobs are named as in a run file."""

    fidelity = "model0"
    template = RunTemplate
    takes_scenarios = False
    prices_itself = True

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        self._model = Model0(VIT22B_64)

    def account(self, design: Design) -> Account:
        metrics = self._model.evaluate(design)
        limit_bytes = 0.95 * VIT22B_64.memory_bytes
        return Account({**metrics, "memory_fill": metrics["footprint_bytes"] / limit_bytes})

    def checks(self) -> Sequence[Check]:
        names = (n for n in self.input.parameters if not n.endswith((".bandwidth", ".topology")))
        return [Check(holds=self._fits, deciding=frozenset(names))]

    def _fits(self, design: Design) -> bool:
        """True if the design can be built and fits in memory."""
        try:
            self._model.check(design)
        except InfeasibleError:
            return False
        return True

    def check(self) -> None:
        if self.input.run:
            _check_problem(RunChecker(self.input).check())
        CostMeter.of(self.input)
        parameters = self.input.parameters.items()
        design: Design = {name: p.choices[0] if p.choices else p.low for name, p in parameters}
        for name, parameter in self.input.parameters.items():
            for value in parameter.choices or (parameter.low,):
                try:
                    self._model.evaluate({**design, name: value})
                except InfeasibleError:
                    continue
                except ConfigError as error:
                    place = error.at or name
                    raise ConfigError(f"space: {place}", error.rule, got=error.got) from None

    def check_example(self, design: Design) -> None:
        if self.input.run:
            RunChecker(self.input).check_npus(design)


def _check_problem(run: Run) -> None:
    """See whether *run* is the one problem that MODEL-0 is written for."""
    workload = run.workload
    found: tuple[int, ...] = ()
    if isinstance(workload, TrainingWorkload):
        model = workload.model
        found = (model.layers, model.hidden, workload.sequence, workload.global_batch)
    problem = VIT22B_64
    wanted = (problem.layers, problem.hidden, problem.sequence, problem.batch)
    if found != wanted or len(run.platform.dimensions) != 2:
        rule = (
            f"model0 takes only ViT-22B with sequence {problem.sequence} and batch "
            f"{problem.batch} on 2 dimensions; use simulator"
        )
        got = f"{workload.model.name} on {len(run.platform.dimensions)} dimensions"
        raise ConfigError("evaluator", rule, got=got)
