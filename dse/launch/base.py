"""Contract of a tool: a design in, its launch file out, and the plan read back from that file."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

from simcore import ConfigError, InferenceWorkload, Model, ParallelPlan, Run, TrainingWorkload

PlanKeys = dict[str, object]
"""Keys of a plan, ``global_batch`` and ``precision`` beside them, and their values."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """A design as launch files need it.

    Attributes:
        run: The design as a run file; of a service that of one of its pools.
        title: Name of study and trial, for the head of the file.
        pool: Which pool of a service this is: ``prefill`` or ``decode``; empty: there are none.
    """

    run: Run
    title: str
    pool: str = ""

    @property
    def plan(self) -> ParallelPlan:
        return self.run.plan

    @property
    def training(self) -> TrainingWorkload:
        """The workload of a transformer that is trained.

        Raises:
            ConfigError: It is none.
        """
        workload = self.run.workload
        if isinstance(workload, TrainingWorkload) and workload.trains:
            return workload
        refuse("workload.kind", "must be transformer, which this tool trains", workload.kind)

    @property
    def serving(self) -> InferenceWorkload:
        """The workload of a transformer that answers.

        Raises:
            ConfigError: It is none.
        """
        if isinstance(self.run.workload, InferenceWorkload):
            return self.run.workload
        kind = self.run.workload.kind
        refuse("workload.kind", "must be inference, which this tool does", kind)

    @property
    def model(self) -> Model:
        return self.training.model if self.run.workload.trains else self.serving.model

    @property
    def microbatches(self) -> int:
        """Micro-batches of a replica in an iteration."""
        return self.run.workload.global_batch // (self.plan.dp * self.plan.micro_batch)


class LaunchTool(ABC):
    """A tool that starts what a design plans.

    Attributes:
        tool: Its name and the version whose options are written.
        file: Name of its launch file.
        trains: It trains; False: it serves.
    """

    tool: ClassVar[str]
    file: ClassVar[str]
    trains: ClassVar[bool] = True

    @abstractmethod
    def text(self, job: Job) -> str:
        """The launch file of a design.

        Raises:
            ConfigError: The tool has no option for something that the design asks for; names it.
        """

    @abstractmethod
    def plan(self, text: str) -> PlanKeys:
        """The keys of a plan that a launch file of this tool asks for.

        Raises:
            ConfigError: The text is no such file.
        """


def refuse(key: str, rule: str, got: object) -> NoReturn:
    """Refuse a design for what a tool cannot express.

    Raises:
        ConfigError: Always.
    """
    raise ConfigError(key, rule, got=got)


def refuse_unless(tool: str, plan: ParallelPlan, allowed: Mapping[str, Iterable[object]]) -> None:
    """Refuse values of plan keys that a *tool* has no option for.

    Raises:
        ConfigError: A key has none of the allowed values.
    """
    for key, values in allowed.items():
        choices, value = list(values), getattr(plan, key)
        if value not in choices:
            told = " or ".join(_told(one) for one in choices)
            name = key.removesuffix("_bytes")
            refuse(f"plan.{name}", f"must be {told} for {tool}, which has no more", value)


def _told(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "left out" if value is None or value == () else str(value)


def head(job: Job, tool: LaunchTool, comment: str = "#") -> list[str]:
    """First lines of a launch file: of which design it is, for which tool."""
    plan = job.plan
    degrees = f"tp {plan.tp}, cp {plan.cp}, pp {plan.pp}, dp {plan.dp}"
    where = f"{plan.npus} NPUs ({job.run.platform.npu.name}): {degrees}"
    return [
        f"{comment} {job.title}, for {tool.tool}; written by dse export.",
        f"{comment} {job.model.name} on {where}",
    ]


def is_even(job: Job) -> bool:
    """True if all chunks of a pipeline have the same number of layers."""
    plan, layers = job.plan, job.model.layers
    if plan.chunk_layers:
        return len(set(plan.chunk_layers)) == 1
    return layers % (plan.pp * plan.interleave) == 0


def chunk_layers(job: Job) -> list[int]:
    """Layers of each chunk in the order of the model; the early ones have one more."""
    plan = job.plan
    if plan.chunk_layers:
        return list(plan.chunk_layers)
    chunks = plan.pp * plan.interleave
    whole, more = divmod(job.model.layers, chunks)
    return [whole + (number < more) for number in range(chunks)]


def check_order(job: Job, tool: str, *orders: tuple[str, ...]) -> int:
    """Number of the first of these *orders* that lays the plan out as the plan's own does.

    Axes of one NPU have no place. ``ep`` stands for experts, whose NPUs lie in the order of dp.

    Raises:
        ConfigError: None does.
    """
    plan = job.plan
    wide = {axis for axis in plan.order if getattr(plan, axis) > 1}
    own = [axis for axis in plan.order if axis in wide]
    for number, order in enumerate(orders):
        if own == [axis for axis in order if axis in wide]:
            return number
    told = " or ".join("-".join(order) for order in orders)
    refuse("plan.order", f"must be {told} for {tool}, which has no others", "-".join(plan.order))


def refuse_updates(job: Job, tool: str) -> None:
    """Refuse replicas that agree otherwise than by an all-reduce.

    Raises:
        ConfigError: They do.
    """
    kind = job.plan.updates.kind
    if kind != "all_reduce":
        refuse("plan.updates.kind", f"must be all_reduce for {tool}, which has no more", kind)


def check_model(job: Job, tool: str, *, able: Iterable[str] = ()) -> None:
    """Refuse models with parts for which no options of *tool* are written here.

    Args:
        job: The design.
        tool: Its name.
        able: Parts that it has options for: ``experts``, ``latent``.

    Raises:
        ConfigError: The model has another part.
    """
    model, known = job.model, set(able)
    for part in ("experts", "latent", "linear", "mamba", "pattern", "vision", "encoder_layers"):
        if part not in known and getattr(model, part):
            rule = f"must be left out for {tool}: options for it are not written here"
            refuse(f"workload.model.{part}", rule, model.name)
    if model.window and "window" not in known:
        rule = f"must be 0 for {tool}: options for windows are not written here"
        refuse("workload.model.window", rule, model.window)
    if not model.causal or not model.vocabulary:
        rule = f"must be a causal model with a vocabulary for {tool}"
        refuse("workload.model", rule, model.name)


def heads_vectors(model: Model, tool: str) -> Literal["none", "biases", "norms"]:
    """Vectors that attention has beside its matrices: biases of its inputs, or norms of heads.

    Raises:
        ConfigError: The model has other vectors, for which no options of *tool* are written here.
    """
    vectors, width = model.vectors, model.head_width
    if vectors is None:
        return "none"
    for part in ("linear", "mamba", "mlp", "experts", "expert", "positions"):
        if getattr(vectors, part):
            rule = f"must be left out for {tool}: options for it are not written here"
            refuse(f"workload.model.vectors.{part}", rule, getattr(vectors, part))
    known: dict[int, Literal["none", "biases", "norms"]] = {
        0: "none",
        (model.heads + 2 * model.key_value_heads) * width: "biases",
        2 * width: "norms",
    }
    if vectors.attention not in known:
        rule = f"must be those of biases, or of norms of heads, for {tool}"
        refuse("workload.model.vectors.attention", rule, vectors.attention)
    return known[vectors.attention]


def check_divisions(job: Job, tool: str) -> None:
    """Refuse degrees that do not divide what they split, which parsers let pass.

    Raises:
        ConfigError: One does not.
    """
    plan, model, batch = job.plan, job.model, job.run.workload.global_batch
    rules = [
        ("plan.tp", plan.tp, model.heads, "the query heads"),
        ("plan.dp", plan.dp * plan.micro_batch, batch, "the global batch, times micro_batch,"),
        ("plan.ep", plan.ep, model.experts.count if model.experts else plan.ep, "the experts"),
        (
            "plan.ep",
            plan.ep * plan.expert_tp,
            plan.npus_per_stage,
            "the NPUs of a stage, times etp,",
        ),
    ]
    if model.ffn:
        rules.append(("plan.tp", plan.tp, model.ffn, "the inner width of the MLP"))
    for key, divisor, of, what in rules:
        if of % divisor:
            refuse(key, f"must divide {what} ({of}) for {tool}", divisor)
    heads = model.key_value_heads
    if heads % plan.tp and plan.tp % heads:
        refuse("plan.tp", f"must divide the {heads} heads of keys, or be a multiple", plan.tp)
    if model.experts is None and plan.ep > 1:
        refuse("plan.ep", "must be 1 for a model without experts", plan.ep)
