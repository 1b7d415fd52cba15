"""Rules of spaces hold exactly where Python's own integers say so, whatever their size."""

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.space import parse_expression
from dse.space.exact import column_of
from simcore import ConfigError

NAMES = ("a", "b", "c")
VALUES = st.sampled_from([0, 1, 2, 3, 7, 8, -5, 1000, 2**31, -(2**31), 2**53, -(2**53), 2**53 - 1])
CONSTANTS = st.sampled_from([1, 2, 3, 10, 128, 2**31, 10**10, 2**53, 2**62, 2**63, 10**30])
FUNCTIONS: dict[str, Callable[..., int]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
}
BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}
BINARY |= {ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
COMPARE = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}
COMPARE |= {ast.Eq: operator.eq, ast.NotEq: operator.ne}
SENSES = ("<", "<=", ">", ">=", "==", "!=")


def texts() -> st.SearchStrategy[str]:
    """Whole numbers made of three knobs and constants; divisors are never 0."""
    leaves = st.sampled_from(NAMES) | CONSTANTS.map(str)

    def deeper(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        joined = st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
        divided = st.builds("({} {} {})".format, inner, st.sampled_from(["//", "%"]), CONSTANTS)
        chosen = st.builds("({} if {} < {} else {})".format, inner, inner, inner, inner)
        two = st.builds("{}({}, {})".format, st.sampled_from(["min", "max"]), inner, inner)
        one = st.builds("{}({})".format, st.sampled_from(["abs", "ceil", "floor", "-"]), inner)
        return joined | divided | chosen | two | one

    return st.recursive(leaves, deeper, max_leaves=8)


def of_one(node: ast.expr, row: dict[str, int]) -> Any:
    """The slow truth about one design, in Python's own numbers."""
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return row[node.id]
    if isinstance(node, ast.UnaryOp):
        return -of_one(node.operand, row)
    if isinstance(node, ast.BinOp):
        return BINARY[type(node.op)](of_one(node.left, row), of_one(node.right, row))
    if isinstance(node, ast.IfExp):
        return of_one(node.body if of_one(node.test, row) else node.orelse, row)
    if isinstance(node, ast.Compare):
        left, right = of_one(node.left, row), of_one(node.comparators[0], row)
        return COMPARE[type(node.ops[0])](left, right)
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return FUNCTIONS[node.func.id](*[of_one(argument, row) for argument in node.args])


@settings(max_examples=400, deadline=None)
@given(
    left=texts(),
    right=texts(),
    sense=st.sampled_from(SENSES),
    rows=st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=6),
)
def test_rules_are_those_of_unbounded_integers(
    left: str, right: str, sense: str, rows: list[tuple[int, int, int]]
) -> None:
    text = f"{left} {sense} {right}"
    tree = ast.parse(text, mode="eval").body
    expected = [of_one(tree, dict(zip(NAMES, row, strict=True))) for row in rows]
    try:
        rule = parse_expression(text, at="rule")
    except ConfigError as error:
        assert "must name at least one parameter" in str(error)  # noqa: PT017
        return
    columns = {name: np.array([row[i] for row in rows]) for i, name in enumerate(NAMES)}
    assert rule.holds(columns, len(rows)).tolist() == expected


COLUMNS = {
    "tp": np.array([1, 2, 4, 8]),
    "flag": np.array([True, True, False, False]),
    "zero": np.array([0, 1, 0, 2]),
    "share": np.array([0.5, 0.25, 1e300, 1.0]),
    "huge": column_of([2**53, 2**53 - 1, 2**53, 1]),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tp * 10000000000 * 10000000000 > 0", [True] * 4),
        ("-tp * 10000000000 * 10000000000 < 0", [True] * 4),
        ("tp * 9223372036854775808 == 9223372036854775808", [True, False, False, False]),
        ("9223372036854775807 + tp > 9223372036854775807", [True] * 4),
        ("huge + 1 > 9007199254740992.0", [True, False, True, False]),
        ("(huge * huge + 1) % huge == 1", [True, True, True, False]),
        ("huge * 1024 * 1024 / (1024 * 1024) == huge", [True] * 4),
        ("max(tp * 10000000000 * 10000000000, 0.5) > 1e20", [False, True, True, True]),
        ("(tp * 10000000000 * 10000000000 if tp > 2 else 0.5) > 3e20", [False, False, True, True]),
        ("ceil(tp / 3) * 10000000000 * 10000000000 > 15e19", [False, False, True, True]),
        ("log2(tp * 1267650600228229401496703205376) == 100 + log2(tp)", [True] * 4),
        ("abs(-tp * 10000000000 * 10000000000) in (1e20, 8e20)", [True, False, False, True]),
        # flags count as 0 and 1, and their sum is no flag
        ("flag + flag == 2", [True, True, False, False]),
        ("-flag < 0", [True, True, False, False]),
        # what has no value keeps no rule, beside numbers of any size
        ("tp * 10000000000 * 10000000000 // zero > 0", [False, True, False, True]),
        ("min(tp * 10000000000 * 10000000000, tp / zero) > 0", [False, True, False, True]),
        ("tp / zero != 3", [False, True, False, True]),
        (f"ceil(tp * {'9' * 400}) > {'9' * 400}", [False, True, True, True]),
        ("ceil(tp / zero) >= 1", [False, True, False, True]),
        ("1 if tp / zero else 1", [True] * 4),
        ("zero * 10000000000 * 10000000000", [False, True, False, True]),
    ],
)
def test_a_rule_says_what_it_says_in_mathematics(text: str, expected: list[bool]) -> None:
    rule = parse_expression(text, at="require[0]")
    assert rule.holds({name: COLUMNS[name] for name in rule.names}, 4).tolist() == expected


@pytest.mark.parametrize(
    "text",
    [
        "share * 1e300 > 1",
        "share * 1e300 - share * 1e300 == 0",
        "share * 1e300 * 1e300 > tp * 10000000000 * 10000000000",
        f"tp * {'9' * 400} / 7 > 1",
        f"tp * {'9' * 400} > 0.5 * tp * {'9' * 400}",
    ],
)
def test_floating_point_that_overflows_is_told(text: str) -> None:
    rule = parse_expression(text, at="require[0]")
    with pytest.raises(ConfigError, match=r"^space: numbers with a point.* below 1\.8e308,"):
        rule.holds({name: COLUMNS[name] for name in rule.names}, 4)


def test_a_number_that_is_infinite_is_none() -> None:
    with pytest.raises(ConfigError, match=r"^require\[0\]: numbers must be below 1\.8e308"):
        parse_expression("tp < 1e999", at="require[0]")
