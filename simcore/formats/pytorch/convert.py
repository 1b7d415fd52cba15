"""Converts PyTorch traces to Chakra nodes, with the order that streams and synchronisation impose.

Chakra's own converter writes neither of them, so that nothing ever waits for a kernel.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from simcore.errors import ConfigError
from simcore.formats.chakra.messages import Attribute, IoInfo, Metadata, Node, attribute
from simcore.formats.pytorch.device import DeviceTrace
from simcore.formats.pytorch.host import (
    THREADS,
    HostTrace,
    TensorLists,
    tensor_bytes,
)
from simcore.formats.pytorch.link import LinkedNode, link
from simcore.terms import CollectiveKind, NodeKind

_COLLECTIVES = {
    "allreduce": CollectiveKind.ALL_REDUCE,
    "alltoall": CollectiveKind.ALL_TO_ALL,
    "allgather": CollectiveKind.ALL_GATHER,
    "reducescatter": CollectiveKind.REDUCE_SCATTER,
    "broadcast": CollectiveKind.BROADCAST,
    "reduce": CollectiveKind.REDUCE,  # the words of which it is a part stand before it
    "gather": CollectiveKind.GATHER,
    "scatter": CollectiveKind.SCATTER,
    "barrier": CollectiveKind.BARRIER,
}
_IDS = ("rf_id", "fw_parent", "seq_id", "scope", "tid", "fw_tid")
_SEND_RECV = "ncclDevKernel_SendRecv"
_PROCESS_GROUPS = "process_group:init"
_HEAD_KINDS = {"pid": "uint64", "time": "string", "start_ts": "uint64", "finish_ts": "uint64"}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PytorchConversion:
    """A converted trace.

    Attributes:
        metadata: First message.
        nodes: The nodes, ids ascending.
        notes: Remarks: what cannot be simulated as it is.
    """

    metadata: Metadata
    nodes: tuple[Node, ...]
    notes: tuple[str, ...]


def convert_pytorch(host: HostTrace, device: DeviceTrace | None = None) -> PytorchConversion:
    """Converts a host trace, with the device trace of the same run if there is one.

    Data dependencies: within a thread each operator waits for the one before it; where a thread
    goes on after a pause, for another thread's; a kernel for its launching operator and the
    kernel before it on its stream; after a synchronisation, for the awaited kernels.

    Raises:
        ConfigError: A kernel communicates in a way that has no collective kind, or operators call
            each other in a circle.
    """
    linked = (
        link(host, device)
        if device is not None
        else tuple(LinkedNode(node=node) for node in host.nodes)
    )
    walk = _Walk({item.node.id: item for item in linked})
    walk.run()
    deps = _without_idle(walk.deps)
    nodes = tuple(
        _node(walk.linked[number], walk.linked, deps[number], deps) for number in sorted(deps)
    )
    return PytorchConversion(metadata=_metadata(host), nodes=nodes, notes=_notes(nodes))


@dataclass(slots=True)
class _Walk:
    """Visits the call tree of every thread and collects data dependencies."""

    linked: Mapping[int, LinkedNode]
    deps: dict[int, set[int]] = field(default_factory=dict)

    def run(self) -> None:
        children: dict[int, list[int]] = defaultdict(list)
        roots = []
        for number, item in self.linked.items():
            if item.node.caller != number and item.node.caller in self.linked:
                children[item.node.caller].append(number)
            else:
                self.deps[number] = set()
            if item.node.name in THREADS:
                roots.append(number)
        for root in sorted(roots):
            self._thread(root, children)
        self._streams()

    def _thread(self, root: int, children: Mapping[int, list[int]]) -> None:
        last: int | None = None
        waiting = [root]
        while waiting:
            number = waiting.pop()
            item = self.linked[number]
            parents = set() if last is None else {last}
            if item.kernel is not None:
                self.deps[number] = {item.node.caller}
                continue
            if item.after_other_thread is not None:
                parents.add(item.after_other_thread)
            self.deps[number] = (parents | set(item.after_kernels)) - {number}
            last = number
            called = children.get(number, ())
            if root in called:
                rule = "no operator may be called by one that it calls"
                raise ConfigError(f"node {number}", rule, got=f"node {root} below itself")
            waiting.extend(sorted(called, reverse=True))

    def _streams(self) -> None:
        last: dict[int, int] = {}
        kernels = [
            item for item in self.linked.values() if item.kernel and item.node.id in self.deps
        ]
        for item in sorted(kernels, key=lambda item: (item.start_us or 0.0, item.node.id)):
            stream = item.kernel.stream if item.kernel else 0
            if stream in last:
                self.deps[item.node.id].add(last[stream])
            last[stream] = item.node.id


def _without_idle(deps: Mapping[int, set[int]]) -> dict[int, set[int]]:
    """Drops nodes that wait for nothing and that nothing waits for."""
    used = set().union(*deps.values()) if deps else set()
    return {
        number: parents & deps.keys()
        for number, parents in deps.items()
        if parents or number in used
    }


def _node(
    item: LinkedNode,
    linked: Mapping[int, LinkedNode],
    deps: set[int],
    kept: Mapping[int, set[int]],
) -> Node:
    node = item.node
    kind = _kind(item, linked)
    duration = 0 if "Optimizer.step" in node.name else int(item.exclusive_us or 0)
    has_caller = node.caller != node.id and node.caller in kept
    return Node(
        id=node.id,
        name=node.name,
        type=kind,
        ctrl_deps=(node.caller,) if has_caller else (),
        data_deps=tuple(sorted(deps)),
        start_time_micros=int(item.start_us or 0),
        duration_micros=duration,
        inputs=_io(node.inputs),
        outputs=_io(node.outputs),
        attributes=(*_plain_attributes(item), *_communication(item, kind)),
    )


def _io(lists: TensorLists) -> IoInfo:
    texts = (repr(list(part)) for part in (lists.values, lists.shapes, lists.types))
    values, shapes, types = texts
    return IoInfo(values=values, shapes=shapes, types=types)


def _kind(item: LinkedNode, linked: Mapping[int, LinkedNode]) -> NodeKind:
    if _PROCESS_GROUPS in item.node.name:
        return NodeKind.METADATA
    if item.kernel is None or not item.node.name.startswith(("ncclKernel", "ncclDevKernel")):
        return NodeKind.COMPUTE
    if not item.node.name.startswith(_SEND_RECV):
        return NodeKind.COLLECTIVE
    parent = linked[item.node.caller].node
    if parent.name == "record_param_comms":
        parent = linked[parent.caller].node
    if "send" in parent.name:
        return NodeKind.SEND
    return NodeKind.RECV if "recv" in parent.name else NodeKind.COLLECTIVE


def _plain_attributes(item: LinkedNode) -> Iterator[Attribute]:
    for name in _IDS:
        value = item.node.attributes.get(name)
        if isinstance(value, int):
            yield attribute(name, value)
    yield attribute("op_schema", str(item.node.attributes.get("op_schema", "")))
    yield attribute("is_cpu_op", item.kernel is None)
    yield attribute("stream", item.kernel.stream if item.kernel else 0)


def _communication(item: LinkedNode, kind: NodeKind) -> Iterator[Attribute]:
    if kind not in (NodeKind.COLLECTIVE, NodeKind.SEND, NodeKind.RECV) or item.kernel is None:
        return
    if kind is NodeKind.COLLECTIVE:
        yield attribute("comm_type", int(_collective(item.node.name)))
    yield attribute("comm_size", tensor_bytes(item.node))
    if item.kernel.group:
        yield attribute("pg_name", item.kernel.group)


def _collective(name: str) -> CollectiveKind:
    if name.startswith(_SEND_RECV):
        return CollectiveKind.ALL_TO_ALL
    plain = name.replace("-", "").replace("_", "").lower()
    for word, kind in _COLLECTIVES.items():
        if word in plain:
            return kind
    raise ConfigError("kernel", f"must be one of {', '.join(_COLLECTIVES)}", got=name)


def _metadata(host: HostTrace) -> Metadata:
    found = [attribute("schema", host.schema)]
    for name, kind in _HEAD_KINDS.items():
        if name in host.head:
            found.append(Attribute(name=name, kind=kind, value=host.head[name]))
    return Metadata(attributes=tuple(found))


def _notes(nodes: tuple[Node, ...]) -> tuple[str, ...]:
    peers = sum(node.type in (NodeKind.SEND, NodeKind.RECV) for node in nodes)
    if not peers:
        return ()
    return (
        f"{peers} sends and receives have no peer and tag, because PyTorch does not record them: "
        "add comm_src, comm_dst and comm_tag before simulating.",
    )
