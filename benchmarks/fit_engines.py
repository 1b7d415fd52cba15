"""Fits the files of ``configs/engines`` to measured batches whose engine is told.

    python benchmarks/fit_engines.py ROWS.csv [--engine vllm ...] [--every N]
        [--left-out [model|system]] [--write]

For each engine: time that the host and each collective take, and where no table holds the kernels,
the parts of the data sheet that they reach. An engine is fitted to the rows whose notes name it,
that of full load to the rows in which all requests wait at once. With ``--left-out`` models (or
systems) are left out of the fit one after the other, and the error on them is told. With
``--write`` the values go into the files.
"""

import argparse
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
from scipy.optimize import least_squares

from simcore.errors import SimcoreError
from simcore.files.resources import find_config
from simcore.validation.rows import MeasuredRow
from simcore.validation.served.accelerators import (
    FULL_LOAD_ENGINE,
    NAMED_ENGINES,
    OWN_ENGINES,
)
from simcore.validation.served.batch_rows import FULL_LOAD, Batch
from simcore.validation.served.batches import BatchPredictor
from simcore.validation.served.engine import KernelRates, ServingEngine
from simcore.validation.served.systems import GPU_ENGINES, served_as

HOST = {"host_step_s": (1e-5, 2e-2), "host_sequence_s": (1e-7, 5e-4), "collective_s": (1e-7, 2e-4)}
RATES = {"product": (0.02, 0.65), "memory": (0.2, 0.9), "keys": (0.1, 0.9)}
"""Bounds of values: parts of the data sheet are at most those of the best measured accelerator."""
IMBALANCES = 0.1, 0.15, 0.2, 0.25, 0.3
"""Choices where the engine spreads experts."""
CORNER = 0.1
"""Errors beyond this count by their size, smaller ones by their square."""


@dataclass(frozen=True)
class Case:
    """A measured batch.

    Attributes:
        measured: Tokens per second of one instance.
    """

    batch: Batch
    measured: float


class Fit:
    """Fits one engine.

    Attributes:
        names: Of the values that are fitted.
    """

    def __init__(self, engine: ServingEngine) -> None:
        self.engine, self.predictor = engine, BatchPredictor()
        bounds = {**HOST, **(RATES if engine.rates else {})}
        self.names = list(bounds)
        self.low, self.high = np.log(np.array(list(bounds.values()))).T

    def engine_of(self, values: Sequence[float]) -> ServingEngine:
        told = dict(zip(self.names, map(float, np.exp(values)), strict=True))
        update: dict[str, object] = {name: told[name] for name in told if name not in RATES}
        if rates := self.engine.rates:
            part = {name: told[name] for name in RATES}
            update["rates"] = KernelRates.build(**{**rates.model_dump(), **part})
        return self.engine.model_copy(update=update)

    def start(self) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
        rates = self.engine.rates
        held = [getattr(rates if name in RATES else self.engine, name) for name in self.names]
        return np.clip(np.log(np.maximum(held, 1e-9)), self.low + 1e-3, self.high - 1e-3)

    def logs(self, values: Sequence[float], cases: Sequence[Case]) -> list[float]:
        engine = self.engine_of(values)
        return [
            math.log(self.predictor.times(case.batch, engine).tokens_per_s / case.measured)
            for case in cases
        ]

    def fitted(self, cases: Sequence[Case]) -> Sequence[float]:
        return self._found(cases)[1]

    def choose_imbalance(self, cases: Sequence[Case]) -> None:
        """Take the load of the busiest accelerator that fits best, where the engine has one."""
        if not self.engine.expert_imbalance:
            return
        found = []
        for part in IMBALANCES:
            self.engine = self.engine.model_copy(update={"expert_imbalance": part})
            found.append((self._found(cases)[0], part))
        self.engine = self.engine.model_copy(update={"expert_imbalance": min(found)[1]})

    def _found(self, cases: Sequence[Case]) -> tuple[float, Sequence[float]]:
        found = least_squares(
            lambda values: self.logs(values, cases),
            self.start(),
            bounds=(self.low, self.high),
            loss="soft_l1",
            f_scale=CORNER,
            diff_step=0.03,
            xtol=1e-3,
            ftol=1e-4,
            max_nfev=12,
        )
        return float(found.cost), list(found.x)


