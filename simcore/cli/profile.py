"""``simcore profile`` and ``simcore kernels``: tables of kernel times of one's own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.profiling.folder import Profile

_OPTIONS = (
    click.option(
        "--out", required=True, type=click.Path(path_type=Path), help="New folder to write."
    ),
    click.option("--npu", default="", help="Accelerator on which they ran, as in configs/npus."),
    click.option("--date", default="", help="Date for source.yaml, such as 2026-03-01."),
)


@dataclass(frozen=True, slots=True)
class _Target:
    """A folder to write, and what is told of it.

    Raises:
        ConfigError: The folder holds something, or there is no such accelerator or date.
    """

    out: Path
    npu: str
    date: str

    def __post_init__(self) -> None:
        from datetime import date as calendar

        from simcore.files.resources import shipped_names
        from simcore.profiling.folder import check_new

        if self.npu and self.npu not in shipped_names("npus"):
            rule = f"must be one of {', '.join(shipped_names('npus'))}"
            raise ConfigError("--npu", rule, got=self.npu)
        try:
            if self.date:
                calendar.fromisoformat(self.date)
        except ValueError:
            rule = "must be a date such as 2026-03-01"
            raise ConfigError("--date", rule, got=self.date) from None
        check_new(self.out)

    @property
    def dated(self) -> dict[str, object]:
        return {"date": self.date} if self.date else {}


def _with_target(command: Callable[..., None]) -> Callable[..., None]:
    """*command* with the options of its folder, which it takes as ``target``."""

    @wraps(command)
    def called(out: Path, npu: str, date: str, **others: Any) -> None:
        command(target=_Target(out, npu, date), **others)

    decorated: Callable[..., None] = called
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


@click.command()
@click.option(
    "--device", default="cuda", show_default=True, help="cuda, or cpu to try it without a GPU."
)
@click.option("--kinds", default="", help="Kinds to measure, separated by commas.  [all]")
@click.option("--quick", is_flag=True, help="Fewer shapes, fewer runs of each.")
@_with_target
def profile(target: _Target, device: str, kinds: str, quick: bool) -> None:
    """Measure kernels on this machine's GPU with PyTorch, and write tables of their times.

    A run takes them with compute: measured and npu.kernels: {tables: ./FOLDER}.
    """
    from simcore.profiling.collectives import COLLECTIVES
    from simcore.profiling.kernels import MAKERS
    from simcore.profiling.measure import DEVICES, Wish
    from simcore.profiling.measure import profile as measure

    known = (*MAKERS, COLLECTIVES)
    wanted = tuple(kind.strip() for kind in kinds.split(",") if kind.strip())
    for kind in wanted:
        if kind not in known:
            raise ConfigError("--kinds", f"must be of {', '.join(known)}", got=kind)
    if wanted == (COLLECTIVES,):
        raise ConfigError("--kinds", f"must name a kind beside {COLLECTIVES}", got=kinds)
    if device not in DEVICES:
        raise ConfigError("--device", f"must be one of {', '.join(DEVICES)}", got=device)
    wish = Wish(device=device, kinds=wanted, quick=quick, npu=target.npu, date=target.date)

    def watch(what: str, count: int) -> None:
        click.echo(f"{what}: {count}", err=True)

    _write(measure(wish, watch), target.out)


@click.group(short_help="Kernel times of one's own, from other programs.")
def kernels() -> None:
    """Write tables of kernel times from what other programs measured or simulated."""


@kernels.command()
@click.argument("host", type=click.Path(path_type=Path))
@click.option(
    "--device", required=True, type=click.Path(path_type=Path), help="Kineto trace of that run."
)
@_with_target
def pytorch(host: Path, device: Path, target: _Target) -> None:
    """Take kernel times from a PyTorch execution trace HOST and the Kineto trace of its run."""
    from simcore.formats.pytorch.device import read_device_trace
    from simcore.formats.pytorch.host import read_host_trace
    from simcore.profiling.folder import Profile
    from simcore.profiling.trace import read_trace

    times = read_trace(read_host_trace(host), read_device_trace(device))
    source = {"source": f"PyTorch traces {host.name} and {device.name}"}
    profile = Profile(kernels=times, npu=target.npu, source=source | target.dated)
    _write(profile, target.out)


@kernels.command()
@click.argument("report", type=click.Path(path_type=Path))
@click.option(
    "--topology", required=True, type=click.Path(path_type=Path), help="The simulated layers."
)
@click.option("--clock", required=True, help="Of the array, such as '1 GHz'.")
@click.option("--format", "format_", default="bf16", show_default=True, help="Of the operands.")
@_with_target
def scale_sim(report: Path, topology: Path, clock: str, format_: str, target: _Target) -> None:
    """Take kernel times from SCALE-Sim's REPORT, its COMPUTE_REPORT.csv."""
    from simcore.compute.tables.kinds import TABLE_FORMATS
    from simcore.profiling.folder import Profile
    from simcore.profiling.scale_sim import read_scale_sim
    from simcore.units import parse_quantity

    if format_ not in TABLE_FORMATS:
        raise ConfigError("--format", f"must be one of {', '.join(TABLE_FORMATS)}", got=format_)
    try:
        clock_hz = parse_quantity(clock, "Hz")
        if not clock_hz > 0:
            raise ValueError("must be above 0 Hz")
    except ValueError as error:
        raise ConfigError("--clock", str(error), got=clock) from None
    times = read_scale_sim(report, topology, clock_hz=clock_hz, format_=format_)
    source = {"source": f"SCALE-Sim, {report.name} and {topology.name}", "clock": clock}
    profile = Profile(kernels=times, npu=target.npu, source=source | target.dated)
    _write(profile, target.out)


def _write(profile: "Profile", out: Path) -> None:
    from collections import Counter

    from simcore.profiling.folder import write_profile

    write_profile(profile, out)
    counts = Counter(f"{one.kind} {one.format}" for one in profile.kernels)
    told = ", ".join(f"{count} of {name}" for name, count in counts.items())
    click.echo(f"{out}: {told}")
    for name, why in list(profile.left_out.items())[:5]:
        click.echo(f"Note: left out {name}: {why}", err=True)
    if len(profile.left_out) > 5:
        click.echo(f"Note: and {len(profile.left_out) - 5} more", err=True)
