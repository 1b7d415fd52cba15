"""``simcore astra``: the files and options of one ASTRA-sim run.

Its words are read here rather than by click, whose import takes longer than many a run.
"""

import sys
from itertools import islice
from os import environ
from pathlib import Path
from typing import TYPE_CHECKING

from simcore.cli.first_use import announce_compilation
from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.formats.astra import AstraResult

_LINES_AT_ONCE = 200
EXIT_UNFINISHED = 1
"""Exit code of a run in which an NPU never finished."""

HELP = """\
Usage: simcore astra --workload-configuration=PREFIX --system-configuration=JSON
                     --network-configuration=YAML --remote-memory-configuration=JSON [OPTIONS]

  Simulate the files of one ASTRA-sim run and print ASTRA-sim's lines. Takes the options of
  ASTRA-sim's analytical programs; one cycle is one nanosecond.

Files:
  --workload-configuration PREFIX      NPU r reads PREFIX.r.et.
  --system-configuration JSON
  --network-configuration YAML
  --remote-memory-configuration JSON
  --comm-group-configuration JSON      Communicator groups; none if the path holds 'empty'.
  --json FILE                          Write the results here as well.

ASTRA-sim's options:
  --num-queues-per-dim N, --injection-scale X, --rendezvous-protocol BOOL
  --logging-folder FOLDER              Where --log-style=astra puts log.log and err.log ('log').
  --compute-scale, --comm-scale, --logging-configuration: without effect.

Packets (--backend=packet), as ASTRA-sim's ns-3 program takes them:
  --network-configuration FILE             Lines of KEY VALUE, TOPOLOGY_FILE among them.
  --logical-topology-configuration JSON    "logical-dims".
or, with "logical-dims" in --network-configuration:
  --network-simulator-configuration FILE   Lines of KEY VALUE.
  --physical-topology-configuration FILE   Nodes, switches and links, in text.
or packets on the network of --network-configuration YAML.

Flits (--backend=garnet), as ASTRA-sim's Garnet front-end takes them:
  --network-configuration FILE             Lines of key: value, topology among them.

Beyond ASTRA-sim:
  --backend NAME                       congestion_unaware (default), congestion_aware,
                                       congestion_aware_multidim, flow, packet, flit or
                                       garnet.
  --inter-dimension-scheduling NAME    ascending (default), round-robin or offline-greedy: the
                                       order in which chunks pass the dimensions.
  --group-order NAME                   own (default): every NPU takes the lowest of its free
                                       collectives; common: one order for all NPUs, so that
                                       groups that cross do not wait for each other for ever.
  --communication-streams N            Collectives that an NPU runs at once.
  --compute-slots N                    Compute nodes that an NPU runs at once.
  --log-style NAME                     plain (default): figures only; astra: all of ASTRA-sim's
                                       lines, with time, logger and level, and its log files.
  --npu-scale LIST                     Speeds of NPUs that compute faster or slower than their
                                       traces say: 3:0.8,8-15:0.5.
  --placement NAME|LIST|FILE           NPU of each rank, where messages meet: greedy, shuffled,
                                       [0,4,1,5] or a file with such a list.
  --no-folding                         Simulate every NPU, also those that provably behave alike.
  -h, --help                           Show this and end.
"""

_FILES = (
    "workload-configuration",
    "system-configuration",
    "network-configuration",
    "remote-memory-configuration",
)
_LOGICAL, _PHYSICAL = "logical-topology-configuration", "physical-topology-configuration"
_SETTINGS = "network-simulator-configuration"


def run_astra(words: list[str]) -> int:
    """Run the command with the *words* that follow its name; returns the exit code.

    Raises:
        SimcoreError: An option or a file is wrong, or the run cannot be simulated.
    """
    if "-h" in words or "--help" in words:
        sys.stdout.write(HELP)
        return 0
    options = read_words(words)
    paths = {key: _path(options, key) for key in _FILES}
    groups = options.pop("comm-group-configuration", "empty")
    out = _path(options, "json") if "json" in options else None
    backend = options.pop("backend", "congestion_unaware")
    network, topology, settings = paths["network-configuration"], None, None
    if backend == "packet":
        network, topology, settings = _packet_files(options, network)
    start_quickly()
    from simcore.formats.astra import AstraFiles

    files = AstraFiles(
        workload=paths["workload-configuration"],
        system=paths["system-configuration"],
        network=network,
        remote_memory=paths["remote-memory-configuration"],
        comm_group=None if "empty" in groups else Path(groups),
        folder=Path(),
        physical_topology=topology,
        packet_config=settings,
    )
    if "empty" in groups and groups != "empty" and Path(groups).exists():
        _remark(f"Note: {groups} is ignored; a path with 'empty' means no groups.")
    from simcore.formats.astra import simulate_files, write_memory_traces

    result = simulate_files(files, backend, dict(options))
    write_memory_traces(result)
    for note in result.notes:
        _remark(f"Note: {note}")
    _print_lines(result, Path(options.get("logging-folder", "log")))
    if out is not None:
        _write_json(out, result)
    for sentence in result.output.waiting:
        _remark(f"Warning: {sentence}")
    return EXIT_UNFINISHED if result.unfinished else 0


def read_words(words: list[str]) -> dict[str, str]:
    """Options as ASTRA-sim reads them: ``--key=value``, ``--key value`` or ``--switch``.

    Raises:
        ConfigError: A word belongs to no option.
    """
    options: dict[str, str] = {}
    key = ""
    for word in words:
        if word.startswith("--"):
            key, has_value, value = word[2:].partition("=")
            options[key] = value if has_value else "true"
            key = "" if has_value else key
        elif key:
            options[key] = word
            key = ""
        else:
            raise ConfigError("simcore astra", "takes options, --key=value", got=word)
    return options


def start_quickly() -> None:
    """Keep start-up short, and say so where it cannot be."""
    # the threads of numpy's linear algebra, of which nothing here makes use, cost 0.1 s
    environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    announce_compilation(folded=False)


def _path(options: dict[str, str], key: str) -> Path:
    value = options.pop(key, "")
    if value in ("", "true"):
        raise ConfigError(f"--{key}", "must name a file (simcore astra --help)", got=value)
    return Path(value)


def _packet_files(options: dict[str, str], network: Path) -> tuple[Path, Path | None, Path | None]:
    """Logical topology, physical one and settings of a run on packets, where they are told."""
    topology = _path(options, _PHYSICAL) if _PHYSICAL in options else None
    if _LOGICAL in options:
        return _path(options, _LOGICAL), topology, network
    return network, topology, _path(options, _SETTINGS) if _SETTINGS in options else None


def _print_lines(result: "AstraResult", log_folder: Path) -> None:
    """Print the figures, or all that ASTRA-sim logs, then with its log files in *log_folder*."""
    from simcore.formats.astra import lines, log_lines, write_log

    if result.run.whole_log:
        write_log(log_lines(result), sys.stdout, log_folder)
        return
    told = lines(result)
    while block := list(islice(told, _LINES_AT_ONCE)):
        sys.stdout.write("\n".join(block) + "\n")
    sys.stdout.flush()


def _write_json(out: Path, result: "AstraResult") -> None:
    from json import dumps

    from simcore.formats.astra import as_plain

    try:
        out.write_text(dumps(as_plain(result)), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"--json {out}", "must be writable", got=error.strerror) from None


def _remark(text: str) -> None:
    sys.stderr.write(f"{text}\n")
