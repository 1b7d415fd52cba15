"""``dse init``: questions for what no option answers, and the study file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from dse.starter.answers import TRAINING, Answers
from dse.starter.write import write_study
from simcore import ConfigError


def init_command(file: Path, *, force: bool, given: Mapping[str, Any]) -> None:
    """``dse init``.

    Raises:
        ConfigError: An answer breaks a rule or is missing, or the file is there already.
    """
    asks = given["model"] is None or not given["machines"]
    if file.exists() and not force:  # before anybody is asked
        rule = "must not exist yet: name another file, or give --force to write over it"
        raise ConfigError(str(file), rule, got="a file")
    model = given["model"] or _asked("--model", "Model (shipped name, .yaml or config.json)")
    machines = given["machines"] or tuple(_asked("--machine", "Machine, such as h100_80").split())
    answers = Answers(
        model=model,
        machines=machines,
        npus=given["npus"] or 0,
        objectives=given["objectives"],
        sequence=given["sequence"],
        global_batch=given["global_batch"] or 0,
        bandwidth=given["bandwidth"],
        folder=file.parent,
    )
    changed: dict[str, Any] = {}
    if not answers.npus and answers.platform() is None:
        answers.accelerators()  # a misspelt one is told before more is asked
        changed["npus"] = _number(_asked("--npus", "How many of them"))
    if asks and not answers.objectives:
        told = _asked("--objective", f"Objectives ({', '.join(TRAINING)})", "iteration_time")
        changed["objectives"] = tuple(told.replace(",", " ").split())
    write_study(Answers(**{**vars(answers), **changed}), file, force=force)
    click.echo(f"{file} is written. Next: dse study {file}")


def _asked(option: str, question: str, default: str | None = None) -> str:
    try:
        answer: str = click.prompt(question, default=default, err=True)
    except click.Abort:
        if default is not None:
            return default
        raise ConfigError(option, "must be given, or answered when asked", got=None) from None
    return answer


def _number(text: str) -> int:
    if not text.strip().isdecimal():
        raise ConfigError("--npus", "must be a whole number", got=text)
    return int(text)
