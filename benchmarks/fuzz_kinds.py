"""Every kind of input: a sound one, how it is damaged, and how it is used."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import fuzz_astra as astra
import fuzz_packets as packets
import fuzz_pytorch as pytorch
from fuzz_damage import damaged_bytes, damaged_data, damaged_words, json_bytes, yaml_bytes

Use = Callable[[bytes, Path], None]
LINK = {"topology": "switch", "npus": 4, "bandwidth": "300 GB/s", "latency": "700 ns"}
MODEL = {"layers": 4, "hidden": 256, "heads": 4, "ffn": 1024, "vocabulary": 1000}
NPU = {
    "name": "small",
    "peak": {"bf16": "312 TFLOP/s", "fp16": "312 TFLOP/s"},
    "memory": "80 GB",
    "memory_bandwidth": "2000 GB/s",
    "tdp": "400 W",
    "scale_up": {"npus": 8, "bandwidth": "600 GB/s"},
    "efficiency": {
        "gemm": 0.75,
        "gemm_ramp": "20 us",
        "attention": 0.3,
        "memory": 0.6,
        "kernel_overhead": "3 us",
    },
    "sources": dict.fromkeys(("peak", "memory", "power", "price", "scale_up", "efficiency"), "x"),
}
RUN: dict[str, Any] = {
    "version": 1,
    "workload": {"model": {"name": "tiny", **MODEL}, "sequence": 128, "global_batch": 8},
    "platform": {"npu": NPU, "dimensions": [LINK, {**LINK, "topology": "ring", "npus": 2}]},
    "plan": {"tp": 2, "pp": 2, "dp": 2, "micro_batch": 2},
    "system": {"chunks": 2, "all_reduce": "ring"},
}
SERVICE: dict[str, Any] = {
    "version": 1,
    "model": {"name": "tiny", **MODEL},
    "prompt": 256,
    "answer": 16,
    "platform": {"npu": NPU, "dimensions": [LINK]},
    "prefill": {"plan": {"tp": 2}, "batch": 2},
    "decode": {"plan": {"tp": 2, "micro_batch": 2}, "batch": 2},
}
START: dict[str, Any] = {
    "plan.tp": 2,
    "plan.dp": 2,
    "plan.pp": 2,
    "plan.micro_batch": 1,
    "platform.dimensions[0].bandwidth": "100 GB/s",
    "system.chunks": 2,
}
STUDY: dict[str, Any] = {
    "version": 1,
    "seed": 1,
    "run": RUN,
    "space": {
        "products": [{"of": ["plan.tp", "plan.dp", "plan.pp"], "equals": 8}],
        "axes": {
            "plan.micro_batch": {"choices": [1, 2]},
            "platform.dimensions[0].bandwidth": {"ladder": ["100 GB/s", "300 GB/s"]},
            "system.chunks": {"choices": [1, 2], "when": "plan.tp > 1"},
        },
        "terms": {"copies": "plan.dp * plan.micro_batch"},
        "require": ["8 % copies == 0"],
    },
    "objectives": {"iteration_time": "minimise"},
    "constraints": ["fits_in_memory", {"objective": "iteration_time", "at_most": "1 s"}],
    "cost": {"model": "whole_machine", "prices": "default"},
    "search": {"sampler": "random", "trials": 3, "start": [START]},
    "execution": {"executor": "serial"},
}
TEXT = b"""DATA
3
conv -1 10 ALLREDUCE 100 20 NONE 0 30 ALLREDUCE 300 1
dense -1 10 ALLGATHER 100 20 ALLTOALL 200 30 REDUCESCATTER 300 1
out -1 10 NONE 0 20 NONE 0 30 ALLREDUCE 300 1
"""
TRAINING = {
    "id": "one", "model": "tiny", "arch": "gpt", "mlp": "gelu", "layers": 4, "hidden": 256,
    "heads": 4, "ffn_hidden": 1024, "vocab": 1000, "seq_len": 128, "global_batch": 16,
    "micro_batch": 2, "precision": "fp16", "gpu": "A100-80GB-SXM", "num_gpus": 8,
    "gpus_per_node": 8, "tp": 2, "pp": 2, "dp": 2, "cp": 1, "seq_parallel": "no",
    "recompute": "full", "dp_sharding": "none",
}  # fmt: skip
MOVED = {
    "id": "one", "collective": "all_reduce", "algo": "Ring", "size_bytes": 1 << 20, "num_gpus": 16,
    "nodes": 2, "gpu": "A100-80GB-SXM", "intra_bw_GBps": 300, "inter_bw_GBps": 25,
}  # fmt: skip
RULE = b"8 % (plan.tp * plan.dp) == 0 and (min(plan.tp, 4) <= 2.5 or not plan.tp in (1, 3))"
SETTINGS = b"platform.dimensions[0].bandwidth=100 GB/s\nplan.micro_batch=1\nworkload.sequence=64\n"


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of input.

    Attributes:
        name: What it is called.
        sound: One that is taken.
        damage: Makes a mutant.
        use: Uses content as its command does, in a folder.
        prepare: Writes what lies beside it.
    """

    name: str
    sound: bytes
    damage: Callable[[Random], bytes]
    use: Use
    prepare: Callable[[Path], None] = lambda folder: None

    def mutant(self, rng: Random) -> bytes:
        return self.damage(rng)


