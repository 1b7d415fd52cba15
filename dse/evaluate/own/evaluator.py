"""Evaluators with metrics of a user's own, and evaluators that are nothing but such."""

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from types import FunctionType

import simcore
from dse.evaluate.base import Account, Evaluator, EvaluatorInput, OwnMetrics
from dse.evaluate.levers import Moved
from dse.evaluate.own.steps import Step, steps_of
from dse.evaluate.priced import PricedMachine
from dse.evaluate.siblings import Siblings
from dse.space import Check, Design, scalars_of
from simcore import ConfigError, class_of, did_you_mean


class EvaluatorWithOwn(Evaluator):
    """An evaluator, and the user's code that adds to its metrics."""

    def __init__(self, what: EvaluatorInput, inner: Evaluator) -> None:
        super().__init__(what)
        self._inner, self._steps = inner, steps_of(what.own, what.run)
        self.fidelity = inner.fidelity

    def account(self, design: Design) -> Account:
        return with_steps(self._steps, design, self._inner.account(design))

    def best_metrics(self, design: Design) -> Mapping[str, float]:
        """Metrics of the evaluator alone."""
        return self._inner.best_metrics(design)

    def checks(self) -> Sequence[Check]:
        return self._inner.checks()

    def sent_bytes(self, design: Design) -> Sequence[float]:
        return self._inner.sent_bytes(design)

    def measured_against(self, design: Design) -> str:
        return self._inner.measured_against(design)

    def siblings(self, design: Design) -> Siblings:
        return self._inner.siblings(design)

    def accelerator(self, design: Design) -> str:
        return self._inner.accelerator(design)

    def attributions(self, design: Design) -> "Sequence[simcore.Attribution]":
        return self._inner.attributions(design)

    def moved(self, design: Design) -> Iterator[Moved]:
        """Without metrics of the user's code, which knows designs and no other machines."""
        return self._inner.moved(design)

    def priced(self, design: Design, metrics: Mapping[str, float]) -> PricedMachine | None:
        return self._inner.priced(design, metrics)

    def prepare(self) -> None:
        self._inner.prepare()

    def check(self) -> None:
        self._inner.check()
        is_alone = type(self._inner) is OwnEvaluator  # which metrics others give, they tell late
        known = {*self.input.parameters, *scalars_of(dict(self.input.run))}
        for step in self._steps:
            for name in step.names:
                if name not in known and (is_alone or "." in name):
                    rule = "must hold knobs, values of the run and metrics given before"
                    rule += did_you_mean(name, sorted(known))
                    raise ConfigError(f"{step.what.name}.expression", rule, got=name)
            known |= {*step.what.gives}

    def check_example(self, design: Design) -> None:
        self._inner.check_example(design)


class OwnEvaluator(Evaluator):
    """Gives no metrics of its own accord: the study's ``metrics`` give them all."""

    fidelity = "own"
    prices_itself = True

    def account(self, design: Design) -> Account:
        return Account({})


class FunctionEvaluator(OwnEvaluator):
    """A user's function as an evaluator; each has a class derived from this one."""

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what)
        own = OwnMetrics(name="evaluator", gives=self.gives, function=what.name, timeout_s=inf)
        self._steps = steps_of([own])

    def account(self, design: Design) -> Account:
        return with_steps(self._steps, design, Account({}))


def as_evaluator(found: object) -> type[Evaluator]:
    """The evaluator class that *found* is, or that a function means.

    A function's attribute ``gives`` names the metrics that objectives may name.
    """
    if isinstance(found, FunctionType):
        gives = tuple(getattr(found, "gives", ()))
        return type("OwnFunction", (FunctionEvaluator,), {"gives": gives})
    made: type[Evaluator] = class_of(Evaluator)(found)
    return made


def with_steps(steps: Sequence[Step], design: Design, account: Account) -> Account:
    """*account*, and the metrics and notes that *steps* add to it, one after the other."""
    metrics, notes = dict(account.metrics), [*account.notes]
    for step in steps:
        found = step.account(design, metrics)
        metrics |= found.metrics
        notes += found.notes
    return Account(metrics, (*notes,))
