"""What is compiled into its callers, without counts of references, makes no array."""

import ast
from pathlib import Path

import simcore

KERNELS = Path(simcore.__file__).parent / "kernels"
NUMBERS = {"int", "float", "bool", "None", "Any"}
PLAIN = {"range", "min", "max", "abs", "int", "float", "len"}


def leaves() -> dict[str, ast.FunctionDef]:
    """Functions marked ``@leaf``, by module and name."""
    found = {}
    for file in sorted(KERNELS.rglob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and "leaf" in map(
                ast.unparse, node.decorator_list
            ):
                found[f"{_module(file)}.{node.name}"] = node
    return found


def _module(file: Path) -> str:
    return ".".join(file.relative_to(KERNELS.parent.parent).with_suffix("").parts)


def _imported(module: str) -> dict[str, str]:
    """Full names by those that a module uses."""
    file = KERNELS.parent.parent / Path(*module.split(".")).with_suffix(".py")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {node.name: f"{module}.{node.name}" for node in tree.body if hasattr(node, "name")}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
    return names


def test_leaves_call_leaves_and_plain_arithmetic_alone() -> None:
    found = leaves()
    assert len(found) > 20
    for name, function in found.items():
        module = name.rpartition(".")[0]
        names = _imported(module)
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            called = ast.unparse(call.func)
            full = names.get(called, called)
            fine = (
                full in found
                or called in PLAIN
                or called in ("np.sqrt", "np.log", "np.cos", "np.uint64")
            )
            assert fine, f"{name} calls {called}, which may make an array"


def test_leaves_return_numbers() -> None:
    for name, function in leaves().items():
        returned = ast.unparse(function.returns) if function.returns else "nothing said"
        assert returned in NUMBERS, f"{name} returns {returned}"
        assert not any(isinstance(node, ast.List | ast.ListComp) for node in ast.walk(function)), (
            name
        )
