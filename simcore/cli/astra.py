"""``simcore astra`` and ``simcore astra-batch``: ASTRA-sim's files and options."""

from os import environ
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simcore.cli.first_use import announce_compilation

if TYPE_CHECKING:
    from simcore.formats.astra import AstraResult

EXIT_UNFINISHED = 1
"""Exit code of a run in which an NPU never finished."""


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    short_help="Simulate the files of one ASTRA-sim run.",
)
@click.option("--workload-configuration", "workload", required=True, help="Prefix of the traces.")
@click.option("--system-configuration", "system", required=True, help="System file (JSON).")
@click.option("--network-configuration", "network", required=True, help="Network file (YAML).")
@click.option(
    "--remote-memory-configuration", "memory", required=True, help="Remote memory file (JSON)."
)
@click.option(
    "--comm-group-configuration",
    "groups",
    default="empty",
    show_default=True,
    help="Communicator groups (JSON).",
)
@click.option(
    "--backend", default="congestion_unaware", show_default=True, help="Model of the network."
)
@click.option(
    "--json", "out", type=click.Path(dir_okay=False, path_type=Path), help="Write results here."
)
@click.argument("rest", nargs=-1, type=click.UNPROCESSED)
def astra(
    workload: str, system: str, network: str, memory: str, groups: str, **more: object
) -> None:
    """Simulate the files of one ASTRA-sim run and print ASTRA-sim's lines.

    Takes the options of ASTRA-sim's analytical binaries; one cycle is one nanosecond.

    Beyond them: --inter-dimension-scheduling=ascending|round-robin|offline-greedy (order in which
    the chunks of a collective pass the dimensions), --communication-streams=N and
    --compute-slots=N (collectives and compute nodes that an NPU runs at once), --no-folding
    (simulate every NPU, also those that must behave like another one).
    """
    _prepare()
    from simcore.formats.astra import (
        AstraFiles,
        lines,
        simulate_files,
        write_memory_traces,
    )

    files = AstraFiles(
        workload=Path(workload),
        system=Path(system),
        network=Path(network),
        remote_memory=Path(memory),
        comm_group=None if "empty" in groups else Path(groups),
        folder=Path(),
    )
    result = simulate_files(files, str(more["backend"]), _options(more["rest"]))
    write_memory_traces(result)
    if "empty" in groups and groups != "empty" and Path(groups).exists():
        click.echo(f"Note: {groups} is ignored; a path with 'empty' means no groups.", err=True)
    for note in result.run.notes:
        click.echo(f"Note: {note}", err=True)
    click.echo("\n".join(lines(result)))
    _write_json(more["out"], result)
    for sentence in result.output.waiting:
        click.echo(f"Warning: {sentence}", err=True)
    if result.unfinished:
        raise SystemExit(EXIT_UNFINISHED)


def _prepare() -> None:
    """Keep start-up short, and say so where it cannot be."""
    # the threads of numpy's linear algebra, of which nothing here makes use, cost 0.1 s
    environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    announce_compilation(folded=False)


def _write_json(out: object, result: "AstraResult") -> None:
    if isinstance(out, Path):
        from json import dumps

        from simcore.formats.astra import as_plain

        out.write_text(dumps(as_plain(result)), encoding="utf-8")


def _options(words: object) -> dict[str, object]:
    """Options as ASTRA-sim reads them: ``--key=value``, ``--key value`` or ``--switch``."""
    options: dict[str, object] = {}
    key = ""
    for word in words if isinstance(words, tuple) else ():
        text = str(word)
        if text.startswith("--"):
            key, has_value, value = text[2:].partition("=")
            options[key] = value if has_value else "true"
        elif key:
            options[key] = text
            key = ""
        else:
            raise click.UsageError(f"Got an unexpected argument {text!r}.")
    return options


@click.command("astra-batch", short_help="Simulate many ASTRA-sim runs in one process.")
@click.argument("manifest", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the results (JSON) here.",
)
def astra_batch(manifest: Path, out: Path) -> None:
    """Simulate every run of MANIFEST (JSON); one that fails does not stop the others."""
    _prepare()
    from collections import Counter
    from json import dumps

    from simcore.formats.astra import read_manifest, run_batch

    statuses: Counter[str] = Counter()
    entries = read_manifest(manifest)

    def on_done(_name: str, status: str) -> None:
        statuses[status] += 1

    results = run_batch(entries, manifest.parent, on_done)
    out.write_text(dumps(results), encoding="utf-8")
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    click.echo(f"{sum(statuses.values())} runs: {told or 'none'}. Results in {out}.")
