"""A run that every test of bounds can change: four layers of GPT-3 on 16 A100 behind one switch."""

TABLE = {
    "workload": {"model": "gpt3_175b_4layers", "sequence": 128, "global_batch": 16},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 16, "bandwidth": "300 GB/s", "latency": "700 ns"}
        ],
    },
    "plan": {"tp": 2, "dp": 4, "pp": 2},
}