def _as_text(content: bytes, rng: Random) -> bytes:
    return (damaged_words if rng.random() < 0.8 else damaged_bytes)(content, rng)


def of_text(name: str, sound: bytes, use: Use) -> Kind:
    return Kind(name=name, sound=sound, use=use, damage=lambda rng: _as_text(sound, rng))


def of_yaml(name: str, data: Any, use: Use, prepare: Callable[[Path], None] | None = None) -> Kind:
    import yaml

    sound = yaml.safe_dump(data, sort_keys=False).encode()

    def damage(rng: Random) -> bytes:
        if rng.random() < 0.7:
            return yaml_bytes(damaged_data(data, rng), rng)
        return _as_text(sound, rng)

    return Kind(name=name, sound=sound, use=use, damage=damage, prepare=prepare or _nothing)


def of_json(
    name: str, data: Any, use: Use, prepare: Callable[[Path], None], *, packed: float = 0.0
) -> Kind:
    sound = json_bytes(data)

    def damage(rng: Random) -> bytes:
        way = rng.random()
        content = json_bytes(damaged_data(data, rng)) if way < 0.75 else _as_text(sound, rng)
        if rng.random() >= packed:
            return content
        content = gzip.compress(content, mtime=0)
        return damaged_bytes(content, rng) if rng.random() < 0.3 else content

    return Kind(name=name, sound=sound, use=use, damage=damage, prepare=prepare)


def of_trace(name: str, nodes: list[Any], use: Use) -> Kind:
    with TemporaryDirectory() as folder:
        sound = astra.trace_bytes(nodes, Path(folder))

    def damage(rng: Random) -> bytes:
        with TemporaryDirectory() as folder:
            return astra.damaged_trace(nodes, Path(folder), rng)

    return Kind(name=name, sound=sound, use=use, damage=damage, prepare=astra.prepare)


def _nothing(folder: Path) -> None:
    """Nothing lies beside it."""


def _without_warming(folder: Path) -> None:
    """Spare each study the 70 ms in which a worker touches the memory that it will use."""
    from simcore import Simulator

    Simulator.prepare = lambda self: None  # type: ignore[method-assign]


def _file(content: bytes, folder: Path, name: str = "mutant.yaml") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def use_run(content: bytes, folder: Path) -> None:
    from simcore import load_run, simulate_run

    simulate_run(load_run(_file(content, folder)))


def use_service(content: bytes, folder: Path) -> None:
    from simcore import load_service, simulate_service

    simulate_service(load_service(_file(content, folder)))


def use_study(content: bytes, folder: Path) -> None:
    """Check it, and evaluate the first design that it starts with, or that there is."""
    from dse.evaluate import build_evaluator
    from dse.run.api import check_study
    from dse.run.start import starting_designs

    study = check_study(_file(content, folder))
    designs = starting_designs(study) or [next(study.space.designs())]
    build_evaluator(study.evaluator_input).metrics(designs[0])


def use_start(content: bytes, folder: Path) -> None:
    from dataclasses import replace

    from dse.run.start import starting_designs
    from dse.study.file import SearchFile
    from simcore import read_yaml

    study = _study(folder)
    search = SearchFile.from_file_data({"start": read_yaml(_file(content, folder))}, at="search")
    starting_designs(replace(study, file=study.file.model_copy(update={"search": search})))


@lru_cache(1)
def _study(folder: Path) -> Any:
    from dse.study.compile import compile_study

    return compile_study(STUDY, folder=str(folder))


def use_rule(content: bytes, folder: Path) -> None:
    import numpy as np

    from dse.space.expressions import parse_expression
    from simcore.files.input_file import text_of

    rule = parse_expression(text_of(content, "rule"), at="space.require[0]")
    column = np.array([1, 2, 4, 8])
    rule.holds(dict.fromkeys(rule.names, column), 4)


def use_settings(content: bytes, folder: Path) -> None:
    from simcore import RunTemplate, simulate_run
    from simcore.cli.settings import setting
    from simcore.files.input_file import text_of

    words = [line for line in text_of(content, "--set").split("\n") if line]
    template = RunTemplate.from_table(RUN, beside=folder)
    simulate_run(template.with_values(dict(setting(word) for word in words)))


