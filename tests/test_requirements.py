"""The pinned sets hold every direct dependency, with hashes; what make names is there."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PINS = {"run.txt": ("report",), "test.txt": ("report", "dev"), "docs.txt": ("docs",)}


def pinned(name: str) -> dict[str, tuple[str, int]]:
    """Version and number of hashes of each package."""
    text = (ROOT / "requirements" / name).read_text().replace("\\\n", " ")
    found = {}
    for line in text.splitlines():
        if line and not line.lstrip().startswith("#"):
            package, version = re.split(r"==|\s", line)[:2]
            found[package] = (version, line.count("--hash=sha256:"))
    return found


@pytest.mark.parametrize("name", PINS)
def test_every_pin_has_a_hash(name: str) -> None:
    pins = pinned(name)
    assert len(pins) > 20
    assert all(version[0].isdigit() and hashes for version, hashes in pins.values())


@pytest.mark.parametrize(("name", "extras"), PINS.items())
def test_every_direct_dependency_is_pinned_in_its_range(name: str, extras: tuple[str, ...]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = list(project["dependencies"])
    for extra in extras:
        wanted += project["optional-dependencies"][extra]
    pins = pinned(name)
    for requirement in map(Requirement, wanted):
        package = requirement.name.lower().replace("_", "-")
        assert requirement.specifier.contains(pins[package][0]), requirement


def test_every_test_that_the_makefile_names_is_there() -> None:
    told = subprocess.run(
        ["make", "--dry-run", "--always-make", "interpreted"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    named = set(re.findall(r"(?<= )tests/\S+", told))
    assert len(named) > 10
    assert not [path for path in named if not (ROOT / path).exists()]
