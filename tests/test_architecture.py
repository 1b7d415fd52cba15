"""Modules import only downwards, and the search sees the simulator through its public names."""

import ast
import importlib
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_FILES = 16


def _layers(package: str) -> list[list[str]]:
    """Parts of a package, row by row of the table on the page of its architecture."""
    _, _, rest = PAGE.partition(f"## {package}, layer by layer")
    section = rest.partition("\n## ")[0]
    rows = re.findall(r"^\| \d+ \| (.+?) \|", section, re.MULTILINE)
    return [re.findall(r"`(\w+)`", row) for row in rows]


SIMCORE_LAYERS, DSE_LAYERS = _layers("simcore"), _layers("dse")
PLACE = re.compile(r"(simcore|dse)(\.\w+)+:\w+")
"""Of a component that a registry imports when it is first asked for."""
MAX_LINES = 400
UNIT = ROOT / "tests" / "unit"
TESTED_ELSEWHERE = {  # packages without unit tests; the file that holds most of their tests
    "simcore/collectives": "conformance/test_collectives.py",
    "simcore/many": "property/test_many_designs.py",
    "simcore/network": "property/test_congestion.py",
    "simcore/topologies": "conformance/test_topologies.py",
    "dse/proof": "property/test_gap.py",
}
MAX_FUNCTION_LINES = 40
MAX_KERNEL_LINES = 60  # kernels take arrays one by one and are branchy by nature


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def _files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _levels(layers: list[list[str]]) -> dict[str, int]:
    return {name: level for level, row in enumerate(layers) for name in row}


def _own_layer(file: Path, package: str) -> str:
    return file.relative_to(ROOT / package).parts[0].removesuffix(".py")


def _imports(file: Path) -> list[tuple[int, str]]:
    found = []
    for node in ast.walk(_tree(file)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import"
            found.append((node.lineno, str(node.module)))
        elif isinstance(node, ast.Import):
            found += [(node.lineno, name.name) for name in node.names]
        elif isinstance(node, ast.Constant) and PLACE.fullmatch(str(node.value)):
            found.append((node.lineno, str(node.value).partition(":")[0]))
    return found


def test_simcore_imports_only_from_lower_layers() -> None:
    levels = _levels(SIMCORE_LAYERS)
    for file in _files("simcore"):
        own = _own_layer(file, "simcore")
        assert own in levels, f"{own} has no layer yet"
        for line, module in _imports(file):
            package, _, rest = module.partition(".")
            assert package != "dse", f"{file}:{line}: simcore knows nothing of the search"
            if package != "simcore":
                continue
            other = rest.split(".")[0]
            if not other and own in ("cli", "__init__", "__main__"):
                continue  # the version
            fine = other == own or levels[other] < levels[own]
            assert fine, f"{file}:{line}: {own} must not import {module}"


def test_dse_imports_only_from_lower_layers_and_public_names() -> None:
    levels = _levels(DSE_LAYERS)
    for file in _files("dse"):
        own = _own_layer(file, "dse")
        assert own in levels, f"{own} has no layer yet"
        for line, module in _imports(file):
            package, _, rest = module.partition(".")
            if package == "simcore":
                assert not rest, f"{file}:{line}: only names of simcore.__all__ cross this line"
            elif package == "dse" and rest:
                other = rest.split(".")[0]
                fine = other == own or levels[other] < levels[own]
                assert fine, f"{file}:{line}: {own} must not import {module}"


def test_places_of_components_name_what_is_there() -> None:
    sources = [file.read_text() for package in ("simcore", "dse") for file in _files(package)]
    quoted = {text for source in sources for text in re.findall(r'"([\w.]+:\w+)"', source)}
    places = sorted(filter(PLACE.fullmatch, quoted))
    assert len(places) > 50
    for place in places:
        module, _, name = place.partition(":")
        assert hasattr(importlib.import_module(module), name), place


def test_kernels_import_only_numpy_and_numba() -> None:
    allowed = {"numpy", "numba", "simcore", "typing", "heapq", "collections", "dataclasses"}
    allowed |= {"importlib", "os", "pathlib", "tempfile", "sys", "collections.abc"}
    allowed |= {"contextlib", "ctypes", "functools", "llvmlite", "shutil", "stat"}
    allowed |= {"subprocess", "time", "atexit", "errno", "pickle", "re"}
    for file in _files("simcore/kernels"):
        for line, module in _imports(file):
            assert module.split(".")[0] in allowed, f"{file}:{line}: {module}"
            if module.startswith("simcore"):
                assert module.startswith("simcore.kernels"), f"{file}:{line}: {module}"


@pytest.mark.parametrize("package", ["simcore", "dse"])
def test_every_part_has_a_layer_on_the_page_and_no_folder_too_many_files(package: str) -> None:
    parts = {_own_layer(file, package) for file in _files(package)}
    named = [part for row in _layers(package) for part in row]
    assert sorted(named) == sorted(parts)
    folders = {file.parent for file in _files(package)}
    full = [str(folder) for folder in folders if len(list(folder.glob("*.py"))) > MOST_FILES]
    assert not full


def _top_level_imports(file: Path, modules: Collection[str]) -> set[str]:
    """Those of *modules* that are imported when *file* is."""
    found = set()
    for node in _tree(file).body:
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                found.add(inner if inner in modules else str(node.module))
        elif isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
    return found & set(modules)


@pytest.mark.parametrize("package", ["simcore", "dse"])
def test_imports_form_no_circle(package: str) -> None:
    files = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in _files(package)
    }
    graph = {name: _top_level_imports(file, files) - {name} for name, file in files.items()}
    while graph:
        free = [name for name, others in graph.items() if not others & set(graph)]
        assert free, f"in a circle, or leading into one: {sorted(graph)}"
        for name in free:
            del graph[name]


