"""Texts of a store's columns: JSON as short as can be, which knows finite numbers alone."""

import json
from collections.abc import Mapping
from functools import lru_cache
from math import isfinite

from dse.evaluate.metrics import Metrics, plain

encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode

_NAMES_KEPT = 64
"""Sets of names of metrics: one or two per evaluator."""
_TEXTS_KEPT = 1 << 15
"""Numbers whose texts are kept."""


class _Texts(dict[float, str]):
    """Texts of numbers, as JSON has them: half of those of a study are of few plans and machines.

    To make one takes as long as to find ten.
    """

    def __missing__(self, number: float) -> str:
        if not isfinite(number):
            raise ValueError(f"JSON has no {number}")
        text = float.__repr__(number)  # as ``json`` does
        if number:  # 0.0 equals -0.0
            if len(self) >= _TEXTS_KEPT:
                self.clear()
            self[number] = text
        return text


_text_of = _Texts().__getitem__


@lru_cache(_NAMES_KEPT)
def _form(names: tuple[str, ...]) -> str:
    """Object with *names* in JSON, with places for the numbers."""
    return f"{{{','.join(encode(name).replace('%', '%%') + ':%s' for name in names)}}}"


def encode_metrics(metrics: Mapping[str, float]) -> str:
    """``encode`` of *metrics*: those of an evaluator by their names in common and kept numbers.

    Raises:
        ValueError: A number is not finite.
    """
    if metrics.__class__ is Metrics:
        return _form(metrics.names) % tuple(map(_text_of, metrics.numbers))
    return encode(plain(metrics))
