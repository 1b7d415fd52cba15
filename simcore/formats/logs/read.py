"""Finds out which tool wrote a log, and reads it."""

from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import GZIP_MAGIC, MAX_PROFILE_BYTES, open_input, read_text
from simcore.files.json_file import read_json
from simcore.formats.logs import kineto, megatron, nccl_tests, torchtitan, vllm
from simcore.formats.logs.base import Observed


def read_log(path: Path) -> Observed:
    """The measured figures of one run.

    Raises:
        ConfigError: The file cannot be read, no known tool wrote it, or it tells no time.
    """
    if _is_json(path):
        return _of_json(read_json(path, MAX_PROFILE_BYTES), str(path))
    text = read_text(path)
    if megatron.LINE.search(text):
        return megatron.observed(text, str(path))
    if torchtitan.LINE.search(torchtitan.plain(text)):
        return torchtitan.observed(text, str(path))
    if nccl_tests.HEADER.search(text):
        rule = "times of collectives say nothing of an iteration: give them with --collectives"
        raise ConfigError(str(path), rule, got=nccl_tests.TOOL)
    rule = "must be a log of Megatron-LM or torchtitan, a result of vLLM's benchmark_serving or a "
    raise ConfigError(str(path), f"{rule}trace of PyTorch's profiler", got="none of them")


def _is_json(path: Path) -> bool:
    """True for an object in JSON, or something packed; a bracket begins the lines of many logs."""
    with open_input(path) as stream:
        head = stream.read(64)
    return head.startswith(GZIP_MAGIC) or head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{")


def _of_json(data: object, at: str) -> Observed:
    if isinstance(data, dict) and "traceEvents" in data:
        return kineto.observed(data, at)
    if isinstance(data, dict) and set(vllm.KEYS) <= data.keys():
        return vllm.observed(data, at)
    rule = "must be a result of vLLM's benchmark_serving (mean_tpot_ms) or a trace of PyTorch's "
    raise ConfigError(at, f"{rule}profiler (traceEvents)", got="JSON of another kind")
