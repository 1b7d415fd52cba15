"""The samplers that a study may name; those of Optuna each with the encoding that suits it."""

import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dse.samplers.base import Proposer, ProposerInput
from dse.samplers.design import LOCAL
from dse.samplers.design_proposer import DesignProposer
from dse.samplers.exhaustive import ExhaustiveProposer, fits
from dse.samplers.optuna_proposer import Look, OptunaProposer
from dse.samplers.screened import ScreenedProposer
from simcore import ConfigError, Registry

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerEntry:
    """One sampler.

    Attributes:
        build: Makes what proposes designs by it.
        objectives: The most objectives that it can handle; None: any number.
        needs: Packages that it needs on top.
    """

    build: Callable[[ProposerInput], Proposer[Any]]
    objectives: int | None = None
    needs: tuple[str, ...] = ()

    def check(self, name: str, objectives: int) -> None:
        """Check that sampler *name* can run a study with that many objectives.

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


Make = Callable[[int, int | None], "BaseSampler"]
"""Makes a sampler of a seed and a population."""


def _sampler(name: str, takes: str = "", usual: int = 0, **fixed: Any) -> Make:
    """Maker of Optuna's *name*, which *takes* the population, *usual* where none is given."""

    def make(seed: int, population: int | None) -> "BaseSampler":
        from optuna import samplers

        own = {takes: population or usual} if takes else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "experimental" is no news to whoever chose it by name
            found: BaseSampler = getattr(samplers, name)(seed=seed, **own, **fixed)
        return found

    return make


_RANDOM = _sampler("RandomSampler")
_TPE = _sampler("TPESampler", "n_startup_trials", 10, constant_liar=True)
_NSGA2 = _sampler("NSGAIISampler", "population_size", 50)
_NSGA3 = _sampler("NSGAIIISampler", "population_size", 50)
_GP = _sampler("GPSampler", "n_startup_trials", 10)
_CMAES = _sampler("CmaEsSampler", "n_startup_trials", 10)
_QMC = _sampler("QMCSampler", scramble=True, warn_independent_sampling=False)


def _design(what: ProposerInput) -> Proposer[Any]:
    """The search, or every design where the trials suffice for that."""
    return ExhaustiveProposer(what) if fits(what) else DesignProposer(what)


def _portfolio(what: ProposerInput) -> Proposer[Any]:
    from dse.samplers.design_sampler import DesignSampler
    from dse.samplers.portfolio import PortfolioSampler

    own = DesignSampler(what.space, seed=what.seed, style="weights", admits=what.admits)
    members = [own, *(make(what.seed, what.population) for make in (_NSGA2, _RANDOM))]
    return _optuna(what, _WEIGHTS, PortfolioSampler(members, seed=what.seed))


def _of_optuna(make: Make, look: Look) -> Callable[[ProposerInput], Proposer[Any]]:
    return lambda what: _optuna(what, look, make(what.seed, what.population))


def _optuna(what: ProposerInput, look: Look, sampler: "BaseSampler") -> Proposer[Any]:
    return ScreenedProposer(OptunaProposer(what, look, sampler), what)


_INDEX, _WEIGHTS = Look(style="index"), Look(style="weights")
_STEPS = Look(style="weights", keeps_words=False)
_STEPS_BY_VALUE = Look(style="weights", keeps_words=False, knows_limits=False)


def _from_outside(found: object) -> SamplerEntry:
    """One whose class is derived from ``Proposer``, or from a sampler of Optuna."""
    from optuna.samplers import BaseSampler

    if isinstance(found, SamplerEntry):
        return found
    if isinstance(found, type) and issubclass(found, Proposer):
        return SamplerEntry(build=found)
    if isinstance(found, type) and issubclass(found, BaseSampler):
        make: Callable[..., BaseSampler] = found
        return SamplerEntry(build=_of_optuna(lambda seed, _: make(seed=seed), _INDEX))
    rule = "must be a class derived from Proposer, or from optuna.samplers.BaseSampler"
    raise ConfigError("", rule, got=found)


SAMPLERS: Registry[SamplerEntry] = Registry(
    "a sampler",
    {
        "design": SamplerEntry(build=_design),
        "exhaustive": SamplerEntry(build=ExhaustiveProposer),
        "local": SamplerEntry(build=partial(DesignProposer, settings=LOCAL)),
        "portfolio": SamplerEntry(build=_portfolio),
        "random": SamplerEntry(build=_of_optuna(_RANDOM, _INDEX)),
        "tpe": SamplerEntry(build=_of_optuna(_TPE, _INDEX)),
        "nsga2": SamplerEntry(build=_of_optuna(_NSGA2, _WEIGHTS)),
        "nsga3": SamplerEntry(build=_of_optuna(_NSGA3, _WEIGHTS)),
        "gp": SamplerEntry(build=_of_optuna(_GP, _WEIGHTS), needs=("torch", "scipy")),
        "cmaes": SamplerEntry(
            build=_of_optuna(_CMAES, _STEPS_BY_VALUE), objectives=1, needs=("cmaes",)
        ),
        "qmc": SamplerEntry(build=_of_optuna(_QMC, _STEPS), needs=("scipy",)),
    },
    adapt=_from_outside,
)


def build_proposer(name: str, what: ProposerInput) -> Proposer[Any]:
    """The proposer of the sampler *name*.

    Raises:
        ConfigError: A package is missing, or there are too many objectives.
    """
    entry = SAMPLERS[name]
    entry.check(name, len(what.goals.objectives))
    return entry.build(what)
