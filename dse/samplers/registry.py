"""The samplers of Optuna that a study may name, each with the encoding that suits it."""

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dse.space.encoding import Style
from simcore import ConfigError, Registry

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerEntry:
    """One sampler.

    Attributes:
        build: Makes it from a seed and a population (None: the sampler's own default): the size
            of a generation, or the designs that are drawn before it starts to learn.
        style: How it sees blocks of knobs.
        keeps_words: Whether it can handle unordered choices; otherwise they become steps.
        knows_limits: Whether it makes use of constraints; otherwise infeasible designs are told
            to it as the worst seen so far.
        objectives: The most objectives that it can handle; None: any number.
        needs: Packages that it needs on top.
    """

    build: "Callable[[int, int | None], BaseSampler]"
    style: Style
    keeps_words: bool = True
    knows_limits: bool = True
    objectives: int | None = None
    needs: tuple[str, ...] = ()

    def check(self, name: str, objectives: int) -> None:
        """Whether the sampler *name* can run a study with that many objectives.

        Raises:
            ConfigError: A package is missing, or there are too many objectives.
        """
        at = "search.sampler"
        missing = [package for package in self.needs if not importlib.util.find_spec(package)]
        if missing:
            rule = f"{name} needs the packages of simcore-dse[samplers]"
            raise ConfigError(at, rule, got=f"no {', '.join(missing)}")
        if self.objectives is not None and objectives > self.objectives:
            rule = f"{name} takes one objective; name a product such as time_network_cost"
            raise ConfigError(at, rule, got=f"{objectives} objectives")


def _random(seed: int, population: int | None) -> "BaseSampler":
    from optuna.samplers import RandomSampler

    return RandomSampler(seed=seed)


def _tpe(seed: int, population: int | None) -> "BaseSampler":
    from optuna.samplers import TPESampler

    return TPESampler(seed=seed, n_startup_trials=population or 10, constant_liar=True)


def _nsga2(seed: int, population: int | None) -> "BaseSampler":
    from optuna.samplers import NSGAIISampler

    return NSGAIISampler(seed=seed, population_size=population or 50)


def _gp(seed: int, population: int | None) -> "BaseSampler":
    from optuna.samplers import GPSampler

    return _quietly(lambda: GPSampler(seed=seed, n_startup_trials=population or 10))


def _cmaes(seed: int, population: int | None) -> "BaseSampler":
    from optuna.samplers import CmaEsSampler

    return _quietly(lambda: CmaEsSampler(seed=seed, n_startup_trials=population or 10))


def _qmc(seed: int, population: int | None) -> "BaseSampler":
    from optuna.samplers import QMCSampler

    return _quietly(lambda: QMCSampler(seed=seed, scramble=True, warn_independent_sampling=False))


def _quietly(build: "Callable[[], BaseSampler]") -> "BaseSampler":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "experimental" is no news to whoever chose it by name
        return build()


SAMPLERS = Registry(
    "a sampler",
    {
        "random": SamplerEntry(build=_random, style="index"),
        "tpe": SamplerEntry(build=_tpe, style="index"),
        "nsga2": SamplerEntry(build=_nsga2, style="weights"),
        "gp": SamplerEntry(build=_gp, style="weights", needs=("torch", "scipy")),
        "cmaes": SamplerEntry(
            build=_cmaes,
            style="weights",
            keeps_words=False,
            knows_limits=False,
            objectives=1,
            needs=("cmaes",),
        ),
        "qmc": SamplerEntry(build=_qmc, style="weights", keeps_words=False, needs=("scipy",)),
    },
)
