"""What README and the documentation print is what the code does."""

import pkgutil
import re
import shlex
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import click
import pytest
import yaml
from every_case import with_every
from pydantic import BaseModel

import dse
import simcore
from dse.cli import main as dse_cli
from simcore.cli.app import cli as simcore_cli
from simcore.cli.astra import HELP

ROOT = Path(__file__).parent.parent
DOCS = sorted((ROOT / "docs").glob("*.md"))
CONTRIBUTING, CHANGELOG = ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"
PAGES = [ROOT / "README.md", CONTRIBUTING, CHANGELOG, *DOCS]
STUDIES = sorted((ROOT / "studies").glob("*.yaml"))
RUNS = sorted((ROOT / "configs" / "runs").glob("*.yaml"))
COMMANDS = {"simcore": simcore_cli, "dse": dse_cli}

_BLOCK = re.compile(r"(?:<!-- (study|run) file -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def _blocks(page: Path, language: str) -> Iterator[tuple[str, str]]:
    """Mark and text of each code block of *page* in *language*."""
    for mark, name, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if name == language:
            yield mark, text


def _printed_commands() -> list[tuple[str, str, list[str]]]:
    """Page, package and words of each ``python -m ...`` line in a shell block."""
    found = []
    for page in PAGES:
        for _, text in _blocks(page, "sh"):
            for line in text.replace("\\\n", " ").splitlines():
                words = shlex.split(line, comments=True)
                if len(words) > 2 and words[0].endswith("python") and words[1] == "-m":
                    found.append((page.name, words[2], words[3:]))
    return found


def _anchors(page: Path) -> set[str]:
    """Anchors of the headings of *page*, as the site and GitHub make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_on_the_page_is_what_it_says_it_is(page: Path, tmp_path: Path) -> None:
    for number, (mark, text) in enumerate(_blocks(page, "yaml")):
        assert isinstance(yaml.safe_load(text), dict)
        file = tmp_path / f"block{number}.yaml"
        file.write_text(text, encoding="utf-8")
        if mark == "study":
            dse.check_study(file)
        elif mark == "run":
            simcore.check_run(simcore.load_run(file))


def test_there_is_a_study_and_a_run_to_check_on_the_pages() -> None:
    marks = {mark for page in PAGES for mark, _ in _blocks(page, "yaml")}
    assert marks >= {"study", "run"}


@with_every("page, package, words", _printed_commands())
def test_printed_command_exists_with_its_options(page: str, package: str, words: list[str]) -> None:
    command: click.Command = COMMANDS[package]
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"{page}: no command {words[0]}"
        command, words = found, words[1:]
    known = {name for parameter in command.params for name in parameter.opts}
    if command.name == "astra":  # reads its words itself
        known = set(re.findall(r"--[a-z-]+", HELP))
    unknown = [word for word in words if word.startswith("--") and word.split("=")[0] not in known]
    assert not unknown, f"{page}: {command.name} has no {unknown}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name) if name else page
        assert file.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in _anchors(file), f"{page.name}: {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_folders_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    own = r"simcore|dse|benchmarks|configs|docs|tests/(?:unit|property|conformance|golden|oracles)"
    for name in re.findall(rf"`((?:{own})/[\w./-]+)`", text):
        assert (ROOT / name).exists(), f"{page.name}: {name}"


def test_the_picture_of_the_layers_is_drawn_from_the_tables_of_its_page() -> None:
    spec = spec_from_file_location("draw_layers", ROOT / "docs" / "draw_layers.py")
    assert spec is not None
    assert spec.loader is not None
    drawer = module_from_spec(spec)
    spec.loader.exec_module(drawer)
    page = drawer.PAGE.read_text(encoding="utf-8")
    assert drawer.PICTURE.read_text(encoding="utf-8") == drawer.drawing(page)
    for package in ("simcore", "dse"):
        parts = {part for row in drawer.layers(page, package) for part in row}
        assert len(parts) > 10
        assert all(f">{part}</text>" in drawer.drawing(page) for part in parts)


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r": (\S+\.md)$", text, re.MULTILINE)
    assert sorted(listed) == [page.name for page in DOCS]


@pytest.mark.parametrize("file", STUDIES, ids=lambda file: file.name)
def test_shipped_study_passes_its_check(file: Path) -> None:
    study = dse.check_study(file)
    assert study.space.counts.valid > 0
    assert study.file.question


@pytest.mark.parametrize("file", RUNS, ids=lambda file: file.name)
def test_shipped_run_can_be_built_and_fits_in_memory(file: Path) -> None:
    simcore.check_run(simcore.load_run(file))


def test_quick_start_is_two_lines_that_the_makefile_has_and_ci_runs() -> None:
    quick, _, _ = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Five-minute tour")
    lines = [text.strip() for text in re.findall(r"```sh\n(.*?)```", quick, re.DOTALL)]
    assert lines == ["make study", "make test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "\t$(BIN)/python -m dse study $(STUDY) $(STUDY_ARGS)\n" in makefile
    assert "STUDY ?= llm_gpt.yaml\n" in makefile
    assert "\t$(BIN)/python -m pytest -n auto " in makefile
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert "make test" in ci
    assert any(line.startswith("make study ") for line in ci)


def test_the_changelog_has_its_sections_in_order_under_each_version() -> None:
    text = CHANGELOG.read_text(encoding="utf-8")
    order = ["Added", "Changed", "Deprecated", "Removed", "Fixed"]
    versions = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    for version in versions:
        assert re.match(r"\d+\.\d+\.\d+ \((unreleased|\d{4}-\d\d-\d\d)\)\n", version), version[:40]
        sections = re.findall(r"^### (.+)$", version, re.MULTILINE)
        assert sections == [name for name in order if name in sections]
        assert sections
    numbers = [tuple(map(int, version.split(" ")[0].split("."))) for version in versions]
    assert numbers == sorted(numbers, reverse=True)
    assert versions[0].startswith(f"{simcore.__version__} ")


def test_targets_that_contributors_are_told_of_are_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    named = set(re.findall(r"make (\w+)", CONTRIBUTING.read_text(encoding="utf-8")))
    assert named >= {"setup", "test", "lint", "docs", "interpreted", "versions", "coverage"}
    for target in named:
        assert re.search(rf"^{target}:.*  ## ", makefile, re.MULTILINE), target
    for target in named - {"setup", "coverage"}:
        assert re.search(rf"^make .*\b{target}\b", ci, re.MULTILINE), target


def test_names_in_the_tables_of_study_files_are_those_of_the_code() -> None:
    from dse.evaluate import EVALUATORS
    from dse.objectives import CONSTRAINTS, OBJECTIVES
    from dse.samplers.registry import SAMPLERS

    text = (ROOT / "docs" / "study-files.md").read_text(encoding="utf-8")
    for name in (*OBJECTIVES, *CONSTRAINTS, *SAMPLERS, *EVALUATORS):
        assert f"`{name}`" in text, name


def test_keys_of_study_and_run_files_are_all_described() -> None:
    from dse.space.file import AxisFile, ProductFile, SpaceFile
    from dse.study.file import ExecutionFile, SearchFile, StudyFile
    from simcore.workload import Updates
    from simcore.workload.kinds.cnn import CnnWorkload, ConvolutionalNet, LayerGroup, LayerRowFile
    from simcore.workload.kinds.dlrm import DlrmWorkload, RecommendationNet, Table, Tables
    from simcore.workload.kinds.transformer.model_parts import Vision

    study = (ROOT / "docs" / "study-files.md").read_text(encoding="utf-8")
    for model in (StudyFile, SearchFile, ExecutionFile, SpaceFile, ProductFile, AxisFile):
        for key, field in model.model_fields.items():
            assert re.search(rf"`{field.alias or key}\b", study), f"{model.__name__}.{key}"
    machine = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    work = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")
    parts: dict[type[BaseModel], str] = {
        simcore.System: machine,
        simcore.TrainingWorkload: work,
        simcore.ParallelPlan: work,
        simcore.Model: work,
        CnnWorkload: work,
        ConvolutionalNet: work,
        LayerGroup: work,
        LayerRowFile: work,
        DlrmWorkload: work,
        RecommendationNet: work,
        Table: work,
        Tables: work,
        Updates: work,
        Vision: work,
    }
    for part, page in parts.items():
        for key, field in part.model_fields.items():
            if key not in ("execution", "name", "source", "model"):  # one profile so far; names
                assert f"`{field.alias or key}`" in page, f"{part.__name__}.{key}"


def test_every_name_of_the_reference_page_is_there() -> None:
    named = re.findall(r"^::: (\S+)", (ROOT / "docs" / "api.md").read_text(), re.MULTILINE)
    assert len(named) > 10
    for name in named:
        assert pkgutil.resolve_name(name) is not None
