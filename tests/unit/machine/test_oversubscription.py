"""An oversubscribed dimension is like one with less bandwidth, for simulator and bounds alike."""

from dataclasses import replace
from typing import Any

import pytest

from simcore import RunTemplate, lower_bounds, simulate_run


def table() -> dict[str, Any]:
    return {
        "workload": {"model": "gpt3_175b_4layers", "sequence": 2048, "global_batch": 32},
        "platform": {
            "npu": "a100_80",
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
                {"topology": "switch", "npus": 4, "bandwidth": "100 GB/s", "latency": "1700 ns"},
            ],
        },
        "plan": {"tp": 4, "pp": 2, "dp": 4, "zero_stage": 1},
        "system": {"phase_end": "together"},
    }


DIMENSION = "platform.dimensions[1]"


@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_messages_get_the_bandwidth_over_the_oversubscription(factor: float) -> None:
    template = RunTemplate.from_table(table())
    crowded = {f"{DIMENSION}.oversubscription": factor}
    slower = {f"{DIMENSION}.bandwidth": f"{100 / factor} GB/s"}
    times = [
        simulate_run(template.with_values(values)).iteration_time_s
        for values in (crowded, slower, {})
    ]
    assert times[0] == times[1] > times[2]
    bounds = lower_bounds(table(), [crowded, slower, {}])
    assert bounds[0] == bounds[1] > bounds[2]
    assert (bounds <= times).all()


def test_ports_and_rails_change_no_time() -> None:
    template = RunTemplate.from_table(table())
    usual = simulate_run(template.with_values({}))
    for key in ("shares_ports", "rails"):
        found = simulate_run(template.with_values({f"{DIMENSION}.{key}": True}))
        assert max(found.link_loads) >= max(usual.link_loads)  # ports that are shared carry more
        assert replace(found, link_loads=usual.link_loads) == usual


def test_an_order_of_axes_may_be_one_word() -> None:
    template = RunTemplate.from_table(table())
    order = template.with_values({"plan.order": "tp-cp-dp-ep-pp"}).plan.order
    assert order == ("tp", "cp", "dp", "ep", "pp")
