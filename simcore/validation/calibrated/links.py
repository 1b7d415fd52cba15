"""Links of a site, from the output of nccl-tests on the machine of one of its runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from simcore.errors import ConfigError
from simcore.files.input_file import read_text
from simcore.formats.logs.nccl_tests import TimedCollective, timed_collectives
from simcore.validation.collectives import predict_collective
from simcore.validation.machine import Machines, accelerator_of
from simcore.validation.rows import MeasuredRow

LARGE_BYTES = 1 << 20
"""Size from which bandwidth counts more than latency."""


def link_lines(runs: Sequence[Path], outputs: Mapping[str, Path]) -> list[str]:
    """One line per output of nccl-tests: measured over predicted times.

    They say nothing of iterations by themselves: bandwidths of the platform are the place to use
    them.

    Raises:
        ConfigError: An output belongs to no row of the tables *runs*, or cannot be read.
    """
    if not outputs:
        return []
    rows = {row.id: row for path in runs for row in MeasuredRow.all_of(path)}
    machines, lines = Machines(), []
    for name, path in outputs.items():
        if name not in rows:
            rule = f"must name a training run of {' or '.join(map(str, runs)) or 'a table'}"
            raise ConfigError("--collectives", rule, got=name)
        timed = timed_collectives(read_text(path), str(path))
        lines.append(f"links of {name}: {_told(rows[name], timed, machines, path)}")
    return lines


def _told(
    row: MeasuredRow, timed: tuple[TimedCollective, ...], machines: Machines, path: Path
) -> str:
    large = [one for one in timed if one.size_bytes >= LARGE_BYTES]
    if not large:
        rule = f"must hold a size of {LARGE_BYTES:,} bytes or more"
        raise ConfigError(str(path), rule, got=max(one.size_bytes for one in timed))
    ratios = []
    for one in large:
        prediction = predict_collective(_as_row(row, one, path), machines)
        if prediction.time_s is None:
            raise ConfigError(
                str(path), "must hold collectives of that row's machine", got=prediction.reason
            )
        ratios.append(one.time_s / prediction.time_s)
    name = large[0].collective.replace("_", "-")
    return (
        f"{name}s of {LARGE_BYTES >> 20} MiB and more take {median(ratios):.2f} times as long as "
        f"predicted (median of {len(ratios)} sizes)"
    )


def _as_row(row: MeasuredRow, one: TimedCollective, path: Path) -> MeasuredRow:
    """The collective as a row of the table of collectives, on the machine of *row*."""
    if not one.collective:
        rule = "must name its program, such as all_reduce_perf: keep the first lines of its output"
        raise ConfigError(str(path), rule, got="none")
    npus = row.count("num_gpus") or 1
    per_node = min(npus, row.count("gpus_per_node") or accelerator_of(row).per_node)
    cells = {
        key: row.text(key) for key in ("id", "gpu", "num_gpus", "intra_bw_GBps", "inter_bw_GBps")
    }
    cells |= {"nodes": str(-(-npus // per_node)), "collective": one.collective}
    return MeasuredRow({**cells, "size_bytes": str(one.size_bytes)}, str(path))
