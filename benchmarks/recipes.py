"""Writes configs/recipes: how pools of published load tests were set up, as their publisher tells.

    python benchmarks/recipes.py CLONE [--until 2026-06-01]

CLONE is a clone, with its history, of SemiAnalysisAI/InferenceX (Apache-2.0). All versions of its
table of configurations are read. Of two pools it tells workers, degrees, whether attention is
copied, and whether tokens are guessed; the name of a recipe adds how many (``mtp3``) and how many
sequences each copy of attention takes (``batch64``), and one that begins with ``c64`` counts the
requests of each worker that answers, as the recipes themselves do (NVIDIA/srt-slurm, Apache-2.0).
One pool is kept where a recipe of its model guesses: its launch scripts ask TensorRT-LLM for three
tokens, or one with copies of attention, and SGLang for two. No measured time is read.
"""

import argparse
import csv
import re
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import yaml

TABLES = (".github/configs/nvidia-master.yaml", "configs/nvidia-master.yaml")
ENGINES = {"trt": "trtllm", "sglang": "sglang", "vllm": "vllm"}
"""Engines by the publisher's names, without that of the front end of pools."""
MODELS = {
    **dict.fromkeys(("dsr1", "dsr1-fp8", "DeepSeek-R1-0528"), "deepseek_v3"),
    **{"gptoss": "gpt_oss_120b", "glm5": "glm5", "kimik2.5": "kimi_k2"},
}
"""Models by the publisher's prefix; others have no file in configs/models."""
COLUMNS = (
    *(
        "mode",
        "backend",
        "backend_version",
        "model",
        "system",
        "precision",
        "input_len",
        "output_len",
    ),
    *("prefill_num_workers", "prefill_npus", "prefill_attention_dp_size", "prefill_moe_ep_size"),
    *("decode_num_workers", "decode_npus", "decode_attention_dp_size", "decode_moe_ep_size"),
    *("npus", "attention_dp", "moe_ep", "speculation", "decode_max_batch"),
)
Table = dict[str, Any]


def git(clone: Path, *words: str) -> str:
    """What a git command prints."""
    done = subprocess.run(["git", "-C", str(clone), *words], capture_output=True, text=True)
    return done.stdout


def versions(clone: Path, until: str) -> dict[str, str]:
    """Days of the contents of the table, up to *until*."""
    found: dict[str, str] = {}
    for name in TABLES:
        for line in git(clone, "log", "--format=%H %as", "--", name).splitlines():
            commit, day = line.split()
            content = git(clone, "rev-parse", "-q", "--verify", f"{commit}:{name}").strip()
            if content and day < until:
                found.setdefault(content, day)
    return found


def pool(told: Table) -> tuple[Any, ...]:
    """Workers, NPUs of each, copies of attention and degree of experts."""
    npus = max(told["tp"], told["ep"] or 1)
    return told["num-worker"], npus, npus if told["dp-attn"] else 1, told["ep"] or 1


def recipe(head: Table, lengths: Table, told: Table) -> tuple[tuple[Any, ...], list[int]] | None:
    """Cells of ``COLUMNS``, and the concurrencies; None: of a model that no file describes."""
    engine = ENGINES.get(head["framework"].removeprefix("dynamo-"))
    if head.get("model-prefix") not in MODELS or engine is None:
        return None
    found = two_pools(told) if head.get("disagg") else one_pool(told, engine)
    if found is None:
        return None
    cells, together = found
    release = re.sub(r"^v", "", head["image"].split(":")[-1])
    of_head = (
        "disagg" if head.get("disagg") else "agg",
        engine,
        re.sub(r"[-.](cu\d+|runtime|gb.00).*$", "", release),
        MODELS[head["model-prefix"]],
        re.split("-", head["runner"])[0],
        head["precision"],
        *(int(lengths[key]) for key in ("isl", "osl")),
    )
    return (*of_head, *cells), together


def two_pools(told: Table) -> tuple[tuple[Any, ...], list[int]] | None:
    """Cells from the workers of pools on; None: some are not told."""
    reads, writes = told["prefill"], told["decode"]
    lines = [str(x) for one in (reads, writes) for x in one.get("additional-settings") or []]
    settings = dict(line.split("=", 1) for line in lines if "=" in line)
    name = settings.get("CONFIG_FILE", "").split("/")[-1]
    batch = re.search(r"batch_?(\d+)", name)
    most = batch.group(1) if batch else settings.get("DECODE_MAX_BATCH_SIZE", "")
    number = re.search(r"mtp_?(\d)", name)
    tokens = number.group(1) if number else settings.get("DECODE_MTP_SIZE", "yes")
    guesses = tokens if told.get("spec-decoding", "none") == "mtp" else "no"
    if guesses == "0" or not (reads["num-worker"] and writes["num-worker"]):
        return None
    together = told["conc-list"]
    together = together if isinstance(together, list) else [together]
    if re.match(r"c\d+_", name):
        together = [number * writes["num-worker"] for number in together]
    return (*pool(reads), *pool(writes), "", "", "", guesses, most), together


def one_pool(told: Table, engine: str) -> tuple[tuple[Any, ...], list[int]]:
    """Likewise of a pool that reads and answers."""
    _, npus, copies, ep = pool({"num-worker": 1, "ep": 1, "dp-attn": False, **told})
    tokens = 2 if engine == "sglang" else 1 if copies > 1 else 3
    guesses = tokens if told.get("spec-decoding", "none") == "mtp" else "no"
    together = told.get("conc-list")
    if together is None:
        doubled = (told["conc-start"] * 2**power for power in range(32))
        together = [number for number in doubled if number <= told["conc-end"]]
    return (*[""] * 8, npus, copies, ep, guesses, ""), together


def recipes(clone: Path, until: str) -> dict[tuple[Any, ...], set[int]]:
    """Concurrencies of all recipes."""
    found: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    for content in versions(clone, until):
        table = yaml.load(git(clone, "cat-file", "blob", content), yaml.CSafeLoader)
        for head in table.values():
            later = head.get("scenarios") or {}
            for lengths in head.get("seq-len-configs") or later.get("fixed-seq-len") or ():
                for told in lengths.get("search-space") or ():
                    if one := recipe(head, lengths, told):
                        found[one[0]].update(map(int, one[1]))
    model, guesses = COLUMNS.index("model"), COLUMNS.index("speculation")
    guess = {cells[model] for cells in found if cells[0] == "agg" and cells[guesses] != "no"}
    return {cells: found[cells] for cells in found if cells[0] == "disagg" or cells[model] in guess}


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("clone", type=Path)
    parser.add_argument("--until", default="2026-06-01", help="first day that is left out")
    parser.add_argument("--configs", type=Path, default=Path("configs"))
    given = parser.parse_args()
    found = recipes(given.clone, given.until)
    path = given.configs / "recipes" / "inferencex.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", *COLUMNS, "concurrencies"))
        for number, cells in enumerate(sorted(found, key=str)):
            writer.writerow((number, *cells, " ".join(map(str, sorted(found[cells])))))
    print(f"{len(found)} recipes in {path}")


if __name__ == "__main__":
    main()
