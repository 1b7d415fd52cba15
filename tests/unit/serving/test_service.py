"""Services: the cache that travels, latency and throughput, and the same as traces."""

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from trace_feeders import drain_v1, drain_v3

from simcore.cli.app import cli
from simcore.errors import ConfigError, InfeasibleError, SimcoreError
from simcore.files.resources import shipped_folder
from simcore.formats.astra import AstraFiles, as_plain, simulate_files
from simcore.formats.chakra import read_nodes, read_trace
from simcore.machine import load_platform
from simcore.serving import (
    Service,
    ServiceResult,
    ServiceSimulator,
    check_service,
    load_service,
    simulate_service,
)
from simcore.serving.routes import CacheRoutes, head_routes, seats
from simcore.simulation import simulate_run
from simcore.terms import NodeKind

PROMPT, LAYERS, HEADS, GROUPS, HIDDEN = 1024, 4, 8, 4, 512
MODEL: dict[str, Any] = {
    "name": "dense", "kind": "llama", "layers": LAYERS, "hidden": HIDDEN, "heads": HEADS,
    "kv_heads": GROUPS, "ffn": 2048, "vocabulary": 4096,
}  # fmt: skip
LATENT = MODEL | {
    "latent": {
        "query_rank": 64, "key_value_rank": 32, "plain_width": 48, "rotary_width": 16,
        "value_width": 48,
    },
}  # fmt: skip
POOLS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"dp": 2}, {"dp": 2}),
    ({"tp": 2}, {"tp": 2}),
    ({"tp": 2, "dp": 2}, {"tp": 4}),
    ({"tp": 4}, {"tp": 2, "dp": 2}),
    ({"pp": 2}, {"tp": 2, "pp": 2}),
    ({"pp": 4, "micro_batch": 2}, {"dp": 4}),
    ({"pp": 2, "chunk_layers": [3, 1], "order": "dp-pp-tp-cp-ep", "dp": 2}, {"tp": 4}),
]


def service(
    prefill: dict[str, Any], decode: dict[str, Any], bandwidth: str = "50 GB/s", /, **more: Any
) -> Service:
    found = table(prefill, decode, bandwidth, **more)
    return Service.from_file_data(
        {**found, "platform": load_platform(found["platform"])}, at="service"
    )


def table(
    prefill: dict[str, Any], decode: dict[str, Any], bandwidth: str = "50 GB/s", /, **more: Any
) -> dict[str, Any]:
    npus = sum(
        prod(plan.get(axis, 1) for axis in ("tp", "cp", "dp", "pp")) for plan in (prefill, decode)
    )
    link = {"topology": "switch", "npus": npus, "bandwidth": bandwidth, "latency": "1 us"}
    return {
        "version": 1,
        "model": MODEL,
        "prompt": PROMPT,
        "answer": 64,
        "platform": {"npu": "h100_80", "dimensions": [link]},
        "prefill": {"plan": prefill, "batch": 8},
        "decode": {"plan": {"micro_batch": 2, **decode}, "batch": 8},
        "system": {"all_reduce": "direct"},
        **more,
    }


@pytest.mark.parametrize(("prefill", "decode"), POOLS)
def test_each_prompt_sends_two_matrices_of_its_length_per_layer(
    prefill: dict[str, Any], decode: dict[str, Any]
) -> None:
    routes = CacheRoutes.of(service(prefill, decode))
    pieces = [piece for seat in seats(routes.reads) for piece in routes.sent(seat).each()]
    whole = 2 * 2 * PROMPT * HIDDEN * GROUPS // HEADS * LAYERS  # 2 w n h (g / a) L
    assert routes.request_bytes == whole
    assert len(pieces) == routes.count
    for prompt in range(8):
        sizes = [piece.size_bytes for piece in pieces if piece.prompt == prompt]
        assert sum(sizes) == whole


@pytest.mark.parametrize(("prefill", "decode"), POOLS)
@pytest.mark.parametrize("model", [MODEL, LATENT], ids=["heads", "latents"])
def test_every_npu_that_answers_gets_all_that_it_keeps(
    model: dict[str, Any], prefill: dict[str, Any], decode: dict[str, Any]
) -> None:
    found = service(prefill, decode, model=model)
    routes, run = CacheRoutes.of(found), found.decode_run
    got: dict[int, int] = {}
    for seat in seats(routes.reads):
        for piece in routes.sent(seat).each():
            got[piece.target] = got.get(piece.target, 0) + piece.size_bytes
    first, plan = found.prefill.plan.npus, found.decode.plan
    assert set(got) == {first + npu for npu in range(plan.npus)}
    kept = run.workload.model_copy(update={"sequence": PROMPT})
    kinds = run.workload.model.layer_kinds
    for seat in seats(plan):
        held = [kinds[layer] for layer, at in enumerate(routes.stage_of) if at == seat.stage]
        assert got[first + seat.npu(plan)] == kept.cache_bytes(plan, held)


