"""Steps of one engine on one instance, as the accelerators take them: simulated, and its memory."""

from dataclasses import dataclass

from simcore.compute.tables.rates import PRODUCT, PRODUCT_STREAM, STREAM
from simcore.config import Run
from simcore.machine import Npu
from simcore.memory.footprint import footprint
from simcore.simulation import Simulator
from simcore.terms import FORMATS, NARROW_FORMATS
from simcore.units import format_memory
from simcore.validation.rows import UnsupportedRow
from simcore.validation.served.batch_rows import Batch
from simcore.validation.served.engine import KernelRates, ServingEngine
from simcore.validation.served.mapping import Load, ServedRuns, Step
from simcore.workload import Model
from simcore.workload.kinds.inference.formats import ServingFormats
from simcore.workload.kinds.inference.workload import InferenceWorkload
from simcore.workload.kinds.transformer.expert_paths import ExpertLoad


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of an engine with the batch's model.

    Attributes:
        runs: Builds runs of its steps.
        simulator: Simulates them.
    """

    batch: Batch
    engine: ServingEngine
    runs: ServedRuns
    simulator: Simulator

    def step_s(self, step: Step, sequences: int, keys: int) -> float:
        """Time of a step of *sequences*, each a prompt of, or an answer after, *keys* tokens."""
        run = self._with_load(self._run(step, sequences, keys))
        time_s = self.simulator.simulate(run).iteration_time_s
        npu, rates = run.platform.npu, self.engine.rates
        if rates is None or npu.kernels is not None or step == "prefill":
            return time_s
        read_bytes = _cache_bytes(run)
        told_s = read_bytes / (STREAM * npu.memory_bandwidth_bytes_per_s)
        sheet = npu.memory_bandwidth_bytes_per_s * PRODUCT_STREAM / rates.memory
        times = _heads_per_key(run, self.batch.model) if rates.once_per_query_head else 1.0
        return time_s - told_s + times * read_bytes / (rates.keys * sheet)

    def idle_s(self, sequences: int) -> float:
        """Time of a step in which the accelerators compute nothing; each copy has its own host."""
        each = -(-sequences // self.batch.shape.replicas)
        return self.engine.idle_s(each, self.batch.collectives)

    def most_sequences(self, keys: int) -> int:
        """Sequences of *keys* tokens for which the memory has room, on all copies of the model.

        Raises:
            UnsupportedRow: The weights alone fill it.
        """
        copies = self.batch.shape.replicas
        run = self._run("decode", copies, keys)
        told = run.platform.npu.memory_bytes
        needed = footprint(run.workload, run.plan).components()
        each = needed.pop("kv cache")
        left = self.engine.memory_part * told - needed["weights"] - self._working_bytes()
        if needed["weights"] > told:
            rule = f"weights need {format_memory(needed['weights'], 3)} of {format_memory(told, 3)}"
            raise UnsupportedRow(f"{rule} on each accelerator: give it more of them")
        return copies * max(1, int(left / each))

    def _working_bytes(self) -> float:
        """Activations and logits of the largest step of reading."""
        tokens = min(self.engine.read_tokens, max(self.batch.prompt, 1))
        run = self._run("prefill", self.batch.shape.replicas, tokens)
        needed = footprint(run.workload, run.plan).components()
        return float(needed["activations"] + needed["logits"])

    def _run(self, step: Step, sequences: int, keys: int) -> Run:
        load = Load(step=step, sequences=sequences, keys=keys)
        run = self.runs.run(self.batch.row, self.batch.shape, load)
        update: dict[str, object] = {"workload": self._with_cache(run.workload)}
        npu = self._npu(run.platform.npu)
        update["platform"] = run.platform.model_copy(update={"npu": npu})
        return run.model_copy(update=update)

    def _with_cache(self, workload: object) -> InferenceWorkload:
        """The step with the format in which the engine keeps keys and values."""
        assert isinstance(workload, InferenceWorkload)
        told = workload.formats or ServingFormats()
        products = {FORMATS[name].product for name in (told.weights, told.experts or told.weights)}
        narrow = self.engine.narrow_cache and bool(products & NARROW_FORMATS.keys())
        formats = told.model_copy(update={"cache": "fp8" if narrow else "bf16"})
        return workload.model_copy(update={"formats": formats})

    def _with_load(self, run: Run) -> Run:
        """*run* with experts that its tokens meet as unevenly as those of the engine's load."""
        workload, ep = run.workload, run.plan.ep
        if not isinstance(workload, InferenceWorkload) or workload.model.experts is None:
            return run
        update: dict[str, object] = {}
        if ep > 1:
            update["expert_load"] = ExpertLoad(imbalance=self.engine.imbalance(ep))
        elif self.engine.alike:
            experts = workload.model.experts
            met = experts.model_copy(update={"count": experts.active})
            update["model"] = workload.model.model_copy(update={"experts": met})
        return run.model_copy(update={"workload": workload.model_copy(update=update)})

    def _npu(self, npu: Npu) -> Npu:
        """The accelerator with the kernels of the engine."""
        if npu.kernels is not None:
            chosen = npu.kernels.model_copy(update={"engine": self.engine.kernels})
            return npu.model_copy(update={"kernels": chosen})
        return _reaching(npu, self.engine.rates) if self.engine.rates else npu


def _reaching(npu: Npu, rates: KernelRates) -> Npu:
    """*npu* with peaks of which kernels that no table holds reach *rates*."""
    part = rates.product / PRODUCT
    peaks = {format_: part * peak for format_, peak in npu.peak_flop_per_s.items()}
    bandwidth = rates.memory / PRODUCT_STREAM * npu.memory_bandwidth_bytes_per_s
    update = {"peak_flop_per_s": peaks, "memory_bandwidth_bytes_per_s": bandwidth}
    return npu.model_copy(update=update)


def _cache_bytes(run: Run) -> float:
    """Keys and values on one accelerator, all of which a step of decoding reads."""
    return float(footprint(run.workload, run.plan).components()["kv cache"])


def _heads_per_key(run: Run, model: Model) -> float:
    """Query heads on one accelerator for each of its key heads."""
    tp = run.plan.tp
    return (model.heads / tp) / max(1.0, model.key_value_heads / tp)
