"""The software that a row is taken to have run on."""

import pytest

from simcore.files.resources import shipped_names
from simcore.validation.rows import MeasuredRow
from simcore.validation.stacks import stack_of

ROW = {"id": "one", "arch": "gpt", "precision": "bf16", "gpu": "H100-80GB-SXM"}
FULL = "fsdp full_shard / DEFAULT"


@pytest.mark.parametrize(
    ("cells", "stack"),
    [
        ({}, "megatron_core_2024"),
        ({"gpu": "GB200"}, "megatron_core_2025"),
        ({"gpu": "TPUv5e"}, "maxtext"),
        ({"gpu": "Gaudi2"}, "megatron_gaudi"),
        ({"dp_sharding": "fsdp"}, "megatron_core_2024"),
        ({"dp_sharding": "fsdp", "recompute": "full"}, "pytorch_fsdp2"),
        ({"dp_sharding": FULL, "recompute": "none"}, "pytorch_fsdp1"),
        ({"gpu": "A100-80GB-SXM", "dp_sharding": FULL}, "pytorch_fsdp1"),
        ({"gpu": "A100-80GB-SXM", "precision": "fp16", "recompute": "full"}, "megatron_2021"),
        ({"gpu": "A100-80GB-SXM", "recompute": "full"}, "megatron_deepspeed_2022"),
        ({"gpu": "A100-80GB-SXM", "seq_parallel": "yes"}, "megatron_core_2022"),
        (
            {"gpu": "A100-80GB-SXM", "seq_parallel": "yes", "recompute": "selective"},
            "megatron_2022",
        ),
        ({"gpu": "A100-80GB-SXM", "arch": "llama"}, "megatron_core_2022"),
    ],
)
def test_a_row_runs_on_the_usual_software_of_its_accelerator_and_layout(
    cells: dict[str, str], stack: str
) -> None:
    assert stack_of(MeasuredRow({**ROW, **cells}, "table.csv:2")) == stack
    assert stack in shipped_names("stacks")
