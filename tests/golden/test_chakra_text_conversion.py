"""Text workloads become the same bytes as with Chakra's converter.

Source: golden/chakra/text, made with Chakra's text converter (schema 1.0.2-chakra.1.0.0).
"""

import gzip
import hashlib
import json
from pathlib import Path

import pytest
from every_case import with_every

from simcore.errors import ConfigError
from simcore.formats.text_workload.convert import convert_text, write_conversion
from simcore.formats.text_workload.layers import read_text_workload

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "chakra" / "text"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="golden text workloads are not here")

# Keywords that the reference refuses and we convert.
OURS_ALONE = ("HYBRID_TRANSFORMER", "HYBRID_TRANSFORMER_FWD_IN_BCKWD", "HYBRID_CUSTOMIZED")


@with_every("path", sorted(FOLDER.glob("*/*.json.gz")))
def test_conversion_equals_the_references(path: Path, tmp_path: Path) -> None:
    with gzip.open(path) as stream:
        case = json.load(stream)
    source = path.parent / case["input"]
    if case["error"]:
        if source.read_text().split()[0] not in OURS_ALONE:
            with pytest.raises(ConfigError):
                convert_text(read_text_workload(source), npus=2, passes=1)
        return
    workload = read_text_workload(source)
    conversion = convert_text(workload, npus=case["num_npus"], passes=case["num_passes"])
    write_conversion(conversion, tmp_path / "w")
    for rank, expected in case["ranks"].items():
        content = (tmp_path / f"w.{rank}.et").read_bytes()
        assert hashlib.sha256(content).hexdigest() == expected["sha256"]


@pytest.mark.parametrize(
    "source", sorted(FOLDER.glob("standard/*.txt")), ids=lambda path: path.stem
)
def test_every_published_text_workload_converts(source: Path) -> None:
    assert convert_text(read_text_workload(source), npus=64).vertices
