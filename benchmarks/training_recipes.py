"""Writes configs/recipes/training: how published training runs were launched, by release.

    python benchmarks/training_recipes.py CLONE

CLONE is a clone, with its tags, of NVIDIA-NeMo/Megatron-Bridge (Apache-2.0), which publishes
recipes beside the times of its performance summary. Of models with experts, layout and graphs are
read: all kernels of an iteration launched as one graph, which leaves no host to wait for, or parts
of a layer. Files are parsed, not run, and no measured time is read.
"""

import argparse
import ast
import csv
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

RELEASES = {"v0.3.0": "26.02", "v0.4.0": "26.04", "v0.5.0": "26.06", "v0.6.0": "26.08"}
"""Release of the container that a tag belongs to, by its month."""
FOLDERS = ("scripts/performance/configs", "src/megatron/bridge/perf_recipes")
MODELS = ("deepseek_v3", "qwen3_30b_a3b", "qwen3_235b_a22b", "gpt_oss_120b")
FORMATS = {"fp8mx": "mxfp8", "fp8cs": "fp8", "fp8sc": "fp8", "bf16": "bf16", "nvfp4": "nvfp4"}
SIZES = {
    "num_gpus": "npus",
    "global_batch_size": "global_batch",
    "micro_batch_size": "micro_batch",
    "tensor_model_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "context_parallel_size": "cp",
    "expert_model_parallel_size": "ep",
    "virtual_pipeline_model_parallel_size": "vp",
}
"""Columns by the publisher's names; what a recipe leaves out is 1."""
COLUMNS = ("model", "gpu", "precision", *SIZES.values(), "graphs")
WHOLE, SETS_WHOLE = "full_iteration", "full_iter"
"""Graphs of whole iterations, and part of the names of functions that ask for them."""
Fields = Mapping[str, object]
_NAME = re.compile(
    rf"(?P<model>{'|'.join(MODELS)})_pretrain_(?:config_)?(?:(?P<npus>\d+)gpu_)?"
    rf"(?P<gpu>gb300|gb200|b300|b200|h100)_(?P<format>{'|'.join(FORMATS)})(?:_v\d|_gbs\d+|_large_scale|_config)?"
)


def git(clone: Path, *words: str) -> str:
    """What a git command prints."""
    command = ["git", "-C", str(clone), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def recipes(source: str) -> Iterator[tuple[str, Fields]]:
    """Names and fields of the recipes of one file: constants that replace others, or functions."""
    known: dict[str, Fields] = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            yield node.name, dict(_assigned(node))
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
            if isinstance(value, ast.Name):
                known[name] = known.get(value.id, {})
            elif isinstance(value, ast.Call):
                bases = [known.get(arg.id, {}) for arg in value.args if isinstance(arg, ast.Name)]
                own = {key.arg or "": _constant(key.value) for key in value.keywords}
                known[name] = {**(bases[0] if bases else {}), **own}
    yield from known.items()


def _assigned(node: ast.FunctionDef) -> Iterator[tuple[str, object]]:
    for part in ast.walk(node):
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Attribute):
            yield part.targets[0].attr, _constant(part.value)
        if isinstance(part, ast.Call) and SETS_WHOLE in ast.unparse(part.func):
            yield "cuda_graph_impl", WHOLE


def _constant(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def line_of(name: str, fields: Fields) -> tuple[str, ...] | None:
    """Cells of a recipe; None for other tasks and models, and where it tells no batch itself."""
    found = _NAME.fullmatch(name.lower().replace("fp8_", "fp8"))
    if not found or not fields.get("global_batch_size"):
        return None
    sizes = {column: str(fields.get(key) or 1) for key, column in SIZES.items()}
    sizes["npus"] = found["npus"] or sizes["npus"]
    whole = WHOLE in (fields.get("cuda_graph_impl"), fields.get("cuda_graph_scope"))
    parts = "parts" if fields.get("cuda_graph_impl") or fields.get("cuda_graph_scope") else "none"
    graphs = "iteration" if whole else parts
    return (found["model"], found["gpu"], FORMATS[found["format"]], *sizes.values(), graphs)


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("clone", type=Path)
    clone = parser.parse_args().clone
    releases: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for tag, release in RELEASES.items():
        for path in git(clone, "ls-tree", "-r", "--name-only", tag, *FOLDERS).splitlines():
            if path.endswith(".py") and not path.endswith("__init__.py"):
                for name, fields in recipes(git(clone, "show", f"{tag}:{path}")):
                    line = line_of(name, fields)
                    if line and release not in releases[line]:
                        releases[line].append(release)
    with Path("configs/recipes/training/megatron_bridge.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", *COLUMNS, "releases"))
        for number, (line, told) in enumerate(sorted(releases.items())):
            writer.writerow((number, *line, " ".join(told)))


if __name__ == "__main__":
    main()
