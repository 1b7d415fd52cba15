"""The group of all commands; each is imported only when it is used."""

from importlib import import_module

import click

from simcore import __version__

_COMMANDS = {
    "simulate": ("simcore.cli.simulate", "simulate", "Simulate one training iteration."),
    "compare": ("simcore.cli.compare", "compare", "Compare two runs: what differs, and why."),
    "diff": (
        "simcore.cli.imports.traces",
        "diff",
        "Compare a run with a trace of PyTorch's profiler.",
    ),
    "serve": ("simcore.cli.serve", "serve", "Simulate a service: prompts read, answers given."),
    "astra": ("simcore.cli.astra_batch", "astra", "Run ASTRA-sim's own input files."),
    "astra-batch": (
        "simcore.cli.astra_batch",
        "astra_batch",
        "Run many ASTRA-sim inputs at once.",
    ),
    "chakra": ("simcore.cli.chakra", "chakra", "Show and convert Chakra execution traces."),
    "packets": (
        "simcore.cli.networks.packets",
        "packets",
        "Simulate a network packet by packet.",
    ),
    "collective": (
        "simcore.cli.networks.collective",
        "collective",
        "Time one collective by each algorithm that a machine admits.",
    ),
    "compile": (
        "simcore.cli.compile",
        "compile_kernels",
        "Compile the kernels now, once per machine.",
    ),
    "calibrate": (
        "simcore.cli.calibrate",
        "calibrate",
        "Learn from measured runs of one's own.",
    ),
    "validate": ("simcore.cli.validate", "validate", "Predict published measured runs."),
    "profile": (
        "simcore.cli.profile",
        "profile",
        "Measure kernels on this machine's GPU: tables of one's own.",
    ),
    "kernels": (
        "simcore.cli.profile",
        "kernels",
        "Take kernel times from other programs' output.",
    ),
    "flows": ("simcore.cli.graphs.flows", "flows", "Simulate flows on network graphs."),
    "network": ("simcore.cli.graphs.network", "network", "Show and draw network graphs."),
    "place": (
        "simcore.cli.graphs.place",
        "place",
        "Place the ranks of a run on its network.",
    ),
    "synthesise": (
        "simcore.cli.graphs.synthesise",
        "synthesise",
        "Synthesise a collective for a network graph.",
    ),
    "systolic": (
        "simcore.cli.inside.systolic",
        "systolic",
        "Work out layers on systolic arrays.",
    ),
    "flits": ("simcore.cli.inside.flits", "flits", "Simulate networks on a chip flit by flit."),
    "models": (
        "simcore.cli.imports.models",
        "models",
        "Count parameters and caches of Hugging Face models.",
    ),
    "schema": ("simcore.cli.schema", "schema", "Write the JSON Schemas of all file kinds."),
}


class _LazyGroup(click.Group):
    """Lists the commands without importing what they need."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, name, _ = _COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in _COMMANDS.items()])


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Simulate one training iteration of a large model on a machine that need not exist.",
)
@click.version_option(__version__)
def cli() -> None:
    """The group of all commands."""
