"""TAPAS (arXiv:2004.02349): BERT with tables for columns, rows and ranks."""

from simcore.workload.hub.counts import ModelCounts
from simcore.workload.hub.encoders import bert_like
from simcore.workload.hub.family import Family
from simcore.workload.hub.keys import Keys

FAMILY = Family(
    net="tapas", needed=("type_vocab_sizes",),
    idle=frozenset({
        "aggregation_labels", "aggregation_loss_weight", "aggregation_temperature",
        "allow_empty_column_selection", "answer_loss_cutoff", "answer_loss_importance",
        "average_approximation_function", "average_logits_per_cell", "cell_selection_preference",
        "disable_per_token_loss", "huber_loss_delta", "init_cell_selection_weights_to_zero",
        "max_num_columns", "max_num_rows", "no_aggregation_label_index",
        "num_aggregation_labels", "positive_label_weight", "reset_position_index_per_cell",
        "select_one_column", "temperature", "use_answer_as_supervision",
        "use_gumbel_for_aggregation", "use_gumbel_for_cells", "use_normalized_answer_loss",
    }),
)  # fmt: skip


def tapas(keys: Keys, family: Family, _tied: bool) -> ModelCounts:
    """Counts of TAPAS with its head for masked words."""
    kinds = keys.value("type_vocab_sizes")
    if not isinstance(kinds, list) or not all(type(size) is int and size > 0 for size in kinds):
        raise keys.refuse("type_vocab_sizes", "must list whole numbers above 0")
    return bert_like(keys, family, keys.number("max_position_embeddings") + sum(kinds))
