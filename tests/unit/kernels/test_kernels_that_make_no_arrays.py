"""Kernels that are said to make no arrays make none, nor does anything that they call.

Such a kernel counts no references, so an array that it made would never be freed.
"""

import ast
from pathlib import Path

import simcore

KERNELS = Path(simcore.__file__).parent / "kernels"
PLAIN = {"range", "min", "max", "abs", "int", "float", "bool", "len", "round"}
NUMPY = ("sqrt", "log", "cos", "ceil", "floor", "isinf", "uint64", "int64")
PLAIN |= {f"np.{name}" for name in NUMPY}


def said() -> dict[str, ast.FunctionDef]:
    """Functions that are said to make no arrays, by module and name."""
    found = {}
    for file in sorted(KERNELS.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(map(_is_said, node.decorator_list)):
                found[f"{_module(file)}.{node.name}"] = node
    return found


def _is_said(decorator: ast.expr) -> bool:
    text = ast.unparse(decorator)
    return text == "leaf" or "makes_arrays=False" in text


def _module(file: Path) -> str:
    return ".".join(file.relative_to(KERNELS.parent.parent).with_suffix("").parts)


def _full_names(module: str) -> dict[str, str]:
    """Full names of what a module defines and imports, by those that it uses."""
    file = KERNELS.parent.parent / Path(*module.split(".")).with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    own = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    names = {name: f"{module}.{name}" for name in own}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return names


def _called(function: ast.FunctionDef, names: dict[str, str]) -> list[str]:
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    calls = [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]
    heads = [call.partition(".") for call in calls]
    return [names.get(head, head) + dot + rest for head, dot, rest in heads]


def test_they_call_their_like_and_plain_arithmetic_alone() -> None:
    found = said()
    assert len(found) > 50
    for name, function in found.items():
        for called in _called(function, _full_names(name.rpartition(".")[0])):
            assert called in found or called in PLAIN, f"{name} calls {called}"


def test_they_return_numbers_and_list_nothing() -> None:
    for name, function in said().items():
        returned = ast.unparse(function.returns) if function.returns else "nothing said"
        numbers = returned.removeprefix("tuple[").removesuffix("]").split(", ")
        assert {*numbers} <= {"int", "float", "bool", "None", "Any"}, f"{name} returns {returned}"
        lists = [node for node in ast.walk(function) if isinstance(node, ast.List | ast.ListComp)]
        assert not lists, name
