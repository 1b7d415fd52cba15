"""``python -m dse``."""

from dse.cli.errors import told_plainly


def main() -> None:
    """Run the command line; whatever goes wrong ends with one sentence and an exit code."""
    with told_plainly():
        from dse.cli import main as commands

        commands()


if __name__ == "__main__":
    main()
