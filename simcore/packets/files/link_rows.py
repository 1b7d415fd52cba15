"""Changes of links at given times, as a file lists them."""

from dataclasses import dataclass

from simcore.packets.files.rows import table_rows, whole
from simcore.packets.parameters import MOST_RATE

_COLUMNS = ("time_ns", "a", "b", "rate_bps")


@dataclass(frozen=True, slots=True)
class LinkChange:
    """Another rate of a link, both ways.

    Attributes:
        time_ns: When.
        ends: The two nodes; of several links between them, the first.
        rate: Bit/s from the next packet on; 0: whatever it carries is lost.
    """

    time_ns: int
    ends: tuple[int, int]
    rate: int


def read_link_changes(columns: object, rows: object) -> tuple[LinkChange, ...]:
    """The changes that a file lists, by time.

    Raises:
        ConfigError: A row breaks a rule.
    """
    found = []
    for at, row in table_rows("link_changes", rows, columns or list(_COLUMNS), _COLUMNS):
        time_ns = whole(row["time_ns"], 0, 1 << 53, at=f"{at}.time_ns")
        ends = [whole(row[key], 0, 1 << 20, at=f"{at}.{key}") for key in ("a", "b")]
        rate = whole(row["rate_bps"], 0, MOST_RATE, at=f"{at}.rate_bps")
        found.append(LinkChange(time_ns, (ends[0], ends[1]), rate))
    return tuple(sorted(found, key=lambda change: change.time_ns))
