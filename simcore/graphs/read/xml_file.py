"""XML files, element by element; a document type, which may declare entities, is refused."""

from collections.abc import Callable
from pathlib import Path
from xml.parsers import expat

from simcore.errors import ConfigError
from simcore.files.input_file import MAX_TEXT_BYTES, read_text


def read_xml(
    path: Path,
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None],
    text: Callable[[str], None] | None = None,
) -> None:
    """Read an XML file, and tell each element's beginning, text and end.

    Raises:
        ConfigError: It cannot be read, is no XML, or has a document type.
    """

    def refuse(*_: object) -> None:
        rule = "must be XML without a document type"
        raise ConfigError(str(path), rule, got="<!DOCTYPE")

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    if text is not None:
        parser.CharacterDataHandler = text
    parser.buffer_text = True
    try:
        parser.Parse(read_text(path, MAX_TEXT_BYTES), True)
    except expat.ExpatError as error:
        raise ConfigError(str(path), "must be valid XML", got=str(error)) from None
