"""Calls of a user's functions and commands, and the contract that their answers keep."""

import json
import sys
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from dse.evaluate.base import Account, OwnMetrics
from dse.evaluate.failure import OwnCodeError
from dse.evaluate.own.process import OwnProcess, python_command
from dse.evaluate.own.programs import find_program
from dse.space import Design, Value, parse_expression, scalars_of
from dse.space.exact import column_of
from simcore import ConfigError, InfeasibleError, Registry, parse_json

START_S = 120.0
"""The most time that a function's module may take to be imported."""

_MOST = sys.float_info.max
"""The largest number; whole ones beyond it are no number to anything that follows."""

_NOTES, _INFEASIBLE = "notes", "infeasible"


def _as_function(found: object) -> Callable[..., Any]:
    if not callable(found) or isinstance(found, type):
        raise ConfigError("", "must be a function of a design and its metrics", got=found)
    return found


FUNCTIONS: Registry[Callable[..., Any]] = Registry("a function of metrics", {}, adapt=_as_function)
"""Functions from outside, by ``package.module:function``; none has a plain name."""


class Step(ABC):
    """One piece of a user's code."""

    names: Collection[str] = ()
    """Names of what it counts with, where that is known before it is asked."""

    def __init__(self, what: OwnMetrics) -> None:
        self.what = what

    def account(self, design: Design, metrics: Mapping[str, float]) -> Account:
        """Metrics that it gives of *design*, whose *metrics* so far it is told.

        Raises:
            InfeasibleError: It says that the design breaks a rule.
            OwnCodeError: It does not answer as it must; says how.
        """
        try:
            found = self._checked(self._answer(design, metrics))
            if known := metrics.keys() & found.metrics.keys():
                raise OwnCodeError(f"must not give {min(known)}, which is known already")
        except OwnCodeError as error:
            raise OwnCodeError(f"{self.what.name} {error}") from None
        return found

    @abstractmethod
    def _answer(self, design: Design, metrics: Mapping[str, float]) -> object:
        """The code's own answer about *design*, unchecked."""

    def _checked(self, answer: object) -> Account:
        if not isinstance(answer, dict):
            raise OwnCodeError(f"must give a table of metrics by name, but gave {_shown(answer)}")
        if _INFEASIBLE in answer:
            raise InfeasibleError(self.what.name, str(answer[_INFEASIBLE]))
        notes = answer.pop(_NOTES, [])
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            raise OwnCodeError(f"must give notes as a list of texts, but gave {_shown(notes)}")
        names = self.what.gives or tuple(answer)
        if answer.keys() != set(names):
            wanted = ", ".join(names)
            raise OwnCodeError(f"must give {wanted}, but gave {_shown(', '.join(answer))}")
        return Account({name: _number(name, answer[name]) for name in names}, (*notes,))


class FunctionStep(Step):
    """A Python function, in a process of its own that stays from call to call."""

    def __init__(self, what: OwnMetrics) -> None:
        super().__init__(what)
        FUNCTIONS[what.function]  # sees whether it may be called
        self._process: OwnProcess | None = None

    def _answer(self, design: Design, metrics: Mapping[str, float]) -> object:
        request = json.dumps([design, dict(metrics)]).encode() + b"\n"
        if self._process is None or self._process.has_ended:
            self._process = self._started()
        try:
            answer = _read(self._process.line(request, self.what.timeout_s))
        except OwnCodeError:
            self._process.end()
            raise
        assert isinstance(answer, dict), "that is what serve.py writes"
        if _INFEASIBLE in answer:
            raise InfeasibleError(*answer[_INFEASIBLE])
        if "error" in answer:
            raise OwnCodeError(f"failed: {answer['error']}")
        return answer["gives"]

    def _started(self) -> OwnProcess:
        process = OwnProcess(
            python_command("serve.py", self.what.function),
            folder=Path.cwd(),
            memory_bytes=self.what.memory_bytes,
        )
        weakref.finalize(self, process.end)
        process.line(b"", START_S)
        return process


class CommandStep(Step):
    """A program that is started for each design; it is never given to a shell."""

    def __init__(self, what: OwnMetrics) -> None:
        super().__init__(what)
        self._program = find_program(what.command[0])

    def _answer(self, design: Design, metrics: Mapping[str, float]) -> object:
        request = json.dumps({"design": design, "metrics": dict(metrics)}).encode() + b"\n"
        process = OwnProcess(
            [str(self._program.path), *self.what.command[1:]],
            folder=self._program.folder,
            memory_bytes=self.what.memory_bytes,
        )
        return _read(process.output(request, self.what.timeout_s))


class ExpressionStep(Step):
    """An expression of knobs, values of the run and metrics, counted here."""

    def __init__(self, what: OwnMetrics, run: Mapping[str, Value]) -> None:
        super().__init__(what)
        self._expression = parse_expression(what.expression, at="")
        self.names = self._expression.names
        self._run = {name: run[name] for name in self._expression.names if name in run}

    def _answer(self, design: Design, metrics: Mapping[str, float]) -> object:
        known = {**self._run, **design, **metrics}
        missing = [name for name in self._expression.names if name not in known]
        if missing:
            raise OwnCodeError(f"needs {missing[0]}, which this design has not")
        columns = {name: column_of(known[name]) for name in self._expression.names}
        try:
            value = self._expression.values(columns, 1)[0]
        except ConfigError as error:
            raise OwnCodeError(f"cannot be counted: {error.rule}") from None
        return {self.what.gives[0]: value.item() if hasattr(value, "item") else value}


def steps_of(own: Sequence[OwnMetrics], run: Mapping[str, Any] | None = None) -> tuple[Step, ...]:
    """The steps that *own* describes, in its order.

    Args:
        own: What they are.
        run: The run file's content, whose single values expressions may name.

    Raises:
        ConfigError: A function or a program that may not be run; says why.
    """
    found: list[Step] = []
    for what in own:
        kind = "function" if what.function else "command" if what.command else "expression"
        try:
            if what.expression:
                found.append(ExpressionStep(what, scalars_of(dict(run or {}))))
            else:
                found.append(FunctionStep(what) if what.function else CommandStep(what))
        except ConfigError as error:
            raise error.under(f"{what.name}.{kind}") from None
    return tuple(found)


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST:
        rule = f"must give {name} as a finite number of at least 0"
        raise OwnCodeError(f"{rule}, but gave {_shown(repr(value))}")
    return float(value)


def _read(answer: bytes) -> object:
    """The JSON that *answer* is.

    Raises:
        OwnCodeError: It is none.
    """
    try:
        return parse_json(answer.decode(errors="replace"), "answer")
    except ConfigError as error:
        raise OwnCodeError(f"must answer with one table in JSON ({error})") from None


def _shown(value: object) -> str:
    text = str(value) if value else "nothing"
    return text if len(text) <= 80 else f"{text[:77]}..."
