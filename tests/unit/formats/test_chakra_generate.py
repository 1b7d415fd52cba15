"""Generated iterations, written as traces and run as ASTRA-sim would, take the same time."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore.cli.chakra import chakra
from simcore.config import load_run
from simcore.formats.astra import AstraFiles, as_plain, simulate_files
from simcore.simulation import simulate_run

RUN = """
version: 1
workload: {model: gpt3_13b, sequence: 2048, global_batch: 8}
platform:
  npu: a100_80
  dimensions:
    - {topology: switch, npus: 4, bandwidth: 300 GB/s, latency: 700 ns}
    - {topology: switch, npus: 4, bandwidth: 25 GB/s, latency: 1700 ns}
plan: {tp: 4, pp: 2, dp: 2, micro_batch: 1}
system: {chunks: 2, all_reduce: ring}
"""


EXPERTS = """
version: 1
workload:
  model: {name: small, kind: llama, layers: 4, hidden: 4096, heads: 32, ffn: 8192, vocabulary: 8192,
          experts: {count: 8, active: 2, ffn: 4096, shared_ffn: 4096, every: 2}}
  sequence: 2048
  global_batch: 16
platform:
  npu: a100_80
  dimensions:
    - {topology: switch, npus: 2, bandwidth: 300 GB/s, latency: 700 ns}
    - {topology: switch, npus: 4, bandwidth: 100 GB/s, latency: 700 ns}
    - {topology: switch, npus: 2, bandwidth: 25 GB/s, latency: 1700 ns}
plan: {tp: 2, pp: 2, dp: 4, ep: 2, sequence_parallel: true, zero_stage: 1}
system: {chunks: 2, all_reduce: ring, all_gather: ring, reduce_scatter: ring, all_to_all: ring}
"""


MACHINE = """
platform:
  npu: h100_80
  dimensions:
    - {topology: switch, npus: 4, bandwidth: 300 GB/s, latency: 700 ns}
    - {topology: switch, npus: 2, bandwidth: 25 GB/s, latency: 1700 ns}
