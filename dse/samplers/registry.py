"""The samplers that a study may name; those of Optuna each with the encoding that suits it."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dse.samplers.base import Look, Proposer, ProposerInput
from dse.samplers.hub import hub_module, is_of_hub
from simcore import ConfigError, Registry

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

AT = "search.sampler"
"""Key under which a study names its sampler."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerEntry:
    """One sampler.

    Attributes:
        build: Makes what proposes designs by it.
        objectives: The most objectives that it can handle; None: any number.
        needs: Packages that it needs on top.
        is_ours: Whether it is none of Optuna's: it takes no arguments, and sees the knobs.
    """

    build: Callable[[ProposerInput], Proposer[Any]]
    objectives: int | None = None
    needs: tuple[str, ...] = ()
    is_ours: bool = False

    def check(self, name: str, objectives: int, arguments: object = None) -> None:
        """Check that sampler *name* can run a study with that many objectives.

        Raises:
            ConfigError: A package is missing, there are too many objectives, or it takes no
                arguments.
        """
        missing = [package for package in self.needs if not importlib.util.find_spec(package)]
        if missing:
            rule = f"{name} needs the packages of simcore-dse[samplers]"
            raise ConfigError(AT, rule, got=f"no {', '.join(missing)}")
        if self.objectives is not None and objectives > self.objectives:
            rule = f"{name} takes one objective; name a product such as time_network_cost"
            raise ConfigError(AT, rule, got=f"{objectives} objectives")
        if self.is_ours and arguments:
            rule = f"must be left out: {name} takes neither arguments nor an encoding"
            raise ConfigError("search.sampler_arguments", rule, got=arguments)


_INDEX, _WEIGHTS = Look(style="index"), Look(style="weights")
_STEPS = Look(style="weights", keeps_words=False)
_STEPS_BY_VALUE = Look(style="weights", keeps_words=False, knows_limits=False)

ENCODINGS = {"index": _INDEX, "weights": _WEIGHTS, "steps": _STEPS_BY_VALUE}
"""Views of the space that a study may choose for a sampler of Optuna: choices that are learned one
by one; neighbours alike, words as words; numbers alone, limits by values alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Treatment of the samplers that are derived from one class of Optuna.

    Attributes:
        name: The class.
        look: How it sees the space.
        takes: Argument that is the population; empty: none.
        usual: The population where none is given.
        fixed: Further arguments.
        objectives: The most that it can handle.
        needs: Packages that it needs on top.
        draws: Whether it draws each design by itself, and learns nothing.
        believes: Whether trials that are open cost it much time: it sees them as finished ones.
    """

    name: str
    look: Look
    takes: str = ""
    usual: int = 10
    fixed: tuple[tuple[str, Any], ...] = ()
    objectives: int | None = None
    needs: tuple[str, ...] = ()
    draws: bool = False
    believes: bool = False

    def entry(self) -> SamplerEntry:
        """The entry of the class itself."""

        def made(what: ProposerInput) -> Proposer[Any]:
            from optuna import samplers

            own = {self.takes: what.population or self.usual} if self.takes else {}
            return self.asked(what, getattr(samplers, self.name), {**own, **dict(self.fixed)})

        return SamplerEntry(build=made, objectives=self.objectives, needs=self.needs)

    def asked(
        self, what: ProposerInput, made_by: Callable[..., "BaseSampler"], given: dict[str, Any]
    ) -> Proposer[Any]:
        """An Optuna study with a sampler of the class *made_by*, which is of this kind."""
        from dse.samplers.made import made_sampler

        return self.screened(what, made_sampler(made_by, what.seed, {**given, **what.arguments}))

    def screened(self, what: ProposerInput, sampler: "BaseSampler") -> Proposer[Any]:
        """An Optuna study with a *sampler* of this kind, which is there already."""
        from dse.samplers.screened import ScreenedProposer
        from dse.samplers.study_proposer import OptunaProposer

        look = what.look or self.look
        asked = OptunaProposer(what, look, sampler, believes=self.believes)
        return ScreenedProposer(asked, what, draws=self.draws)