def _lines_less_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines from ``def`` to the end, so that a longer signature counts, and docstrings do not."""
    lines = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return lines
    docstring = function.body[0]
    return lines - ((docstring.end_lineno or 0) - docstring.lineno + 1)


@pytest.mark.parametrize("package", ["simcore", "dse"])
def test_files_and_functions_stay_small(package: str) -> None:
    long = []
    for file in _files(package):
        name, text = file.relative_to(ROOT).as_posix(), file.read_text()
        if text.count("\n") > MAX_LINES:
            long.append(f"{name} has {text.count(chr(10))} lines, at most {MAX_LINES}")
        most = MAX_KERNEL_LINES if name.startswith("simcore/kernels/") else MAX_FUNCTION_LINES
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = _lines_less_docstring(node)
                if lines > most:
                    where = f"{name}:{node.lineno} {node.name}"
                    long.append(f"{where} has {lines} lines less its docstring, at most {most}")
    assert not long, "\n".join(long)


def _has_tests(folder: Path) -> bool:
    return any(folder.rglob("test_*.py"))


def test_unit_tests_lie_where_the_code_does() -> None:
    """``tests/unit/engines`` tests ``simcore/engines``, ``tests/unit/dse/store`` ``dse/store``."""
    for folder in sorted(path for path in UNIT.rglob("*") if path.is_dir() and _has_tests(path)):
        name = folder.relative_to(UNIT).as_posix()
        package = ROOT / name if name.split("/")[0] == "dse" else ROOT / "simcore" / name
        assert (package / "__init__.py").is_file(), f"tests/unit/{name} names no package"


def test_every_package_has_tests_of_its_own() -> None:
    for name in ("simcore", "dse"):
        home = UNIT / "dse" if name == "dse" else UNIT
        packages = sorted(path.parent for path in (ROOT / name).glob("*/__init__.py"))
        for package in packages:
            elsewhere = TESTED_ELSEWHERE.get(package.relative_to(ROOT).as_posix())
            if elsewhere is None:
                assert _has_tests(home / package.name), f"no tests of {package}"
            else:
                assert (ROOT / "tests" / elsewhere).is_file(), elsewhere
                assert not (home / package.name).exists(), f"{package} has unit tests by now"


def test_files_of_tests_and_benchmarks_stay_small() -> None:
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    assert not [str(file) for file in files if file.read_text().count("\n") > MAX_LINES]


OWN_READERS = {  # what nobody hands in: shipped files, own caches, the system's tables
    "simcore/files/input_file.py",
    "simcore/files/json_file.py",
    "simcore/files/yaml_file.py",
    "simcore/last_resort.py",
    "simcore/plugins.py",
    "simcore/public_names.py",
    "simcore/formats/astra/traces/load.py",
    "simcore/validation/report.py",
    "simcore/synthesis/placed/kept.py",
    "dse/run/cache.py",
    "dse/code_digests.py",
    "dse/evaluate/own/programs.py",
    "dse/evaluate/own/serve.py",
    "dse/evaluate/workers/worker.py",
    "dse/evaluate/workers/local_pool.py",
    "dse/evaluate/workers/ray_start.py",
}
OWN_FOLDERS = ("simcore/kernels/", "dse/store/")
READERS = {"open", "io.open", "os.open", "gzip.open", "gzip.GzipFile", "gzip.decompress"}
READERS |= {f"{module}.load" for module in ("json", "yaml", "np", "pickle", "tomllib")}
READERS |= {"json.loads", "yaml.safe_load", "np.fromfile", "np.memmap", "np.loadtxt"}


def _reads(call: ast.Call) -> bool:
    """Whether *call* opens a file to read it, or parses what stands in one."""
    modes = [str(arg.value) for arg in call.args if isinstance(arg, ast.Constant)]
    if isinstance(call.func, ast.Attribute) and call.func.attr == "open":
        return not call.args or any(mode.startswith("r") for mode in modes)
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("read_text", "read_bytes"):
        return True
    writes = any(mode[:1] in ("w", "a", "x") for mode in modes)
    return ast.unparse(call.func) in READERS and not writes


@pytest.mark.parametrize("package", ["simcore", "dse"])
def test_files_come_in_through_one_door(package: str) -> None:
    found = []
    for file in _files(package):
        name = str(file.relative_to(ROOT))
        if name in OWN_READERS or name.startswith(OWN_FOLDERS):
            continue
        for node in ast.walk(_tree(file)):
            if isinstance(node, ast.Call) and _reads(node):
                found.append(f"{name}:{node.lineno} {ast.unparse(node)}")
    assert not found, "read with simcore.files.input_file:\n" + "\n".join(found)


LEANING = re.compile(
    r"(?:(?:To|By|With|From|After|In|On|At|Of|For) )?"
    r"(?:What|Whether|How|Where|Which|Who|Whom|Whose|When|Why|If|As|Of|That|Those|The same)\b",
    re.IGNORECASE,
)


def _docstrings(tree: ast.AST) -> list[tuple[int, str]]:
    """Line and text of each docstring: of modules, classes, functions, constants and fields."""
    found = []
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for inner in body if isinstance(body, list) else []:
            text = inner.value if isinstance(inner, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found.append((inner.lineno, text.value))
    return found


def test_docstrings_begin_with_a_noun_or_a_verb() -> None:
    leaning = [
        f"{file.relative_to(ROOT)}:{line} {text.splitlines()[0]}"
        for package in ("simcore", "dse")
        for file in _files(package)
        for line, text in _docstrings(_tree(file))
        if LEANING.match(text)
    ]
    assert not leaning, "\n".join(leaning)