def cases_of(rows: Sequence[MeasuredRow], engine: str) -> list[Case]:
    """Batches that *engine* ran, with what was measured."""
    found = []
    for row in rows:
        rate = row.number("tok_s_per_gpu")
        try:
            if rate is None or engine_name(row) != engine:
                continue
            batch = Batch.of(row)
            if batch.written == batch.answer:
                found.append(Case(batch, rate * batch.shape.npus))
        except SimcoreError:
            continue
    return found


def engine_name(row: MeasuredRow) -> str:
    """Name in ``configs/engines`` of the engine that the notes of *row* tell; empty: none does."""
    notes = {part.strip().lower() for part in row.text("notes").split(";")}
    own = served_as(row).engines
    if row.text("batch") == FULL_LOAD:
        return FULL_LOAD_ENGINE if own == GPU_ENGINES else ""
    if own in OWN_ENGINES:
        return own[0]
    return next((name for told, name in NAMED_ENGINES.items() if told in notes), "")


def report(fit: Fit, cases: Sequence[Case], *, left_out: str | None) -> ServingEngine:
    """Fit, tell how near that comes, and return the engine with its values."""
    fit.choose_imbalance(cases)
    values = fit.fitted(cases)
    engine = fit.engine_of(values)
    sizes = [abs(math.expm1(log)) for log in fit.logs(values, cases)]
    print(f"{fit.engine.name}: {len(cases)} rows, median error {median(sizes):.1%}")
    print(f"  host_step {engine.host_step_s * 1e3:.3g} ms", end="")
    print(f", host_sequence {engine.host_sequence_s * 1e6:.3g} us", end="")
    print(f", collective {engine.collective_s * 1e6:.3g} us", end="")
    print(f", expert_imbalance {engine.expert_imbalance}, rates {engine.rates}")
    if left_out:
        tell_left_out(fit, cases, left_out)
    return engine


def tell_left_out(fit: Fit, cases: Sequence[Case], left_out: str) -> None:
    errors, parts = [], [case.batch.row.text(left_out) for case in cases]
    for name in sorted(set(parts)):
        rest = [case for case, part in zip(cases, parts, strict=True) if part != name]
        apart = [case for case, part in zip(cases, parts, strict=True) if part == name]
        if not rest:
            continue
        logs = fit.logs(fit.fitted(rest), apart)
        errors.append(median(abs(math.expm1(log)) for log in logs))
        print(f"  without {name}: {errors[-1]:.1%} of {len(apart)} rows, {median(logs):+.2f}")
    if errors:
        print(f"  mean over what was left out: {sum(errors) / len(errors):.1%}")


def write(engine: ServingEngine) -> None:
    """Put the values into the engine's file; its source is to be mended by hand."""
    values = {
        "host_step": f"{engine.host_step_s * 1e3:.2g} ms",
        "host_sequence": f"{engine.host_sequence_s * 1e6:.2g} us",
        "collective": f"{engine.collective_s * 1e6:.2g} us",
    }
    if engine.expert_imbalance:
        values["expert_imbalance"] = f"{engine.expert_imbalance:g}"
    if rates := engine.rates:
        parts = ", ".join(f"{name}: {getattr(rates, name):.2g}" for name in RATES)
        once = ", once_per_query_head: true" if rates.once_per_query_head else ""
        values["rates"] = f"{{{parts}{once}}}"
    path = find_config("engines", engine.name, at="engine")
    text = path.read_text(encoding="utf-8")
    for name, value in values.items():
        text = re.sub(rf"(?m)^{name}: .*$", f"{name}: {value}", text)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--engine", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="only every so many rows")
    parser.add_argument("--left-out", nargs="?", const="model", choices=("model", "system"))
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = list(MeasuredRow.all_of(asked.rows))[:: asked.every]
    names = asked.engine or [
        FULL_LOAD_ENGINE,
        *NAMED_ENGINES.values(),
        *(own[0] for own in OWN_ENGINES),
    ]
    for name in dict.fromkeys(names):
        cases = cases_of(rows, name)
        if cases:
            engine = report(Fit(ServingEngine.load(name)), cases, left_out=asked.left_out)
            if asked.write:
                write(engine)


if __name__ == "__main__":
    main()
