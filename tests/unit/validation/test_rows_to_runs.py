"""What a row of published columns becomes, and what is said of rows that cannot be simulated."""

from pathlib import Path

import pytest

from simcore.errors import ConfigError
from simcore.memory.footprint import footprint
from simcore.terms import Precision
from simcore.validation.machine import Machines, near_equal
from simcore.validation.mapping import run_of
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.workload import Model, TrainingWorkload

GPT = {
    "id": "one",
    "model": "gpt-18B",
    "arch": "gpt",
    "mlp": "gelu",
    "layers": "40",
    "hidden": "6144",
    "heads": "48",
    "ffn_hidden": "24576",
    "vocab": "51200",
    "seq_len": "2048",
    "global_batch": "1024",
    "micro_batch": "4",
    "precision": "fp16",
    "gpu": "A100-80GB-SXM",
    "num_gpus": "256",
    "gpus_per_node": "8",
    "tp": "8",
    "pp": "2",
    "dp": "16",
    "cp": "1",
    "seq_parallel": "no",
    "recompute": "full",
    "dp_sharding": "none",
}
MACHINES = Machines()


def row(**cells: str) -> MeasuredRow:
    return MeasuredRow({**GPT, **cells}, "table.csv:2")


def test_columns_that_are_given_are_taken_as_they_are() -> None:
    run = run_of(row(), MACHINES)
    assert (run.plan.tp, run.plan.pp, run.plan.dp, run.plan.micro_batch) == (8, 2, 16, 4)
    assert run.workload.precision is Precision.FP16
    assert [d.npus for d in run.platform.dimensions] == [8, 32]
    assert not run.plan.flash_attention, "software of that time stored the scores"


@pytest.mark.parametrize(
    ("cells", "fused"),
    [
        ({}, True),
        ({"precision": "bf16"}, False),
        ({"dp_sharding": "zero1"}, False),
        ({"precision": "bf16", "gpu": "H100-80GB-SXM"}, True),
        ({"precision": "bf16", "seq_parallel": "yes", "recompute": "none"}, True),
    ],
)
def test_old_software_with_wide_sums_or_zero_adds_gradients_in_kernels_of_their_own(
    cells: dict[str, str], fused: bool
) -> None:
    assert run_of(row(**cells), MACHINES).plan.fused_gradients == fused


def test_weights_of_zero_3_come_when_they_are_needed_over_one_port_per_npu() -> None:
    shape = {"tp": "1", "pp": "1", "dp": "256"}
    zero, sharded = (run_of(row(dp_sharding=kind, **shape), MACHINES) for kind in ("zero3", "fsdp"))
    assert (zero.plan.zero_stage, zero.plan.prefetch) == (3, 0)
    assert (sharded.plan.zero_stage, sharded.plan.prefetch) == (3, 1)
    assert [d.npus for d in zero.platform.dimensions] == [256]
    assert [d.npus for d in sharded.platform.dimensions] == [8, 32]


def test_measured_columns_are_never_read() -> None:
    told = {"iter_time_s": "9.4", "tflops_per_gpu": "135", "notes": "x", "source": "y"}
    assert run_of(row(**told), MACHINES) == run_of(row(id="other"), MACHINES)


