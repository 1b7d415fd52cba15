"""Jobs that share a machine, for ``simcore simulate``."""

from collections.abc import Mapping
from pathlib import Path

from simcore.cli.settings import write_text


def simulate_file(file: Path, values: Mapping[str, object], json_out: Path | None) -> None:
    """Simulate the jobs of FILE, alone and together, and print what each loses.

    Raises:
        ConfigError, InfeasibleError, SimulationError: As ``simulate_jobs``.
    """
    import json

    from rich.console import Console
    from rich.table import Table

    from simcore import __version__
    from simcore.jobs.file import load_jobs
    from simcore.jobs.simulate import simulate_jobs
    from simcore.units import format_quantity

    result = simulate_jobs(load_jobs(file, values))
    console = Console()
    table = Table("job", "NPUs", "levels", "begins", "alone", "together", "slowdown")
    for job in result.jobs:
        times = [format_quantity(time, "s") for time in (job.start_s, job.alone_s, job.together_s)]
        levels = " x ".join(map(str, job.levels))
        table.add_row(job.name, str(len(job.npus)), levels, *times, f"{job.slowdown:.3f}")
    console.print(table)
    if result.links:
        links = Table("link shared by jobs", "kept in all", "bytes by job")
        for link in result.links:
            each = [
                f"{name} {format_quantity(size, 'B')}" for name, size in link.carried_bytes.items()
            ]
            links.add_row(
                f"{link.begin} to {link.end}", format_quantity(link.kept_s, "s"), ", ".join(each)
            )
        console.print(links)
    else:
        console.print("no two jobs share a link")
    for job in result.jobs:
        if job.note:
            console.print(f"[dim]note: {job.name}: {job.note}[/dim]")
    if json_out is not None:
        content = {"simcore_version": __version__, **result.table()}
        write_text(json_out, json.dumps(content, indent=1) + "\n")
