"""A deep learning recommendation model."""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema
from simcore.terms import LayerKind
from simcore.units import plain_sum
from simcore.workload.base import WithoutTokens
from simcore.workload.kinds.dlrm.dense import CrossLayer, DenseLayer, DotLayer
from simcore.workload.kinds.dlrm.features import FeatureLayer

_WIDEST = 2**24
_Width = Annotated[int, Field(ge=1, le=_WIDEST)]


class Table(Schema):
    """Embedding tables of one shape.

    Attributes:
        count: How many.
        rows: Of each.
        pooling: Rows that a sample looks up in each; their vectors are added up.
    """

    count: int = Field(default=1, ge=1, le=100_000)
    rows: int = Field(ge=1, le=2**50)
    pooling: int = Field(default=1, ge=1, le=_WIDEST)


class RecommendationNet(WithoutTokens, Schema):
    """Embedding tables and a bottom MLP, whose vectors interact before a top MLP.

    Source: M. Naumov et al., "Deep Learning Recommendation Model", arXiv:1906.00091; R. Wang et
    al., "DCN V2", WWW 2021, section 3 (cross layers of low rank).

    Attributes:
        dense_features: Numbers that the bottom MLP reads.
        bottom, top: Widths of the layers of the MLPs.
        width: Of an embedding vector, and of what the bottom MLP gives.
        tables: The embedding tables.
        interaction: ``dot``: the products of all pairs of vectors; ``cross``: cross layers.
        cross_layers, cross_rank: How many, and their inner width.
        source: Where the figures are published.
    """

    name: str
    kind: Literal["dlrm"]
    dense_features: int = Field(ge=1, le=_WIDEST)
    bottom: tuple[_Width, ...] = Field(min_length=1)
    top: tuple[_Width, ...] = Field(min_length=1)
    width: int = Field(ge=1, le=_WIDEST)
    tables: tuple[Table, ...] = Field(min_length=1)
    interaction: Literal["dot", "cross"] = "dot"
    cross_layers: int = Field(default=0, ge=0, le=10_000)
    cross_rank: int = Field(default=0, ge=0, le=_WIDEST)
    source: str = ""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.bottom[-1] != self.width:
            raise ConfigError("bottom", f"must end with width = {self.width}", got=self.bottom[-1])
        crossed = self.interaction == "cross"
        if crossed != (self.cross_layers > 0) or crossed != (self.cross_rank > 0):
            rule = "must be above 0 with interaction: cross, and 0 otherwise"
            raise ConfigError("cross_layers and cross_rank", rule, got=self.cross_layers)
        return self

    @property
    def table_count(self) -> int:
        return sum(table.count for table in self.tables)

    @property
    def lookups(self) -> int:
        """Rows that a sample looks up in all tables."""
        return plain_sum(table.count * table.pooling for table in self.tables)

    @property
    def table_rows(self) -> int:
        """Rows of all tables."""
        return sum(table.count * table.rows for table in self.tables)

    @property
    def vectors(self) -> int:
        """Number of vectors: one per table, and the bottom MLP's."""
        return self.table_count + 1

    @cached_property
    def dense_layers(self) -> tuple[DenseLayer | CrossLayer | DotLayer, ...]:
        """Layers after the vectors met: the interaction and the top MLP."""
        width = self.vectors * self.width
        if self.interaction == "cross":
            cross = CrossLayer(width=width, rank=self.cross_rank)
            return (cross,) * self.cross_layers + _mlp(width, self.top)
        pairs = self.vectors * (self.vectors - 1) // 2
        dot = DotLayer(vectors=self.vectors, width=self.width)
        return (dot, *_mlp(self.width + pairs, self.top))

    @property
    def bottom_layers(self) -> tuple[DenseLayer, ...]:
        return _mlp(self.dense_features, self.bottom)

    @cached_property
    def layer_kinds(self) -> tuple[LayerKind, ...]:
        """Lookups with the bottom MLP beside them, then layer by layer."""
        features = FeatureLayer(vectors=self.vectors, width=self.width, bottom=self.bottom_layers)
        return ((features,), *((layer,) for layer in self.dense_layers))

    @property
    def layers(self) -> int:
        return len(self.layer_kinds)

    def _dense(self) -> Iterator[DenseLayer | CrossLayer | DotLayer]:
        yield from self.bottom_layers
        yield from self.dense_layers

    @property
    def dense_parameters(self) -> int:
        """Parameters outside the tables."""
        return sum(layer.parameters for layer in self._dense())

    @property
    def table_parameters(self) -> int:
        return self.width * self.table_rows

    @property
    def parameters(self) -> int:
        return self.dense_parameters + self.table_parameters

    @property
    def active_parameters(self) -> int:
        """Parameters that a sample meets."""
        return self.dense_parameters + self.width * self.lookups

    @cached_property
    def flop_per_sample(self) -> float:
        """FLOP of the products of a forward pass."""
        return plain_sum(layer.flop for layer in self._dense())


def _mlp(inputs: int, widths: tuple[int, ...]) -> tuple[DenseLayer, ...]:
    return tuple(DenseLayer(inputs=a, outputs=b) for a, b in pairwise((inputs, *widths)))
