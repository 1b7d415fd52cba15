"""The software of a row, which no table names: the usual one of its accelerator and layout.

- TPUs: MaxText; Gaudi: Megatron for Gaudi.
- Volta and Ampere: PyTorch's first FSDP where the row is sharded by it; else Megatron. A GPT model
  whose row gives its recompute, or does without sequence parallelism, ran on that of 2021, or where
  its optimizer is sharded (ZeRO) or it computes in bf16, on Megatron-DeepSpeed of 2022, or where it
  splits sequences, on Megatron-LM of 2022; all others on what was built on that.
- Hopper and later: PyTorch's FSDP where the row is sharded by it and tells its recompute, which
  publishers of Megatron's own FSDP do not: the first where it names a strategy of that
  (``full_shard``, ``shard_grad_op``), else the second; Megatron-Core for all others, of 2024 on
  Hopper and of 2025 on Blackwell, or of 2026 where all published recipes of the row's model and
  layout launch an iteration as one graph (``recipes.py``).
"""

from simcore.validation.recipes import is_one_graph
from simcore.validation.rows import MeasuredRow

_UNTIL_AMPERE = ("V100", "A100")
_HOPPER = ("H100", "H200", "H800", "Hopper")
_FIRST_FSDP = ("full_shard", "shard_grad_op")


def stack_of(row: MeasuredRow) -> str:
    """Name of the software of *row* in ``configs/stacks``."""
    gpu, sharding = row.text("gpu"), row.text("dp_sharding")
    if gpu.startswith("TPU"):
        return "maxtext"
    if gpu.startswith("Gaudi"):
        return "megatron_gaudi"
    sharded = sharding.startswith("fsdp")
    if gpu.startswith(_UNTIL_AMPERE):
        return "pytorch_fsdp1" if sharded else _megatron_until_ampere(row)
    if sharded and row.text("recompute"):
        named = any(strategy in sharding for strategy in _FIRST_FSDP)
        return "pytorch_fsdp1" if named else "pytorch_fsdp2"
    if gpu.startswith(_HOPPER):
        return "megatron_core_2024"
    return "megatron_core_2026" if is_one_graph(row) else "megatron_core_2025"


def is_of_2022(row: MeasuredRow) -> bool:
    """True if *row* ran on software that stores the scores of attention."""
    return stack_of(row) in ("megatron_2021", "megatron_deepspeed_2022", "megatron_2022")


def _megatron_until_ampere(row: MeasuredRow) -> str:
    tells = row.text("recompute") not in ("", "none") or row.text("seq_parallel") != "yes"
    if row.text("arch") != "gpt" or not tells:
        return "megatron_core_2022"
    if row.text("seq_parallel") == "yes":
        return "megatron_2022"
    deepspeed = row.text("precision") != "fp16" or row.text("dp_sharding").startswith("zero")
    return "megatron_deepspeed_2022" if deepspeed else "megatron_2021"
