"""Boolean rules over parameter values, such as ``512 % (plan.dp * plan.micro_batch) == 0``.

A rule is parsed by Python's own grammar and then walked: only the operators, functions and names
listed here are known, and nothing is ever executed as code.
"""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from math import isfinite

import numpy as np

from dse.space import exact
from dse.space.exact import Column
from simcore import ConfigError

Columns = Mapping[str, Column]
_Step = Callable[[Columns], Column]

MAX_TEXT = 2000
"""Most characters of one rule."""


_BINARY: dict[type[ast.operator], Callable[[Column, Column], Column]] = {
    ast.Add: exact.add,
    ast.Sub: exact.subtract,
    ast.Mult: exact.multiply,
    ast.Div: exact.divide,
    ast.FloorDiv: exact.floor_divide,
    ast.Mod: exact.remainder,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Column, Column], Column]] = {
    ast.Eq: partial(exact.compare, operator.eq),
    ast.NotEq: exact.differs,
    ast.Lt: partial(exact.compare, operator.lt),
    ast.LtE: partial(exact.compare, operator.le),
    ast.Gt: partial(exact.compare, operator.gt),
    ast.GtE: partial(exact.compare, operator.ge),
}
_FUNCTIONS: dict[str, tuple[int, Callable[..., Column]]] = {
    "min": (2, exact.least),
    "max": (2, exact.greatest),
    "abs": (1, exact.absolute),
    "ceil": (1, exact.ceil),
    "floor": (1, exact.floor),
    "log2": (1, exact.log2),
}
_WORDS = {"true": True, "false": False, "True": True, "False": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expression:
    """A parsed rule: its text, the parameters it reads, and a way to check many designs at once."""

    text: str
    names: tuple[str, ...]
    step: _Step

    def holds(self, columns: Columns, rows: int) -> np.ndarray:
        """Test each design by the rule.

        Args:
            columns: For each name a ``(rows,)`` array of values; nothing inactive in it.
            rows: Number of designs.

        Returns:
            ``(rows,)`` bool; a comparison with a division by zero is not satisfied.

        Raises:
            ConfigError: The rule counts with words or compares them with numbers, or numbers with
                a point get too large.
        """
        return exact.truth(self.values(columns, rows))

    def values(self, columns: Columns, rows: int) -> Column:
        """Work out the expression for each design; arguments and errors as of ``holds``.

        Returns:
            ``(rows,)`` values; NaN where there is none.
        """
        try:
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                found = self.step(columns)
        except OverflowError:
            rule = "numbers with a point, and those that are divided, must stay below 1.8e308"
            raise ConfigError("space", rule, got=self.text) from None
        except (TypeError, ValueError):
            rule = "a rule must count with numbers and compare like with like"
            raise ConfigError("space", rule, got=self.text) from None
        return np.broadcast_to(found, (rows,))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scope:
    """Scope in which a text is read: its place, the terms it may use, the names found so far."""

    at: str
    terms: Mapping[str, Expression]
    names: dict[str, None]


def parse_expression(
    text: str, *, at: str, terms: Mapping[str, Expression] | None = None
) -> Expression:
    """Read a rule.

    Args:
        text: The rule, with parameter names as in the study file.
        at: Place of the rule in the study file, for messages.
        terms: Expressions that the text may use by name.

    Raises:
        ConfigError: The text is not a rule, or uses something that rules do not have.
    """
    if len(text) > MAX_TEXT:
        raise ConfigError(at, f"a rule may have at most {MAX_TEXT} characters", got=text)
    scope = _Scope(at=at, terms=terms or {}, names={})
    try:
        if "\0" in text:  # Python 3.11.3 and before raise another error than later ones
            raise SyntaxError
        with warnings.catch_warnings(action="ignore"):  # Python's, of numbers that touch words
            tree = ast.parse(text.strip(), mode="eval")
        step = _compile(tree.body, scope)
    except (SyntaxError, RecursionError, MemoryError):
        raise ConfigError(at, "must be a comparison such as 'plan.tp <= 8'", got=text) from None
    if not scope.names:
        raise ConfigError(at, "must name at least one parameter", got=text)
    return Expression(text=text, names=tuple(scope.names), step=step)


def _compile(node: ast.expr, scope: _Scope) -> _Step:
    if isinstance(node, ast.Constant):
        return _constant(node, scope)
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return _name(node, scope)
    if isinstance(node, ast.BoolOp):
        return _bool_op(node, scope)
    if isinstance(node, ast.UnaryOp):
        return _unary(node, scope)
    if isinstance(node, ast.BinOp):
        return _binary(node, scope)
    if isinstance(node, ast.Compare):
        return _compare(node, scope)
    if isinstance(node, ast.Call):
        return _call(node, scope)
    if isinstance(node, ast.IfExp):
        return _choice(node, scope)
    raise _refused(node, scope)


def _refused(node: ast.AST, scope: _Scope) -> ConfigError:
    functions = ", ".join(_FUNCTIONS)
    rule = (
        "a rule may hold parameter names, numbers, texts, and, or, not, in, comparisons, "
        f"+ - * / // %, if else and the functions {functions}"
    )
    return ConfigError(scope.at, rule, got=ast.unparse(node))


def _constant(node: ast.Constant, scope: _Scope) -> _Step:
    if not isinstance(node.value, bool | int | float | str):
        raise _refused(node, scope)
    if isinstance(node.value, float) and not isfinite(node.value):
        raise ConfigError(scope.at, "numbers must be below 1.8e308", got=node.value)
    value = exact.column_of(node.value)
    return lambda columns: value


def _path_text(node: ast.expr, scope: _Scope) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_path_text(node.value, scope)}.{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return f"{_path_text(node.value, scope)}[{node.slice.value!r}]"
    raise _refused(node, scope)


def _name(node: ast.expr, scope: _Scope) -> _Step:
    text = _path_text(node, scope)
    if text in _WORDS:
        value = np.asarray(_WORDS[text])
        return lambda columns: value
    if text in scope.terms:
        scope.names.update(dict.fromkeys(scope.terms[text].names))
        return scope.terms[text].step
    scope.names[text] = None
    return lambda columns: columns[text]


def _bool_op(node: ast.BoolOp, scope: _Scope) -> _Step:
    parts = [_compile(value, scope) for value in node.values]
    join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or

    def run(columns: Columns) -> Column:
        result = exact.truth(parts[0](columns))
        for part in parts[1:]:
            result = join(result, exact.truth(part(columns)))
        return result

    return run


def _unary(node: ast.UnaryOp, scope: _Scope) -> _Step:
    inner = _compile(node.operand, scope)
    if isinstance(node.op, ast.Not):
        # NaN counts as true, so that its opposite does not hold either
        return lambda columns: np.logical_not(inner(columns).astype(bool))
    if isinstance(node.op, ast.USub):
        return lambda columns: exact.subtract(np.asarray(0), inner(columns))
    raise _refused(node, scope)


def _binary(node: ast.BinOp, scope: _Scope) -> _Step:
    if type(node.op) not in _BINARY:
        raise _refused(node, scope)
    apply = _BINARY[type(node.op)]
    left, right = _compile(node.left, scope), _compile(node.right, scope)
    return lambda columns: apply(left(columns), right(columns))


def _choice(node: ast.IfExp, scope: _Scope) -> _Step:
    test, chosen, other = (_compile(part, scope) for part in (node.test, node.body, node.orelse))
    return lambda columns: exact.choose(test(columns), chosen(columns), other(columns))


def _compare(node: ast.Compare, scope: _Scope) -> _Step:
    links: list[_Step] = []
    left = node.left
    for op, right in zip(node.ops, node.comparators, strict=True):
        links.append(_link(left, op, right, scope))
        left = right

    def run(columns: Columns) -> Column:
        result = links[0](columns)
        for link in links[1:]:
            result = np.logical_and(result, link(columns))
        return result

    return run


def _link(left: ast.expr, op: ast.cmpop, right: ast.expr, scope: _Scope) -> _Step:
    first = _compile(left, scope)
    if isinstance(op, ast.In | ast.NotIn):
        if not isinstance(right, ast.List | ast.Tuple):
            raise _refused(right, scope)
        members = [_compile(item, scope) for item in right.elts]
        inside = _member(first, members)
        if isinstance(op, ast.In):
            return inside
        return lambda columns: np.logical_not(inside(columns))
    if type(op) not in _COMPARE:
        raise _refused(left, scope)
    compare, second = _COMPARE[type(op)], _compile(right, scope)
    return lambda columns: compare(first(columns), second(columns))


def _member(first: _Step, members: list[_Step]) -> _Step:
    def run(columns: Columns) -> Column:
        value = first(columns)
        found = np.zeros(np.shape(value), dtype=bool)
        for member in members:
            found = np.logical_or(found, exact.compare(operator.eq, value, member(columns)))
        return found

    return run


def _call(node: ast.Call, scope: _Scope) -> _Step:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS or node.keywords:
        raise _refused(node, scope)
    least, function = _FUNCTIONS[name]
    parts = [_compile(argument, scope) for argument in node.args]
    if len(parts) < least or (least == 1 and len(parts) > 1):
        raise ConfigError(
            scope.at,
            f"{name} takes {least} value{'s or more' if least > 1 else ''}",
            got=ast.unparse(node),
        )

    def run(columns: Columns) -> Column:
        values = [part(columns) for part in parts]
        if least == 1:
            return function(values[0])
        result = values[0]
        for value in values[1:]:
            result = function(result, value)
        return result

    return run
