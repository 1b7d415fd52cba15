"""Feeds damaged ASTRA-sim inputs to the simulator: each must run or be refused with a sentence.

    python benchmarks/fuzz.py [--mutations 10000] [--seed 1] [--keep FOLDER]

Traces, system, network, memory and group files are damaged one at a time: bytes changed, cut and
doubled, and values replaced by extreme ones. The runs happen in a child process that may use 2 GB
of address space. A fault of the simulator, a crash, more than 10 s or more memory counts as a
failure: its inputs are kept and the exit code is 1. Prints one JSON object on its last line.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from simcore.formats.astra import run_batch
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.terms import CollectiveKind, NodeKind

LIMIT_S = 10.0
LIMIT_BYTES = 2 << 30
NPUS = 4
EXTREMES: list[object] = [
    0, 1, -1, 2, 3, 5, 63, 1 << 20, 10**9, (1 << 31) - 1, 1 << 31, 1 << 32, 1 << 62, (1 << 63) - 1,
    1 << 63, 1 << 64, -(1 << 63), 0.5, -0.5, 1e-300, 1e300, float("inf"), float("nan"), None, True,
    "", "ring", "direct99999", "doubleBinaryTree", "halvingDoubling", "oneRing", "Ring", "\x00", [],
    [[]], {}, [1, 2, 3, 4, 5], ["ring"] * 9, "9" * 400,
]  # fmt: skip
Files = dict[str, bytes]


def base_nodes(npu: int) -> list[Node]:
    """Every kind of node; sends go round the machine."""
    after, before = (npu + 1) % NPUS, (npu - 1) % NPUS
    size, cpu = attribute("comm_size", 4096), attribute("is_cpu_op", False)
    kinds = [CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER, CollectiveKind.ALL_TO_ALL]
    nodes = [
        Node(
            id=0,
            name="compute",
            type=int(NodeKind.COMPUTE),
            duration_micros=3,
            attributes=(cpu, attribute("num_ops", 10**6), attribute("tensor_size", 4096)),
        ),
        Node(
            id=1,
            name="load",
            type=int(NodeKind.MEM_LOAD),
            attributes=(cpu, attribute("tensor_size", 65536)),
        ),
        Node(
            id=2,
            name="send",
            type=int(NodeKind.SEND),
            data_deps=(0,),
            attributes=(cpu, size, attribute("comm_dst", after), attribute("comm_tag", 7)),
        ),
        Node(
            id=3,
            name="receive",
            type=int(NodeKind.RECV),
            attributes=(cpu, size, attribute("comm_src", before), attribute("comm_tag", 7)),
        ),
    ]
    for number, kind in enumerate(kinds):
        group = () if number else (attribute("pg_name", str(1 + npu % 2)),)
        nodes.append(
            Node(
                id=4 + number,
                name="collective",
                type=int(NodeKind.COLLECTIVE),
                ctrl_deps=(3 + number,),
                attributes=(
                    cpu,
                    size,
                    attribute("comm_type", int(kind)),
                    attribute("involved_dim", (True, True)),
                    *group,
                ),
            )
        )
    return nodes


def base_files(folder: Path) -> Files:
    """The files of a sound run, by name."""
    for npu in range(NPUS):
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), base_nodes(npu))
    network = {
        "topology": ["Ring", "Switch"],
        "npus_count": [2, 2],
        "bandwidth": [50.0, 25.0],
        "latency": [500.0, 700.0],
    }
    system = {
        "scheduling-policy": "LIFO",
        "endpoint-delay": 10,
        "active-chunks-per-dimension": 2,
        "preferred-dataset-splits": 4,
        "collective-optimization": "localBWAware",
        "local-mem-bw": 1600,
        "peak-perf": 100,
        "roofline-enabled": 1,
        "model-shared-bus": 0,
        "L": 1,
        "o": 1,
        "g": 1,
        "G": 0.01,
        "trace-enabled": 1,
        "replay-only": 0,
        "track-local-mem": 0,
    }
    kinds = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    system |= {f"{kind}-implementation": ["ring", "direct"] for kind in kinds}
    memory = {
        "memory-type": "PER_NODE_MEMORY_EXPANSION",
        "remote-mem-latency": 100,
        "remote-mem-bw": 10,
        "num-nodes": 2,
        "num-npus-per-node": 2,
    }
    tables = {
        "network.yml": network,
        "system.json": system,
        "memory.json": memory,
        "groups.json": {"1": [0, 2], "2": [3, 1]},
    }
    files = {name: json.dumps(table).encode() for name, table in tables.items()}
    return files | {path.name: path.read_bytes() for path in folder.glob("*.et")}


def damaged_bytes(content: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, cut, doubled, or replaced by the largest varint."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        at, length = rng.randrange(len(data) + 1), rng.randint(1, 12)
        way = rng.randrange(6)
        if way == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at : at + 1] = rng.randbytes(1)
        elif way == 2:
            del data[at : at + length]
        elif way == 3:
            data[at:at] = data[at : at + length]
        elif way == 4:
            data[at : at + length] = b"\xff" * 9 + b"\x01"
        else:
            data = data[: rng.randrange(len(data) + 1)]
    return bytes(data)


def damaged_table(content: bytes, rng: random.Random) -> bytes:
    """One value of a JSON (or YAML) table replaced by an extreme one, dropped or renamed."""
    table = json.loads(content)
    key = rng.choice(list(table))
    value = table[key]
    way = rng.randrange(8)
    if way == 0:
        del table[key]
    elif way == 1:
        table[f"{key}x"] = table.pop(key)
    elif isinstance(value, list) and way < 6:
        value[rng.randrange(len(value))] = rng.choice(EXTREMES)
    else:
        table[key] = rng.choice(EXTREMES)
    return json.dumps(table).encode()


def damaged_nodes(npu: int, folder: Path, rng: random.Random) -> bytes:
    """A trace whose messages are sound, but hold an extreme value or dependency."""
    nodes = base_nodes(npu)
    place = rng.randrange(len(nodes))
    node = nodes[place]
    numbers = [n for n in EXTREMES if isinstance(n, int) and not isinstance(n, bool)]
    number = rng.choice(numbers)
    way = rng.randrange(5)
    if way == 0:
        node = replace(node, data_deps=(*node.data_deps, number % (1 << 64)))
    elif way == 1:
        node = replace(node, type=rng.randrange(9))
    elif way == 2:
        node = replace(node, id=number % (1 << 64))
    elif way == 3:
        node = replace(node, duration_micros=number % (1 << 64))
    else:
        chosen = rng.randrange(len(node.attributes))
        old = node.attributes[chosen]
        new = replace(old, kind="int64", value=(number + (1 << 63)) % (1 << 64) - (1 << 63))
        node = replace(
            node,
            attributes=(*node.attributes[:chosen], new, *node.attributes[chosen + 1 :]),
        )
    nodes[place] = node
    path = folder / "damaged.et"
    write_trace(path, Metadata(version="0.0.4"), nodes)
    return path.read_bytes()


def mutation(
    base: Files, number: int, seed: int, folder: Path
) -> tuple[Files, str, dict[str, object]]:
    """Files, backend and options of one mutation; the same for the same *number* and *seed*."""
    rng = random.Random(f"{seed} {number}")
    name = rng.choice(sorted(base))
    ways: list[Callable[[], bytes]] = [lambda: damaged_bytes(base[name], rng)]
    if name.endswith(".et"):
        ways.append(lambda: damaged_nodes(int(name.split(".")[1]), folder, rng))
    else:
        ways += [lambda: damaged_table(base[name], rng)] * 3
    backend = rng.choice(["congestion_unaware", "congestion_aware_multidim"])
    options: dict[str, object] = {}
    if rng.random() < 0.3:
        options["rendezvous-protocol"] = "true"
    if rng.random() < 0.3:
        options["num-queues-per-dim"] = rng.choice([2, 3])
    return {**base, name: rng.choice(ways)()}, backend, options


def outcome(
    files: Files, backend: str, options: dict[str, object], folder: Path
) -> dict[str, object]:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    entry = {
        "id": "m",
        "backend": backend,
        "workload": "w",
        "system": "system.json",
        "network": "network.yml",
        "remote_memory": "memory.json",
        "comm_group": "groups.json",
        "options": options,
    }
    result = run_batch([entry], folder, lambda *_: None)["m"][backend]
    message = str(result["message"])
    status = str(result["status"])
    if "fault in the simulator" in message or (status == "error" and not message):
        status = "fault"
    json.dumps(result)
    return {"status": status, "message": message[:300]}


def child(first: int, end: int, seed: int) -> None:
    """Run mutations; one line of JSON for each."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        base = base_files(folder)
        for number in range(first, end):
            files, backend, options = mutation(base, number, seed, folder)
            found = outcome(files, backend, options, folder)
            print(json.dumps(found), flush=True)


