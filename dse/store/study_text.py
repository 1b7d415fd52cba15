"""The study as run, as text, and whether another one may go on with its trials."""

from pathlib import Path
from typing import Any

import yaml

from dse.code_digests import versions
from dse.study.compile import Study
from simcore import ConfigError, files_kept, read_yaml

_MAY_DIFFER = ("execution", "versions", "question", "source", "reference_point")


def study_data(study: Study) -> dict[str, Any]:
    """The study as run, as plain data of a study file."""
    data = study.file.model_dump(mode="json", by_alias=True)
    data["folder"] = study.folder or None
    data["versions"] = versions()
    return data


def study_text(study: Study) -> str:
    """The study as run, as the text of a study file."""
    return yaml.safe_dump(study_data(study), sort_keys=False, allow_unicode=True, width=100)


def check_same(path: Path, study: Study) -> None:
    """A study may go on with more trials or other workers, not with other designs.

    Raises:
        ConfigError: *study* differs from the one in the file at *path*; says where.
    """
    with files_kept({}):
        old, new = read_yaml(path), study_data(study)
    if not isinstance(old, dict) or not isinstance(old.get("search"), dict):
        raise ConfigError(str(path), "must be the study as run", got=old)
    for data in (old, new):
        for key in _MAY_DIFFER:
            data.pop(key, None)
        for key in ("trials", "promote", "controls"):
            data["search"].pop(key, None)
    for key in new:
        if old.get(key) != new[key]:
            rule = f"must be as in {path} for the study to be resumed"
            raise ConfigError(key, rule, got=new[key])
