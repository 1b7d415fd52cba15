"""Many cases at once: a manifest in, a table of results out."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from simcore.errors import ConfigError, SimcoreError
from simcore.packets.case import Case, read_case
from simcore.packets.run import FLOW_COLUMNS, Outcome, run_case
from simcore.schema import Schema

Seeds = Annotated[list[Annotated[int, Field(ge=0, lt=1 << 48)]], Field(min_length=1)]


class Entry(Schema):
    """A case of a manifest: its id, its file, and the runs that are asked of it."""

    id: str
    file: str
    seeds: Seeds = Field(default_factory=lambda: [1])


def entries_of(data: object) -> list[Entry]:
    """The entries of a manifest.

    Raises:
        ConfigError: One breaks a rule, or two have one id.
    """
    if not isinstance(data, list) or not data:
        raise ConfigError("", "a manifest must be a list of tables with id and file", got=data)
    entries = [Entry.from_file_data(row, at=f"[{index}]") for index, row in enumerate(data)]
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if entry.id in seen:
            raise ConfigError(f"[{index}].id", "must be the id of one entry alone", got=entry.id)
        seen.add(entry.id)
    return entries


def run_entries(entries: list[Entry], folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Results by id and seed; a case that breaks a rule says so and stops no other.

    Args:
        entries: What to run.
        folder: Folder that files are relative to.
    """
    results: dict[str, dict[str, dict[str, Any]]] = {}
    for entry in entries:
        try:
            case = read_case(folder / entry.file)
            found = {str(seed): as_table(_run(case, seed, entry)) for seed in entry.seeds}
        except SimcoreError as error:
            found = {str(seed): {"status": "error", "message": str(error)} for seed in entry.seeds}
        results[entry.id] = found
    return results


def _run(case: Case, seed: int, entry: Entry) -> Outcome:
    try:
        return run_case(case, seed)
    except ConfigError as error:
        raise error.in_file(entry.file) from None


def as_table(outcome: Outcome) -> dict[str, Any]:
    """The result of one run, as JSON holds it."""
    return {
        "status": "ok" if outcome.is_complete else "incomplete",
        "message": outcome.message,
        "flows_cols": list(FLOW_COLUMNS),
        "flows": outcome.flows,
        "pfc_pauses": outcome.pauses,
        "drops": outcome.drops,
        "lost": outcome.lost,
        "qmax": outcome.queues,
        "events": outcome.events,
    }