system: {chunks: 2, all_reduce: ring, all_gather: ring, reduce_scatter: ring, all_to_all: ring}
"""
IMAGES = (
    "version: 1\nworkload: {kind: cnn, model: resnet50, global_batch: 512}\n"
    "plan: {dp: 8, micro_batch: 64, bucket: 25 MB}" + MACHINE
)
SERVED = IMAGES.replace("25 MB}", "25 MB, updates: {kind: servers, servers: 2}}")
STALE = IMAGES.replace("25 MB}", "25 MB, updates: {kind: servers, servers: 2, staleness: 1}}")
PAIRS = IMAGES.replace("25 MB}", "25 MB, updates: {kind: gossip, distance: 2}}")
TABLES = (
    "version: 1\nworkload: {kind: dlrm, model: dlrm_dcnv2, global_batch: 65536}\n"
    "plan: {dp: 8, micro_batch: 8192}" + MACHINE
)
ROWS = TABLES.replace("65536}", "65536, tables: {sharding: row}}")
BOTH = (
    "version: 1\nworkload: {model: t5_11b, encoder_sequence: 512, sequence: 128, global_batch: 8}\n"
    "plan: {tp: 4, pp: 2, sequence_parallel: true}" + MACHINE
)
# times in traces are whole microseconds, which count for little where kernels are slow
ANSWERS = (
    "version: 1\nworkload: {kind: inference, model: llama3_70b, step: prefill, sequence: 2048,"
    " global_batch: 8}\nplan: {tp: 4, pp: 2, schedule: forward}" + MACHINE + "compute: roofline\n"
)
DECODE = ANSWERS.replace("prefill", "decode").replace("8}", "64%s}")
DECODE = DECODE.replace("pp: 2", "pp: 2, micro_batch: 16")
CHUNKS = ", chunk: {prompt: 1024, tokens: 256, prompts: 4}"
GUESSES = ", speculation: {tokens: 3, acceptance: 0}"
ITERATIONS = {
    "dense": RUN,
    "late scatter": RUN.replace("micro_batch: 1", "zero_stage: 3, scatter_each: false"),
    "groups of four": RUN.replace("pp: 2", "pp: 2, interleave: 2, interleave_group: 4"),
    "experts": EXPERTS,
    "nodes of experts": EXPERTS.replace("ep: 2", "ep: 4, dispatch_group: 2"),
    "passes beside each other": EXPERTS.replace("pp: 2", "pp: 2, schedule: 1f1b_overlapped"),
    "both ends on one stage": EXPERTS.replace("pp: 2", "pp: 2, schedule: dualpipe, interleave: 2"),
    "images": IMAGES,
    "servers": SERVED,
    "stale": STALE,
    "pairs": PAIRS,
    "tables": TABLES,
    "rows": ROWS,
    "encoder and decoder": BOTH,
    "prefill": ANSWERS,
    "prefill in parts": ANSWERS.replace("pp: 2", "cp: 2, cp_kind: ring"),
    "decode": DECODE % "",
    "chunked prefill": DECODE % CHUNKS,
    "checked guesses": DECODE % GUESSES,
}


@pytest.mark.parametrize("backend", ["congestion_unaware", "congestion_aware_multidim"])
@pytest.mark.parametrize("run", ITERATIONS.values(), ids=ITERATIONS)
def test_a_written_iteration_takes_the_time_of_the_simulated_one(
    run: str, backend: str, tmp_path: Path
) -> None:
    run_file = tmp_path / "run.yaml"
    run_file.write_text(run)
    out = tmp_path / "traces" / "w"
    done = CliRunner().invoke(
        chakra, ["generate", str(run_file), "--out", str(out)], catch_exceptions=False
    )
    assert done.exit_code == 0
    named = out.parent / "w.comm_group.json"  # everyone together has no name
    groups = list(json.loads(named.read_text()).values()) if named.exists() else []
    assert len({tuple(members) for members in groups}) == len(groups)
    assert all(len(members) > 1 for members in groups)
    files = AstraFiles(
        workload=out,
        system=out.parent / "w.system.json",
        network=out.parent / "w.network.yml",
        remote_memory=out.parent / "w.memory.json",
        comm_group=named if groups else None,
        folder=out.parent,
    )
    result = as_plain(simulate_files(files, backend, {}))
    assert result["status"] == "ok"
    finish = result["finish_cycles"]
    assert isinstance(finish, list)
    # microseconds of the format, and the lists' fixed endpoint delay, leave a small difference
    simulated = simulate_run(load_run(run_file, {"backend": backend})).iteration_time_s
    assert max(finish) * 1e-9 == pytest.approx(simulated, rel=2e-3)


@pytest.mark.parametrize("run", [RUN, EXPERTS], ids=["dense", "experts"])
def test_the_same_run_gives_the_same_bytes(run: str, tmp_path: Path) -> None:
    run_file = tmp_path / "run.yaml"
    run_file.write_text(run)
    written = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        arguments = ["generate", str(run_file), "--out", str(folder / "w")]
        CliRunner().invoke(chakra, arguments, catch_exceptions=False)
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert written[0] == written[1]
    assert sum(name.endswith(".et") for name in written[0]) == 16


def test_only_the_first_npus_can_be_written(tmp_path: Path) -> None:
    run_file = tmp_path / "run.yaml"
    run_file.write_text(RUN)
    arguments = ["generate", str(run_file), "--out", str(tmp_path / "w"), "--npus", "2"]
    CliRunner().invoke(
        chakra, [*arguments, "--set", "workload.global_batch=4"], catch_exceptions=False
    )
    assert sorted(path.name for path in tmp_path.glob("*.et")) == ["w.0.et", "w.1.et"]
