"""Counts of a model, and how those of its parts sum."""

from collections.abc import Iterable
from dataclasses import dataclass

from simcore.units import plain_sum
from simcore.workload.hub.keys import Keys
from simcore.workload.hub.parts import CacheKind, Part


@dataclass(frozen=True, slots=True)
class ModelCounts:
    """Counts of the part of a model that text passes.

    Attributes:
        total_parameters: All, tied tables once; without modules that predict further tokens.
        active_parameters: Those that a token passes: all but the experts it is not routed to.
        embedding_parameters: The table of input tokens.
        kv_bytes_per_token_full: Cache of a token over all layers that see all of a sequence.
        kv_bytes_per_token_sliding: The same for layers that see a window, until it is full.
        kv_bytes_per_token_latent: The same for latent attention. All in bfloat16.
    """

    total_parameters: int
    active_parameters: int
    embedding_parameters: int
    kv_bytes_per_token_full: int = 0
    kv_bytes_per_token_sliding: int = 0
    kv_bytes_per_token_latent: int = 0


def sum_up(embedding: int, rest: int, layers: Iterable[Part], share: float = 1.0) -> ModelCounts:
    """Sums over a table of input tokens, layers and the rest.

    Of routed parameters a token passes *share*.
    """
    layers = list(layers)
    total = embedding + rest + sum(part.parameters for part in layers)
    idle = round(plain_sum(part.routed for part in layers) * (1 - share))
    kinds: tuple[CacheKind, ...] = ("full", "sliding", "latent")
    cache = [
        plain_sum(part.cache_bytes_per_token for part in layers if part.cache == kind)
        for kind in kinds
    ]
    return ModelCounts(total, total - idle, embedding, *cache)


def token_share(keys: Keys) -> float:
    """Share of the routed experts that a token passes.

    Raises:
        ConfigError: Keys do not say it.
    """
    chosen = keys.number("num_experts_per_tok", least=0)
    of = keys.number("num_experts", least=0)
    if chosen > of:
        raise keys.refuse("num_experts_per_tok", f"must be at most the {of} experts")
    return chosen / of if of else 1.0
