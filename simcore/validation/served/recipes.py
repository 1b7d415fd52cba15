"""Published recipes of load tests: what a table of their results leaves out."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from simcore.errors import SimcoreError
from simcore.files.resources import shipped_folder
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.mapping import Shape
from simcore.validation.served.models import served_model

FOLDER = "recipes"
"""Folder of ``configs`` whose tables have the columns of load tests, and the NPUs of a worker."""

OR = " or "
"""Between contents of ``speculation`` that recipes tell of tests that agree in all columns."""

POOLS = ("prefill", "decode")
_UNTOLD = ("decode_max_batch", "prefill_num_workers", "decode_num_workers")
_SAME = ("mode", "backend", "model", "system", "precision", "input_len", "output_len")


def load_tests(path: Path) -> Iterator[MeasuredRow]:
    """Rows of the table of published load tests at *path*, completed by their recipes.

    Raises:
        ConfigError: The table cannot be read.
    """
    return map(completed, MeasuredRow.all_of(path))


def completed(row: MeasuredRow) -> MeasuredRow:
    """*row* with what it leaves out, where a recipe tells it.

    Recipes agree with a row in pools, engine, release, model, accelerator, format, lengths,
    requests at once, NPUs of a worker and whatever else it tells. Where several do, only that is
    taken in which
    they are one, and the contents of ``speculation`` stand side by side: tests with and without
    guesses that agree in all columns are told apart by nobody. Rows that tell the workers of their
    pools are whole: where they tell no guesses, there are none.
    """
    try:
        found = [each for each in _recipes().get(_place(row), ()) if _fits(each, row)]
    except SimcoreError:
        return row  # the prediction says what is wrong with it
    if not found:
        return row
    told = [_cells(each, row) for each in found]
    same = {name: text for name, text in told[0].items() if all(text == t.get(name) for t in told)}
    if not (row.text("speculation") or row.text("prefill_num_workers")):
        same["speculation"] = OR.join(sorted({each.text("speculation") for each in found}))
    return replace(row, cells={**row.cells, **same})


def either(row: MeasuredRow) -> list[MeasuredRow]:
    """Tests that *row* may be: one for each content of ``speculation``."""
    told = row.text("speculation")
    if OR not in told:
        return [row]
    return [replace(row, cells={**row.cells, "speculation": one}) for one in told.split(OR)]


def _cells(recipe: MeasuredRow, row: MeasuredRow) -> dict[str, str]:
    """Cells that *recipe* adds to *row*: those that are empty, and the shapes of pools.

    Tables without workers tell neither whether attention is copied nor, of pools that answer, how
    experts are spread.
    """
    added = {name: recipe.text(name) for name in _UNTOLD if not row.text(name)}
    if row.text("mode") != "disagg" or row.text("prefill_num_workers"):
        return added
    for pool in POOLS:
        npus, copies, ep = (
            recipe.count(f"{pool}_{name}") or 1
            for name in ("npus", "attention_dp_size", "moe_ep_size")
        )
        degrees = {"tp": npus // copies, "attention_dp": copies, "moe_tp": npus // ep, "moe_ep": ep}
        added |= {f"{pool}_{name}_size": str(size) for name, size in degrees.items()}
    return added


def _fits(recipe: MeasuredRow, row: MeasuredRow) -> bool:
    """True if *recipe*, whose place is that of *row*, contradicts nothing that it tells."""
    told, guesses = row.text("speculation"), recipe.text("speculation") != "no"
    return (
        str(row.count("concurrency")) in recipe.text("concurrencies").split()
        and row.text("backend_version") == recipe.text("backend_version")
        and (not told or guesses == (told not in ("no", "0")))
        and (_fits_two(recipe, row) if row.text("mode") == "disagg" else _fits_one(recipe, row))
    )


def _fits_two(recipe: MeasuredRow, row: MeasuredRow) -> bool:
    return all(
        _npus(row, pool) == recipe.count(f"{pool}_npus")
        and row.text(f"{pool}_num_workers") in ("", recipe.text(f"{pool}_num_workers"))
        for pool in POOLS
    )


def _fits_one(recipe: MeasuredRow, row: MeasuredRow) -> bool:
    shape = Shape.of(row, served_model(row.text("model")))
    degrees = (shape.npus, shape.replicas, shape.ep)
    return degrees == tuple(recipe.count(name) for name in ("npus", "attention_dp", "moe_ep"))


def _npus(row: MeasuredRow, pool: str) -> int:
    """NPUs of a worker: those that attention takes or, where that tells fewer, its experts."""
    degrees = {
        name: int(row.number(f"{pool}_{name}_size") or 1)
        for name in ("tp", "attention_dp", "moe_tp", "moe_ep")
    }
    return max(degrees["tp"] * degrees["attention_dp"], degrees["moe_tp"] * degrees["moe_ep"])


def _place(row: MeasuredRow) -> tuple[str, ...]:
    """Content of ``_SAME``, as recipes have it."""
    narrow = {"nvfp4": "fp4", "fp8_block": "fp8"}
    format_ = row.text("gemm_format")
    own = {"model": served_model(row.text("model")).name, "precision": narrow.get(format_, format_)}
    return tuple(own.get(name, row.text(name)) for name in _SAME)


@cache
def _recipes() -> Mapping[tuple[str, ...], list[MeasuredRow]]:
    """All recipes by their places."""
    found: dict[tuple[str, ...], list[MeasuredRow]] = defaultdict(list)
    for path in sorted((shipped_folder("configs") / FOLDER).glob("*.csv")):
        for recipe in MeasuredRow.all_of(path):
            found[tuple(recipe.text(name) for name in _SAME)].append(recipe)
    return found
