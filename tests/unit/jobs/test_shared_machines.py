"""Several jobs on one machine: alone where no link is shared, by arithmetic where one is."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.config import load_run
from simcore.engines.events.input import EngineInput, SystemOptions
from simcore.engines.events.programs import Program
from simcore.engines.events.several import SharedRun, bytes_by_pair
from simcore.errors import ConfigError, InfeasibleError
from simcore.files.resources import shipped_names
from simcore.jobs.allocations import ALLOCATIONS, AllocationRule
from simcore.jobs.file import load_jobs
from simcore.jobs.machine import levels_of
from simcore.jobs.result import JobsResult
from simcore.jobs.simulate import simulate_jobs
from simcore.network import Flow, NetworkDimension
from simcore.network.queued import Queued
from simcore.simulation import Simulator
from simcore.synthesis.placed import kept
from simcore.terms import NodeKind

MODEL = {"name": "tiny", "layers": 1, "hidden": 256, "heads": 8, "ffn": 1024, "vocabulary": 1024}
WORK = {"model": MODEL, "sequence": 128, "global_batch": 8}
ONE_LEAF = {"leaves": 1, "npus_per_leaf": 4, "spines": 1}
LEAVES = {
    "family": "leaf_spine",
    "params": {**ONE_LEAF, "leaves": 2},
    "bandwidth": "2 GB/s",
    "latency": "500 ns",
}


def file_of(*jobs: dict[str, Any], **more: Any) -> dict[str, Any]:
    each = [{"workload": WORK, "plan": {"dp": 4}, **job} for job in jobs]
    return {"platform": {"npu": "h100_80", "network": LEAVES}, "jobs": each, **more}


def result_of(*jobs: dict[str, Any], **more: Any) -> JobsResult:
    return simulate_jobs(load_jobs(file_of(*jobs, **more)))


@pytest.mark.parametrize("backend", ["flow", "congestion_aware_multidim"])
def test_jobs_that_share_no_link_are_as_alone(backend: str) -> None:
    found = result_of({"npus": 4}, {"npus": "4-7", "start": "300 us"}, backend=backend)
    first, second = found.jobs
    assert first.iterations_s == (first.alone_s,)
    assert second.iterations_s == (second.alone_s,)
    assert first.alone_s == second.alone_s
    assert found.links == ()
    assert [job.levels for job in found.jobs] == [(4,), (4,)]


def test_jobs_on_both_leaves_share_the_links_between_them() -> None:
    found = result_of({"npus": [0, 4, 1, 5]}, {"npus": [2, 6, 3, 7]})
    first, second = found.jobs
    assert first.alone_s == second.alone_s  # alike places
    assert 1.05 < first.slowdown <= 2.0
    assert first.iterations_s == second.iterations_s
    # a leaf's one cable to the spine, either way, and the spine's to both leaves
    assert {(link.begin, link.end) for link in found.links} == {
        ("switch 0", "switch 2"),
        ("switch 1", "switch 2"),
        ("switch 2", "switch 0"),
        ("switch 2", "switch 1"),
    }
    for link in found.links:
        one, other = link.carried_bytes.values()
        assert one == other
        assert link.kept_s == pytest.approx((one + other) / 2e9)


def test_bytes_are_the_same_alone_and_together_and_those_of_the_run() -> None:
    found = result_of({"npus": [0, 4, 1, 5]}, {"npus": [2, 6, 3, 7], "iterations": 2})
    run = load_run(
        {
            "workload": WORK,
            "platform": {"npu": "h100_80", "network": {**LEAVES, "params": ONE_LEAF}},
            "plan": {"dp": 4},
        }
    )
    once = sum(Simulator().simulate(run).sent_bytes) * 4
    assert found.jobs[0].sent_bytes == pytest.approx(once, rel=1e-3)
    assert found.jobs[1].sent_bytes == 2 * found.jobs[0].sent_bytes


@pytest.fixture
def synthesised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.setattr(kept, "_folder", lambda: tmp_path / "schedules")
    return {"system": {"all_reduce": "synthesised"}}


def test_jobs_with_schedules_of_their_own_share_the_links_of_both(
    synthesised: dict[str, Any],
) -> None:
    """Both jobs have two NPUs a leaf: their sums cross its one cable, half each while both do."""
    places = [0, 4, 1, 5], [2, 6, 3, 7]
    found = result_of(*({"npus": npus, **synthesised} for npus in places))
    first, second = found.jobs
    assert first.alone_s == second.alone_s
    assert 1.05 < first.slowdown <= 2.0
    ring = result_of(*({"npus": npus} for npus in places))
    assert first.alone_s < ring.jobs[0].alone_s
    assert first.sent_bytes == ring.jobs[0].sent_bytes
    for link in found.links:
        one, other = link.carried_bytes.values()
        assert one == other  # of what the schedules carry, whatever NPUs send each other
        assert 0 < one < ring.links[0].carried_bytes["job 0"]


def test_a_job_with_schedules_on_a_leaf_is_a_run_on_that_leaf(synthesised: dict[str, Any]) -> None:
    leaf = {**LEAVES, "params": ONE_LEAF}
    platform = {"npu": "h100_80", "network": leaf}
    run = load_run({"workload": WORK, "platform": platform, "plan": {"dp": 4}, **synthesised,
                    "backend": "flow"})  # fmt: skip
    job, other = result_of(
        {"npus": "4-7", **synthesised}, {"npus": "0-3", **synthesised}, backend="flow"
    ).jobs
    assert job.iterations_s == other.iterations_s == (job.alone_s,)
    assert job.alone_s == pytest.approx(Simulator().simulate(run).iteration_time_s, rel=1e-3)


def test_one_job_on_the_whole_machine_is_a_run() -> None:
    table = file_of({"plan": {"tp": 2, "dp": 4}, "npus": 8})
    run = load_run(
        {
            "workload": WORK,
            "platform": table["platform"],
            "plan": {"tp": 2, "dp": 4},
            "backend": "flow",
        }
    )
    (job,) = simulate_jobs(load_jobs(table)).jobs
    assert job.levels == (4, 2)
    assert job.alone_s == pytest.approx(Simulator().simulate(run).iteration_time_s, rel=1e-3)


def test_iterations_follow_each_other_and_late_jobs_are_alone() -> None:
    again, late = result_of(
        {"npus": [0, 4, 1, 5], "iterations": 3}, {"npus": [2, 6, 3, 7], "start": "10 s"}
    ).jobs
    assert len(set(np.round(again.iterations_s, 9))) == 1
    assert again.alone_s == pytest.approx(again.iterations_s[0], abs=1e-9)
    assert late.iterations_s == (late.alone_s,)


def transfer(kind: NodeKind, peer: int, size: int) -> Program:
    return Program(
        node_id=np.zeros(1, np.uint64),
        kind=np.array([kind], np.int8),
        on_cpu=np.zeros(1, np.bool_),
        skipped=np.zeros(1, np.bool_),
        duration_ns=np.zeros(1, np.int64),
        comm_kind=np.full(1, -1, np.int8),
        size_bytes=np.array([size]),
        priority=np.zeros(1, np.int64),
        group=np.zeros(1, np.int64),
        involved_dims=np.full(1, -1),
        peer=np.array([peer]),
        tag=np.zeros(1, np.int64),
        dep_start=np.zeros(2, np.int64),
        dep=np.zeros(0, np.int64),
    )


def sender(size: int, where: list[int], start_ns: int = 0) -> EngineInput:
    """NPU 0 of a job of two sends the other one so many bytes."""
    return EngineInput(
        backend="flow",
        dimensions=(NetworkDimension(topology="ring", npus=2, bytes_per_ns=1.0, latency_ns=0.0),),
        options=SystemOptions(),
        programs=(transfer(NodeKind.SEND, 1, size), transfer(NodeKind.RECV, 0, size)),
        program_of_npu=np.arange(2),
        where=np.array(where),
        start_ns=np.full(2, start_ns),
    )


def test_two_jobs_on_one_link_have_half_of_it_each_while_both_send() -> None:
    # NPUs 0, 1 of a ring of 4 in a row with 2, 3: 0 -> 2 and 1 -> 3 share the link 1 -> 2
    ring = (NetworkDimension(topology="ring", npus=4, bytes_per_ns=2.0, latency_ns=10.0),)
    both = [sender(10_000, [0, 2]), sender(10_000, [1, 3])]
    alone = [SharedRun([one], [1], Flow(ring)).run()[0] for one in both]
    together = SharedRun(both, [1, 1], Flow(ring)).run()
    assert [one.end_ns for one in alone] == [[20 + 5000]] * 2
    assert [one.end_ns for one in together] == [[20 + 10_000]] * 2
    # half as long a message lets the other one go on alone: 5,000 at 1 B/ns, 5,000 at 2 B/ns
    mixed = SharedRun([both[0], sender(5_000, [1, 3])], [1, 1], Flow(ring)).run()
    assert [one.end_ns for one in mixed] == [[20 + 7500], [20 + 5000]]
    # what begins later takes its half from then on: 2,500 ns alone, and the rest by halves
    later = SharedRun([both[0], sender(10_000, [1, 3], 2500)], [1, 1], Flow(ring)).run()
    assert [one.end_ns for one in later] == [[20 + 2500 + 5000], [2500 + 20 + 5000 + 2500]]
    # where messages queue, whole messages take turns on the shared link
    turns = [sender(10_000, [1, 2]), sender(10_000, [1, 3])]
    queued = SharedRun(turns, [1, 1], Queued(ring)).run()
    assert [one.end_ns for one in queued] == [[5010], [5000 + 2 * 5010]]
    assert [one.tolist() for one in bytes_by_pair(together[1])] == [[1], [3], [10_000]]


def test_levels_are_those_along_which_npus_lie_evenly() -> None:
    sizes = [4, 4]
    assert levels_of(range(16), sizes) == [(0, 4), (1, 4)]
    assert levels_of([0, 1, 4, 5, 8, 9], sizes) == [(0, 2), (1, 3)]
    assert levels_of([0, 4, 8, 12], sizes) == [(1, 4)]
    assert levels_of([0, 1, 2, 4, 8], sizes) == [(1, 5)]
    assert levels_of([2, 3], sizes) == [(0, 2)]


def test_allocations_give_what_they_say() -> None:
    free = [0, 1, 2, 3, 6, 7, 8, 9, 10, 11]

    def given(rule: str, count: int, **options: Any) -> list[int]:
        found = ALLOCATIONS[rule]
        told = found.options.from_file_data(options, at="")
        return list(found.allocate(free, count, told))

    assert given("contiguous", 4) == [0, 1, 2, 3]
    assert given("contiguous", 5) == [6, 7, 8, 9, 10]
    assert given("contiguous", 2, first=7) == [7, 8]
    assert given("strided", 3, first=1, step=4) == [1, 5, 9]
    for seed in range(5):
        drawn = given("fragmented", 5, block=2, seed=seed)
        assert drawn == sorted(set(drawn))
        assert set(drawn) <= set(free)
        assert drawn == given("fragmented", 5, block=2, seed=seed)
        assert all(npu ^ 1 in drawn for npu in drawn[:4])  # whole blocks but for the last
    assert len({tuple(given("fragmented", 4, seed=seed)) for seed in range(5)}) > 1


class LastOnes(AllocationRule):
    """The free NPUs of the highest numbers."""

    def allocate(self, free: Any, count: int, options: Any) -> Any:
        return free[-count:]


def test_allocations_from_outside_are_named_by_their_place() -> None:
    jobs = load_jobs(file_of({"npus": f"{__name__}:LastOnes"}, {"npus": 4}))
    assert [run.npus for run in jobs.runs] == [(4, 5, 6, 7), (0, 1, 2, 3)]


@pytest.mark.parametrize(
    ("jobs", "told"),
    [
        ([{"npus": "0-3"}, {"npus": "3-6"}], r"jobs\[1\].npus: .*'job 0' has this one, but got 3"),
        ([{"npus": 6}], r"jobs\[0\].npus: must be as many as the plan has, 4, but got 6"),
        ([{"npus": "0-3"}, {"npus": 9}], r"jobs\[1\].npus: .*in a row, but got '4 free ones'"),
        ([{"npus": "6-9"}], r"jobs\[0\].npus: must be NPUs of the machine, 0 to 7, but got 8"),
        ([{"npus": [0, 0, 1, 2]}], r"jobs\[0\].npus: must name each NPU once"),
        ([{"npus": "0-x"}], r"jobs\[0\].npus: must be one of contiguous"),
        ([{"npus": {"rule": "scattered"}}], r"jobs\[0\].npus.rule: allocation must be one of"),
        ([{"npus": {"rule": "strided", "options": {"step": 0}}}], r"options.step"),
        ([{"plan": {"dp": 1}, "npus": 1}], r"jobs\[0\].npus: must be 2 NPUs or more"),
        ([{"name": "a"}, {"name": "a"}], r"jobs\[1\].name"),
        ([{"workload": {"model": "gpt3_17b"}}], r"gpt3_17b"),
        ([], r"jobs"),
    ],
)
def test_bad_jobs_are_told_in_a_sentence(jobs: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        load_jobs(file_of(*jobs))


def test_what_jobs_cannot_have_is_told() -> None:
    with pytest.raises(ConfigError, match="messages of jobs meet"):
        load_jobs(file_of({"npus": 4}, backend="congestion_unaware"))
    stacked = [{"topology": "switch", "npus": 4, "bandwidth": "2 GB/s", "latency": "500 ns"}]
    table = file_of({"npus": 4}, system={"all_reduce": "synthesised"}, backend="flow")
    table["platform"] = {"npu": "h100_80", "dimensions": stacked}
    with pytest.raises(ConfigError, match=r"jobs\[0\].system.all_reduce: .* is one network"):
        simulate_jobs(load_jobs(table))
    with pytest.raises(InfeasibleError, match="job 0: "):
        result_of({"npus": 4, "workload": {**WORK, "global_batch": 6}})


@pytest.mark.parametrize("name", shipped_names("jobs"))
def test_shipped_files_of_jobs_are_read(name: str) -> None:
    jobs = load_jobs(name)
    taken = [npu for run in jobs.runs for npu in run.npus]
    assert len(set(taken)) == len(taken) <= jobs.platform.npus


def test_a_file_of_jobs_is_no_run_file() -> None:
    with pytest.raises(ConfigError, match="simcore simulate reads"):
        load_run(file_of({"npus": 4}))


def test_the_command_tells_slowdowns_and_shared_links(tmp_path: Path) -> None:
    path = tmp_path / "two.yaml"
    jobs = [{"npus": [0, 4, 1, 5], "placement": [1, 0, 2, 3]}, {"npus": [2, 6, 3, 7]}]
    path.write_text(json.dumps({"version": 1, **file_of(*jobs)}))
    call = ["simulate", str(path), "--json", str(tmp_path / "out.json")]
    done = CliRunner().invoke(cli, call)
    assert done.exit_code == 0, done.output
    assert "slowdown" in done.output
    written = json.loads((tmp_path / "out.json").read_text())
    assert [job["slowdown"] > 1 for job in written["jobs"]] == [True, True]
    assert written["shared_links"][0]["carried_bytes"].keys() == {"job 0", "job 1"}