@pytest.mark.parametrize(
    ("sharding", "pp", "stage"),
    [
        ("none", "1", 0),
        ("zero1", "1", 1),
        ("distributed optimizer", "2", 1),
        ("zero2", "1", 1),
        ("fsdp full_shard / DEFAULT", "1", 3),
        ("fsdp", "2", 1),
        ("zero3", "1", 3),
        ("", "1", 0),
    ],
)
def test_sharding_is_read_from_its_words(sharding: str, pp: str, stage: int) -> None:
    dp = str(32 // int(pp))
    run = run_of(row(dp_sharding=sharding, pp=pp, dp=dp), MACHINES)
    assert run.plan.zero_stage == stage


def test_states_that_do_not_fit_as_published_are_refused_with_their_size() -> None:
    few = {"dp_sharding": "zero1", "num_gpus": "8", "tp": "8", "pp": "1", "dp": "1"}
    assert run_of(row(**few, layers="20"), MACHINES).plan.tp == 8
    with pytest.raises(UnsupportedRow, match=r"take \d+ GB per NPU .* more than its 86 GB"):
        run_of(row(**few, layers="100"), MACHINES)
    assert (
        run_of(row(**{**few, "dp_sharding": "none"}, layers="100"), MACHINES).plan.zero_stage == 0
    )


def test_a_published_sharding_group_is_kept() -> None:
    run = run_of(row(dp_sharding="zero3 (sharding group 8)", tp="1", pp="1", dp="256"), MACHINES)
    assert run.plan.shard == 8
    assert [dimension.npus for dimension in run.platform.dimensions] == [8, 32]


def test_gradients_wait_for_the_end_only_in_pipelines_that_shard_nothing() -> None:
    assert not run_of(row(), MACHINES).plan.overlap_gradients
    assert run_of(row(pp="1", dp="32"), MACHINES).plan.overlap_gradients
    assert run_of(row(dp_sharding="distributed optimizer"), MACHINES).plan.overlap_gradients


def test_empty_parallel_sizes_leave_each_replica_a_sequence() -> None:
    empty = dict.fromkeys(("tp", "pp", "dp", "micro_batch", "recompute"), "")
    run = run_of(row(**empty, gpu="TPUv5p", global_batch="128", gpus_per_node=""), MACHINES)
    assert (run.plan.tp, run.plan.pp, run.plan.dp) == (2, 1, 128)
    assert all(d.topology == "ring" for d in run.platform.dimensions)


UNPUBLISHED = {
    **dict.fromkeys(("recompute", "vp"), ""),
    "dp_sharding": "distributed optimizer",
    "seq_parallel": "yes",
    "tp": "2",
    "dp": "64",
    "precision": "bf16",
    "global_batch": "10752",
    "gpu": "H100-80GB-SXM",
}


@pytest.mark.parametrize("micro_batch", ["12", "16"])
def test_recompute_that_was_not_published_is_of_the_fewest_layers_that_fit(
    micro_batch: str,
) -> None:
    run = run_of(row(**{**UNPUBLISHED, "micro_batch": micro_batch}), MACHINES)
    redone = run.plan.recompute_layers
    assert run.plan.recompute == "full"
    assert redone is not None
    capacity = run.platform.npu.memory_bytes
    fewer = run.plan.model_copy(update={"recompute_layers": redone - 1})
    assert footprint(run.workload, run.plan).total_bytes <= capacity
    assert redone == 1 or footprint(run.workload, fewer).total_bytes > capacity


def test_savings_that_cost_less_time_are_taken_first() -> None:
    found = []
    for micro_batch in ("1", "2", "4", "6", "8", "12", "14", "16"):
        run = run_of(row(**{**UNPUBLISHED, "micro_batch": micro_batch}), MACHINES)
        assert isinstance(run.workload, TrainingWorkload)
        whole, parts = run.plan.recompute == "full", bool(run.plan.recompute_parts)
        found.append((run.workload.gradient_format == "bf16", parts or whole, whole))
        assert footprint(run.workload, run.plan).total_bytes <= run.platform.npu.memory_bytes
    assert found == sorted(found), "larger micro-batches need more"
    assert found[0] == (False, False, False)
    assert (True, True, False) in found
    assert found[-1] == (True, True, True)


def test_a_published_recompute_is_taken_whether_or_not_it_fits() -> None:
    cells = {**UNPUBLISHED, "recompute": "none", "micro_batch": "16"}
    run = run_of(row(**cells), MACHINES)
    assert (run.plan.recompute, run.plan.recompute_parts) == ("none", ())
    assert footprint(run.workload, run.plan).total_bytes > run.platform.npu.memory_bytes


@pytest.mark.parametrize(
    ("cells", "parts"),
    [
        ({"recompute": "selective"}, ()),  # of 2022: the scores of the core
        ({"recompute": "selective", "gpu": "H100-80GB-SXM"}, ("norms", "activations")),
        ({"recompute": "minimal", "gpu": "TPUv5p", "gpus_per_node": ""}, ("norms", "activations")),
        ({"recompute": "full", "gpu": "H100-80GB-SXM"}, ()),
    ],
)
def test_selective_recompute_repeats_modules_where_the_core_is_fused(
    cells: dict[str, str], parts: tuple[str, ...]
) -> None:
    assert run_of(row(**{**cells, "precision": "bf16"}), MACHINES).plan.recompute_parts == parts


def test_an_empty_interleave_leaves_two_layers_or_more_to_each_stage() -> None:
    assert run_of(row(vp=""), MACHINES).plan.interleave == 5
    assert run_of(row(vp="1"), MACHINES).plan.interleave == 1


@pytest.mark.parametrize(
    ("cells", "reason"),
    [
        ({"layers": ""}, "the shape of gpt-18B"),
        ({"gpu": "B9000"}, "B9000"),
        ({"precision": "ternary"}, "ternary"),
        ({"dp": "15"}, "not the number of NPUs"),
        ({"heads": "47"}, "47"),
        ({"gpu": "A100-80GB-SXM", "precision": "nvfp4"}, "a100_80 computes in"),
    ],
)
def test_what_cannot_be_simulated_is_unsupported_with_its_reason(
    cells: dict[str, str], reason: str
) -> None:
    from simcore.validation.training import TrainingPredictor

    prediction = TrainingPredictor(MACHINES).predict(row(**cells))
    assert prediction.status == "unsupported"
    assert reason in prediction.reason
    assert prediction.time_s is None


def test_a_cell_that_is_no_number_is_an_error_with_its_place() -> None:
    from simcore.validation.training import TrainingPredictor

    prediction = TrainingPredictor(MACHINES).predict(row(hidden="wide"))
    assert prediction.status == "error"
    assert prediction.reason.startswith("table.csv:2: hidden: must be a number")


def test_experts_come_from_columns_and_richer_models_from_their_files() -> None:
    columns = {"arch": "moe", "mlp": "swiglu", "moe_experts": "8", "moe_topk": "2", "ep": "8"}
    model = run_of(row(**columns), MACHINES).workload.model
    assert isinstance(model, Model)
    assert model.experts is not None
    assert (model.experts.count, model.experts.active, model.experts.ffn) == (8, 2, 24576)
    shipped = row(arch="moe-mla", model="deepseek-v3-671B", layers="61", tp="1", dp="128")
    model = run_of(shipped, MACHINES).workload.model
    assert isinstance(model, Model)
    assert model.latent is not None


def test_groups_that_straddle_nodes_are_laid_out_on_smaller_ones() -> None:
    run = run_of(row(num_gpus="12", tp="2", pp="1", dp="6", global_batch="24"), MACHINES)
    assert run.platform.npus == 12
    assert [d.npus for d in run.platform.dimensions] == [6, 2]


@pytest.mark.parametrize(("count", "factors"), [(4096, 2), (4096, 3), (6144, 3), (7, 2), (1, 3)])
def test_torus_sides_multiply_to_the_number_of_chips(count: int, factors: int) -> None:
    product = 1
    for side in near_equal(count, factors):
        product *= side
    assert product == count


def test_a_table_without_ids_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("model,layers\ngpt,4\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="id among them"):
        list(MeasuredRow.all_of(path))


def test_unsupported_rows_are_errors_of_the_simulator() -> None:
    with pytest.raises(UnsupportedRow):
        run_of(row(gpu=""), MACHINES)
