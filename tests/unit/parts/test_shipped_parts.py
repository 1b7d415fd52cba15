"""The shipped parts list is checked once per text, and known to each study among its files."""

from simcore.files.input_file import files_kept
from simcore.parts.catalogue import shipped_parts

PART = "module_nic_100g"


def test_a_study_has_the_parts_of_the_texts_that_it_keeps_and_notes_them() -> None:
    before, texts = shipped_parts(), dict[str, str]()
    with files_kept(texts):
        assert shipped_parts() == before
    assert len(texts) > 1, "files are noted though their parts are known"
    assert before[PART].price_usd == 180
    place = next(path for path, text in texts.items() if PART in text)
    other = texts[place].replace("price: 180 USD", "price: 181 USD", 1)
    with files_kept({**texts, place: other}):
        found = shipped_parts()
    assert found[PART].price_usd == 181
    assert {name for name in before if found[name] != before[name]} == {PART}
    assert shipped_parts() == before


def test_parts_that_were_handed_out_belong_to_who_asked() -> None:
    handed = shipped_parts()
    handed.clear()
    assert PART in shipped_parts()
