"""Files that are broken, huge or hostile end in one sentence, never in a traceback."""

from pathlib import Path
from time import process_time
from typing import Any

import pytest

from simcore import ConfigError, InfeasibleError, RunTemplate, check_run, read_yaml, set_path

TABLE: dict[str, Any] = {
    "version": 1,
    "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 64},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1.7 us"},
        ],
    },
    "plan": {"tp": 8, "dp": 4},
}

BOMB = "a: &a [x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        "? [a, b]\n: 1\n",
        "? {a: b}\n: 1\n",
        "version: 2020-99-99\n",
        "version: " + "9" * 5000,
        "version: !!float abc\n",
        "version: !!int abc\n",
        "version: !!bool abc\n",
        "version: !!timestamp abc\n",
        "version: !!binary xx\n",
        "!!python/object/apply:os.getcwd []\n",
        "[" * 2000,
        "{a: " * 2000,
        "a: 1\n---\nb: 2\n",
        "version: \0\n",
        "a: &a [*a]\n",
        "a: &a {b: {c: *a}}\n",
        "a: {<<: {b: 1}}\n",
        "a: " + "1:" * 5000 + "1\n",
        "a: " + "1:" * 5000 + "1.5\n",
        "a: !!float 1e\n",
        'a: "\\ud800"\n',
        "- " * 200 + "x\n",
        "[" + "x," * 100_001 + "]",
        BOMB,
    ],
)
def test_broken_yaml_is_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"run\.yaml.*must be valid YAML, but got .*\.$"):
        read_yaml(path)


@pytest.mark.parametrize("content", ["", "5", "[1, 2]"])
def test_a_file_that_is_no_run_is_told(content: str, tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError):
        RunTemplate.from_table(read_yaml(path))


@pytest.mark.parametrize("name", ["workload.model", "platform", "platform.npu"])
def test_a_named_file_that_holds_no_table_is_told(name: str, tmp_path: Path) -> None:
    (tmp_path / "list.yaml").write_text("[1, 2]\n")
    with pytest.raises(ConfigError, match=r"list\.yaml: must be a table"):
        RunTemplate.from_table(set_path(TABLE, name, "list.yaml"), beside=tmp_path)


def test_a_platform_may_be_replaced_by_a_shipped_one_and_by_nothing_else() -> None:
    template = RunTemplate.from_table(TABLE)
    run = template.with_values({"platform": "dgx_a100_superpod"})
    assert run.platform.name == "dgx_a100_superpod"
    with pytest.raises(ConfigError, match=r"platform: must be a name, a \.yaml file or a table"):
        template.with_values({"platform": 3})


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        ("plan.tp", True, "plan.tp: must be a valid integer, but got True."),
        ("platform.dimensions", 3, "platform.dimensions: must be a list, but got 3."),
        ("platform.dimensions", [], "platform.dimensions: must have at least 1 item, but got []."),
    ],
)
def test_values_of_the_wrong_kind_are_told(path: str, value: object, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RunTemplate.from_table(set_path(TABLE, path, value)).with_values({})
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"platform.dimensions[1].bandwidth": "1e-300 B/s"}, "time_in_range"),
        ({"platform.dimensions[1].latency": "1000 years"}, "time_in_range"),
        ({"platform.npu.memory_bandwidth": "1e-9 B/s"}, "time_in_range"),
        ({"workload.global_batch": 2**40}, "size_in_range"),
        ({"workload.sequence": 2**50}, "size_in_range"),
    ],
)
def test_what_64_bits_cannot_count_is_infeasible(values: dict[str, object], rule: str) -> None:
    run = RunTemplate.from_table(TABLE).with_values(values)
    with pytest.raises(InfeasibleError) as caught:
        check_run(run, memory=False)
    assert caught.value.rule == rule
    check_run(RunTemplate.from_table(TABLE).with_values({}), memory=False)


def test_a_bomb_of_aliases_is_refused_before_it_is_unfolded(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(BOMB)
    start = process_time()
    with pytest.raises(ConfigError, match=r"line \d+: .*more than 100,000 values"):
        read_yaml(path)
    assert process_time() - start < 2


def test_aliases_of_what_is_complete_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("a: &a [1, 2]\nb: {c: *a, d: *a}\n")
    assert read_yaml(path) == {"a": [1, 2], "b": {"c": [1, 2], "d": [1, 2]}}


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        (
            "Notes",
            "Notes: unknown key; the keys here are version, stack, workload, platform, plan, ",
        ),
        ("plan.TP", "plan.TP: unknown key; the keys here are tp, cp, "),
        ("platform.npu_Name", "platform.npu_Name: unknown key; the keys here are name, "),
        ("plan.str", "plan.str: unknown key; the keys here are tp, "),
    ],
)
def test_an_unknown_key_is_told_whatever_its_letters(path: str, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RunTemplate.from_table(set_path(TABLE, path, "x")).with_values({})
    assert str(caught.value).startswith(sentence)


def test_what_is_found_is_cut_before_it_is_written_out() -> None:
    endless: list[object] = []
    endless.append(endless)
    assert str(ConfigError("a", "must be", got=endless)).endswith(
        "but got " + "[" * 17 + "..." + "]" * 17 + "."
    )
    wide = {f"key {number}": "x" * 1000 for number in range(100_000)}
    start = process_time()
    told = str(ConfigError("a", "must be", got=wide))
    assert process_time() - start < 0.01
    assert told == f"a: must be, but got {repr(wide)[:117]}...."
    assert str(ConfigError("", "is", got=10**5000)).startswith("is, but got a whole number of")


@pytest.mark.parametrize("value", [(1,), (), {"a": [1, "x", None]}, {1, 2}, "it's", 2.5, b"x"])
def test_short_values_are_told_as_python_writes_them(value: object) -> None:
    assert str(ConfigError("a", "must be", got=value)) == f"a: must be, but got {value!r}."


def test_a_net_of_more_layers_than_can_be_built_is_refused_at_once() -> None:
    table = {"name": "deep", "layers": 10**9, "hidden": 64, "heads": 4, "ffn": 64}
    with pytest.raises(ConfigError, match=r"layers: must be less than or equal to 10000"):
        RunTemplate.from_table(set_path(TABLE, "workload.model", table)).with_values({})
