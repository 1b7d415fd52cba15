"""Software stacks: whose costs count, and what they decide of a plan."""

from pathlib import Path

import pytest

from simcore.compute import Roofline
from simcore.config import load_run
from simcore.errors import ConfigError
from simcore.files.resources import shipped_names
from simcore.machine import load_npu
from simcore.machine.stack import load_stack
from simcore.terms import Precision
from simcore.workload.graph import Kernel

RUN = {
    "version": 1,
    "workload": {"model": "llama3_8b", "sequence": 2048, "global_batch": 8},
    "platform": {
        "npu": "h100_80",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "450 GB/s", "latency": "1 us"}
        ],
    },
    "plan": {"dp": 8},
}


def test_a_run_without_a_stack_pays_the_one_of_its_accelerator() -> None:
    run, named = load_run(RUN), load_run({**RUN, "stack": "megatron_core_2024"})
    assert run.platform.npu.stack == "megatron_core_2024"
    assert run.platform.npu.efficiency == named.platform.npu.efficiency


@pytest.mark.parametrize("name", shipped_names("stacks"))
def test_the_stack_of_a_run_replaces_that_of_the_accelerator(name: str) -> None:
    stack, part = load_stack(name), load_run({**RUN, "stack": name}).platform.npu.efficiency
    assert part.issue_s == pytest.approx(stack.issue_s * stack.launches)
    assert (part.traffic, part.casts) == (stack.traffic, stack.casts)
    plain = load_npu("h100_80").efficiency
    best = (plain.attention_portable or 1.0) if stack.portable else plain.attention
    assert part.attention_share * plain.attention == pytest.approx(stack.attention * best)
    assert (part.gemm, part.memory, part.attention) == (plain.gemm, plain.memory, plain.attention)


def test_a_stack_decides_what_the_plan_does_not_say() -> None:
    old = {**RUN, "stack": "megatron_2021"}
    assert not load_run(old).plan.flash_attention
    assert load_run({**old, "plan": {"dp": 8, "flash_attention": True}}).plan.flash_attention
    assert load_run(RUN).plan.flash_attention


def test_a_path_sets_the_stack() -> None:
    run = load_run(RUN, {"stack": "pytorch_fsdp2", "plan.dp": 8})
    assert run.platform.npu.stack == "pytorch_fsdp2"


def test_a_stack_that_nobody_knows_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        ConfigError, match=r"^stack: must be a \.yaml file or one of maxtext, .*mega"
    ):
        load_run({**RUN, "stack": "mega"})


def test_costs_that_an_accelerator_gives_itself_are_kept_unless_the_run_names_a_stack() -> None:
    own = {"platform.npu.efficiency.traffic": 3.5}
    assert load_run(RUN, own).platform.npu.efficiency.traffic == 3.5
    named = load_run({**RUN, "stack": "maxtext"}, own)
    assert named.platform.npu.efficiency.traffic == load_stack("maxtext").traffic


def test_a_stack_of_ones_own_is_a_file_beside_the_run(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text("version: 1\ntraffic: 2\nissue: 5 us\nlaunches: 4\nsource: measured here\n")
    part = load_run({**RUN, "stack": "ours.yaml"}, beside=tmp_path).platform.npu.efficiency
    assert part.issue_s == pytest.approx(20e-6)
    kernel = Kernel(name="norm", kind="elementwise", flop=0.0, bytes=1e9)
    npu = load_run({**RUN, "stack": str(file)}).platform.npu
    time_s = Roofline().kernel_time_ns(kernel, npu, Precision.BF16) / 1e9
    assert time_s == pytest.approx(2e9 / (0.85 * 3.35e12) + 2e-6, rel=1e-3)
