"""A transformer within a file: a table, or the name of another file."""

from typing import Annotated

from pydantic import BeforeValidator

from simcore.files.resources import find_config
from simcore.files.yaml_file import read_table
from simcore.workload.kinds.transformer.model import Model


def _read(given: object) -> object:
    if not isinstance(given, str):
        return given
    table = read_table(find_config("models", given, at="", beside=None))
    return Model.from_file_data(table, at="")


NamedModel = Annotated[Model, BeforeValidator(_read, json_schema_input_type=Model | str)]
"""A model as a table, a shipped name or a .yaml file."""
