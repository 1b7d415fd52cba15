"""Times of jobs that share a machine."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from simcore.units import plain_sum


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """One job.

    Attributes:
        name: Its name.
        npus: Its NPUs.
        levels: How many of them lie along each level of the machine that they differ in.
        start_s: When it began.
        alone_s: Time of an iteration while no other job runs, mean over its iterations.
        iterations_s: Time of each iteration beside the other jobs.
        sent_bytes: Bytes that its NPUs sent in all iterations.
        note: Sentence on where its ranks are; empty: as the allocation says.
    """

    name: str
    npus: tuple[int, ...]
    levels: tuple[int, ...]
    start_s: float
    alone_s: float
    iterations_s: tuple[float, ...]
    sent_bytes: int
    note: str = ""

    @property
    def together_s(self) -> float:
        """Time of an iteration beside the other jobs, mean over all."""
        return plain_sum(self.iterations_s) / len(self.iterations_s)

    @property
    def slowdown(self) -> float:
        """Time beside the others over time alone."""
        return self.together_s / self.alone_s


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedLink:
    """One direction of a cable that several jobs use.

    Attributes:
        begin: Node that sends.
        end: Node that receives.
        bandwidth_bytes_per_s: Of the link.
        carried_bytes: By job.
    """

    begin: str
    end: str
    bandwidth_bytes_per_s: float
    carried_bytes: Mapping[str, float]

    @property
    def kept_s(self) -> float:
        """Time for which the bytes of all jobs keep it."""
        return plain_sum(self.carried_bytes.values()) / self.bandwidth_bytes_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsResult:
    """Jobs that share a machine.

    Attributes:
        backend: Network backend.
        jobs: In the order of their file.
        links: Links that several jobs use, by the network's own routes; those first that bytes
            of all jobs but the one with most keep longest.
    """

    backend: str
    jobs: tuple[JobResult, ...]
    links: tuple[SharedLink, ...]

    def table(self) -> dict[str, Any]:
        """Plain data, keys with units."""
        return {
            "backend": self.backend,
            "jobs": [
                {**asdict(job), "together_s": job.together_s, "slowdown": job.slowdown}
                for job in self.jobs
            ],
            "shared_links": [{**asdict(link), "kept_s": link.kept_s} for link in self.links],
        }
