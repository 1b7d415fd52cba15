"""The command that proves how close to the best a study can come."""

import json
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any

import click

from dse.evaluate import DEFAULT_EVALUATOR, EVALUATORS
from dse.objectives import OBJECTIVES, Sense
from dse.proof.close import Effort, close_gap
from dse.proof.prove import Proof
from dse.proof.told import bound_told, known_bounds, percent_above
from dse.run.api import check_study
from dse.study.compile import find_study
from simcore import ConfigError, RunTemplate, read_yaml


def gap_command(
    file: str, *, objectives: Sequence[str], gap: float, timeout_s: float | None, out: Path | None
) -> None:
    """Close the gap of the study in *file*, and print what was proven."""
    study = check_study(file, {"evaluator": _evaluator(file)})
    effort = Effort(seconds=inf if timeout_s is None else timeout_s)
    proof = close_gap(study, objectives, gap=gap, effort=effort)
    if out is not None:
        out.write_text(json.dumps(proof_data(proof), indent=2) + "\n", encoding="utf-8")
    click.echo(proof_text(proof, study.space.counts.searched, gap))


def _evaluator(file: str) -> str:
    """Name of the evaluator to prove with: the simulator, or one that knows metrics at best.

    Raises:
        ConfigError: There is no such study, or no evaluator that proves can stand in for its own.
    """
    data = read_yaml(find_study(file))
    name = str(data.get("evaluator")) if isinstance(data, dict) else ""
    own = EVALUATORS[name] if name in EVALUATORS else None  # noqa: SIM401 - a registry has no get
    if own is not None and own.bests and not own.has_bounds:
        return name
    if own is None or own.template is RunTemplate:
        return DEFAULT_EVALUATOR
    able = [DEFAULT_EVALUATOR, *(one for one, other in EVALUATORS.items() if other.bests)]
    rule = f"a gap is proven with {', '.join(able)}, none of which can stand in here"
    raise ConfigError(f"{file}: evaluator", rule, got=name)


def proof_data(proof: Proof) -> dict[str, Any]:
    """*proof* as plain data."""
    return {
        "objectives": list(proof.objectives),
        "lower_bounds": known_bounds(proof),
        "optimality_gap": dict(zip(proof.objectives, proof.gaps, strict=True)),
        "closed": proof.is_closed,
        "simulations": proof.simulations,
        "cpu_s": proof.seconds,
        "front": [
            {"design": design, "objectives": dict(zip(proof.objectives, values, strict=True))}
            for design, values in zip(proof.designs, proof.values.tolist(), strict=True)
        ],
    }


def proof_text(proof: Proof, designs: int, gap: float) -> str:
    """A few lines for people."""
    lines = []
    for index, name in enumerate(proof.objectives):
        objective, found = OBJECTIVES[name], "nothing found"
        sense: Sense = "minimise" if proof.signs[index] > 0 else "maximise"
        if len(proof.values):
            best = min if sense == "minimise" else max
            found = f"best found {best(proof.values[:, index]):.6g} {objective.unit}"
        lines.append(
            f"{objective.label}: {found}; "
            f"{bound_told(name, known_bounds(proof)[name], sense)}: "
            f"gap {percent_above(proof.gaps[index])}"
        )
    ending = "closed" if proof.is_closed else "not closed"
    lines.append(
        f"gap of {gap:.3%} {ending}: {proof.simulations:,} of {designs:,} designs simulated, "
        f"{len(proof.designs)} on the front, {proof.seconds:.1f} CPU s"
    )
    return "\n".join(lines)
