"""Lower bounds stay below simulated times for all kinds of layers and choices of a plan."""

from typing import Any

from every_case import with_every

import simcore

SHAPE: dict[str, Any] = {
    "name": "small", "kind": "llama", "layers": 8, "hidden": 1024, "heads": 16, "kv_heads": 8,
    "ffn": 2048, "vocabulary": 8192,
}  # fmt: skip
ROUTED = {"count": 8, "active": 2, "ffn": 1024}
EXPERTS = SHAPE | {"experts": ROUTED | {"shared_ffn": 512, "first_layer": 1}}
HYBRID = SHAPE | {
    "pattern": "MEM*E-M*",
    "experts": ROUTED,
    "mamba": {"heads": 32, "head_width": 64, "groups": 8, "state": 64},
}
CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (SHAPE, {"dp": 4, "pp": 4, "schedule": "zb_h1"}),
    (SHAPE, {"tp": 2, "dp": 2, "pp": 4, "schedule": "zb_h1", "sequence_parallel": True}),
    (SHAPE, {"dp": 8, "pp": 2, "zero_stage": 1, "overlap_weights": True, "interleave": 2}),
    (SHAPE, {"dp": 8, "pp": 2, "zero_stage": 3, "prefetch": 2}),
    (SHAPE, {"dp": 16, "zero_stage": 3, "shard": 8, "reshard": False}),
    (SHAPE, {"dp": 16, "zero_stage": 1, "shard": 4, "bucket": "20 MB"}),
    (SHAPE, {"dp": 16, "overlap_gradients": False}),
    (SHAPE, {"tp": 4, "dp": 2, "pp": 2, "overlap_tensor": True, "sequence_parallel": True}),
    (EXPERTS, {"tp": 4, "dp": 2, "pp": 2, "overlap_tensor": True, "sequence_parallel": True}),
    (SHAPE, {"cp": 4, "dp": 4, "cp_kind": "ring"}),
    (SHAPE, {"cp": 2, "tp": 2, "dp": 2, "pp": 2, "cp_kind": "ulysses"}),
    (SHAPE, {"tp": 2, "dp": 2, "pp": 4, "order": ["pp", "tp", "cp", "ep", "dp"]}),
    (EXPERTS, {"tp": 2, "dp": 4, "pp": 2, "ep": 8, "etp": 1, "sequence_parallel": True}),
    (EXPERTS, {"dp": 4, "pp": 4, "ep": 4, "recompute": "full", "recompute_layers": 1}),
    (HYBRID, {"dp": 8, "pp": 2, "ep": 8, "zero_stage": 1}),
]


@with_every("bandwidth", ["50 GB/s", "5 GB/s"])
@with_every("batch", [16, 128])
@with_every("model, plan", CASES)
def test_bound_is_below_the_simulated_time(
    model: dict[str, Any], plan: dict[str, Any], batch: int, bandwidth: str
) -> None:
    table = {
        "version": 1,
        "workload": {"model": model, "sequence": 1024, "global_batch": batch},
        "platform": {
            "npu": "h100_80",
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "450 GB/s", "latency": "700 ns"},
                {"topology": "switch", "npus": 2, "bandwidth": bandwidth, "latency": "2 us"},
            ],
        },
        "plan": plan,
        "system": {"phase_end": "together"},
    }
    time_s = simcore.simulate_run(simcore.load_run(table)).iteration_time_s
    bound_s = float(simcore.lower_bounds(table, [{}])[0])
    assert 0.5 * time_s < bound_s <= time_s * (1 + 1e-12)
