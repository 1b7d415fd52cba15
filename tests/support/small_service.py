"""A study of services that takes no time."""

from typing import Any

STUDY: dict[str, Any] = {
    "version": 1,
    "evaluator": "service",
    "run": {
        "model": "llama3_8b",
        "prompt": 512,
        "answer": 32,
        "platform": {
            "npu": "h100_80",
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "450 GB/s", "latency": "1 us"}
            ],
        },
        "prefill": {"plan": {"tp": 4}, "batch": 4},
        "decode": {"plan": {"tp": 4, "micro_batch": 8}, "batch": 8},
        "system": {"all_reduce": "direct"},
    },
    "space": {
        "axes": {
            "prefill.plan.tp": {"choices": [2, 4]},
            "decode.plan.tp": {"choices": [2, 4]},
            "decode.plan.dp": {"choices": [1, 2]},
            "decode.plan.micro_batch": {"choices": [4, 8]},
            "decode.batch": {"choices": [8, 16]},
            "platform.dimensions[0].npus": {"choices": [4, 6, 8]},
            "platform.dimensions[0].bandwidth": {"ladder": ["1 GB/s", "450 GB/s"]},
        },
        "require": [
            "prefill.plan.tp + decode.plan.tp * decode.plan.dp == platform.dimensions[0].npus",
        ],
    },
    "objectives": {"time_per_output_token": "minimise", "usd_per_token": "minimise"},
    "constraints": ["fits_in_memory", {"objective": "requests_per_s", "at_least": 10}],
    "cost": {"model": "accelerators_and_libra_py", "network": "libra_py"},
    "search": {"sampler": "random", "trials": 20, "window": 4},
    "execution": {"executor": "serial"},
}
