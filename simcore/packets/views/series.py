"""Series of a run: depths of queues, rates of flows and pauses, once in so many nanoseconds."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.kernels.packets import layout as f
from simcore.packets.case import Case
from simcore.packets.image import Image

Ints = NDArray[np.int64]
QUEUE, RATE, PAUSES = "queue_bytes", "rate_bps", "pauses"


class Series:
    """Samples of a run, as ``run_case`` takes them.

    A queue that is empty and a flow that does not run have no rows; pauses are frames received so
    far in the whole network.
    """

    def __init__(self, case: Case, every_ns: int) -> None:
        self.every_ns = every_ns
        self._ids = np.array(case.flows.ids, np.int64)
        self._times: list[int] = []
        self._queues: list[tuple[Ints, Ints]] = []
        self._rates: list[tuple[Ints, Ints]] = []
        self._pauses: list[int] = []
        self._owner = np.zeros(0, np.int64)

    def take(self, image: Image) -> None:
        """Note what is in the queues, and how fast flows send."""
        self._owner = image.network.owner
        ports, flows = image.port_table, image.flow_table
        filled = np.flatnonzero(ports[:, f.PORT_EGRESS])
        runs = np.flatnonzero((flows[:, f.Q_START_NS] >= 0) & (flows[:, f.Q_FINISH_NS] < 0))
        self._times.append(int(image.arena[f.NOW_NS]))
        self._queues.append((filled, ports[filled, f.PORT_EGRESS]))
        self._rates.append((runs, flows[runs, f.Q_RATE]))
        self._pauses.append(int(image.arena[f.PAUSES]))

    def queues(self) -> dict[tuple[int, int], tuple[Ints, Ints]]:
        """Times in ns and bytes of each queue, by switch and the neighbour that it leads to."""
        return {
            (int(self._owner[port]), int(self._owner[port ^ 1])): series
            for port, series in self._by_key(self._queues).items()
        }

    def rates(self) -> dict[int, tuple[Ints, Ints]]:
        """Times in ns and rates in bit/s of each flow, by its id."""
        return {int(self._ids[key]): series for key, series in self._by_key(self._rates).items()}

    def pauses(self) -> tuple[Ints, Ints]:
        """Times in ns, and frames of PFC that told a port to pause up to then."""
        return np.array(self._times, np.int64), np.array(self._pauses, np.int64)

    def _by_key(self, samples: list[tuple[Ints, Ints]]) -> dict[int, tuple[Ints, Ints]]:
        if not samples:
            return {}
        sizes = [len(keys) for keys, _ in samples]
        times = np.repeat(np.array(self._times, np.int64), sizes)
        keys = np.concatenate([keys for keys, _ in samples])
        values = np.concatenate([values for _, values in samples])
        order = np.argsort(keys, kind="stable")
        keys, times, values = keys[order], times[order], values[order]
        known, starts = np.unique(keys, return_index=True)
        ends = [*starts[1:].tolist(), keys.size]
        return {
            int(key): (times[start:end], values[start:end])
            for key, start, end in zip(known, starts.tolist(), ends, strict=True)
        }

    def write(self, path: Path) -> None:
        """Write all series as Parquet: time_ns, what, node, to, flow, value.

        Raises:
            ConfigError: It cannot be written there.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        parts: list[tuple[str, int | None, int | None, int | None, Ints, Ints]]
        parts = [(QUEUE, node, to, None, *rest) for (node, to), rest in self.queues().items()]
        parts += [(RATE, None, None, flow, *rest) for flow, rest in self.rates().items()]
        parts.append((PAUSES, None, None, None, *self.pauses()))
        columns: dict[str, list[object]] = {
            name: [] for name in ("time_ns", "what", "node", "to", "flow", "value")
        }
        for what, node, to, flow, times, values in parts:
            columns["time_ns"] += times.tolist()
            columns["value"] += values.tolist()
            for name, value in (("what", what), ("node", node), ("to", to), ("flow", flow)):
                columns[name] += [value] * len(times)
        kinds = {name: pa.string() if name == "what" else pa.int64() for name in columns}
        table = pa.table({name: pa.array(rows, kinds[name]) for name, rows in columns.items()})
        try:
            pq.write_table(table, path)
        except OSError as error:
            raise ConfigError(str(path), "must be writable", got=error.strerror) from None
