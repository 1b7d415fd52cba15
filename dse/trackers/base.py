"""Base of experiment trackers."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import ClassVar

from simcore import ConfigError


class Tracker(ABC):
    """One run of another program's experiment log; where it goes is that program's to say.

    Attributes:
        package: What has to be installed, which is imported when a run begins.
    """

    package: ClassVar[str]

    @classmethod
    def module(cls) -> ModuleType:
        """The package.

        Raises:
            ConfigError: It is not installed; says how to install it.
        """
        try:
            return importlib.import_module(cls.package)
        except ModuleNotFoundError:
            rule = f"needs a package: pip install 'simcore-dse[{cls.package}]'"
            raise ConfigError("--log", rule, got=f"no {cls.package}") from None

    @abstractmethod
    def begin(self, name: str, settings: Mapping[str, str | int | float]) -> None:
        """Start a run."""

    @abstractmethod
    def log(self, values: Mapping[str, float], proposals: int) -> None:
        """Add *values* that hold after so many proposals."""

    @abstractmethod
    def keep(self, files: Sequence[Path]) -> None:
        """Copy files into the run."""

    @abstractmethod
    def end(self, *, failed: bool) -> None:
        """End the run."""
