"""Scores that the mask of a model's attention leaves."""

from simcore.workload.kinds.transformer.model import Model


def visible_share(model: Model, *, window: float = 1.0) -> float:
    """Share of the scores that the mask leaves, where a query sees *window* of the sequence."""
    return window - window**2 / 2 if model.causal else 1.0
