"""Content of a Chakra trace as plain objects; unknown fields and enum values survive."""

from dataclasses import dataclass, field

Scalar = float | int | bool | str | bytes
Value = Scalar | tuple[Scalar, ...] | None

SCALAR_KINDS = (
    "double",
    "float",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "sint32",
    "sint64",
    "fixed32",
    "fixed64",
    "sfixed32",
    "sfixed64",
    "bool",
    "string",
    "bytes",
)

ATTRIBUTE_KINDS = {
    "is_cpu_op": "bool",
    "num_ops": "int64",
    "tensor_size": "uint64",
    "comm_type": "int64",
    "comm_size": "int64",
    "comm_src": "int32",
    "comm_dst": "int32",
    "comm_tag": "int32",
    "comm_priority": "int32",
    "pg_name": "string",
    "involved_dim": "bool_list",
    "comm_group": "int32",
    "op_type": "string",
    "inputs": "string_list",
    "outputs": "string_list",
    "rf_id": "int64",
    "fw_parent": "int64",
    "seq_id": "int64",
    "scope": "int64",
    "tid": "int64",
    "fw_tid": "int64",
    "stream": "int64",
    "op_schema": "string",
    "schema": "string",
    "input_file": "string",
}
"""The kind with which each attribute must be written: older readers look at exactly one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribute:
    """A named value of one of Chakra's kinds.

    Attributes:
        name: Name.
        kind: A name of ``SCALAR_KINDS``, with ``_list`` for lists; empty where no value is set.
        value: The value; None where no value is set.
        doc: Free text.
        unknown: Fields this schema does not know, as they stood on the wire.
    """

    name: str
    kind: str = ""
    value: Value = None
    doc: str = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class IoInfo:
    """Inputs or outputs of a node: three texts, each Python's repr of a list."""

    values: str = ""
    shapes: str = ""
    types: str = ""
    unknown: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One operation of a trace.

    Attributes:
        id: Unique in the file; lower ids are issued first.
        name: Free text.
        type: ``NodeKind`` value, or a value of a newer schema.
        ctrl_deps: Ids of nodes that must end first (calls).
        data_deps: Ids of nodes that must end first (data).
        start_time_micros: When it started, in microseconds; 0 where not recorded.
        duration_micros: How long it lasts, in microseconds.
        inputs: Inputs, or None.
        outputs: Outputs, or None.
        attributes: Everything else.
        unknown: Fields this schema does not know, as they stood on the wire.
    """

    id: int
    name: str = ""
    type: int = 0
    ctrl_deps: tuple[int, ...] = ()
    data_deps: tuple[int, ...] = ()
    start_time_micros: int = 0
    duration_micros: int = 0
    inputs: IoInfo | None = None
    outputs: IoInfo | None = None
    attributes: tuple[Attribute, ...] = ()
    unknown: bytes = b""

    def attribute(self, name: str) -> Attribute | None:
        """The attribute called *name* (the last one, should it stand there twice), or None."""
        found = None
        for attribute in self.attributes:
            if attribute.name == name:
                found = attribute
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The first message of a trace."""

    version: str = ""
    attributes: tuple[Attribute, ...] = field(default=())
    unknown: bytes = b""


def attribute(name: str, value: Value) -> Attribute:
    """An attribute of the kind that its *name* must have.

    Raises:
        KeyError: No kind is fixed for that name; build the ``Attribute`` with its kind instead.
    """
    return Attribute(name=name, kind=ATTRIBUTE_KINDS[name], value=value)
