"""The transfer of a cache in columns, against one piece after the other."""

from collections import defaultdict
from random import Random
from typing import Any

import pytest

from simcore import InfeasibleError, Service, ServiceTemplate
from simcore.machine import Platform
from simcore.serving.routes import CachePiece, CacheRoutes, seats
from simcore.serving.transfer import Transfer, transfer

LAYERS = 6
MODEL: dict[str, Any] = {
    "name": "small", "layers": LAYERS, "hidden": 1024, "heads": 8, "ffn": 4096, "vocabulary": 1024,
}  # fmt: skip


def _service(random: Random) -> Service:
    def plan(**more: int) -> dict[str, int]:
        tp, pp = random.choice([1, 2, 4]), random.choice([1, 2, 3])
        return {"tp": tp, "pp": pp, "dp": 8 // tp if pp == 1 else random.choice([1, 2, 4]), **more}

    reads, answers = plan(micro_batch=random.choice([1, 2])), plan(micro_batch=1)
    npus = sum(one["tp"] * one["pp"] * one["dp"] for one in (reads, answers))
    inner = 2 if all(one["tp"] % 2 == 0 for one in (reads, answers)) else 1
    dimensions = [
        {
            "topology": random.choice(["switch", "fully_connected"]),
            "npus": size,
            "bandwidth": f"{random.choice([0.001, 1, 50])} GB/s",
            "latency": f"{random.choice([0, 1, 30])} us",
        }
        for size in (inner, npus // inner)
        if size > 1
    ]
    table: dict[str, Any] = {
        "version": 1,
        "model": {**MODEL, "kv_heads": random.choice([1, 2, 4, 8])},
        "prompt": random.choice([7, 512]),
        "answer": 8,
        "platform": {"npu": "h100_80", "dimensions": dimensions},
        "prefill": {
            "plan": reads,
            "batch": reads["dp"] * reads["micro_batch"] * random.choice([1, 3]),
        },
        "decode": {"plan": answers, "batch": answers["dp"]},
    }
    return ServiceTemplate.from_table(table).with_values({})


def _one_by_one(
    routes: CacheRoutes, made: dict[tuple[int, int], int], platform: Platform
) -> Transfer:
    """What ``transfer`` says that it does."""
    arrival, sent, received = 0, 0, defaultdict[int, int](int)

    def time_ns(piece: CachePiece) -> int:
        found, source, target = 0, piece.source, piece.target
        for one in platform.dimensions:
            (source, at), (target, to) = divmod(source, one.npus), divmod(target, one.npus)
            if at != to:
                delay_ns = one.shape.hops(one.npus, at, to) * (one.latency_s * 1e9)
                found = int(delay_ns + piece.size_bytes / (one.link_bandwidth_bytes_per_s / 1e9))
        return found

    for seat in seats(routes.reads):
        free = busy = 0
        pieces = routes.sent(seat).each()
        for piece in sorted(pieces, key=lambda piece: made[piece.microbatch, piece.layer]):
            took = time_ns(piece)
            free = max(free, made[piece.microbatch, piece.layer]) + took
            busy += took
            received[piece.target] += took
        arrival, sent = max(arrival, free), max(sent, busy)
    return Transfer(arrival_ns=arrival, busiest_ns=max(sent, *received.values()))


@pytest.mark.parametrize("seed", range(60))
def test_columns_of_pieces_arrive_when_pieces_sent_one_by_one_do(seed: int) -> None:
    random = Random(seed)
    service = _service(random)
    routes = CacheRoutes.of(service)
    batches = routes.prompts // routes.reads.micro_batch
    made = {
        (batch, layer): random.choice([0, 5, random.randrange(1 << 20)])
        for batch in range(batches)
        for layer in range(LAYERS)
    }
    expected = _one_by_one(routes, made, service.platform)
    assert transfer(routes, made, service.platform) == expected


def test_members_of_a_group_that_hold_what_others_send_are_passed_over() -> None:
    silent = 0
    for seed in range(60):
        routes = CacheRoutes.of(_service(Random(seed)))
        silent += any(not routes.sent(seat).target.size for seat in seats(routes.reads))
    assert silent > 5


def test_a_cache_that_takes_longer_than_can_be_counted_is_refused_by_the_slow_link() -> None:
    service = _service(Random(1))
    slow = {"bandwidth_bytes_per_s": 1e-4}
    dimensions = [one.model_copy(update=slow) for one in service.platform.dimensions]
    platform = service.platform.model_copy(update={"dimensions": tuple(dimensions)})
    routes = CacheRoutes.of(service)
    made = {(b, n): 0 for b in range(routes.prompts) for n in range(LAYERS)}
    rule = r"dimensions\[\d\].bandwidth: .* cache.* takes at least"
    with pytest.raises(InfeasibleError, match=rule):
        transfer(routes, made, platform)
