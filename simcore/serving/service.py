"""A service: its model, its requests and its two pools of NPUs."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator

from simcore.config import Run
from simcore.config.names import platform_table, resolved
from simcore.config.paths import parse_path, set_steps
from simcore.errors import ConfigError, InfeasibleError
from simcore.files.resources import named_file, shipped_names
from simcore.files.yaml_file import read_yaml
from simcore.machine import Dimension, Platform, load_platform
from simcore.machine.system import System
from simcore.schema import Schema
from simcore.terms import Precision
from simcore.workload import ParallelPlan, load_model
from simcore.workload.kinds import InferenceWorkload
from simcore.workload.kinds.inference import Speculation
from simcore.workload.kinds.transformer.expert_paths import ExpertLoad
from simcore.workload.kinds.transformer.workload import NamedModel


class Pool(Schema):
    """NPUs that do one of the two steps of inference.

    Attributes:
        plan: How they share the work; its ``schedule`` is ``forward`` if not given.
        batch: Requests that they work on at once.
    """

    plan: ParallelPlan
    batch: int = Field(ge=1)

    @field_validator("plan", mode="before")
    @classmethod
    def _goes_forward(cls, value: object) -> object:
        return {"schedule": "forward", **value} if isinstance(value, dict) else value


class AnswerPool(Pool):
    """NPUs that answer.

    Attributes:
        speculation: What each of their steps guesses and checks.
    """

    speculation: Speculation | None = None


class Service(Schema):
    """Requests of one kind, served by two pools of NPUs (disaggregated serving).

    The first NPUs of the machine read prompts. The keys and values of each layer travel, as soon as
    they are made, to the NPUs after them, which add one token after another to the answers.

    Source: Y. Zhong et al., "DistServe", OSDI 2024, sections 3-4; P. Patel et al., "Splitwise",
    ISCA 2024, section 4.

    Attributes:
        version: Of the file format.
        model: What answers.
        prompt: Tokens of a prompt.
        answer: Tokens of an answer.
        precision, weight_format, dispatch_format, expert_load: As those of workloads of kind
            ``inference``.
        platform: The machine of both pools.
        prefill: The NPUs that read prompts.
        decode: The NPUs that answer.
        system: How data is moved.
        compute: Compute model of both pools; None: the default for inference.
    """

    version: Literal[1] = 1
    model: NamedModel
    prompt: int = Field(ge=1)
    answer: int = Field(ge=2)
    precision: Precision = Precision.BF16
    weight_format: Precision | None = None
    dispatch_format: Precision | None = None
    expert_load: ExpertLoad = Field(default_factory=ExpertLoad)
    platform: Platform
    prefill: Pool
    decode: AnswerPool
    system: System = Field(default_factory=System)
    compute: str | None = None

    @property
    def mean_context(self) -> int:
        """Tokens that a new token sees, on average over an answer."""
        return self.prompt + -(-self.answer // 2)

    @cached_property
    def prefill_run(self) -> Run:
        """The reading of a batch of prompts.

        Raises:
            InfeasibleError: The pool does not tile the machine.
        """
        workload = self._step(step="prefill", sequence=self.prompt, global_batch=self.prefill.batch)
        return self._run("prefill", 0, workload, self.prefill.plan)

    @cached_property
    def decode_run(self) -> Run:
        """A step of the answering of a batch of requests, half of their answers being there.

        Raises:
            InfeasibleError: The pool does not tile the machine.
        """
        workload = self._step(
            step="decode",
            sequence=self.mean_context,
            global_batch=self.decode.batch,
            steady=True,
            speculation=self.decode.speculation,
        )
        return self._run("decode", self.prefill.plan.npus, workload, self.decode.plan)

    def _step(self, **of_step: Any) -> InferenceWorkload:
        shared = ("model", "precision", "weight_format", "dispatch_format", "expert_load")
        return InferenceWorkload.build(**{key: getattr(self, key) for key in shared}, **of_step)

    def _run(self, pool: str, first: int, workload: InferenceWorkload, plan: ParallelPlan) -> Run:
        return Run.build(
            workload=workload,
            platform=part_of(self.platform, first, plan.npus, pool),
            plan=plan,
            system=self.system,
            **({} if self.compute is None else {"compute": self.compute}),
        )


def part_of(platform: Platform, first: int, npus: int, what: str) -> Platform:
    """*npus* NPUs of *platform* from id *first* on, as a machine of their own.

    They are whole units of the inner dimensions and lie side by side in the next one, of which
    they may be a part: switches, full connections and meshes can be cut, rings cannot.

    Args:
        platform: The whole machine.
        first: Id of the first NPU.
        npus: NPUs of the part, at least 2.
        what: Name of the part for messages.

    Raises:
        InfeasibleError: They are no such part.
    """
    if npus < 2:
        raise InfeasibleError("pools_tile_machine", f"{what} has {npus} NPU and needs at least 2")
    dimensions: list[Dimension] = []
    left, at = npus, first
    for dimension in platform.dimensions:
        if left == 1:
            break
        extent, start = min(left, dimension.npus), at % dimension.npus
        share: Fraction | None = Fraction(1)
        if extent < dimension.npus:
            share = dimension.shape.part_of_bandwidth(dimension.npus, extent)
            share = share if left == extent else None
        if share is None or left % extent != 0 or start + extent > dimension.npus:
            shape = " x ".join(str(each.npus) for each in platform.dimensions)
            reason = (
                f"{what} has {npus} NPUs from id {first} on, which are no whole part of the "
                f"dimensions {shape}"
            )
            raise InfeasibleError("pools_tile_machine", reason)
        bandwidth = dimension.bandwidth_bytes_per_s * float(share)
        part = {"npus": extent, "bandwidth_bytes_per_s": bandwidth}
        dimensions.append(dimension.model_copy(update=part))
        left, at = left // extent, at // dimension.npus
    scale = platform.scale_of(range(first, first + npus))
    return platform.model_copy(update={"dimensions": tuple(dimensions), "npu_scale": scale})


@dataclass(frozen=True, slots=True)
class ServiceTemplate:
    """A service file whose names are resolved, to be filled with the values of many designs.

    Attributes:
        table: The file as plain data; a model, platform or accelerator given by name has been
            replaced by its own.
    """

    table: Mapping[str, Any]

    @classmethod
    def from_table(cls, table: object, *, beside: Path | None = None) -> "ServiceTemplate":
        """Resolve the names in *table*; paths in it are taken from *beside*.

        Raises:
            ConfigError: A name has no file, or a file is not valid.
        """
        if not isinstance(table, dict):
            raise ConfigError("", "must be a table of keys and values", got=table)
        table = dict(table)
        if "platform" in table:
            table["platform"] = platform_table(table["platform"], beside)
        model = table.get("model")
        if isinstance(model, str) or (isinstance(model, dict) and "config" in model):
            table["model"] = load_model(model, beside=beside)
        return cls(table)

    def prepare(self, paths: Iterable[str]) -> None:
        """Nothing: the services of a study share the model alone, which has been read."""

    def with_values(self, values: Mapping[str, object]) -> Service:
        """The service with *values* (by path, as in a file) in place of the file's.

        Raises:
            ConfigError: A path leads nowhere, or a value breaks a rule; names the path.
        """
        table: Any = dict(self.table)
        for path, value in values.items():
            steps = parse_path(path)
            table = set_steps(table, steps, resolved(steps, value), path)
        if "platform" in table:
            table["platform"] = load_platform(table["platform"])
        return Service.from_file_data(table, at="")


def is_service(path: Path) -> bool:
    """True if a file, or a shipped name, is that of a service: it has pools, a run has none."""
    if str(path) in shipped_names("services"):
        return True
    table = read_yaml(named_file("runs", path))
    return isinstance(table, dict) and not table.keys().isdisjoint({"prefill", "decode"})


def load_service(path: Path, values: Mapping[str, object] | None = None) -> Service:
    """Read a service file, with *values* by path in place of the file's.

    Args:
        path: Of the file, or the name of one in ``configs/services``.
        values: By path, as in a file.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    path = named_file("services", path)
    try:
        template = ServiceTemplate.from_table(read_yaml(path), beside=path.parent)
        return template.with_values(values or {})
    except ConfigError as error:
        raise error.in_file(path) from None
