"""The exception tree of simcore.

SimcoreError
├── ConfigError       an input breaks a rule: where, which rule, what was found
├── InfeasibleError   a legal input that cannot be built or run: an outcome, not a mistake
└── SimulationError   a simulation that cannot end (deadlock) or met a broken trace
"""


class SimcoreError(Exception):
    """Base of every exception that simcore raises on purpose."""


class ConfigError(SimcoreError, ValueError):
    """Reads "<place>: <rule>, but got <value>.", so that the line can be found and mended."""

    def __init__(self, at: str, rule: str, *, got: object) -> None:
        super().__init__(at, rule, got)
        self.at, self.rule, self.got = at, rule, got

    def __str__(self) -> str:
        where = f"{self.at}: " if self.at else ""
        return f"{where}{self.rule}, but got {_shown(self.got)}."

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_config_error, (self.at, self.rule, self.got)

    def under(self, parent: str) -> "ConfigError":
        """The same error, told from one level up the file."""
        joint = "" if not self.at or self.at.startswith("[") else "."
        return ConfigError(f"{parent}{joint}{self.at}", self.rule, got=self.got)

    @property
    def names_file(self) -> bool:
        """Whether the place begins with a file."""
        return ".yaml" in self.at or ".yml" in self.at

    def in_file(self, file: object) -> "ConfigError":
        """The same error, told of *file*, unless it names one already."""
        if self.names_file:
            return self
        return ConfigError(f"{file}: {self.at}" if self.at else str(file), self.rule, got=self.got)


class InfeasibleError(SimcoreError):
    """A design that breaks a structural or memory rule; carries the name of the rule."""

    def __init__(self, rule: str, reason: str) -> None:
        super().__init__(rule, reason)
        self.rule, self.reason = rule, reason

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


class SimulationError(SimcoreError):
    """A simulation that cannot go on; the message names the NPUs and nodes that wait."""


def _rebuild_config_error(at: str, rule: str, got: object) -> ConfigError:
    return ConfigError(at, rule, got=got)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