def part_of_run(place: str) -> Use:
    """Uses content as the file that a run names at *place*, where it has a table."""
    name = f"{place.split('.')[-1]}.yaml"

    def use(content: bytes, folder: Path) -> None:
        from simcore import RunTemplate, set_path, simulate_run

        _file(content, folder, name)
        table = set_path(RUN, place, name)
        simulate_run(RunTemplate.from_table(table, beside=folder).with_values({}))

    return use


def use_prices(content: bytes, folder: Path) -> None:
    from dse.costs import load_prices

    _file(content, folder)
    load_prices("mutant.yaml", beside=folder)


def use_fabric(content: bytes, folder: Path) -> None:
    from simcore.machine.fabric import Fabric

    Fabric.read(_file(content, folder))


def use_text(content: bytes, folder: Path) -> None:
    from simcore.formats.text_workload.convert import convert_text, write_conversion
    from simcore.formats.text_workload.layers import read_text_workload

    text = read_text_workload(_file(content, folder, "net.txt"))
    write_conversion(convert_text(text, npus=4), folder / "text")


def use_rows(predict: str) -> Use:
    def use(content: bytes, folder: Path) -> None:
        import simcore.validation

        path = _file(content, folder, "rows.csv")
        for _ in getattr(simcore.validation, predict)(path):
            pass

    return use


def _csv(*rows: dict[str, Any]) -> bytes:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def _shipped(kind: str, name: str) -> Any:
    from simcore import find_config, read_yaml

    return read_yaml(find_config(kind, name, at=""))


def _kinds() -> list[Kind]:
    platform = {"version": 1, **RUN["platform"]}
    manifest = [astra.ENTRY, {**astra.ENTRY, "id": "n", "backend": "congestion_aware_multidim"}]
    legacy = astra.legacy_bytes()
    map_file = b"5: own\n6: own\n"
    use_system = astra.use_in("system.json")
    return [
        of_yaml("study", STUDY, use_study, _without_warming),
        of_yaml("run", RUN, use_run),
        Kind(
            name="packets",
            sound=json_bytes(packets.CASE),
            damage=packets.damaged_case,
            use=packets.use_case,
        ),
        of_yaml("service", SERVICE, use_service),
        of_yaml("npu", {"version": 1, **_shipped("npus", "a100_80")}, part_of_run("platform.npu")),
        of_yaml("platform", platform, part_of_run("platform")),
        of_yaml("model", {"version": 1, **MODEL}, part_of_run("workload.model")),
        of_yaml("prices", _shipped("costs", "default"), use_prices),
        of_yaml("fabric", _shipped("fabrics", "nvlink2"), use_fabric),
        of_json("system", astra.system(), use_system, astra.prepare),
        of_text_in("network", astra.NETWORK, astra.use_in("network.yml")),
        of_json("memory", astra.MEMORY, astra.use_in("memory.json"), astra.prepare),
        of_json("groups", astra.GROUPS, astra.use_in("groups.json"), astra.prepare),
        of_text_in("custom map", map_file, astra.use_in("map.yml", system="map.json")),
        of_trace("custom", astra.ring_nodes(1), astra.use_in("own.1.et", system="own.json")),
        of_trace("et", astra.nodes_of(1), astra.use_in("w.1.et")),
        of_trace("et summary", astra.nodes_of(1), astra.use_summary),
        Kind(
            name="et legacy",
            sound=legacy,
            damage=lambda rng: damaged_bytes(legacy, rng),
            use=_use_legacy,
            prepare=astra.prepare,
        ),
        of_json("manifest", manifest, astra.use_manifest, astra.prepare),
        of_text("text workload", TEXT, use_text),
        of_json("host", pytorch.host(), pytorch.use_host, pytorch.prepare, packed=0.2),
        of_json("device", pytorch.device(), pytorch.use_device, pytorch.prepare, packed=0.2),
        of_text("training rows", _csv(TRAINING), use_rows("predict_training")),
        of_text("collective rows", _csv(MOVED), use_rows("predict_collectives")),
        of_text("settings", SETTINGS, use_settings),
        of_text("rule", RULE, use_rule),
        of_yaml("start", [START, {**START, "plan.micro_batch": 2}], use_start),
    ]


def of_text_in(name: str, sound: bytes, use: Use) -> Kind:
    return Kind(
        name=name,
        sound=sound,
        use=use,
        damage=lambda rng: _as_text(sound, rng),
        prepare=astra.prepare,
    )


def _use_legacy(content: bytes, folder: Path) -> None:
    for npu in range(astra.NPUS):
        (folder / f"w.{npu}.et").write_bytes(content)
    astra.run([astra.ENTRY], folder)


KINDS = {kind.name: kind for kind in _kinds()}
