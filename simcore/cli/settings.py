"""What several commands do alike: values by path, and files for results."""

from pathlib import Path

from simcore.errors import ConfigError


def setting(text: str) -> tuple[str, object]:
    """``path=value`` with the value read as YAML."""
    import yaml

    path, equals, value = text.partition("=")
    if not equals or not path:
        raise ConfigError("--set", "must look like plan.tp=4", got=text)
    try:
        return path.strip(), yaml.safe_load(value)
    except (yaml.YAMLError, ValueError):
        raise ConfigError(f"--set {path}", "must have a YAML value", got=value) from None


def write_text(path: Path, text: str) -> None:
    """Write a result.

    Raises:
        ConfigError: It cannot be written there.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None
