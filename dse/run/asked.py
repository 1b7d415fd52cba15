"""Rules about searches that the file of a study can tell before any begins."""

from dse.proof.designs import check_visits_all, why_unproven
from dse.study.compile import Study
from simcore import ConfigError


def check_search(study: Study) -> None:
    """See whether *study* can be searched as its file asks for.

    Raises:
        ConfigError: A gap, islands or the sampler cannot be together, or no gap can be proven.
    """
    search, counts = study.file.search, study.space.counts
    if search.sampler == "exhaustive" and counts.continuous:
        rule = "exhaustive needs a list of values for every knob"
        raise ConfigError("search.sampler", rule, got="a knob with a range")
    check_islands(study)
    if search.asks_gap and why_unproven(study):
        visits_all = search.sampler == "design" and takes_all(study)
        check_visits_all(study, visits_all or search.sampler == "exhaustive")


def check_islands(study: Study) -> None:
    """See whether the search of *study* can be one of islands, if it is to be.

    Raises:
        ConfigError: It takes all designs in order.
    """
    search = study.file.search
    if search.islands == 1:
        return
    at, own = "search.islands", search.islands
    if search.sampler == "exhaustive":
        rule = "must be 1 with the sampler exhaustive, which takes all designs in turn"
        raise ConfigError(at, rule, got=own)


def takes_all(study: Study) -> bool:
    """True if the trials of *study* suffice for all of its designs."""
    search, counts = study.file.search, study.space.counts
    return not counts.continuous and counts.searched <= search.exhausted
