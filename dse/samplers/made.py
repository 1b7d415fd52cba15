"""Samplers made of their classes, with the arguments that a study gives."""

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from optuna.samplers import BaseSampler

from simcore import ConfigError


def made_sampler(
    made_by: Callable[..., BaseSampler], seed: int, arguments: Mapping[str, Any]
) -> BaseSampler:
    """A sampler of the class *made_by*, with the *seed* if that takes one.

    Raises:
        ConfigError: The class does not take the arguments.
    """
    given = dict(arguments)
    if "seed" in inspect.signature(made_by).parameters:
        given.setdefault("seed", seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "experimental" is no news to whoever chose it by name
        try:
            return made_by(**given)
        except (Exception, SystemExit) as error:  # of code from elsewhere
            name = getattr(made_by, "__name__", "the sampler")
            rule = f"must be arguments that {name} takes ({error})"
            raise ConfigError("search.sampler_arguments", rule, got=dict(arguments)) from None
