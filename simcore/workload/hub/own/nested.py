"""Tables within a ``config.json``, whose keys are held to the same rule as those around them."""

from collections.abc import Collection, Mapping

from simcore.errors import ConfigError
from simcore.workload.hub.keys import Keys

_PROGRAM = frozenset({
    "architectures", "chunk_size_feed_forward", "dtype", "id2label", "is_encoder_decoder",
    "label2id", "model_type", "output_attentions", "output_hidden_states", "problem_type",
    "return_dict", "_name_or_path",
})  # fmt: skip
"""Keys that the program writes into every table."""


def nested(
    keys: Keys,
    name: str,
    idle: Collection[str] = (),
    idle_if: Mapping[str, type] | None = None,
) -> Keys:
    """Keys of the table under *name*, without those that change no shape.

    Args:
        keys: Those around it.
        name: Key of the table.
        idle: Keys of it that change no shape.
        idle_if: The same, if their value is of a type.

    Raises:
        ConfigError: There is no such table.
    """
    table = keys.value(name)
    if not isinstance(table, Mapping):
        keys.needed(name)
        raise ConfigError(keys.place(name), "must be a table of keys: correct it", got=table)
    left = {
        key: value
        for key, value in table.items()
        if key not in _PROGRAM
        and key not in idle
        and not isinstance(value, (idle_if or {}).get(key, ()))
    }
    return Keys(left, keys.place(name))
