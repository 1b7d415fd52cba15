"""The flows of a case: who sends how much to whom, and after which others."""

from dataclasses import dataclass

from simcore.errors import ConfigError
from simcore.packets.files.rows import table_rows, whole

_START = "start_ns_or_delay_after_deps"
_COLUMNS = ("id", "src", "dst", "size_bytes", _START, "deps")
MOST_BYTES = 1 << 44
MOST_NODE = 1 << 20


@dataclass(frozen=True)
class Flows:
    """Columns of the flows, in the order of the list, which decides between equal times.

    Attributes:
        ids: Names of the flows, whole numbers.
        source: Host that sends.
        target: Host that receives.
        size_bytes: Payload.
        delay_ns: Start, or time from the end of the last flow before it to its start.
        before: Per flow, the positions of the flows that must end first.
    """

    ids: tuple[int, ...]
    source: tuple[int, ...]
    target: tuple[int, ...]
    size_bytes: tuple[int, ...]
    delay_ns: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]


def read_flows(columns: object, rows: object) -> Flows:
    """The flows of a table.

    Raises:
        ConfigError: A row breaks a rule, or flows wait for each other in a circle.
    """
    ids, ends, sizes, delays, waits = [], [], [], [], []
    names = list(_COLUMNS) if columns is None else columns
    for at, row in table_rows("flows", rows, names, _COLUMNS):
        ids.append(whole(row["id"], -(1 << 62), 1 << 62, at=f"{at}.id"))
        ends.append([whole(row[key], 0, MOST_NODE, at=f"{at}.{key}") for key in ("src", "dst")])
        sizes.append(whole(row["size_bytes"], 1, MOST_BYTES, at=f"{at}.size_bytes"))
        delays.append(whole(row[_START], 0, 1 << 53, at=f"{at}.{_START}"))
        waits.append(row["deps"])
    if not ids:
        raise ConfigError("flows", "must hold a flow", got=rows)
    position: dict[int, int] = {}
    for index, name in enumerate(ids):
        if position.setdefault(name, index) != index:
            raise ConfigError(f"flows[{index}].id", "must be the id of one flow alone", got=name)
    before = tuple(_before(index, value, position) for index, value in enumerate(waits))
    _refuse_circles(ids, before)
    source, target = zip(*ends, strict=True)
    return Flows(tuple(ids), source, target, tuple(sizes), tuple(delays), before)


def _before(index: int, names: object, position: dict[int, int]) -> tuple[int, ...]:
    at = f"flows[{index}].deps"
    if not isinstance(names, list):
        raise ConfigError(at, "must be a list of ids of flows", got=names)
    for name in names:
        if isinstance(name, bool) or not isinstance(name, int) or name not in position:
            raise ConfigError(at, "must hold ids of flows of this case", got=name)
    return tuple(dict.fromkeys(position[name] for name in names))


def _refuse_circles(ids: list[int], before: tuple[tuple[int, ...], ...]) -> None:
    followers: list[list[int]] = [[] for _ in ids]
    open_flows = [len(waits) for waits in before]
    for index, waits in enumerate(before):
        for earlier in waits:
            followers[earlier].append(index)
    ready = [index for index, count in enumerate(open_flows) if not count]
    for index in ready:
        for follower in followers[index]:
            open_flows[follower] -= 1
            if not open_flows[follower]:
                ready.append(follower)
    if len(ready) == len(ids):
        return
    index = next(index for index, count in enumerate(open_flows) if count)
    seen: list[int] = []
    while index not in seen:
        seen.append(index)
        index = next(earlier for earlier in before[index] if open_flows[earlier])
    circle = [ids[member] for member in [*seen[seen.index(index) :], index]]
    rule = "must not wait for each other in a circle"
    raise ConfigError(f"flows[{index}].deps", rule, got=" after ".join(map(str, circle)))
