"""The study file, as it is written."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_serializer

from dse.evaluate import DEFAULT_EVALUATOR
from dse.evaluate.money import CostFile
from dse.space import SpaceFile
from dse.space.file import FileValue
from simcore import Bytes, Schema, Seconds

Sense = Literal["minimise", "maximise"]


class LimitFile(Schema):
    """A constraint on an objective: at most, or at least, a quantity with its unit.

    Attributes:
        objective: Name of an objective.
        at_most: The most that is feasible.
        at_least: The least that is feasible.
    """

    objective: str
    at_most: str | float | None = None
    at_least: str | float | None = None


def _share(value: object) -> object:
    """The share that a text such as ``1%`` means."""
    if not isinstance(value, str):
        return value
    try:
        return float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        raise ValueError("must be a share such as 1%") from None


Share = Annotated[float, BeforeValidator(_share, json_schema_input_type=float | str)]
"""A share of one: ``1%``, or a number."""


AUTO = "auto"
"""Number of trials that the search finds by itself."""

MOST_TRIALS, ALL_TRIED = 10_000, 1_000
"""With ``auto`` the most proposals, and the size of a space up to which every design is tried."""


class SearchFile(Schema):
    """Settings of the search.

    Attributes:
        sampler: One of ``SAMPLERS``, a class of Optuna's, ``package.module:Class``, or
            ``optunahub:package:Class``.
        sampler_arguments: What the class of a sampler of Optuna is called with.
        encoding: How a sampler of Optuna sees the space (``ENCODINGS``); by default as suits it.
        trials: Proposals of the sampler, all in all; ``auto``: as many as it takes until the front
            does not improve any more.
        population: Size of a generation, or designs drawn before the sampler starts to learn;
            the sampler's own default if left out.
        window: Proposal i knows the results of proposals 0 to i - window, whatever the number of
            workers, so that the same seed gives the same study. Samplers that learn in lessons
            have a tenth of the results under way, once that is more.
        islands: Searches that propose and evaluate side by side, each on a worker: they hear of
            each other after every *window* proposals of each. What a study finds depends on their
            number, never on that of the workers; 1: one search proposes, workers evaluate.
        repeats: Whether a known design counts as a proposal, answered from the earlier trial; if
            not, a new one takes its place where any is found.
        screening: Whether designs are left out whose bounds show that they exceed a limit or are
            beaten by a finished one.
        gap: Ends the search once it is proven that no design is better than those found by more
            than this share; a proof then takes turns with the sampler.
        hypervolume_gap: Ends the search once it is proven that no more than this share of the
            hypervolume of the front that could exist is missing; with ``gap``, both are told, and
            ``gap`` ends it.
        start: Designs to begin with: the values of their knobs, or the folder of a study whose
            front is taken.
        learn_from: Folders of earlier studies, of other machines, models or spaces: some designs of
            their fronts are evaluated before any other, on top of the trials.
        fidelity: Ways to judge designs, from coarse to fine: ``bound`` (screening), then network
            backends. Proposals are judged by the first backend; the best of each are judged again
            by the next one.
        promote: How many of the best designs are judged again, the whole front always.
        controls: How many of all other designs are judged again beside them.
        settle: How many designs at most are judged at the last level because they are one step on
            one ladder from the front there, and may be a bargain; and how many at most because the
            proof of a gap at that level asks for them.
    """

    sampler: str = "design"
    sampler_arguments: dict[str, Any] = Field(default_factory=dict)
    encoding: Literal["index", "weights", "steps"] | None = None
    trials: Annotated[int, Field(ge=1)] | Literal["auto"] = 300
    population: Annotated[int, Field(ge=2)] | None = None
    window: int = Field(default=32, ge=1, le=4096)
    islands: int = Field(default=1, ge=1, le=4096)
    repeats: bool = False
    screening: bool = True
    gap: Annotated[Share, Field(ge=0, lt=1)] | None = None
    hypervolume_gap: Annotated[Share, Field(gt=0, lt=1)] | None = None
    start: tuple[str | dict[str, FileValue], ...] = ()
    learn_from: tuple[str, ...] = ()
    fidelity: tuple[str, ...] = ()
    promote: int = Field(default=24, ge=1, le=10_000)
    controls: int = Field(default=8, ge=0, le=10_000)
    settle: int = Field(default=300, ge=0, le=10_000)

    @property
    def is_open(self) -> bool:
        """True if the search ends when it does not improve any more."""
        return self.trials == AUTO

    @property
    def asks_gap(self) -> bool:
        """True if the search ends when a proof is as near as asked for."""
        return self.gap is not None or self.hypervolume_gap is not None

    @property
    def most_trials(self) -> int:
        """The most proposals."""
        return MOST_TRIALS if isinstance(self.trials, str) else self.trials

    @property
    def exhausted(self) -> int:
        """Designs of a space that is rather evaluated as a whole."""
        return ALL_TRIED if isinstance(self.trials, str) else self.trials


class ExecutionFile(Schema):
    """Settings of evaluation.

    Attributes:
        executor: ``ray``, ``local`` (processes of this machine) or ``serial``.
        workers: How many designs are evaluated at once; by default one per core, of all nodes.
        address: A running Ray cluster.
        timeout_s: The most time that one evaluation may take: against those that hang, so far above
            what any takes, lest the speed of a machine decide what a study finds.
        cache: Folder of evaluations that studies share; none is used by default.
        memory_bytes: The most memory that one evaluation may take; unlimited by default.
    """

    executor: str = "ray"
    workers: Annotated[int, Field(ge=1, le=4096)] | None = None
    address: str | None = None
    cache: str | None = None
    timeout_s: Seconds = Field(default=600.0, gt=0, alias="timeout")
    memory_bytes: Annotated[Bytes, Field(gt=0)] | None = Field(default=None, alias="memory")

    @field_serializer("timeout_s")
    def _with_unit(self, value: float) -> str:
        return f"{value:g} s"

    @field_serializer("memory_bytes")
    def _in_bytes(self, value: float | None) -> str | None:
        return None if value is None else f"{value:.0f} B"


class ScenarioFile(Schema):
    """One of the circumstances under which every design is evaluated.

    Attributes:
        name: Ends the names of its metrics.
        run: What it changes in the study's run, table by table.
        prices: Price book in place of the study's.
        bandwidth: Share of every link's bandwidth that can be used; the whole link is paid for.
        weight: Factor of its objectives, before they are aggregated.
    """

    name: str = Field(pattern=r"^\w+$")
    run: dict[str, Any] = Field(default_factory=dict)
    prices: str | None = None
    bandwidth: Annotated[Share, Field(gt=0, le=1)] = 1.0
    weight: float = Field(default=1.0, gt=0)


class MetricsFile(Schema):
    """A user's own code that gives metrics of a design, beside those of the evaluator.

    Attributes:
        function: ``package.module:function`` of the design and its metrics so far.
        expression: Of knobs, values of the run and metrics so far, as a rule counts.
        command: A program of the user's and its arguments; it gets both as JSON on stdin.
        gives: Names of its metrics, each of which ends in its unit.
        files: Files that a command depends on beside those that it names.
        timeout_s: The most time that one call may take.
        memory_bytes: The most address space that its process may take; unlimited by default.
    """

    function: str = Field(default="", pattern=r"^$|^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*$")
    command: tuple[str, ...] = ()
    expression: str = ""
    gives: tuple[str, ...] = Field(min_length=1)
    files: tuple[str, ...] = ()
    timeout_s: Seconds = Field(default=60.0, gt=0, alias="timeout")
    memory_bytes: Annotated[Bytes, Field(gt=0)] | None = Field(default=None, alias="memory")

    @field_serializer("timeout_s")
    def _with_unit(self, value: float) -> str:
        return f"{value:g} s"

    @field_serializer("memory_bytes")
    def _in_bytes(self, value: float | None) -> str | None:
        return None if value is None else f"{value:.0f} B"


class StudyFile(Schema):
    """One question about designs.

    Attributes:
        version: Of the file format.
        question: What the study is to answer.
        source: Where the problem comes from.
        seed: Of the sampler.
        run: A run file: what the knobs do not set.
        space: The knobs.
        objectives: Names of objectives, each with its sense.
        constraints: Names of constraints, and limits on objectives.
        memory_margin: Part of the memory of an accelerator that ``fits_in_memory`` leaves for what
            a run needs beside its tensors; 0: designs are refused whose tensors alone do not fit.
        physical: Refuse machines that cannot be built of accelerators as they are sold: larger
            scale-up domains, more bandwidth, more ports. If not, they are custom parts.
        unchecked: Names of constraints that hold although they are not listed, and shall not.
        cost: How machines are priced; needed for objectives in USD and W.
        calibration: File of `simcore calibrate`: runs of one's own that move iteration times.
        scenarios: Circumstances under which every design is evaluated; by default those of the run.
        aggregate: What an objective is of its values in all scenarios: ``sum``, ``mean``, ``worst``
            or a quantile such as ``90%``, which 90 % of the scenarios are no worse than.
        search: How designs are proposed.
        execution: Where they are evaluated.
        evaluator: One of ``EVALUATORS``.
        metrics: The user's own code that gives further metrics, by a name of its own.
        reference_point: Per objective, for the hypervolume; by default 1.1 times the worst
            feasible value of the study.
        folder: Folder that relative paths start from; by default that of the file.
        versions: Versions that the study ran with; written, never read.
    """

    version: Literal[1]
    question: str = ""
    source: str = ""
    seed: int = Field(default=0, ge=0, lt=2**32)
    run: dict[str, Any] = Field(default_factory=dict)
    space: SpaceFile
    objectives: dict[str, Sense] = Field(min_length=1)
    constraints: tuple[str | LimitFile, ...] = ()
    memory_margin: Annotated[Share, Field(ge=0, lt=1)] = 0.0
    physical: bool = True
    unchecked: tuple[Literal["links_within_capacity"], ...] = ()
    cost: CostFile | None = None
    calibration: str = ""
    scenarios: tuple[ScenarioFile, ...] = ()
    aggregate: str = Field(default="sum", pattern=r"^(sum|mean|worst|\d+(\.\d+)?%)$")
    search: SearchFile = SearchFile()
    execution: ExecutionFile = ExecutionFile()
    evaluator: str = DEFAULT_EVALUATOR
    metrics: dict[str, MetricsFile] = Field(default_factory=dict)
    reference_point: dict[str, str | float] | None = None
    folder: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
