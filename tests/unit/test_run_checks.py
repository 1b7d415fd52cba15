"""Checks that remember say what checks that do not would say."""

from typing import Any

import pytest

from simcore import InfeasibleError, RunChecks, RunTemplate, check_run, footprint

TABLE: dict[str, Any] = {
    "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 64},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1.7 us"},
        ],
    },
    "plan": {"tp": 8, "dp": 4},
}
TEMPLATE = RunTemplate.from_table(TABLE)
DESIGNS: list[dict[str, object]] = [
    {},
    {"plan.tp": 4},
    {"plan.tp": 4, "plan.dp": 8},
    {"plan.tp": 2, "plan.cp": 4},
    {"platform.dimensions[0].npus": 4, "platform.dimensions[1].npus": 8},
    {"platform.dimensions[0].npus": 16, "platform.dimensions[1].npus": 2, "plan.dp": 16},
    {"platform.npu.memory": "2 GB"},
    {"platform.npu.memory_bandwidth": "1e-9 B/s"},
    {"workload.global_batch": 2**40},
    {"workload.sequence": 2**50},
]


def reason(checks: RunChecks | None, values: dict[str, object]) -> str:
    run = TEMPLATE.with_values(values)
    try:
        if checks is None:
            check_run(run)
        else:
            checks.check(run)
    except InfeasibleError as error:
        return str(error)
    return "feasible"


def test_checks_that_remember_say_the_same_whatever_they_have_seen() -> None:
    checks = RunChecks()
    alone = [reason(None, values) for values in DESIGNS]
    assert len(set(alone)) > 5
    for _ in range(2):
        assert [reason(checks, values) for values in DESIGNS] == alone
    assert [reason(checks, values) for values in reversed(DESIGNS)] == alone[::-1]


def test_memory_is_worked_out_once_per_plan_and_compared_with_each_machine() -> None:
    checks = RunChecks()
    roomy = TEMPLATE.with_values({"platform.npu.memory": "80 GB"})
    tight = TEMPLATE.with_values({"platform.npu.memory": "2 GB"})
    needed = checks.memory(roomy.workload, roomy.platform, roomy.plan)
    assert needed == footprint(roomy.workload, roomy.plan)
    assert checks.footprint(tight.workload, tight.plan) is needed
    read_anew = RunTemplate.from_table(TABLE).with_values({})
    assert RunChecks().footprint(read_anew.workload, read_anew.plan) is needed
    with pytest.raises(InfeasibleError, match="fits_in_memory"):
        checks.memory(tight.workload, tight.platform, tight.plan)
