"""Every public ASTRA-sim case whose workload stands in the case file: finish and node times."""

import csv
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from engine_cases import ROOT, inputs_of, load_case
from every_case import with_every

from simcore.engines.events.input import EngineOutput
from simcore.engines.events.programs import Program
from simcore.engines.events.run import run_unfolded
from simcore.errors import ConfigError

INDEX = ROOT / "index.csv"
COMPARED = ("ok", "incomplete")
# ASTRA-sim waits for streams that a custom collective does not have; here it ends.
ENDS_HERE = {"custom_splits4_quirk"}
REFUSED = {
    "cg_dbt": "list of members",
    "cg_not_member": "does not hold this NPU",
    "cg_unknown": "group must be defined",
    "err_cpu_comm": "cannot be CPU work",
    "err_impl_too_long": r"1 dimension\(s\)",
    "err_metadata_node": "cannot be run",
    "err_no_impl": "algorithm per dimension",
    "err_no_splits": "must be 1 or more",
    "err_npus_1": "at least 2 NPUs",
    "err_reduce": "algorithm per dimension .reduce-implementation",
    "err_unknown_algo": "halvingDoubling",
    "rmem_none": "remote memory",
    "1d_sw6_doubleBinaryTree_ar_np2": "cannot run all_reduce",
}


def _rows() -> list[dict[str, str]]:
    if not INDEX.exists():
        return []
    with INDEX.open() as file:
        return list(csv.DictReader(file))


def _compared() -> list[tuple[str, str]]:
    backends = {
        "unaware_status": "congestion_unaware",
        "aware_status": "congestion_aware",
        "aware_multidim_status": "congestion_aware_multidim",
    }
    return [
        (row["id"], backend)
        for row in _rows()
        for column, backend in backends.items()
        if row[column] in COMPARED and row["category"] not in ("llm-trace", "text-workload")
    ]


CASES = _compared()


def test_the_golden_cases_are_there() -> None:
    if not CASES:
        pytest.skip(f"no golden data under {ROOT}")
    assert len(CASES) > 300


@with_every("case_id, backend", CASES)
def test_every_npu_finishes_in_the_cycle_of_the_reference(case_id: str, backend: str) -> None:
    case = load_case(case_id)
    if case["workload"]["kind"] != "nodes":
        pytest.skip("the workload is a trace archive, which the Chakra reader's tests cover")
    inputs = inputs_of(case, backend)
    output = run_unfolded(inputs)
    expected = case["expected"][backend]
    if case_id in ENDS_HERE:
        assert (output.finish_ns > 0).all()
        return
    if "finish_cycles" in expected:
        finish = [None if ns < 0 else ns for ns in output.finish_ns.tolist()]
        assert finish == expected["finish_cycles"]
    else:
        assert (output.finish_ns < 0).all()
    assert len(output.waiting) == int((output.finish_ns < 0).sum())
    programs = [inputs.programs[i] for i in inputs.program_of_npu.tolist()]
    _compare_nodes(output, programs, expected.get("node_times", []))


def _compare_nodes(output: EngineOutput, programs: list[Program], node_times: Any) -> None:
    by_npu = node_times.items() if isinstance(node_times, Mapping) else enumerate(node_times)
    for npu, rows in by_npu:
        program = programs[int(npu)]
        for node_id, start, end in rows:
            position = int(np.searchsorted(program.node_id, np.uint64(node_id)))
            got = (output.node_start_ns[int(npu)][position], output.node_end_ns[int(npu)][position])
            assert got == (start, end)


@pytest.mark.skipif(not CASES, reason=f"no golden data under {ROOT}")
@pytest.mark.parametrize("case_id", REFUSED)
def test_what_crashes_the_reference_is_refused_with_a_reason(case_id: str) -> None:
    with pytest.raises(ConfigError, match=REFUSED[case_id]):
        run_unfolded(inputs_of(load_case(case_id), "congestion_unaware"))


@pytest.mark.skipif(not CASES, reason=f"no golden data under {ROOT}")
@pytest.mark.parametrize("case_id", ["size_1B_ag", "size_3B_ag", "sched_epdelay0"])
def test_what_hangs_or_aborts_the_reference_without_reason_ends(case_id: str) -> None:
    output = run_unfolded(inputs_of(load_case(case_id), "congestion_unaware"))
    assert (output.finish_ns > 0).all()


@pytest.mark.skipif(not CASES, reason=f"no golden data under {ROOT}")
@pytest.mark.parametrize(
    ("case_id", "sentence"),
    [
        ("err_unmatched_recv", "which never sent them"),
        ("err_p2p_size", "instead"),
        ("err_coll_missing_rank", "nothing comes from NPU 3"),
        ("roof_zero_tensor_stuck", "waits for another node to end"),
    ],
)
def test_npus_that_wait_for_ever_are_explained(case_id: str, sentence: str) -> None:
    output = run_unfolded(inputs_of(load_case(case_id), "congestion_unaware"))
    assert output.waiting
    assert all(sentence in line for line in output.waiting[:1])