@pytest.mark.parametrize("sources", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("targets", [1, 2, 4, 8, 16])
def test_heads_reach_every_npu_that_needs_them_from_one_that_has_them(
    sources: int, targets: int
) -> None:
    heads, routes = 4, head_routes(4, sources, targets)
    needed = max(1, heads // targets)
    for target in range(targets):
        assert sum(route.heads for route in routes if route.target == target) == needed
    for source, target, count in routes:
        held = {source * heads // sources + i for i in range(max(1, heads // sources))}
        wanted = {target * heads // targets + i for i in range(needed)}
        assert len(held & wanted) >= count
    if targets >= sources:  # the sending is shared evenly
        loads = [sum(r.heads for r in routes if r.source == source) for source in range(sources)]
        assert len(set(loads)) == 1


@pytest.mark.parametrize(("prefill", "decode"), POOLS[:5])
def test_rates_and_times_are_those_of_the_pools(
    prefill: dict[str, Any], decode: dict[str, Any]
) -> None:
    found = service(prefill, decode)
    result = simulate_service(found)
    assert result.time_to_first_token_s == simulate_run(found.prefill_run).iteration_time_s
    step_s = simulate_run(found.decode_run).iteration_time_s
    assert result.time_per_output_token_s == step_s
    assert result.answered_requests_per_s == pytest.approx(8 / (63 * step_s))
    assert result.read_requests_per_s >= 8 / result.time_to_first_token_s * (1 - 1e-9)
    if found.prefill.plan.pp == 1:
        assert result.read_requests_per_s == pytest.approx(
            8 / result.time_to_first_token_s, rel=2e-2
        )
    assert result.requests_per_s == min(result.limits.values())
    whole = result.time_to_first_token_s + result.transfer_s + 63 * step_s
    assert result.request_s == pytest.approx(whole)
    assert result.metrics()["tokens_per_s"] == pytest.approx(64 * result.requests_per_s)


def test_a_slow_link_limits_the_requests_to_what_it_can_carry() -> None:
    result = simulate_service(service({"dp": 2}, {"dp": 2}, "0.01 GB/s"))
    assert result.bottleneck == "transfer"
    size = result.cache_bytes
    # each of two NPUs sends every other prompt: its 4 layers at 1 us each
    assert result.requests_per_s == pytest.approx(2 / (size / 1e7 + 8e-6), rel=1e-3)
    # all but the first layer of the first prompt is sent after the reading, at the latest
    assert result.transfer_s < 4 * (size / 1e7 + 8e-6)
    assert result.transfer_s > 4 * (size / 1e7 + 8e-6) - result.time_to_first_token_s


def test_a_fast_link_hides_all_but_the_last_layer() -> None:
    slow, fast = (
        simulate_service(service({"dp": 2}, {"dp": 2}, bandwidth)).transfer_s
        for bandwidth in ("50 GB/s", "5000 GB/s")
    )
    assert 0 <= fast <= slow
    result = simulate_service(service({"dp": 2}, {"dp": 2}))
    layer_s = result.cache_bytes / LAYERS / 50e9 + 2e-6
    assert result.transfer_s <= layer_s * (1 + 1e-6)


def _traced(found: dict[str, Any], folder: Path) -> tuple[list[int], ServiceResult]:
    """When the NPUs of the traces are done, in ns, and what was simulated."""
    file, out = folder / "service.yaml", folder / "w"
    file.write_text(yaml.safe_dump(found))
    done = CliRunner().invoke(
        cli, ["chakra", "generate", str(file), "--out", str(out)], catch_exceptions=False
    )
    assert done.exit_code == 0
    named = folder / "w.comm_group.json"
    files = AstraFiles(
        workload=out,
        system=folder / "w.system.json",
        network=folder / "w.network.yml",
        remote_memory=folder / "w.memory.json",
        comm_group=named if named.exists() else None,
        folder=folder,
    )
    result = as_plain(simulate_files(files, "congestion_unaware", {}))
    assert result["status"] == "ok"
    finish = result["finish_cycles"]
    assert isinstance(finish, list)
    return [int(each) for each in finish], simulate_service(load_service(file))


@pytest.mark.parametrize("bandwidth", ["50 GB/s", "1 GB/s"])
@pytest.mark.parametrize(
    ("prefill", "decode"),
    [({"dp": 2}, {"dp": 2}), ({"dp": 2}, {"tp": 2}), ({"dp": 4}, {"tp": 2, "dp": 2})],
)
def test_traces_of_a_service_take_the_time_that_is_told(
    prefill: dict[str, Any], decode: dict[str, Any], bandwidth: str, tmp_path: Path
) -> None:
    decode = {**decode, "micro_batch": 8 // decode.get("dp", 1)}
    # times in traces are whole microseconds, which count for little where kernels are slow
    found = table(prefill, decode, bandwidth, prompt=8192, compute="recorded")
    finish, result = _traced(found, tmp_path)
    reading, answering = finish[: prefill["dp"]], finish[prefill["dp"] :]
    there_s = result.time_to_first_token_s + result.transfer_s
    assert max(reading) * 1e-9 == pytest.approx(there_s, rel=2e-3)
    step_s = result.time_per_output_token_s
    assert max(answering) * 1e-9 == pytest.approx(there_s + step_s, rel=2e-3)


@pytest.mark.parametrize(("prefill", "decode"), POOLS)
def test_traces_of_all_pools_can_be_run_to_their_end(
    prefill: dict[str, Any], decode: dict[str, Any], tmp_path: Path
) -> None:
    finish, result = _traced(table(prefill, decode), tmp_path)
    # one message at a time holds collectives up, which the figures of the service leave out
    told_s = result.time_to_first_token_s + result.transfer_s
    assert max(finish) * 1e-9 >= told_s * (1 - 2e-3)
    groups_file = tmp_path / "w.comm_group.json"
    groups = json.loads(groups_file.read_text()) if groups_file.exists() else {}
    assert len({tuple(members) for members in groups.values()}) == len(groups)
    messages: dict[int, list[tuple[object, ...]]] = {NodeKind.SEND: [], NodeKind.RECV: []}
    for npu in range(len(finish)):
        path = tmp_path / f"w.{npu}.et"
        trace = read_trace(path)
        assert len(drain_v1(trace)) == len(drain_v3(trace)) == trace.ids.size
        for node in read_nodes(path)[1]:
            keys = ("comm_src", "comm_dst", "comm_tag", "comm_size")
            values = tuple(each.value for each in map(node.attribute, keys) if each)
            messages.get(node.type, []).append(values)
    assert sorted(messages[NodeKind.SEND]) == sorted(messages[NodeKind.RECV])
    assert len(set(messages[NodeKind.SEND])) == len(messages[NodeKind.SEND])


def test_the_shipped_services_fit_their_machines() -> None:
    files = sorted((shipped_folder("configs") / "services").glob("*.yaml"))
    assert files
    for file in files:
        found = load_service(file)
        check_service(found)
        assert simulate_service(found).requests_per_s > 0


def test_the_command_tells_latency_throughput_and_what_was_measured(
    tmp_path: Path,
) -> None:
    file, out = tmp_path / "service.yaml", tmp_path / "result.json"
    file.write_text(yaml.safe_dump(table({"dp": 2}, {"tp": 2})))
    done = CliRunner().invoke(
        cli, ["serve", str(file), "--set", "answer=32", "--json", str(out)], catch_exceptions=False
    )
    assert done.exit_code == 0
    for text in (
        "time to first token",
        "time per output token",
        "requests/s",
        "load tests with pools",
    ):
        assert text in " ".join(done.output.split())
    written = json.loads(out.read_text())
    assert written["service"]["answer"] == 32
    assert written["metrics"]["requests_per_s"] > 0


def test_guesses_are_checked_by_the_pool_that_answers() -> None:
    decode = {"tp": 2, "micro_batch": 8}
    plain = simulate_service(service({"dp": 2}, decode))
    guess = {"tokens": 3, "acceptance": 0.9}
    pool = {"plan": decode, "batch": 8, "speculation": guess}
    sooner = simulate_service(service({"dp": 2}, decode, decode=pool))
    assert sooner.time_per_output_token_s < plain.time_per_output_token_s


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"answer": 1}, "answer"),
        ({"prefil": {}}, "prefil"),
        ({"model": "lama3_8b"}, "model"),
        ({"prefill": {"plan": {"dp": 2}}}, "prefill.batch"),
    ],
)
def test_a_mistake_is_told_with_its_place(
    change: dict[str, Any], place: str, tmp_path: Path
) -> None:
    file = tmp_path / "service.yaml"
    file.write_text(yaml.safe_dump(table({"dp": 2}, {"dp": 2}) | change))
    with pytest.raises(ConfigError, match=place):
        load_service(file)


def test_pools_that_do_not_use_the_whole_machine_are_refused() -> None:
    found = service({"dp": 2}, {"dp": 2}, prefill={"plan": {"tp": 3}, "batch": 8})
    with pytest.raises(InfeasibleError, match="pools_fill_machine: both plans use 5 NPUs"):
        check_service(found, memory=False)


def test_services_one_after_another_are_what_each_is_by_itself() -> None:
    simulator = ServiceSimulator()
    found = [service(*pools, bandwidth) for pools in POOLS for bandwidth in ("50 GB/s", "1 GB/s")]
    for each in [*found, *reversed(found)]:
        assert simulator.simulate(each).metrics() == simulate_service(each).metrics()


def test_a_pool_that_cannot_follow_its_plan_is_told_by_name() -> None:
    with pytest.raises(InfeasibleError, match="batch_divides: prefill: global batch 8"):
        check_service(service({"dp": 3}, {"dp": 2}))
    with pytest.raises(InfeasibleError, match="sequence_is_whole: prefill"):
        check_service(service({"cp": 2, "dp": 2}, {"dp": 2}))
    huge = {"plan": {"dp": 2, "micro_batch": 50_000}, "batch": 10_000_000}
    found = service({"dp": 2}, {"dp": 2}, prompt=1, prefill=huge)
    with pytest.raises(InfeasibleError, match="size_in_range: the cache travels"):
        check_service(found, memory=False)


def test_a_pool_too_small_for_the_model_is_told(tmp_path: Path) -> None:
    file = tmp_path / "service.yaml"
    file.write_text(yaml.safe_dump(table({"dp": 2}, {"dp": 2}, model="llama3_70b")))
    with pytest.raises(InfeasibleError, match="fits_in_memory"):
        check_service(load_service(file))


VALUES = [0, -1, 1.5, "x", None, 10**9, 10**19, 10**400, True, [], {}]


@pytest.mark.parametrize(
    "place",
    [
        *("prompt", "answer", "model", "precision", "platform", "compute", "expert_load"),
        *("prefill", "prefill.batch", "prefill.plan", "prefill.plan.dp", "prefill.plan.schedule"),
        *("decode.batch", "decode.speculation", "decode.plan.micro_batch", "system.all_reduce"),
    ],
)
def test_a_value_is_taken_or_refused_in_one_sentence(place: str, tmp_path: Path) -> None:
    file = tmp_path / "service.yaml"
    file.write_text(yaml.safe_dump(table({"dp": 2}, {"dp": 2})))
    sentences = []
    for value in VALUES:
        try:
            assert simulate_service(load_service(file, {place: value})).requests_per_s > 0
        except SimcoreError as error:
            sentences.append(str(error))
    assert sentences
    assert all("\n" not in sentence for sentence in sentences)


def test_caches_in_host_memory_come_in_for_every_token_and_no_port_serves_both_pools() -> None:
    def with_tier(rate: str, kind: str, **prefill: Any) -> Service:
        decode = {"dp": 2, "offload": {"cache": "host"}}
        found = table({"dp": 2, **prefill}, decode)
        tier = {"kind": kind, "memory": "1 TB", "bandwidth": rate}
        found["platform"] = {**found["platform"], "tiers": {"host": tier}}
        platform = load_platform(found["platform"])
        return Service.from_file_data({**found, "platform": platform}, at="service")

    plain = simulate_service(service({"dp": 2}, {"dp": 2}))
    fast, slow = (simulate_service(with_tier(rate, "per_npu")) for rate in ("1e18 GB/s", "1 GB/s"))
    assert fast.time_per_output_token_s == plain.time_per_output_token_s
    moved = slow.answering.tier_bytes
    context, width = PROMPT + 32, HIDDEN * GROUPS // HEADS
    assert moved["host_load"] == moved["host_held"] == 4 * context * LAYERS * 2 * width * 2
    assert slow.time_per_output_token_s >= moved["host_load"] / 1e9
    with pytest.raises(InfeasibleError, match="pools_share_no_port"):
        check_service(with_tier("1 GB/s", "pool", offload={"weights": "host"}))
    check_service(with_tier("1 GB/s", "per_npu", offload={"weights": "host"}))
