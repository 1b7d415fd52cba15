import numpy as np
import pytest

from dse.space import parse_expression
from simcore import ConfigError

COLUMNS = {
    "plan.tp": np.array([1, 2, 4, 8]),
    "plan.dp": np.array([8, 4, 2, 1]),
    "platform.dimensions[0].topology": np.array(["ring", "switch", "ring", "switch"]),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plan.tp <= 2", [True, True, False, False]),
        ("plan.tp * plan.dp == 8", [True, True, True, True]),
        ("1 < plan.tp < 8", [False, True, True, False]),
        ("not plan.tp == 4", [True, True, False, True]),
        ("plan.tp in (1, 8)", [True, False, False, True]),
        ("plan.tp not in [1, 8]", [False, True, True, False]),
        ("plan.tp % 4 == 0 or plan.dp // 4 == 1", [False, True, True, True]),
        ("min(plan.tp, plan.dp, 3) == 2", [False, True, True, False]),
        ("platform.dimensions[0].topology != 'switch'", [True, False, True, False]),
        ("8 // (plan.tp - 1) == 8", [False, True, False, False]),
        ("log2(plan.tp) == 3", [False, False, False, True]),
        ("-plan.tp < -2 and true", [False, False, True, True]),
    ],
)
def test_a_rule_is_checked_for_all_designs_at_once(text: str, expected: list[bool]) -> None:
    rule = parse_expression(text, at="require[0]")
    assert rule.holds({name: COLUMNS[name] for name in rule.names}, 4).tolist() == expected


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true') == 0",
        "plan.tp.__class__ == 1",
        "(lambda: 1)() == 1",
        "[x for x in plan.tp] == 1",
        "plan.tp ** 9999 > 1",
        "open('f') == 1",
        "min(plan.tp) == 1",
        "f'{plan.tp}' == '1'",
    ],
)
def test_nothing_but_rules_is_accepted_or_has_an_effect(text: str) -> None:
    try:
        rule = parse_expression(text, at="require[0]")
    except ConfigError as error:
        assert str(error).startswith("require[0]: ")  # noqa: PT017 - both outcomes are fine
    else:
        assert rule.names == ("plan.tp.__class__",)  # a name like any other, looked up as text


@pytest.mark.parametrize("text", ["plan.tp <=", "1 == 1", "", "plan.tp ="])
def test_a_text_that_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"require\[0\]"):
        parse_expression(text, at="require[0]")
