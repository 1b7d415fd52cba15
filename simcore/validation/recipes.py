"""Published recipes of training runs: how rows were launched, which their table leaves out."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from re import match, sub

from simcore.errors import ConfigError
from simcore.files.resources import shipped_folder
from simcore.validation.rows import MeasuredRow

FOLDER = "recipes/training"
"""Folder of ``configs`` with tables of recipes: layouts, their releases and their graphs."""

_SIZES = ("global_batch", "micro_batch", "tp", "pp", "cp", "ep", "vp")
_FORMATS = {"fp8-mx": "mxfp8", "fp8-cs": "fp8"}
"""Formats of rows by the names that recipes have for them."""
_RELEASE = r"\d+\.\d+"
"""Numbers of a release that has recipes of its own; a third one is a mend of it."""


def is_one_graph(row: MeasuredRow) -> bool:
    """True if every recipe of the model, accelerator, format and layout of *row* is one graph.

    One in which all kernels of an iteration are launched at once. A row that tells its ``release``
    is of that; recipes of different releases with one layout are told apart by nothing else.

    Raises:
        ConfigError: Its release is none.
    """
    release = _release(row)
    found = [
        recipe
        for recipe in _recipes().get(_place(row), ())
        if _plain(row.text("model")).startswith(_plain(recipe.text("model")))
        and (not release or release in recipe.text("releases").split())
    ]
    return bool(found) and all(recipe.text("graphs") == "iteration" for recipe in found)


def _release(row: MeasuredRow) -> str:
    """Year and month of the software's release; empty where it is not told."""
    text = row.text("release")
    found = match(_RELEASE, text)
    if text and not found:
        raise ConfigError(f"{row.at}: release", "must be year and month, such as 26.06", got=text)
    return found[0] if found else ""


def _place(row: MeasuredRow) -> tuple[str, ...]:
    """Accelerator, format, NPUs and layout, as recipes have them."""
    precision = row.text("precision")
    sizes = (row.text(name) or "1" for name in _SIZES)
    gpu = row.text("gpu").split("-")[0].lower()
    return (gpu, _FORMATS.get(precision, precision), row.text("num_gpus"), *sizes)


def _plain(name: str) -> str:
    return sub(r"[^a-z0-9]", "", name.lower())


@cache
def _recipes() -> Mapping[tuple[str, ...], list[MeasuredRow]]:
    """All recipes by their places."""
    found: dict[tuple[str, ...], list[MeasuredRow]] = defaultdict(list)
    for path in sorted((shipped_folder("configs") / FOLDER).glob("*.csv")):
        for recipe in MeasuredRow.all_of(path):
            own = (recipe.text(name) for name in ("gpu", "precision", "npus", *_SIZES))
            found[tuple(own)].append(recipe)
    return found
