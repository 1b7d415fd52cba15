"""The trace of a run: every packet that a host receives, a line each."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.kernels.packets import layout as f
from simcore.packets.case import Case
from simcore.packets.run import OnRows

HEADER = "time_ns,node,kind,flow,seq,wire_bytes,mark,rate_before_bps"
_KINDS = "DANP"
"""Letters of data, ACK, NACK and frames of PFC, of which flow is the class and seq the time."""
_CONGESTION_EXPERIENCED = 3
"""The two bits of ECN in the IP header of a marked packet."""


@contextmanager
def trace_into(path: Path, case: Case) -> Iterator[OnRows]:
    """Write the rows that a run gives to *path* as CSV.

    Raises:
        ConfigError: It cannot be written there.
    """
    ids = case.flows.ids
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.write(HEADER + "\n")

            def on_rows(rows: NDArray[np.int64]) -> None:
                file.writelines(_line(row, ids) for row in rows.tolist())

            yield on_rows
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None


def _line(row: list[int], ids: tuple[int, ...]) -> str:
    kind = row[f.T_TYPE]
    flow = row[f.T_FLOW] if kind == f.PFC else ids[row[f.T_FLOW]]
    if kind == f.DATA and row[f.T_MARK]:
        row[f.T_MARK] = _CONGESTION_EXPERIENCED
    rest = ",".join(map(str, row[f.T_SEQ :]))
    return f"{row[f.T_NS]},{row[f.T_NODE]},{_KINDS[kind]},{flow},{rest}\n"
