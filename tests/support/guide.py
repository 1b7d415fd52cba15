"""The whole components that the guide to extending shows."""

import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
_PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
PARTS: dict[str, str] = dict(
    re.findall(r"```python\n# parts/(\w+)\.py\n(.*?)```", _PAGE, re.DOTALL)
)
"""Texts of the modules of the guide's package ``parts``, by name."""


def part(name: str) -> ModuleType:
    """A module of the guide, made here and not imported."""
    made = ModuleType(f"parts.{name}")
    exec(compile(PARTS[name], f"parts/{name}.py", "exec"), made.__dict__)
    return made
