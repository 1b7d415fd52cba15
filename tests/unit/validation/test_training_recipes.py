"""Published recipes of training runs tell the software of rows that leave it out.

Layouts are those of NVIDIA's Megatron-Bridge: in ``deepseek_workload_base_configs.py`` of v0.4.0,
DeepSeek V3 on GB300 has micro-batches of 2 and no graphs; from v0.5.0 on 1 and one graph of an
iteration; on GB200 all releases have one layout, and v0.5.0 launches it as one graph.
"""

from pathlib import Path
from runpy import run_path

import pytest

from simcore.errors import ConfigError
from simcore.machine.stack import load_stack
from simcore.validation.rows import MeasuredRow
from simcore.validation.stacks import stack_of

READER = run_path(str(Path(__file__).parents[3] / "benchmarks/training_recipes.py"))

COMMON = {
    **{"id": "one", "model": "deepseek-v3-671B", "arch": "moe-mla", "precision": "mxfp8"},
    **{"num_gpus": "256", "global_batch": "4096", "tp": "1", "cp": "1"},
}
GB300 = {"gpu": "GB300", "micro_batch": "1", "pp": "2", "ep": "32", "vp": "8"}
GB200 = {"gpu": "GB200", "micro_batch": "1", "pp": "4", "ep": "64", "vp": "4"}


@pytest.mark.parametrize(
    ("cells", "stack"),
    [
        (GB300, "megatron_core_2026"),
        ({**GB300, "micro_batch": "2"}, "megatron_core_2025"),
        ({**GB300, "model": "mixtral"}, "megatron_core_2025"),
        ({**GB300, "num_gpus": "512"}, "megatron_core_2025"),
        (GB200, "megatron_core_2025"),
        ({**GB200, "release": "26.04.01"}, "megatron_core_2025"),
        ({**GB200, "release": "26.06.01"}, "megatron_core_2026"),
        ({**GB200, "release": "27.01"}, "megatron_core_2025"),
    ],
)
def test_layouts_that_only_run_as_one_graph_take_the_stack_that_does(
    cells: dict[str, str], stack: str
) -> None:
    assert stack_of(MeasuredRow({**COMMON, **cells}, "table.csv:2")) == stack


def test_a_release_that_is_none_is_refused() -> None:
    row = MeasuredRow({**COMMON, **GB300, "release": "newest"}, "table.csv:2")
    with pytest.raises(ConfigError, match=r"table.csv:2: release: must be year and month, such as"):
        stack_of(row)


def test_that_stack_lets_no_kernel_wait_for_the_host() -> None:
    new = load_stack("megatron_core_2026")
    assert (new.issue_s, new.routing_s) == (0.0, 0.0)


CONSTANTS = """
BASE = WorkloadBaseConfig(expert_tensor_parallel_size=1)
DEEPSEEK_V3_PRETRAIN_CONFIG_GB300_V1 = replace(
    BASE, num_gpus=256, global_batch_size=2048, micro_batch_size=2, cuda_graph_scope=[],
)
DEEPSEEK_V3_PRETRAIN_CONFIG_GB300_FP8_MX_V1 = DEEPSEEK_V3_PRETRAIN_CONFIG_GB300_V1
DEEPSEEK_V3_PRETRAIN_CONFIG_GB300_FP8_MX_V2 = replace(
    DEEPSEEK_V3_PRETRAIN_CONFIG_GB300_V1, cuda_graph_impl="full_iteration"
)
"""
FUNCTION = """
def gpt_oss_120b_pretrain_64gpu_gb300_fp8mx_config():
    cfg.train.global_batch_size = 1280
    cfg.model.expert_model_parallel_size = 16
    _apply_full_iter_configs(cfg)
"""


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        (
            CONSTANTS,
            [
                "deepseek_v3 gb300 mxfp8 256 2048 2 1 1 1 1 1 none",
                "deepseek_v3 gb300 mxfp8 256 2048 2 1 1 1 1 1 iteration",
            ],
        ),
        (FUNCTION, ["gpt_oss_120b gb300 mxfp8 64 1280 1 1 1 1 16 1 iteration"]),
    ],
)
def test_recipes_are_parsed_in_both_forms_that_the_publisher_has(
    source: str, lines: list[str]
) -> None:
    found = [READER["line_of"](*one) for one in READER["recipes"](source)]
    assert [" ".join(line) for line in found if line] == lines
