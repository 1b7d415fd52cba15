"""Pools of instances that share the requests of a load test, as far as its table tells them."""

from dataclasses import dataclass, field

from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.served.mapping import MOST_LATENT, Load, ServedRuns, Shape
from simcore.validation.served.models import served_model
from simcore.validation.served.stack import stack_of
from simcore.workload import Model

SPLIT_WORKERS = 4
"""Workers of a pool that splits attention, where a table does not tell: the median of rows that do;
those that copy it are 1."""


_WEIGHED = (
    *("model", "system", "backend", "backend_version", "batch"),
    *("gemm_format", "moe_format", "speculation"),
)
"""Columns from which weights and memory follow."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Instances of one shape that share the requests."""

    shape: Shape
    count: int


@dataclass(frozen=True, slots=True)
class Pools:
    """Shapes and numbers of the instances of rows.

    Attributes:
        runs: Builds runs, whose memory tells how many NPUs the weights need.
    """

    runs: ServedRuns
    _known: dict[tuple[str, ...], int] = field(default_factory=dict)

    def apart(self, row: MeasuredRow) -> bool:
        """True if prompts and answers have pools of their own, or degrees are none of one pool.

        A pool that is told to copy attention is one, however it is told to split it.
        """
        split = (row.count("tp") or 1) > 1 and (row.count("attention_dp") or 1) == 1
        return row.text("mode") == "disagg" or (split and self.shape(row).tp == 1)

    def shape(self, row: MeasuredRow, prefix: str = "") -> Shape:
        """Shape of an instance, from columns that begin with *prefix*.

        Raises:
            UnsupportedRow: No shipped model has the shape of its model.
        """
        model = served_model(row.text("model"))
        most = self._fewest(row, model) if model.latent else MOST_LATENT
        return Shape.of(row, model, prefix, most)

    def ways(self, row: MeasuredRow, told: Shape, reading: int) -> tuple[Pool, ...]:
        """Ways to use the NPUs that answer.

        Tables of pools with latent attention tell neither how many workers there are nor whether
        attention is split or copied. Where the weights need more than ``MOST_LATENT`` and split
        experts are told, attention is split.

        Args:
            row: The row.
            told: The shape that it tells.
            reading: NPUs that read prompts.

        Raises:
            UnsupportedRow: It does not tell how many NPUs there are.
        """
        model = served_model(row.text("model"))
        count = row.count("decode_num_workers")
        if count is None:
            npus = row.count("num_gpus")
            if npus is None:
                raise UnsupportedRow("num_gpus is not told")
            count = max(1, (npus - reading) // told.npus)
        known = count > 1 or row.count("prefill_num_workers") or model.latent is None
        copies = row.count("decode_attention_dp_size") or row.count("attention_dp") or 1
        if known or copies > 1 or (told.tp > MOST_LATENT and told.etp > 1):
            return (Pool(told, count),)
        split = Pool(told, SPLIT_WORKERS)
        if told.tp == 1 and told.npus > 1:  # the degree counts several instances
            fewest = self._fewest(row, model)
            split = Pool(Shape.split(fewest, model), max(1, told.npus // fewest))
        return split, Pool(told.copied(model), 1)

    def _fewest(self, row: MeasuredRow, model: Model) -> int:
        """NPUs that split latent attention: more than ``MOST_LATENT`` where the weights need it."""
        told = tuple(map(row.text, _WEIGHED))
        if told not in self._known:
            self._known[told] = self._found(row, model)
        return self._known[told]

    def _found(self, row: MeasuredRow, model: Model) -> int:
        npus, step = MOST_LATENT, Load(step="decode", sequences=1, keys=1)
        while npus < model.heads:
            if stack_of(row).holds(self.runs.run(row, Shape.split(npus, model), step)):
                break
            npus *= 2
        return npus
