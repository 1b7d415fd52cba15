"""Run the notebooks of the documentation and keep what their cells show.

``python docs/run_notebooks.py`` writes the outputs anew; a test holds them against what the code
does. No server and no kernel of Jupyter is needed: cells are plain Python, run one after another.
Source: nbformat 4.5, "The Notebook file format".
"""

import ast
import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "notebooks"

_REPRESENTATIONS = {"_repr_html_": "text/html", "_repr_svg_": "image/svg+xml"}


def executed(path: Path) -> str:
    """The notebook with the outputs of all its cells, as its file holds it."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            count += 1
            cell["outputs"] = _outputs("".join(cell["source"]), names, count)
            cell["execution_count"] = count
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _outputs(source: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, and the value of its last line."""
    tree, value, printed = ast.parse(source), None, io.StringIO()
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(text)})
    if value is not None:
        shown = {
            kind: _lines(getattr(value, method)())
            for method, kind in _REPRESENTATIONS.items()
            if hasattr(value, method)
        }
        data = shown or {"text/plain": _lines(repr(value))}
        result = {"data": data, "execution_count": count, "metadata": {}}
        outputs.append({**result, "output_type": "execute_result"})
    return outputs


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def main() -> None:
    """Write all notebooks anew."""
    for path in sorted(FOLDER.glob("*.ipynb")):
        path.write_text(executed(path), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
