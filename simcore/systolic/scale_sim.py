"""SCALE-Sim's own files: the configuration of an array, and the layers of a network.

Source: files of SCALE-Sim v2 and v3 (A. Samajdar et al., ISPASS 2020).
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from configparser import ConfigParser, Error
from io import StringIO
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import read_text
from simcore.systolic.layer import Array, Layer
from simcore.systolic.table import Case, dataflow_of, whole, words_of

_CONVOLUTION = 8
"""Columns of a convolution: name, height and width of the input and of the filter, channels,
filters, stride. Where the next one is a number, it is the stride across."""
_PRODUCT = 4
"""Columns of a product: name, M, N, K."""
_DEPTHWISE = "DP"
"""Part of a layer's name that says that each channel has filters of its own."""
_MOST_CHANNELS = 1 << 16


def read_config(path: Path) -> Array:
    """Array that a configuration describes.

    Of ``Bandwidth`` the first number counts, for each of the three buffers, and only where
    ``InterfaceBandwidth`` is ``USER``. Offsets change no figure, and banks are not modelled.

    Raises:
        ConfigError: A value is missing or breaks its rule.
    """
    parser = ConfigParser(interpolation=None, inline_comment_prefixes=("#", ";"))
    try:
        parser.read_string(read_text(path))
    except Error as error:
        rule = "must be a configuration of SCALE-Sim"
        raise ConfigError(str(path), rule, got=str(error).splitlines()[0]) from None
    found = {key: value for name in parser.sections() for key, value in parser.items(name)}
    try:
        return _array(found)
    except ConfigError as error:
        raise error.in_file(path) from None


def _array(found: Mapping[str, str]) -> Array:
    mode = found.get("interfacebandwidth", "CALC").strip().upper()
    if mode not in ("CALC", "USER"):
        raise ConfigError("InterfaceBandwidth", "must be CALC or USER", got=mode)
    bandwidth = None
    if mode == "USER":
        first = found.get("bandwidth", "").split(",")[0]
        bandwidth = whole(first, "Bandwidth")

    def words(key: str) -> int:
        return words_of(found.get(key.lower()), key)

    return Array(
        rows=whole(found.get("arrayheight"), "ArrayHeight"),
        cols=whole(found.get("arraywidth"), "ArrayWidth"),
        dataflow=dataflow_of(found.get("dataflow", ""), "Dataflow"),
        ifmap_words=words("IfmapSramSzkB"),
        filter_words=words("FilterSramSzkB"),
        ofmap_words=words("OfmapSramSzkB"),
        bandwidth=bandwidth,
    )


def topology_cases(topology: Path, array: Array) -> list[Case]:
    """Layers of a network, each on *array*; of a depthwise one, each channel.

    Raises:
        ConfigError: A line is no layer.
    """
    cases = []
    for name, layer in read_topology(topology):
        cases += [Case(each, part, array) for each, part in _parts(name, layer)]
    return cases


def _parts(name: str, layer: Layer) -> list[tuple[str, Layer]]:
    if _DEPTHWISE not in name:
        return [(name, layer)]
    one = Layer(
        *(layer.ifmap_h, layer.ifmap_w, layer.filt_h, layer.filt_w),
        *(1, layer.num_filt, layer.stride_h, layer.stride_w),
    )
    return [(f"{name}Channel_{i}", one) for i in range(layer.channels)]


def read_topology(path: Path) -> Iterator[tuple[str, Layer]]:
    """Names and layers of a topology file, of convolutions or of products.

    Raises:
        ConfigError: A line is neither.
    """
    reader = csv.reader(StringIO(read_text(path)), strict=True)
    try:
        next(reader, None)  # names of the columns
        for row in reader:
            cells = [cell.strip() for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                try:
                    yield cells[0], _layer(cells)
                except ConfigError as error:
                    raise error.under(f"{path}:{reader.line_num}") from None
    except csv.Error as error:
        raise ConfigError(f"{path}:{reader.line_num}", "must be CSV", got=str(error)) from None


def _layer(cells: Sequence[str]) -> Layer:
    if len(cells) == _PRODUCT:
        return Layer.gemm(*(whole(cells[i], name) for i, name in enumerate("MNK", 1)))
    if len(cells) < _CONVOLUTION:
        rule = "must be a convolution or a product of SCALE-Sim: 8 columns, or name, M, N, K"
        raise ConfigError("", rule, got=",".join(cells))
    numbers = [whole(cells[i], f"column {i + 1}") for i in range(1, _CONVOLUTION)]
    if len(cells) > _CONVOLUTION and cells[_CONVOLUTION].isdigit():
        numbers.append(whole(cells[_CONVOLUTION], f"column {_CONVOLUTION + 1}"))
    else:
        numbers.append(numbers[-1])
    if _DEPTHWISE in cells[0] and numbers[4] > _MOST_CHANNELS:
        rule = f"must be at most {_MOST_CHANNELS:,} channels of a depthwise layer"
        raise ConfigError("column 6", rule, got=numbers[4])
    return Layer(*numbers)
