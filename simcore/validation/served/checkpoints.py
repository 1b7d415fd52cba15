"""Number formats and guessing modules that come with a checkpoint."""

from functools import cache
from typing import Literal, Self

from pydantic import Field

from simcore.files.resources import find_config, shipped_names
from simcore.files.yaml_file import read_table
from simcore.schema import Schema
from simcore.validation.served.models import served_model
from simcore.workload.kinds.inference import Speculation

QUANTISERS = {"nvidia": "modelopt"}
"""Makers who publish models of others quantised again, and their tools."""

_KIND = "checkpoints"


class Checkpoint(Schema):
    """A published checkpoint, as far as it tells an engine more than the shape of its model.

    Attributes:
        name: Of the model or of the tool that quantised it, as in ``configs/checkpoints``.
        weights, experts: Format in which these are stored whatever a table calls them; empty: as
            the table tells.
        scales: Of weights in 8 bits: one per ``block`` or one per ``tensor``; empty: per tensor,
            but per block in experts, as open checkpoints have them.
        cache: Format of keys and values that it asks for; empty: none.
        speculation: What its own module guesses; None: it has none.
        source: Where the values come from.
    """

    name: str = Field(min_length=1)
    weights: Literal["", "bf16"] = ""
    experts: Literal["", "mxfp4"] = ""
    scales: Literal["", "block", "tensor"] = ""
    cache: Literal["", "fp8"] = ""
    speculation: Speculation | None = None
    source: str = Field(min_length=1)

    @classmethod
    def load(cls, name: str) -> Self:
        """The shipped checkpoint *name*.

        Raises:
            ConfigError: No such file, or a value in it breaks a rule.
        """
        path = find_config(_KIND, name, at="checkpoint")
        return cls.from_file_data(read_table(path), at=str(path))


@cache
def checkpoint_of(name: str) -> Checkpoint:
    """The checkpoint *name*: its model's own file, then that of who quantised it.

    Raises:
        UnsupportedRow: No shipped model has its shape.
    """
    told, found = set(shipped_names(_KIND)), Checkpoint(name=name, source="nothing is told")
    for file in (served_model(name).name, QUANTISERS.get(name.split("/")[0].lower(), "")):
        if file in told:
            values = Checkpoint.load(file)
            update = {key: getattr(values, key) for key in values.model_fields_set}
            found = found.model_copy(update=update)
    return found
