"""``dse parts``: bills of materials, of networks in a table, of a trial, of a run file."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from dse.costs import PriceBook, load_prices
from dse.costs.bill import Biller, bill_data
from dse.costs.bill.builds import COLUMNS, Build, count_build
from dse.evaluate.designs.runs import DesignRuns
from dse.results.result import StudyResult, load_study
from simcore import (
    Catalogue,
    ConfigError,
    Platform,
    files_kept,
    load_npu,
    load_run,
    parse_json,
    read_text,
)


def count_rows(rows: Path, out: Path, prices: str) -> int:
    """Count the builds in the CSV *rows* into the CSV *out*; the number of them.

    Raises:
        ConfigError: The table cannot be read, or a column is missing.
    """
    book = load_prices(prices, at="--prices")
    parts = Catalogue(book.parts)
    servers: dict[str, float] = {}
    for name, part in parts.of_kind("server"):
        if not part.accelerators:
            continue
        npu = load_npu(part.accelerators[0])
        if part.npus and (npu.price_usd is not None or npu.name in book.accelerators):
            servers[name] = part.npus * book.accelerator_usd(npu)
    answers = [count_build(build, parts, servers) for build in _builds(rows)]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(answer.row() for answer in answers)
    return len(answers)


def _builds(rows: Path) -> Iterator[Build]:
    reader = csv.DictReader(StringIO(read_text(rows)), strict=True)
    missing = sorted({"case", "topology", "params"} - set(reader.fieldnames or ()))
    if missing:
        raise ConfigError(f"{rows}", f"must have the columns {', '.join(missing)}", got=None)
    try:
        for row in reader:
            yield _build(row, rows, reader.line_num)
    except csv.Error as error:
        rule = f"must be a CSV file ({error})"
        raise ConfigError(f"{rows}: line {reader.line_num}", rule, got=None) from None


def _build(row: dict[str, str], rows: Path, number: int) -> Build:
    at = f"{rows}: line {number}"
    params = parse_json(row["params"] or "{}", f"{at}: params")
    if not isinstance(params, dict):
        raise ConfigError(f"{at}: params", "must be a JSON object", got=row["params"])
    return Build(
        case=row["case"],
        topology=row["topology"],
        params=params,
        endpoints=_whole(row.get("endpoints"), f"{at}: endpoints"),
        npus=_whole(row.get("accelerators"), f"{at}: accelerators"),
        nodes=_whole(row.get("nodes"), f"{at}: nodes"),
    )


def _whole(text: str | None, at: str) -> int | None:
    if not text:
        return None
    try:
        return int(text)
    except ValueError:
        raise ConfigError(at, "must be a whole number or empty", got=text) from None


def show_bill(of: tuple[str, ...], *, prices: str, as_json: bool) -> None:
    """Print the bill of a trial (folder and number) or of a run file.

    Raises:
        ConfigError: Neither is named, or it cannot be read.
        InfeasibleError: Its network cannot be built of the parts.
    """
    platform, book = _asked(of, prices)
    bill = Biller(book).bill(platform)
    if as_json:
        print(json.dumps(bill_data(bill), indent=1))
        return
    from dse.cli.bill_table import print_bill

    print_bill(bill, platform)


def _asked(of: tuple[str, ...], prices: str) -> tuple[Platform, PriceBook]:
    """The machine that is meant, and its prices."""
    if len(of) == 1:
        return load_run(Path(of[0])).platform, load_prices(prices, at="--prices")
    if len(of) != 2 or not of[1].isdigit():
        rule = "must be followed by DIR TRIAL, by a run file, or by --rows"
        raise ConfigError("dse parts", rule, got=" ".join(of) or None)
    return _of_trial(load_study(Path(of[0])), int(of[1]), prices)


def _of_trial(result: StudyResult, number: int, prices: str) -> tuple[Platform, PriceBook]:
    """The machine of a trial, and the prices of its study."""
    rows = {row.number: row for row in result.rows}
    if number not in rows:
        rule = f"must be one of the trials 0 to {max(rows)}" if rows else "the study has no trials"
        raise ConfigError("TRIAL", rule, got=number)
    study = result.study
    with files_kept(study.files):
        platform = DesignRuns(study.evaluator_input).run(rows[number].design).platform
        cost = study.file.cost
        beside = cost.beside(study.folder) if cost else None
        return platform, load_prices(cost.prices if cost else prices, beside=beside)
