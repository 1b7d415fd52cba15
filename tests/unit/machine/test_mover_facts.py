"""Engines that move data: what an accelerator's file may tell of them, and what is refused."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from commands_here import run_here

from simcore import ConfigError, InfeasibleError, Simulator, load_npu, load_run
from simcore.config import Run

SYSTEM: Mapping[str, Any] = {"all_reduce": "ring"}


def run_on(system: Mapping[str, Any], npu: object = "h100_80", **more: Any) -> Run:
    links = {"topology": "switch", "npus": 4, "bandwidth": "400 GB/s", "latency": "700 ns"}
    return load_run(
        {
            "version": 1,
            "workload": {"model": "llama2_7b", "sequence": 2048, "global_batch": 4},
            "platform": {"npu": npu, "dimensions": [links]},
            "plan": {"tp": 4, "overlap_tensor": True},
            "system": {**SYSTEM, **system},
            **more,
        }
    )


def own(**movers: object) -> dict[str, object]:
    """An accelerator of one's own with these engines."""
    return {
        "name": "own",
        "peak": {"bf16": "100 TFLOP/s"},
        "memory": "80 GiB",
        "memory_bandwidth": "2000 GB/s",
        "scale_up": {"npus": 8, "bandwidth": "400 GB/s"},
        "efficiency": {
            **{"gemm": 0.6, "gemm_ramp": "1 us", "attention": 0.5},
            **{"memory": 0.8, "kernel_overhead": "1 us"},
        },
        "movers": movers,
    }


@pytest.mark.parametrize(
    ("system", "npu", "rule", "told"),
    [
        (
            {"mover": "nic"},
            "h100_80",
            "mover_there",
            "h100_80 has no mover nic: its file tells of",
        ),
        ({"mover": "cores"}, "wse2", "mover_there", "its file tells of none"),
        (
            {"mover": "copy_engines"},
            "h100_80",
            "mover_reduces",
            "name system.reducer, one of cores",
        ),
        ({"mover": "copy_engines"}, "tpu_v4", "mover_reduces", "over tp must: none can"),
        ({"mover": "cores", "mover_cores": 131}, "h100_80", "mover_cores", "1 to 118 of the 132"),
        ({"mover": "nic", "mover_cores": 2}, "trainium2", "mover_cores", "system.mover_cores out"),
    ],
)
def test_an_engine_that_is_not_there_or_cannot_do_it_makes_a_design_infeasible(
    system: dict[str, Any], npu: str, rule: str, told: str
) -> None:
    with pytest.raises(InfeasibleError) as found:
        Simulator().simulate(run_on(system, npu))
    assert found.value.rule == rule
    assert told in found.value.reason


@pytest.mark.parametrize(
    ("system", "more", "told"),
    [
        ({"mover": "core"}, {}, "system.mover: mover must be one of cores, copy_engines, nic (did"),
        ({"reducer": "cores"}, {}, "system.reducer: needs a mover beside it, but got 'cores'"),
        ({"mover_cores": 3}, {}, "system.mover_cores: needs a mover beside it, but got 3"),
        ({"mover": "cores"}, {"backend": "packet"}, "system.mover: must be left out with packet"),
        ({"mover": "test_mover_facts:Nothing"}, {}, "test_mover_facts:Nothing"),
    ],
)
def test_what_a_file_says_wrongly_is_told_with_its_place(
    system: dict[str, Any], more: dict[str, Any], told: str
) -> None:
    with pytest.raises(ConfigError) as found:
        Simulator().simulate(run_on(system, **more))
    assert told in str(found.value)


@pytest.mark.parametrize(
    ("movers", "told"),
    [
        (
            {"cores": {"count": 10, "taken": 10}},
            "movers.cores.taken: must be at most 90% of the 10",
        ),
        ({"cores": {"count": 10}}, "movers.cores.taken: this key is required"),
        ({"nic": {"rate": 3}}, "movers.nic.rate: unknown key; the keys here are source, bandwidth"),
        ({"nic": {"bandwidth": 3}}, "movers.nic.bandwidth: must have a unit"),
        ({"dpus": {}}, "movers: mover must be one of cores, copy_engines, nic"),
        ({"cores": 3}, "movers.cores: must be a table"),
    ],
)
def test_facts_that_no_engine_has_are_refused_with_their_place(
    movers: dict[str, object], told: str
) -> None:
    with pytest.raises(ConfigError) as found:
        load_npu(own(**movers))
    assert told in str(found.value)


def test_a_command_tells_in_one_sentence_what_adds_up_and_ends_with_2(tmp_path: Path) -> None:
    words = ["simulate", "llama3_70b_8_h100_decode", "--set", "system.mover=copy_engines"]
    ended = run_here(tmp_path, "simcore", *words)
    assert ended.returncode == 2
    (line,) = ended.stderr.strip().splitlines()
    assert "copy_engines add up nothing, as the all-reduce over tp must" in line


def test_a_run_with_engines_comes_back_from_its_json_as_it_was() -> None:
    run = run_on({"mover": "cores"}, own(cores={"count": 10, "taken": 2}, nic={}))
    again = Run.model_validate_json(run.model_dump_json())
    assert again == run
    assert again.platform.npu.mover("cores").takes_cores == 0.2


def test_fewer_cores_than_fill_the_links_move_as_much_less() -> None:
    cores = load_npu("h800").mover("cores")
    assert cores.with_cores(5, 200e9).moves_bytes_per_s == pytest.approx(50e9)
    assert cores.with_cores(20, 200e9).moves_bytes_per_s == pytest.approx(200e9)


def test_what_computes_lose_is_told_by_phase_and_along_the_critical_path() -> None:
    from simcore.simulation import attribute_run

    run = run_on({"mover": "cores"})
    lost_s = Simulator().simulate(run).compute_by_phase_s()["lost"]
    (reason,) = [one for one in attribute_run(run).parts_ns if "lost" in str(one)]
    told = attribute_run(run)
    assert str(reason) == "compute lost to communication"
    assert 0 < told.parts_ns[reason] * 1e-9 <= lost_s * (1 + 1e-9)
    assert told.time_ns == round(Simulator().simulate(run).iteration_time_s * 1e9)
