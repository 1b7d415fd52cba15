"""Every mistake of the user becomes one sentence and an exit code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from simcore import ConfigError, InfeasibleError, SimcoreError, last_words

BAD_INPUT, BROKEN, INTERRUPTED = 2, 1, 130
"""Exit codes: an input breaks a rule; a run could not be finished; stopped by Ctrl-C."""


@contextmanager
def told_plainly() -> Iterator[None]:
    """Turn exceptions into one line on stderr and an exit code."""
    try:
        yield
    except (ConfigError, InfeasibleError) as error:
        _leave(str(error), BAD_INPUT)
    except SimcoreError as error:
        _leave(str(error), BROKEN)
    except KeyboardInterrupt:
        _leave("stopped; the results so far are written.", INTERRUPTED)
    except BrokenPipeError:  # the reader of our lines has seen enough
        sys.stdout = None  # nothing more to flush
        sys.exit(BROKEN)
    except Exception as error:
        if type(error).__module__.startswith("click."):  # which reports it, or ends with it
            raise
        _leave(*last_words(error, "dse"))


def _leave(sentence: str, code: int) -> None:
    told = " ".join(sentence.splitlines())  # of what others' code says may be many
    sys.stderr.write(f"dse: {told}\n")
    sys.exit(code)
