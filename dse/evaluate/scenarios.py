"""Evaluates a design under several circumstances: other workloads, prices, bandwidths."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import simcore
from dse.evaluate.base import Account, Evaluator, EvaluatorInput
from dse.evaluate.levers import Moved
from dse.evaluate.siblings import Siblings
from dse.space import Check, Design
from simcore import ConfigError, InfeasibleError, Run


class ScenarioEvaluator(Evaluator):
    """One evaluator per scenario; metrics are named ``iteration_time_s@scenario``."""

    def __init__(self, what: EvaluatorInput, build: Callable[[EvaluatorInput], Evaluator]) -> None:
        """*build*: makes the evaluator of one scenario."""
        self._each: dict[str, Evaluator] = {}
        for scenario in what.scenarios:
            own = replace(
                what,
                run=scenario.run,
                cost=scenario.cost,
                bandwidth=scenario.bandwidth,
                scenarios=(),
            )
            try:
                self._each[scenario.name] = build(own)
            except ConfigError as error:
                raise error.under(f"scenarios.{scenario.name}") from None
        self.fidelity = next(iter(self._each.values())).fidelity
        self.takes_many = all(evaluator.takes_many for evaluator in self._each.values())

    def account(self, design: Design) -> Account:
        found = self.accounts([design])[0]
        if isinstance(found, Exception):
            raise found
        return found

    def accounts(self, designs: Sequence[Design]) -> list[Account | Exception]:
        """The account of each design; those of a scenario are asked for together."""
        found: list[Account | Exception] = [Account({}) for _ in designs]
        for name, evaluator in self._each.items():
            able = [at for at, one in enumerate(found) if isinstance(one, Account)]
            told = evaluator.accounts([designs[at] for at in able])
            for at, own in zip(able, told, strict=True):
                found[at] = _with(found[at], name, own)
        return found

    def best_metrics(self, design: Design) -> Mapping[str, float]:
        """Best metrics of every scenario, by the names of ``account``."""
        return {
            f"{metric}@{name}": value
            for name, evaluator in self._each.items()
            for metric, value in evaluator.best_metrics(design).items()
        }

    def checks(self) -> Sequence[Check]:
        """Rules of every scenario."""
        return [check for evaluator in self._each.values() for check in evaluator.checks()]

    def canonical(self, design: Design) -> Design:
        """Design that stands for it in every scenario, or else itself."""
        found = [evaluator.canonical(design) for evaluator in self._each.values()]
        return found[0] if all(other == found[0] for other in found) else design

    @property
    def twin_knobs(self) -> frozenset[str]:
        """Names of such knobs in any scenario."""
        return frozenset().union(*(evaluator.twin_knobs for evaluator in self._each.values()))

    def measured_against(self, design: Design) -> str:
        """Error against measurements by scenario; one phrase where all agree."""
        found = {name: each.measured_against(design) for name, each in self._each.items()}
        if len(set(found.values())) == 1:
            return next(iter(found.values()))
        return "; ".join(f"in {name}: {told}" for name, told in found.items())

    def siblings(self, design: Design) -> Siblings:
        """Siblings in the scenario in which designs compare worst."""
        found = [each.siblings(design) for each in self._each.values()]
        family = "; ".join(dict.fromkeys(one.family for one in found))
        return replace(max(found, key=lambda one: one.log_ratio), family=family)

    def attributions(self, design: Design) -> "Sequence[simcore.Attribution]":
        """Attributions of every scenario, those of the first one first."""
        return [
            replace(found, what=f"{found.what} in {name}")
            for name, each in self._each.items()
            for found in each.attributions(design)
        ]

    def runs(self, design: Design) -> Mapping[str, Run]:
        """Runs of every scenario, under its name."""
        return {
            f"{what} in {name}".strip(): run
            for name, each in self._each.items()
            for what, run in each.runs(design).items()
        }

    def moved(self, design: Design) -> Iterator[Moved]:
        """Machines with the same part moved in all scenarios; a part that one lacks is left out."""
        each = [(name, list(evaluator.moved(design))) for name, evaluator in self._each.items()]
        tables = [{(one.lever, one.factor): (name, one) for one in found} for name, found in each]
        for key in tables[0]:
            if all(key in table for table in tables):
                named = [table[key] for table in tables]
                metrics = {
                    f"{metric}@{name}": value
                    for name, one in named
                    for metric, value in one.metrics.items()
                }
                reasons = dict.fromkeys(one.unpriced for _, one in named if one.unpriced)
                assumed = dict.fromkeys(one.assumed for _, one in named if one.assumed)
                yield Moved(
                    lever=key[0],
                    factor=key[1],
                    metrics=metrics,
                    unpriced="; ".join(reasons),
                    assumed="; ".join(assumed),
                )

    def prepare(self) -> None:
        for evaluator in self._each.values():
            evaluator.prepare()

    def check(self) -> None:
        for name, evaluator in self._each.items():
            try:
                evaluator.check()
            except ConfigError as error:
                raise error.under(f"scenarios.{name}") from None

    def check_example(self, design: Design) -> None:
        for name, evaluator in self._each.items():
            try:
                evaluator.check_example(design)
            except ConfigError as error:
                raise error.under(f"scenarios.{name}") from None

    def accelerator(self, design: Design) -> str:
        """Trust in that of the first scenario with one of which little is known."""
        return next(filter(None, (each.accelerator(design) for each in self._each.values())), "")


def _with(found: Account | Exception, name: str, own: Account | Exception) -> Account | Exception:
    """Account *found* of a design in some scenarios, joined by its *own* in one more."""
    if isinstance(found, Exception):
        return found
    if isinstance(own, InfeasibleError):
        return InfeasibleError(own.rule, f"in {name}: {own.reason}")
    if isinstance(own, Exception):
        return own
    metrics = {f"{metric}@{name}": value for metric, value in own.metrics.items()}
    notes = [f"in {name}: {note}" for note in own.notes]
    return Account({**found.metrics, **metrics}, (*found.notes, *notes))
