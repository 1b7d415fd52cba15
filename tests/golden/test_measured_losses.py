"""What computes lose to communication, against what was measured elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from simcore.compute import Roofline
from simcore.config import Run, load_run
from simcore.kernels.classes import layout as f
from simcore.kernels.npu import layout as n
from simcore.machine import load_npu
from simcore.simulation import Simulator, simulate_run
from simcore.terms import Precision
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.report import training_s
from simcore.validation.rows import MeasuredRow
from simcore.workload.graph import Kernel

TRAINING = Path(__file__).parents[3] / "shared" / "golden" / "hardware" / "llm_training.csv"

MEAN_SLOWDOWN, LARGEST_SLOWDOWN = 0.189, 0.40
"""Of computes, with overlapped communication over computes alone: GPT and LLaMA models on 4 A100,
H100, MI250 and MI210. Source: "Characterizing Compute-Communication Overlap in GPU-Accelerated
Distributed Deep Learning", arXiv:2507.03114, abstract."""

ALONE, BESIDE = 0.80, 0.47
"""Part of the peak that a product of exactly 132 tiles reaches on an H100 alone, and beside an
all-gather of 24 blocks. Source: NVIDIA developer forum, topic 337991, 2025."""


def sharded(npu: str, model: str, sequence: int, bandwidth: str) -> Run:
    """Training on four NPUs with all states sharded, as in the source."""
    links = {"topology": "switch", "npus": 4, "bandwidth": bandwidth, "latency": "700 ns"}
    return load_run(
        {
            "version": 1,
            "workload": {"model": model, "sequence": sequence, "global_batch": 4},
            "platform": {"npu": npu, "dimensions": [links]},
            "plan": {"dp": 4, "zero_stage": 3},
            "system": {"mover": "cores", "all_reduce": "ring"},
        }
    )


@pytest.mark.parametrize(("npu", "bandwidth"), [("h100_80", "429 GB/s"), ("a100_80", "280 GB/s")])
@pytest.mark.parametrize(("model", "sequence"), [("gpt3_13b", 2048), ("llama2_7b", 4096)])
def test_computes_lose_more_than_measured_on_the_mean_and_less_than_at_most_where_all_overlaps(
    npu: str, bandwidth: str, model: str, sequence: int
) -> None:
    run = sharded(npu, model, sequence, bandwidth)
    iteration = Simulator().run(run, every_node=True)[1]
    assert iteration.nodes is not None
    node, run_ns = iteration.nodes.lowered.node, iteration.nodes.execution
    talks, computes = (node[:, n.KIND] == kind for kind in (n.COMMUNICATION, n.COMPUTE))
    weight = node[talks, n.DURATION]
    taken = [(node[talks, part] * weight).sum() / weight.sum() for part in (f.CORES, f.MEMORY)]
    own_ns = node[computes, n.DURATION]
    left = 1 - (node[computes][:, [f.CORES, f.MEMORY]] @ np.array(taken)) / f.WHOLE**2
    throughout = (own_ns / left).sum() / own_ns.sum() - 1
    assert MEAN_SLOWDOWN < throughout < LARGEST_SLOWDOWN
    found = (run_ns.end_ns - run_ns.start_ns)[computes].sum() / own_ns.sum() - 1
    assert 0.01 < found < throughout  # communication is beside some of them


def test_a_product_of_as_many_tiles_as_cores_takes_another_round_beside_an_all_gather() -> None:
    m, columns, k = 12 * 256, 11 * 128, 8192
    product = Kernel("", "gemm", 2.0 * m * columns * k, 0.0, m, columns, k)
    npu, compute = load_npu("h100_80"), Roofline()
    taken = npu.mover("cores").takes_cores
    assert taken == 24 / 132
    beside = compute.kernel_time_ns(product, npu.with_less(cores=taken), Precision.BF16)
    slower = beside / compute.kernel_time_ns(product, npu, Precision.BF16)
    assert 1 / (1 - taken) < slower <= 2
    assert slower == pytest.approx(ALONE / BESIDE, rel=0.2)


@pytest.mark.skipif(not TRAINING.exists(), reason="the measurements are not on this machine")
def test_the_run_that_tells_its_cores_is_met_as_well_with_them_as_without() -> None:
    rows = MeasuredRow.all_of(TRAINING)
    row = next(one for one in rows if one.id.startswith("deepseek-v3-2412-19437"))
    run, measured_s = run_of(row, Machines()), training_s(row)
    assert run.platform.npu.mover("cores").takes_cores == 20 / 132  # as the report says
    moved = run.model_copy(update={"system": run.system.model_copy(update={"mover": "cores"})})
    plain, result = simulate_run(run), simulate_run(moved)
    lost_s = result.compute_by_phase_s()["lost"]
    assert 0.005 < lost_s / result.compute_s < 20 / 132
    assert plain.iteration_time_s < result.iteration_time_s
    assert result.iteration_time_s == pytest.approx(measured_s, rel=0.02)


def test_reads_of_memory_per_byte_sent_are_those_of_ace_and_of_what_it_replaces() -> None:
    """An all-reduce reads 1.5 bytes for each that it sends with cores, an engine of its own half of
    one; on the mean over its workloads ACE needs 3.5 times less (ISCA 2021)."""
    cores, nic = load_npu("h100_80").mover("cores"), load_npu("trainium2").mover("nic")
    own = nic.model_copy(update={"buffered": True})
    reads = [one.memory_passes(reducing=True) - writes for one, writes in ((cores, 1), (own, 0.5))]
    assert reads[0] == 1.5
    assert reads[0] / reads[1] == pytest.approx(3.5, rel=0.2)
