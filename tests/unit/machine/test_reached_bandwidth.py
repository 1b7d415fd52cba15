"""Messages get the part of a bandwidth that links reach; all of it is paid for."""

from typing import Any

import numpy as np
import pytest

from dse.costs import WholeMachine, load_prices
from simcore import (
    ConfigError,
    Run,
    RunTemplate,
    load_npu,
    lower_bounds,
    simulate_many,
    simulate_run,
    unbuildable,
)
from simcore.machine.fabric import Fabric

OUTER = "platform.dimensions[1]"
GB = 1e9


SMALL = {"name": "small", "layers": 4, "hidden": 512, "heads": 8, "ffn": 2048, "vocabulary": 1000}
"""A model whose messages are few packets."""


def table(**outer: Any) -> dict[str, Any]:
    """GPT-3 of 4 layers on 32 A100; *outer* goes into the dimension between the servers."""
    dimensions = [
        {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
        {"topology": "switch", "npus": 4, "bandwidth": "25 GB/s", "latency": "1700 ns", **outer},
    ]
    return {
        "workload": {"model": "gpt3_175b_4layers", "sequence": 2048, "global_batch": 32},
        "platform": {"npu": "a100_80", "dimensions": dimensions},
        "plan": {"tp": 4, "pp": 2, "dp": 4, "zero_stage": 1},
        "system": {"phase_end": "together"},
    }


def run(**outer: Any) -> Run:
    return RunTemplate.from_table(table(**outer)).with_values({})


@pytest.mark.parametrize("part", [0.5, 0.75])
@pytest.mark.parametrize(
    "backend", ["congestion_unaware", "congestion_aware_multidim", "flow", "packet"]
)
def test_a_part_of_the_bandwidth_is_as_fast_as_so_much_less(part: float, backend: str) -> None:
    given = {**table(), "backend": backend}
    if backend == "packet":
        given["workload"] = {**given["workload"], "model": SMALL, "sequence": 256}
    template = RunTemplate.from_table(given)
    reached = template.with_values({f"{OUTER}.efficiency": part})
    less = template.with_values({f"{OUTER}.bandwidth": f"{25 * part} GB/s"})
    times = [
        simulate_run(one).iteration_time_s for one in (reached, less, template.with_values({}))
    ]
    assert times[0] == times[1]
    if backend == "congestion_unaware":
        assert times[1] > times[2]


def test_bounds_and_designs_at_once_know_the_part_that_is_reached() -> None:
    designs = [{f"{OUTER}.efficiency": part} for part in (0.25, 0.5, 0.8, 1.0)]
    template = RunTemplate.from_table(table())
    times = [simulate_run(template.with_values(one)).iteration_time_s for one in designs]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == len(times)
    bounds = lower_bounds(table(), designs)
    assert (np.diff(bounds) < 0).all()
    assert (bounds <= times).all()
    columns = {f"{OUTER}.efficiency": [one[f"{OUTER}.efficiency"] for one in designs]}
    many = simulate_many(table(), columns)
    assert (many.iteration_time_ns == np.rint(np.array(times) * 1e9)).all()


def test_the_whole_bandwidth_is_priced_and_must_be_sold() -> None:
    model = WholeMachine(load_prices())
    whole, part = run().platform, run(efficiency=0.5).platform
    assert model.cost(part) == model.cost(whole)
    beyond = {"bandwidth": "60 GB/s", "efficiency": 0.4}
    assert unbuildable(run(**beyond).platform) is not None


@pytest.mark.parametrize("npu", ["h100_80", "gb200", "tpu_v5p", "mi300x"])
def test_native_is_what_was_measured_on_such_links(npu: str) -> None:
    given = table(efficiency="native", bandwidth="50 GB/s")
    given["platform"]["npu"] = npu
    given["platform"]["dimensions"][0].update(efficiency="native", npus=8, topology="native")
    inside, beyond = RunTemplate.from_table(given).with_values({}).platform.dimensions
    fabric = load_npu(npu).scale_up.fabric
    assert fabric
    assert inside.efficiency == Fabric.load(fabric).efficiency(8)
    joined = load_npu(npu).scale_up.npus >= 32
    assert beyond.efficiency == Fabric.load(fabric if joined else "nic").efficiency(4)


@pytest.mark.parametrize("part", [0, -0.5, 1.01, "most", float("nan")])
def test_parts_outside_0_to_1_are_refused(part: object) -> None:
    with pytest.raises(ConfigError, match="efficiency"):
        run(efficiency=part)


def test_an_accelerator_without_measured_links_tells_no_efficiency() -> None:
    asked = table()
    asked["platform"]["npu"] = "trainium2"
    asked["platform"]["dimensions"][0].update(efficiency="native", npus=2)
    with pytest.raises(ConfigError, match=r"dimensions\[0\]\.efficiency.*is not told"):
        RunTemplate.from_table(asked).with_values({})
