"""Every mistake of the user becomes one sentence and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

BAD_INPUT, BROKEN, INTERRUPTED = 2, 1, 130
"""Exit codes: an input breaks a rule; a run could not be finished; stopped by Ctrl-C."""


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn our exceptions into one line on stderr and an exit code."""
    from simcore import ConfigError, InfeasibleError, SimcoreError

    try:
        yield
    except (ConfigError, InfeasibleError) as error:
        _leave(str(error), BAD_INPUT)
    except SimcoreError as error:
        _leave(str(error), BROKEN)
    except KeyboardInterrupt:
        _leave("stopped; the results so far are written.", INTERRUPTED)


def _leave(sentence: str, code: int) -> None:
    click.echo(f"dse: {sentence}", err=True)
    sys.exit(code)
