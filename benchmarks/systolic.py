"""Time of layers on systolic arrays, against SCALE-Sim v2's.

    python benchmarks/systolic.py [--rows LAYERS.csv]

Prints CPU time per layer of this process, the best of several runs, once compiled: layers for which
SCALE-Sim's time is known, the feed-forward product of GPT-3 with and without stalls, and, with a
table of layers, the median of its rows. SCALE-Sim's seconds are of a shared Xeon of 2.5 GHz; they
grow with the requests, 5 to 11 us for each.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time

from simcore.systolic import Array, Dataflow, Layer, busy, report
from simcore.systolic.table import read_cases

KB = 1024
SIZES = {"ifmap_words": 64 * KB, "filter_words": 64 * KB, "ofmap_words": 64 * KB}
LARGE = {"ifmap_words": 6144 * KB, "filter_words": 6144 * KB, "ofmap_words": 2048 * KB}
SMALL = dict.fromkeys(SIZES, 8 * KB)
KNOWN = [  # (m, n, k), dataflow, rows, columns, words per cycle, SCALE-Sim's CPU seconds
    ((128, 64, 256), "ws", 64, 64, None, 0.46),
    ((128, 64, 256), "ws", 256, 256, None, 0.37),
    ((128, 64, 128), "ws", 16, 64, 256, 0.46),
    ((192, 160, 224), "os", 32, 32, 10, 4.0),
    ((192, 160, 224), "is", 32, 32, 8, 5.5),
    ((256, 256, 64), "os", 8, 32, None, 4.8),
    ((784, 128, 128), "os", 20, 24, None, 8.2),
    ((3136, 64, 64), "os", 256, 256, 2, 3.8),
]
GPT3 = Layer.gemm(2048, 49152, 12288)


def best_s(run: Callable[[], object], times: int = 5, least_s: float = 0.02) -> float:
    """CPU seconds of one *run*: the best of several, each repeated for *least_s*."""
    run()
    found = []
    for _ in range(times):
        begin, count = process_time(), 0
        while count == 0 or process_time() - begin < least_s:
            run()
            count += 1
        found.append((process_time() - begin) / count)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, help="layers, as `simcore systolic` reads them")
    rows = parser.parse_args().rows
    print(
        "layer (m, n, k)         array          words/cycle  SCALE-Sim s   ours ms   times faster"
    )
    for shape, flow, high, wide, bandwidth, known_s in KNOWN:
        layer = Layer.gemm(*shape)
        sizes = SIZES if bandwidth is None else SMALL
        array = Array(high, wide, Dataflow(flow), **sizes, bandwidth=bandwidth)
        mine_s = best_s(lambda layer=layer, array=array: report(layer, array))
        told = f"{flow} {high}x{wide}"
        print(
            f"{shape!s:22}  {told:13}  {bandwidth or 'any':>11}  {known_s:11.2f}  "
            f"{mine_s * 1e3:8.4f}  {known_s / mine_s:13,.0f}"
        )
    print("\nGPT-3, one feed-forward product: 2,048 x 49,152 x 12,288 on 128 x 128")
    for flow in Dataflow:
        array = Array(128, 128, flow, **LARGE)
        closed_s = best_s(lambda array=array: busy(GPT3, array))
        print(f"{flow}  cycles, utilization, accesses: {closed_s * 1e6:.1f} us")
        for name, sizes in (("6144/6144/2048 kB", LARGE), ("64 kB each", SIZES)):
            for bandwidth in (None, 10, 256):
                array = Array(128, 128, flow, **sizes, bandwidth=bandwidth)
                mine_s = best_s(lambda array=array: report(GPT3, array), times=3)
                told = "no limit" if bandwidth is None else f"{bandwidth} words/cycle"
                print(f"{flow}  {name}, {told}: {mine_s * 1e3:.3f} ms")
    if rows is not None:
        cases = [(c.layer, c.array) for c in read_cases(rows) if c.layer and c.array]
        each = [best_s(lambda c=c: report(*c), times=3, least_s=0.0) for c in cases]
        print(
            f"\n{rows.name}: median {median(each) * 1e6:.1f} us, slowest {max(each) * 1e3:.2f} ms"
        )


if __name__ == "__main__":
    main()
