"""Origins of the outcomes of a study besides its file: named files, code, packages."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from dse.code_digests import DECIDING, code_digests, versions
from dse.space import Design
from dse.study.compile import Study
from dse.study.own_metrics import command_digests
from dse.study.trials import Trial
from simcore import (
    ConfigError,
    files_kept,
    parse_json,
    parse_yaml,
    read_text,
    read_yaml,
    shipped_folder,
)

_SHIPPED = "shipped:"
_TABLE = ".csv"
_MOST_TOLD = 4
"""Differences of one kind that are told; of others, how many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """One state of everything that outcomes depend on besides the study file.

    Attributes:
        folder: That of the study, where relative paths start.
        files: Texts of the files that the study names, and of those that they name. Names are as
            seen from the study's folder, or begin with ``shipped:``.
        start: The designs that the search began with, as JSON.
        learned: SHA-256 of the trials of each study of ``search.learn_from``, by its folder.
        code: Hashes of the sources by part.
        versions: Of Python and of packages.
    """

    folder: str
    files: Mapping[str, str]
    start: str
    code: Mapping[str, str]
    versions: Mapping[str, str]
    learned: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        study: Study,
        start: Sequence[Design] = (),
        learned: Mapping[str, str] | None = None,
    ) -> Self:
        """The present one of a study that has been checked."""
        return cls(
            folder=study.folder,
            files={_name(path, study.folder): text for path, text in study.files.items()},
            start=json.dumps(list(start)),
            code={**code_digests(study.texts), **command_digests(study.file)},
            versions=_deciding_versions(),
            learned=dict(learned or {}),
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The one that ``as_text`` was made of.

        Raises:
            ValueError: It was none.
        """
        found = parse_json(text, "provenance")
        if isinstance(found, dict):
            found.setdefault("learned", {})  # stores from before have none
        if not isinstance(found, dict) or set(found) != set(cls.__slots__) or not _is_plain(found):
            raise ValueError("what its trials come from cannot be read")
        return cls(**found)

    def as_text(self) -> str:
        """JSON text."""
        return json.dumps(asdict(self))

    def texts(self) -> dict[str, str]:
        """Texts of the files by absolute path."""
        return {str(_path(name, self.folder)): text for name, text in self.files.items()}

    def now(self) -> Self:
        """Provenance today: the same files as they are now, today's code and packages.

        Components from outside count as they were: nothing of theirs is loaded to look at it.
        """
        texts = {name: _text_of(_path(name, self.folder)) for name in self.files}
        files = {name: text for name, text in texts.items() if text is not None}
        own = code_digests()
        outside = {name: digest for name, digest in self.code.items() if "/" not in name}
        return replace(self, files=files, code={**own, **outside}, versions=_deciding_versions())

    def changes_to(self, other: "Provenance") -> list[str]:
        """Differences of *other*, in words; empty: nothing that matters."""
        changes = []
        for name in sorted({*self.files, *other.files}):
            changes += _file_changes(name, self.files.get(name), other.files.get(name))
        for name, _, _ in _differences(self.learned, other.learned):
            changes.append(f"search.learn_from: the trials of {name} are others than before")
        if self.start != other.start and self.learned == other.learned:
            changes.append("search.start: other designs than before")
        for name, was, now in _differences(self.versions, other.versions):
            changes.append(f"{name} was {was or 'not there'}, is now {now or 'gone'}")
        if parts := [name for name, *_ in _differences(self.code, other.code)]:
            changes.append(f"the code of {_some(parts)} has changed")
        return changes


def next_number(known: Sequence[Provenance], now: Provenance, *, accepts: bool) -> int:
    """Number of the provenance of what comes: that of the last one, or a new one.

    Args:
        known: Those that a study has had so far, in their order.
        now: The present one.
        accepts: Whether it may be another one than the last.

    Raises:
        ConfigError: It is, and may not; says what has changed.
    """
    changes = known[-1].changes_to(now) if known else []
    if changes and not accepts:
        rule = "the study must go on with what it was run with (--accept-changes goes on all the "
        rule += "same and marks the rows that follow, --out starts anew)"
        raise ConfigError("--resume", rule, got="; ".join(changes))
    return len(known) - (not changes and bool(known))


def provenance_summary(
    known: Sequence[Provenance], rows: Iterable[Trial], front: Iterable[Trial]
) -> dict[str, Any]:
    """Entry ``provenances`` of ``summary.json``; nothing where all rows have one."""
    counts, on_front = Counter(row.provenance for row in rows), Counter(r.provenance for r in front)
    if len(counts) < 2:
        return {}
    pairs = enumerate(pairwise(known), start=1)
    changes = {0: list[str]()} | {number: was.changes_to(now) for number, (was, now) in pairs}
    listed = [
        {
            "provenance": number,
            "rows": counts[number],
            "front": on_front[number],
            "changes": changes[number],
        }
        for number in sorted(counts)
    ]
    return {"provenances": listed}


def provenance_lines(summary: Mapping[str, Any]) -> list[str]:
    """Warning about mixed provenances; nothing where there is one."""
    listed = summary.get("provenances", [])
    mixed = sum(one["front"] > 0 for one in listed)
    if not listed:
        return []
    lines = [f"rows of {len(listed)} provenances, {mixed} of them on the front, are compared here"]
    for one in listed:
        why = "; ".join(one["changes"]) or "as it was before"
        told = f"{one['rows']} rows, {one['front']} on the front"
        lines.append(f"provenance {one['provenance']}: {told}: {why}")
    return lines


def changed_since(last: Sequence[Provenance]) -> list[str]:
    """Changes since trials of the *last* provenance, if there is one, were evaluated."""
    if not last or not (changes := last[-1].changes_to(last[-1].now())):
        return []
    told = "; ".join(changes)
    return [f"changed since it was run: {told} (files are taken as they were, code as it is)"]


def _deciding_versions() -> dict[str, str]:
    return {name: text for name, text in versions().items() if name in ("python", *DECIDING)}


def _name(path: str, folder: str) -> str:
    for root, prefix in ((shipped_folder("configs"), _SHIPPED), (Path(folder), "")):
        if Path(path).is_relative_to(root):
            return f"{prefix}{Path(path).relative_to(root).as_posix()}"
    return path


def _path(name: str, folder: str) -> Path:
    if name.startswith(_SHIPPED):
        return shipped_folder("configs") / name.removeprefix(_SHIPPED)
    return Path(folder, name)


def _text_of(path: Path) -> str | None:
    texts: dict[str, str] = {}
    try:
        if path.suffix == _TABLE:
            return read_text(path)
        with files_kept(texts):
            read_yaml(path)
    except ConfigError:  # it is gone, or no YAML any more
        return None
    return next(iter(texts.values()))


def _file_changes(name: str, was: str | None, now: str | None) -> list[str]:
    """Differences in content; comments are none."""
    if was == now:
        return []
    if was is None or now is None:
        return [f"{name} is {'gone' if now is None else 'new'}"]
    old, new = (_content(text, name) for text in (was, now))
    found = [
        f"{key} was {_shown(was)}, is now {_shown(now)}" for key, was, now in _differences(old, new)
    ]
    return [f"{name}: {_some(found)}"] if found else []


def _content(text: str, name: str) -> dict[str, Any]:
    """Values of a file by path, of a table its lines."""
    if name.endswith(_TABLE):
        return {f"line {number}": line for number, line in enumerate(text.split("\n"), 1)}
    return dict(_values(parse_yaml(text, name)))


def _values(content: object, at: str = "") -> Iterable[tuple[str, Any]]:
    """Single values of a file by path."""
    if isinstance(content, dict) and content:
        for key, value in content.items():
            yield from _values(value, f"{at}.{key}" if at else str(key))
    elif isinstance(content, list) and content:
        for index, value in enumerate(content):
            yield from _values(value, f"{at}[{index}]")
    else:
        yield at, content


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    names = dict.fromkeys([*old, *new])
    return [(n, old.get(n), new.get(n)) for n in names if old.get(n) != new.get(n)]


def _shown(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_plain(found: Mapping[str, object]) -> bool:
    """True if the values are texts, or tables of texts."""
    tables = [value.items() for value in found.values() if isinstance(value, dict)]
    rest = [value for value in found.values() if not isinstance(value, dict)]
    texts = [text for table in tables for item in table for text in item]
    return all(isinstance(text, str) for text in [*rest, *texts]) and len(tables) == 4


def _some(items: Sequence[str]) -> str:
    told = ", ".join(items[:_MOST_TOLD])
    return told + (f" and {len(items) - _MOST_TOLD} more" if len(items) > _MOST_TOLD else "")