_KINDS = {
    "random": _Kind(name="RandomSampler", look=_INDEX, draws=True),
    "tpe": _Kind(
        name="TPESampler",
        look=_INDEX,
        takes="n_startup_trials",
        fixed=(("constant_liar", True),),
    ),
    "nsga2": _Kind(name="NSGAIISampler", look=_WEIGHTS, takes="population_size", usual=50),
    "nsga3": _Kind(name="NSGAIIISampler", look=_WEIGHTS, takes="population_size", usual=50),
    "gp": _Kind(
        name="GPSampler",
        look=_WEIGHTS,
        takes="n_startup_trials",
        needs=("torch", "scipy"),
        believes=True,
    ),
    "cmaes": _Kind(
        name="CmaEsSampler",
        look=_STEPS_BY_VALUE,
        takes="n_startup_trials",
        objectives=1,
        needs=("cmaes",),
    ),
    "qmc": _Kind(
        name="QMCSampler",
        look=_STEPS,
        fixed=(("scramble", True), ("warn_independent_sampling", False)),
        needs=("scipy",),
        draws=True,
    ),
}


def _design(what: ProposerInput) -> Proposer[Any]:
    """The search, or every design where the trials suffice for that."""
    from dse.samplers.design_proposer import DesignProposer
    from dse.samplers.exhaustive import ExhaustiveProposer, fits

    return ExhaustiveProposer(what) if fits(what) else DesignProposer(what)


def _exhaustive(what: ProposerInput) -> Proposer[Any]:
    from dse.samplers.exhaustive import ExhaustiveProposer

    return ExhaustiveProposer(what)


def _local(what: ProposerInput) -> Proposer[Any]:
    from dse.samplers.design import LOCAL
    from dse.samplers.design_proposer import DesignProposer

    return DesignProposer(what, settings=LOCAL)


def _portfolio(what: ProposerInput) -> Proposer[Any]:
    from optuna import samplers

    from dse.samplers.design_sampler import DesignSampler
    from dse.samplers.portfolio import PortfolioSampler

    own = DesignSampler(what.space, seed=what.seed, style="weights", admits=what.admits)
    others = [
        samplers.NSGAIISampler(seed=what.seed, population_size=what.population or 50),
        samplers.RandomSampler(seed=what.seed),
    ]
    kind = _Kind(name="", look=_WEIGHTS)
    return kind.screened(what, PortfolioSampler([own, *others], seed=what.seed))


def _from_outside(found: object) -> SamplerEntry:
    """One whose class is derived from ``Proposer``, or from a sampler of Optuna."""
    from optuna import samplers
    from optuna.samplers import BaseSampler

    if isinstance(found, SamplerEntry):
        return found
    if isinstance(found, type) and issubclass(found, Proposer):
        return SamplerEntry(build=found, is_ours=True)
    if isinstance(found, type) and issubclass(found, BaseSampler):
        made_by: Callable[..., BaseSampler] = found
        kinds = [
            kind for kind in _KINDS.values() if issubclass(found, getattr(samplers, kind.name))
        ]
        kind = kinds[0] if kinds else _Kind(name="", look=_INDEX)
        return SamplerEntry(
            build=lambda what: kind.asked(what, made_by, {}),
            objectives=kind.objectives,
            needs=kind.needs,
        )
    rule = "must be a class derived from Proposer, or from optuna.samplers.BaseSampler"
    raise ConfigError("", rule, got=found)


SAMPLERS: Registry[SamplerEntry] = Registry(
    "a sampler",
    {
        "design": SamplerEntry(build=_design, is_ours=True),
        "exhaustive": SamplerEntry(build=_exhaustive, is_ours=True),
        "local": SamplerEntry(build=_local, is_ours=True),
        "portfolio": SamplerEntry(build=_portfolio, is_ours=True),
        **{name: kind.entry() for name, kind in _KINDS.items()},
    },
    adapt=_from_outside,
)


def sampler_named(name: str) -> SamplerEntry:
    """The sampler that a study names.

    Args:
        name: Ours, a class of Optuna's, ``package.module:Class``, or ``optunahub:package:Class``.

    Raises:
        ConfigError: There is none; or it cannot be had.
    """
    if is_of_hub(name):
        name = hub_module(name)
    elif name.isidentifier() and name.endswith("Sampler"):
        name = f"optuna.samplers:{name}"
    if name not in SAMPLERS:
        raise SAMPLERS.unknown(name, at=AT)
    return SAMPLERS[name]


def build_proposer(name: str, what: ProposerInput) -> Proposer[Any]:
    """The proposer of the sampler *name*: each of its proposals is a trial of an Optuna study.

    Raises:
        ConfigError: A package is missing, there are too many objectives, or the sampler does not
            take its arguments.
    """
    from dse.samplers.study_proposer import OwnProposer

    entry = sampler_named(name)
    entry.check(name, len(what.goals.objectives), what.arguments)
    proposer = entry.build(what)
    return proposer if proposer.asks_study else OwnProposer(what, proposer)
