"""The text of a study file, with comments, from answers."""

from math import gcd
from pathlib import Path

from dse.plain_files import written_whole
from dse.starter.answers import (
    MAX_NPUS,
    TOKENS_PER_ITERATION,
    Answers,
    check_objectives,
    unpriced,
)
from dse.study.compile import load_study_file
from simcore import ConfigError, Model, Npu

_OF_MACHINE = {"capital_cost", "usd_per_token", "energy_per_token", "power"}
"""Objectives that a bill of materials prices."""


def write_study(answers: Answers, out: Path, *, force: bool = False) -> None:
    """Write the study that *answers* ask for, and check that it can be run.

    Raises:
        ConfigError: An answer breaks a rule; the file is there already and *force* is not set; or
            what would be written cannot be run.
    """
    if out.exists() and not force:
        rule = "must not exist yet: name another file, or give --force to write over it"
        raise ConfigError(str(out), rule, got="a file")
    text = study_text(answers)
    trial = out.with_name(f".{out.name}.new.yaml")
    _put(trial, text)
    try:
        load_study_file(trial)
        _put(out, text)
    except ConfigError as error:
        mine = error.at.replace(str(trial), str(out))
        raise ConfigError(mine, error.rule, got=error.got) from None
    finally:
        trial.unlink(missing_ok=True)


def _put(out: Path, text: str) -> None:
    try:
        with written_whole(out) as partial:
            partial.write_text(text, encoding="utf-8")
    except OSError as error:
        got = error.strerror or str(error)
        raise ConfigError(str(out), "must be a file that can be written", got=got) from None


def study_text(answers: Answers) -> str:
    """A study file: what is fixed, what is free, which rules hold, what counts.

    Raises:
        ConfigError: An answer breaks a rule.
    """
    check_objectives(answers.objectives)
    model, platform = answers.net(), answers.platform()
    npus = platform.npus if platform else answers.npus
    if not 1 <= npus <= MAX_NPUS:
        raise ConfigError("--npus", f"must be from 1 to {MAX_NPUS}", got=npus)
    chips = [platform.npu] if platform else answers.accelerators()
    inner = platform.dimensions[0].npus if platform else min(_inner(one, npus) for one in chips)
    widest = inner if platform else max(_inner(one, npus) for one in chips)
    goals = _goals(answers, chips)
    batch = answers.global_batch or _batch(answers.sequence, npus)
    machine = [f"  platform: {answers.machines[0]}"] if platform else _machine(answers, chips, npus)
    lines = _head(answers, model, npus, goals)
    lines += [
        "run:",
        "  # What stays as it is, and the design that all others are measured against.",
        f"  workload: {{model: {_quoted(answers.told(answers.model))}, "
        f"sequence: {answers.sequence}, global_batch: {batch}, precision: {_precision(chips)}}}",
        *machine,
        f"  plan: {_plan(model, npus, inner, batch)}",
        "  system: {chunks: 4}",
        *_space(answers, model, chips, npus, widest),
        "# What counts. Others: docs/study-files.md#objectives",
        f"objectives: {{{', '.join(f'{name}: {_sense(name)}' for name in goals)}}}",
        "constraints: [fits_in_memory, memory_suffices]",
    ]
    if _OF_MACHINE & set(goals):
        lines.append("cost: {model: bill_of_materials, prices: default}")
    lines += [
        "# More trials find better designs: dse study FILE --trials auto goes on until none does.",
        "search: {sampler: design, trials: 300}",
        "execution: {executor: local}    # ray, for workers on other machines",
        "evaluator: simulator",
    ]
    return "\n".join(lines) + "\n"


def _head(answers: Answers, model: Model, npus: int, goals: list[str]) -> list[str]:
    machines = " or ".join(Path(one).stem for one in answers.machines)
    return [
        f"# {model.name} on {npus} {machines}: written by dse init, to be changed.",
        f"# {model.parameters:,} parameters, of which a token meets {model.active_parameters:,}.",
        "#",
        "#   dse check FILE    the size of the space, objectives, constraints",
        "#   dse study FILE    the search; results go to runs/",
        "version: 1",
        f"question: {_quoted(f'Which plan is best in {_listed(goals)} for {model.name}?')}",
        "seed: 0",
    ]


def _precision(chips: list[Npu]) -> str:
    """The first of the 16-bit formats, and 32 bits, that all accelerators compute in."""
    for one in ("bf16", "fp16", "fp32"):
        if all(one in chip.peak_flop_per_s for chip in chips):
            return one
    formats = "; ".join(f"{chip.name}: {', '.join(chip.peak_flop_per_s)}" for chip in chips)
    raise ConfigError("--machine", "needs bf16, fp16 or fp32 on all accelerators", got=formats)


def _listed(goals: list[str]) -> str:
    return " and ".join(name.replace("_", " ") for name in goals)


def _goals(answers: Answers, chips: list[Npu]) -> list[str]:
    missing = unpriced(chips)
    if answers.objectives:
        asked = [name for name in answers.objectives if name in _OF_MACHINE]
        if missing and asked:
            rule = f"needs prices, and there are none of {', '.join(missing)}: leave it out"
            raise ConfigError("--objective", rule, got=asked[0])
        return list(dict.fromkeys(answers.objectives))
    several = len(chips) > 1 and not missing
    return ["iteration_time", "capital_cost"] if several else ["iteration_time"]


def _sense(name: str) -> str:
    return "maximise" if name == "mfu" else "minimise"


def _inner(npu: Npu, npus: int) -> int:
    """NPUs that share the links of a server: the greatest divisor of all within its reach."""
    reach = min(npu.scale_up.npus, npus)
    return next(size for size in range(reach, 0, -1) if npus % size == 0)