def run_children(mutations: int, seed: int) -> tuple[Counter[str], list[dict[str, object]], float]:
    """All mutations, with a new child after one that was lost; counts, failures, longest run."""
    counts: Counter[str] = Counter()
    failures: list[dict[str, object]] = []
    longest_s = 0.0
    done = 0
    while done < mutations:
        command = [sys.executable, __file__, "--child", str(done), str(mutations), str(seed)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, bufsize=0) as process:
            assert process.stdout is not None
            with selectors.DefaultSelector() as selector:
                selector.register(process.stdout, selectors.EVENT_READ)
                while done < mutations:
                    start = time.monotonic()
                    ready = selector.select(LIMIT_S)
                    longest_s = max(longest_s, time.monotonic() - start)
                    line = process.stdout.readline() if ready else b""
                    found = json.loads(line) if line else {"status": "lost" if ready else "hang"}
                    counts[found["status"]] += 1
                    if found["status"] in ("fault", "lost", "hang"):
                        failures.append({"mutation": done, **found})
                    done += 1
                    if not line:
                        process.kill()
                        break
    return counts, failures, longest_s


def keep_failures(failures: list[dict[str, object]], seed: int, target: Path) -> None:
    """Write the inputs of each failure under *target*."""
    with tempfile.TemporaryDirectory() as text:
        base = base_files(Path(text))
        for failure in failures:
            number = int(str(failure["mutation"]))
            files, backend, options = mutation(base, number, seed, Path(text))
            folder = target / str(number)
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            for name, content in files.items():
                (folder / name).write_bytes(content)
            told = {"backend": backend, "options": options, **failure}
            (folder / "failure.json").write_text(json.dumps(told, indent=2), encoding="utf-8")


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(*map(int, sys.argv[2:]))
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", type=Path, default=Path("fuzz-failures"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as text:  # compiles the kernels, if need be
        base = base_files(Path(text))
        sound = outcome(base, "congestion_unaware", {}, Path(text))
    if sound["status"] != "ok":
        raise SystemExit(f"the sound inputs fail: {sound}")
    counts, failures, longest_s = run_children(args.mutations, args.seed)
    if failures:
        keep_failures(failures, args.seed, args.keep)
    for failure in failures[:20]:
        print(json.dumps(failure))
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    figures = {"benchmark": "fuzz", "mutations": args.mutations, **counts}
    print(json.dumps(figures | {"longest_s": round(longest_s, 2), "peak_mb": peak_mb}))
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
