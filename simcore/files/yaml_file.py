"""Reads YAML as data: safe types only, bounded in every respect, duplicate keys refused."""

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from pickle import HIGHEST_PROTOCOL, dumps, loads
from typing import Any

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import Resolver
from yaml.scanner import Scanner

from simcore.errors import ConfigError
from simcore.files.input_file import MAX_DEPTH, MAX_TABLE_BYTES, is_writable, kept_text, read_text

FILE_VERSION = 1
"""Version of the format of all files in ``configs/``; a file of another one is refused."""

MAX_NODES = 100_000
"""Keys, values, lists and tables of a file, where each alias counts as all that it repeats."""
MAX_NUMBER_LENGTH = 400
"""Characters of a number; the greatest float has 309 digits."""

_REMEMBERED_LENGTH = 2**18
"""Characters of the longest text of which the content is remembered."""

_MERGE = "tag:yaml.org,2002:merge"


if yaml.__with_libyaml__:
    from yaml.cyaml import CParser as _Parser  # type: ignore[attr-defined] # 5 times as fast
else:

    class _Parser(Reader, Scanner, Parser):  # type: ignore[no-redef]
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)


class _Loader(Composer, _Parser, SafeConstructor, Resolver):
    """Safe loader that counts what aliases stand for, and refuses what readers pass in silence."""

    def __init__(self, text: str) -> None:
        _Parser.__init__(self, text)
        Composer.__init__(self)
        SafeConstructor.__init__(self)
        Resolver.__init__(self)
        self._nodes = self._depth = 0
        self._sizes: dict[yaml.Node, tuple[int, int]] = {}

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """One node with all below it; remembers how many nodes and how many levels these are."""
        if self.check_event(yaml.AliasEvent):
            return self._repeated(parent, index)
        mark = self._mark()
        first, self._depth = self._nodes, self._depth + 1
        self._count(1, self._depth, mark)
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is not None:
            below = [self._sizes[inner][1] for inner in _inner_nodes(node)]
            if isinstance(node, yaml.ScalarNode) and not is_writable(node.value):
                raise _problem("half a character", mark)
            self._sizes[node] = (self._nodes - first, 1 + max(below, default=0))
        return node

    def _repeated(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        mark = self._mark()
        node = super().compose_node(parent, index)
        if node is not None:
            if node not in self._sizes:
                raise _problem("an alias inside what it stands for", mark)
            size, levels = self._sizes[node]
            self._count(size, self._depth + levels, mark)
        return node

    def _mark(self) -> Any:
        return self.peek_event().start_mark  # type: ignore[union-attr]

    def _count(self, nodes: int, depth: int, mark: Any) -> None:
        self._nodes += nodes
        if self._nodes > MAX_NODES:
            raise _problem(f"more than {MAX_NODES:,} values, counting each alias in full", mark)
        if depth > MAX_DEPTH:
            raise _problem(f"more than {MAX_DEPTH} levels", mark)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A table; its keys are plain words or numbers, and each stands there once."""
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == _MERGE:
                problem = "a merge key (<<), which is not supported: write its keys out"
                raise _problem(problem, key_node.start_mark)
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise _problem("a key that is no plain word", key_node.start_mark)
            if key in seen:
                raise _problem(f"the key {str(key)[:80]!r} stands here twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def construct_number(self, node: yaml.ScalarNode) -> int | float:
        """A number of bounded length, and none that YAML 1.1 alone reads to base 8 or 60."""
        if len(node.value) > MAX_NUMBER_LENGTH:
            problem = f"a number of more than {MAX_NUMBER_LENGTH} characters"
            raise _problem(problem, node.start_mark)
        if base := _odd_base(node):
            what = f"{node.value[:80]}, a number to base {base} in YAML"
            problem = f"{what}: write it to base 10, or quote it"
            raise _problem(problem, node.start_mark)
        if node.tag.endswith(":int"):
            return self.construct_yaml_int(node)
        return self.construct_yaml_float(node)


def _odd_base(node: yaml.ScalarNode) -> int:
    """Base that YAML 1.1 reads a number to though nothing names it: 60, 8, or 0 for none such."""
    digits = node.value.lstrip("+-").replace("_", "")
    if ":" in digits:
        return 60
    is_octal = len(digits) > 1 and digits[0] == "0" and digits.isdigit()
    return 8 if is_octal and node.tag.endswith(":int") else 0


for _kind in ("int", "float"):
    _Loader.add_constructor(  # type: ignore[type-var]
        f"tag:yaml.org,2002:{_kind}", _Loader.construct_number
    )


def _problem(text: str, mark: Any) -> yaml.MarkedYAMLError:
    return yaml.constructor.ConstructorError(None, None, text, mark)


def _inner_nodes(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [inner for pair in node.value for inner in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def read_yaml(path: Path) -> Any:
    """The content of a YAML file as plain Python data.

    Raises:
        ConfigError: The file cannot be read, is too large or is not valid YAML; says the line.
    """
    return parse_yaml(text_of_yaml(path), str(path))


def text_of_yaml(path: Path) -> str:
    """The text of a YAML file, which a study that needs it keeps.

    Raises:
        ConfigError: The file cannot be read, or is too large.
    """
    return kept_text(path, lambda: read_text(path, MAX_TABLE_BYTES))


def parse_yaml(text: str, at: str) -> Any:
    """The content of *text*, which stands *at* a place, as plain Python data.

    Raises:
        ConfigError: It is not valid YAML, or holds too much; says the line.
    """
    if not is_writable(text):
        raise ConfigError(at, "must hold whole characters", got=text)
    try:
        if len(text) > _REMEMBERED_LENGTH:
            return _Loader(text).get_single_data()
        return loads(_pickled(text))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", "not valid YAML")
        raise ConfigError(f"{at}{line}", "must be valid YAML", got=problem) from None
    except (ValueError, KeyError, AttributeError, OverflowError, TypeError):
        # PyYAML's readers of dates, numbers and tagged values let Python's own errors through
        got = "a date, number or tagged value that is none"
        raise ConfigError(at, "must be valid YAML", got=got) from None


@lru_cache(maxsize=512)
def _pickled(text: str) -> bytes:
    """Content of *text*, to be copied: a study asks for the same parts and prices many times.

    What is read is changed by those who asked for it, so that each gets a copy.
    """
    return dumps(_Loader(text).get_single_data(), HIGHEST_PROTOCOL)


def read_table(path: Path) -> dict[str, Any]:
    """The table in a file of its own, under the file's name unless it gives itself another.

    Raises:
        ConfigError: It is no table, or its ``version`` is not ``FILE_VERSION``.
    """
    table = read_yaml(path)
    if not isinstance(table, dict):
        raise ConfigError(str(path), "must be a table of keys and values", got=table)
    version = table.pop("version", None)
    if version != FILE_VERSION:
        raise ConfigError(f"{path}: version", f"must be {FILE_VERSION}", got=version)
    return {"name": path.stem, **table}
