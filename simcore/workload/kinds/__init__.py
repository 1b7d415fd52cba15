"""Kinds of workloads by the names that files use in ``kind``.

A kind is a ``Workload`` with its net and the work of its layers in one folder, and a line here.
"""

from collections.abc import Iterator
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, get_args

from pydantic import BeforeValidator, SerializeAsAny, ValidationInfo

from simcore.errors import ConfigError
from simcore.registry import Registry, class_of
from simcore.schema import Schema
from simcore.workload.base import Workload
from simcore.workload.kinds.cnn import CnnWorkload
from simcore.workload.kinds.dlrm import DlrmWorkload
from simcore.workload.kinds.inference import InferenceWorkload
from simcore.workload.kinds.transformer.workload import TrainingWorkload

DEFAULT_KIND = "transformer"
DEFAULT_NET = "gpt"

KINDS: Registry[type[Workload]] = Registry(
    "workload kind",
    {
        "transformer": TrainingWorkload,
        "cnn": CnnWorkload,
        "dlrm": DlrmWorkload,
        "inference": InferenceWorkload,
    },
    adapt=class_of(Workload),
)


def net_class(workload: type[Workload]) -> type[Schema]:
    """Class of ``model`` in a kind of *workload*."""
    found = workload.model_fields["model"].annotation
    if not (isinstance(found, type) and issubclass(found, Schema)):
        raise AssertionError(f"{workload.__name__}.model is a schema")
    return found


def _names_of(net: type[Schema]) -> tuple[str, ...]:
    names: tuple[str, ...] = get_args(net.model_fields["kind"].annotation)
    return names


def _nets_by_name() -> Iterator[tuple[str, type[Schema]]]:
    for _, kind in KINDS.items():
        net = net_class(kind)
        yield from ((name, net) for name in _names_of(net))


NETS: Registry[type[Schema]] = Registry("kind of model", dict(_nets_by_name()))
"""Classes of nets by the ``kind`` of the model."""


def workload_class(table: dict[str, Any], *, at: str) -> type[Workload]:
    """The class that the ``kind`` in the *table* of a workload names.

    Raises:
        ConfigError: There is no such kind, or the model is of another one; lists those there are.
    """
    kind, place = table.get("kind", DEFAULT_KIND), f"{at}." if at else ""
    if kind not in KINDS:
        raise KINDS.unknown(kind, at=f"{place}kind")
    model, names = table.get("model"), _names_of(net_class(KINDS[kind]))
    given = model.get("kind", DEFAULT_NET) if isinstance(model, dict) else model
    given = getattr(given, "kind", given)
    if given in NETS and given not in names:
        rule = f"workloads of kind {kind} take models of kind {' or '.join(names)}"
        raise ConfigError(f"{place}model", rule, got=given)
    return KINDS[kind]


def read_workload(data: object, *, at: str) -> Workload:
    """The workload that the table *data* of a file describes.

    Raises:
        ConfigError: A rule of its kind is broken.
    """
    if isinstance(data, Workload):
        return data
    if not isinstance(data, dict):
        raise ConfigError(at, "must be a table of keys and values", got=data)
    return workload_class(data, at=at).from_file_data(data, at=at)


def _as_workload(data: object, info: ValidationInfo) -> object:
    if not isinstance(data, dict):
        return data
    if info.context and info.context.get("from_file"):
        return read_workload(data, at="")
    return workload_class(data, at="").build(**data)


if TYPE_CHECKING:
    AnyWorkload = Workload
else:
    AnyWorkload = Annotated[
        SerializeAsAny[Workload],
        BeforeValidator(
            _as_workload,
            json_schema_input_type=reduce(or_, (kind for _, kind in KINDS.items())),
        ),
    ]
"""The type of a field that takes a workload of any kind."""

__all__ = [
    "DEFAULT_KIND",
    "DEFAULT_NET",
    "KINDS",
    "NETS",
    "AnyWorkload",
    "CnnWorkload",
    "DlrmWorkload",
    "InferenceWorkload",
    "net_class",
    "read_workload",
]
