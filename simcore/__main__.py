"""``python -m simcore``."""

import sys

from simcore.errors import SimcoreError

EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 1, 2, 130


def main() -> None:
    """Run the command line; whatever goes wrong ends with one sentence and an exit code."""
    try:
        raise SystemExit(_run(sys.argv[1:]))
    except SimcoreError as error:
        _end(str(error), EXIT_BAD_INPUT)
    except BrokenPipeError:  # the reader of our lines has seen enough
        sys.stdout = None  # nothing more to flush
        raise SystemExit(EXIT_FAILED) from None
    except KeyboardInterrupt:
        _end("interrupted.", EXIT_INTERRUPTED)
    except Exception as error:
        from simcore.last_resort import last_words

        _end(*last_words(error, "simcore"))


def _run(words: list[str]) -> int:
    if words[:1] == ["astra"]:  # often shorter than the import of click, which the others use
        from simcore.cli.astra import run_astra

        return run_astra(words[1:])
    import click

    from simcore.cli.app import cli

    try:
        code = cli.main(words, prog_name="simcore", standalone_mode=False)
    except click.ClickException as error:  # a word that no command takes
        error.show()
        return error.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    return code if isinstance(code, int) else 0


def _end(sentence: str, code: int) -> None:
    sys.stderr.write(f"simcore: {sentence}\n")
    raise SystemExit(code) from None


if __name__ == "__main__":
    main()
