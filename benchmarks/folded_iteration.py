"""How fast a folded iteration is where messages meet: `python benchmarks/folded_iteration.py`.

GPT-3 175B on 1,024 A100 in 1 and in 8 pipeline stages, on ``flow`` and on
``congestion_aware_multidim``, exactly and held in step. CPU seconds of one process for each case:
of imports, of the first run (cold: with its collectives and what it still imports, kernels compiled
before), and of the next one (warm). One alone: ``--case congestion_aware_multidim-8-each``.
"""

import argparse
import subprocess
import sys
import time

CASES = [
    f"{backend}-{stages}-{end}"
    for backend in ("flow", "congestion_aware_multidim")
    for stages in (1, 8)
    for end in ("each", "together")
]


def table(backend: str, stages: int, end: str) -> dict[str, object]:
    """The run file of `configs/runs/gpt3_175b_1024_a100.yaml` with these in it."""
    inner = {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"}
    outer = {"topology": "switch", "npus": 128, "bandwidth": "25 GB/s", "latency": "1700 ns"}
    return {
        "workload": {"model": "gpt3_175b", "sequence": 2048, "global_batch": 1536},
        "platform": {"npu": "a100_80", "dimensions": [inner, outer]},
        "plan": {"tp": 8, "pp": stages, "dp": 128 // stages, "recompute": "full"},
        "system": {"chunks": 4, "all_reduce": "ring", "phase_end": end},
        "backend": backend,
    }


def run(case: str) -> None:
    """Print the times of one case."""
    begin = time.process_time()
    from simcore.config import RunTemplate
    from simcore.simulation import Simulator

    imports = time.process_time() - begin
    backend, stages, end = case.split("-")
    one = RunTemplate.from_table(table(backend, int(stages), end)).with_values({})
    simulator = Simulator()
    begin = time.process_time()
    found = simulator.simulate(one)
    cold = time.process_time() - begin
    again = []
    for _ in range(3):
        begin = time.process_time()
        simulator.simulate(one)
        again.append(time.process_time() - begin)
    print(
        f"{case:38} {imports:6.3f} CPU s imports {cold:7.3f} cold {min(again):8.4f} warm, "
        f"{found.engine}, "
        f"an iteration of {found.iteration_time_s:.6f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, help="one alone, in this process")
    case = parser.parse_args().case
    if case:
        run(case)
        return
    for each in CASES:
        subprocess.run([sys.executable, __file__, "--case", each], check=True)


if __name__ == "__main__":
    main()