def _machine(answers: Answers, chips: list[Npu], npus: int) -> list[str]:
    inner = min(_inner(one, npus) for one in chips)
    for name, chip in zip(answers.machines, chips, strict=True):
        domain = chip.scale_up
        if _inner(chip, npus) > 1 and (domain.topology is None or domain.fabric is None):
            rule = "needs scale_up.topology and scale_up.fabric in its file, which tell its links"
            raise ConfigError("--machine", rule, got=name)
    lines = [
        "  # Links, cards, hosts and power are those that the accelerator is sold with (native);",
        "  # messages get the part of a bandwidth that was measured on such links (efficiency).",
        "  platform:",
        f"    npu: {_quoted(answers.told(answers.machines[0]))}",
        "    dimensions:",
    ]
    reached = "efficiency: native, latency: native"
    native = f"topology: native, npus: {{}}, bandwidth: native, {reached}"
    if inner > 1 or len({_inner(one, npus) for one in chips}) > 1:
        lines.append(f"      - {{{native.format(inner)}}}    # within a server")
    if npus > inner or inner == 1:
        outer = native.format(npus // inner)
        cards = all(one.scale_out and one.scale_out.installed_bytes_per_s for one in chips)
        if answers.bandwidth:
            link = f"bandwidth: {answers.bandwidth}, {reached}"
            outer = f"topology: switch, npus: {npus // inner}, {link}"
        elif not cards:
            rule = "must be given, such as '50 GB/s': no cards are known that servers are sold with"
            raise ConfigError("--bandwidth", rule, got=None)
        lines.append(f"      - {{{outer}}}    # between servers")
    return lines


def _batch(sequence: int, npus: int) -> int:
    """Sequences of some 4 million tokens, a multiple of all NPUs so that every dp divides it."""
    return max(npus, round(TOKENS_PER_ITERATION / sequence / npus) * npus)


def _plan(model: Model, npus: int, inner: int, batch: int) -> str:
    """A plan to begin with: tensor parallelism within a server, the rest in data parallelism."""
    tp = _greatest_power_of_two(gcd(gcd(inner, model.heads), model.key_value_heads))
    pp = _greatest_power_of_two(gcd(npus // tp, 4 if model.parameters > 5e10 else 1))
    dp = npus // tp // pp
    if batch % dp:
        rule = f"must be a multiple of the {dp} replicas of a first plan"
        raise ConfigError("--global-batch", rule, got=batch)
    ep = _greatest_power_of_two(gcd(dp, model.experts.count)) if model.experts else 1
    experts = f"ep: {ep}, " if model.experts else ""
    return (
        f"{{tp: {tp}, cp: 1, pp: {pp}, dp: {dp}, {experts}micro_batch: 1, zero_stage: 1, "
        f"recompute: selective, sequence_parallel: {str(tp > 1).lower()}}}"
    )


def _greatest_power_of_two(number: int) -> int:
    return number & -number


def _space(answers: Answers, model: Model, chips: list[Npu], npus: int, inner: int) -> list[str]:
    tp = [n for n in _divisors(inner) if model.heads % n == 0 and n <= 64]
    pp = [n for n in _divisors(npus) if n <= min(model.layers, 32)]
    cp = [n for n in (1, 2, 4) if npus % n == 0 and (n == 1 or answers.sequence >= 8192)]
    lines = [
        "space:",
        "  # Whole numbers whose product is the number of NPUs; dp takes what the others leave.",
        "  products:",
        "    - of: [plan.tp, plan.cp, plan.pp, plan.dp]",
        "      equals: npus",
        f"      limits: {{plan.tp: {tp}, plan.cp: {cp}, plan.pp: {pp}}}",
    ]
    lines += _servers(chips, npus)
    lines += ["  # Knobs, each with the values that it may take.", "  axes:"]
    if len(chips) > 1:
        named = ", ".join(_quoted(answers.told(one)) for one in answers.machines)
        lines.append(f"    platform.npu: {{choices: [{named}]}}")
    if model.experts:
        ep = [n for n in _divisors(npus) if model.experts.count % n == 0 and n <= 64]
        lines.append(f"    plan.ep: {{choices: {ep}}}")
    lines += [
        "    plan.micro_batch: {choices: [1, 2, 4]}",
        "    plan.recompute: {choices: [none, selective, full]}",
        "    plan.sequence_parallel: {choices: [true, false], when: plan.tp > 1}",
        "    plan.interleave: {choices: [1, 2], when: plan.pp > 1}",
        "    plan.zero_stage: {choices: [0, 1, 2, 3]}",
        "    system.chunks: {choices: [1, 4, 16]}",
        "  # Designs that break a rule are never proposed.",
        "  require:",
        "    - workload.global_batch % (plan.dp * plan.micro_batch) == 0",
    ]
    return lines


def _servers(chips: list[Npu], npus: int) -> list[str]:
    """Lines on NPUs of a server, where accelerators come in servers of different sizes."""
    inners = sorted({_inner(one, npus) for one in chips})
    if len(inners) == 1:
        return []
    lines = [
        "    # NPUs of a server, and servers: accelerators come in servers of different sizes.",
        '    - of: ["platform.dimensions[*].npus"]',
        f"      equals: {npus}",
        f'      limits: {{"platform.dimensions[0].npus": {inners}}}',
    ]
    if inners[-1] == npus:  # all of them in one server or rack
        lines.append("      dimensions: {1: [0], 2: [0, 1]}")
    return lines


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, min(number, 4096) + 1) if number % n == 0]


def _quoted(text: str) -> str:
    """The text as YAML reads it back: in quotes where it holds more than a plain name."""
    plain = all(letter.isalnum() or letter in "_./-" for letter in text)
    if plain and text[:1].isalpha():
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
