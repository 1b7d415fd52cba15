"""Every price that is shipped says where it is from, of when it is, and under which terms."""

import re
from pathlib import Path

import pytest
import yaml
from every_case import with_every

from simcore import Part, shipped_folder, shipped_parts

PARTS = shipped_parts()
BOOKS = sorted(shipped_folder("configs").glob("costs/*.yaml"))
NPUS = sorted(shipped_folder("configs").glob("npus/*.yaml"))


@with_every("name", list(PARTS))
def test_an_entry_names_its_source_its_date_and_its_licence(name: str) -> None:
    part = PARTS[name]
    assert len(part.source) > 10
    assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", part.date)
    assert part.licence
    if "figures" in part.licence:
        assert re.search(r"without a licence|under copyright|MIT|Apache|CC", part.licence)


@with_every("name", list(PARTS))
def test_a_price_has_a_low_and_a_high_one_and_says_if_it_is_an_estimate(name: str) -> None:
    part = PARTS[name]
    if part.price_usd is None:
        assert is_in_the_price_of_accelerators(part)
        return
    assert part.low_usd is not None
    assert part.high_usd is not None
    assert part.low_usd <= part.price_usd <= part.high_usd
    assert part.estimate or re.search(r"\d", part.source)


def is_in_the_price_of_accelerators(part: Part) -> bool:
    return part.kind == "server" and bool(part.accelerators)


@pytest.mark.parametrize("path", BOOKS, ids=lambda path: path.stem)
def test_a_group_of_a_price_book_names_its_source_and_its_licence(path: Path) -> None:
    book = yaml.safe_load(path.read_text())
    assert re.fullmatch(r"20\d\d-\d\d", book["date"])
    groups = {name: group for name, group in book.items() if isinstance(group, dict) and group}
    assert groups
    for group in groups.values():
        assert group["source"]
        assert group["licence"]


@with_every("path", NPUS)
def test_the_price_of_an_accelerator_has_a_source_and_a_date_or_is_unknown(path: Path) -> None:
    table = yaml.safe_load(path.read_text())
    source = " ".join(table["sources"]["price"].split())
    if "price" not in table and "rent" not in table:
        assert re.search("unknown|none", source)
        return
    assert "undated" in source or re.search(r"\b20\d\d\b", source)
