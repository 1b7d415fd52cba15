"""Pictures of predicted against measured times."""

from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib", reason="matplotlib comes with the extra report")

from simcore.validation.report import scatter

SERIES = {
    "few & rare": [(0.1, 0.11)],
    "many <runs>": [(1.0, 1.2), (3.0, 2.9), (20.0, 26.0)],
}


def test_a_picture_is_valid_svg_with_the_names_of_the_sources_the_largest_first() -> None:
    root = ElementTree.fromstring(scatter(SERIES, "One iteration"))
    assert root.tag.endswith("svg")
    texts = [text for text in root.itertext() if text.strip()]
    assert texts.index("many <runs>") < texts.index("few & rare")
    assert "measured, s" in texts


def test_the_same_points_make_the_same_file() -> None:
    assert scatter(SERIES, "One iteration") == scatter(SERIES, "One iteration")


def test_small_sources_share_one_entry_of_the_legend() -> None:
    series = {f"source {number}": [(1.0, 1.1)] * (20 - number) for number in range(10)}
    texts = list(ElementTree.fromstring(scatter(series, "One iteration")).itertext())
    assert "source 6" in texts
    assert "source 7" not in texts
    assert "3 others" in texts
