"""Problems drawn by number whose every design can be evaluated: 1,000 to 20,000 valid ones.

Each family is a kind of question with constants, knobs, rules and limits drawn anew. What exceeds a
limit of the first four is refused without any values, and no check tells so beforehand, as it is
with an evaluator of one's own: ``layout`` trains a model, ``network`` connects NPUs, ``words`` has
no order and effects of pairs, ``service`` serves a model. ``model0`` and ``simulated`` are studies.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import yaml
from problems import Problem, study

from dse.objectives import Goals
from dse.space import Design, RunFacts, SpaceFile, build_space
from dse.study.compile import find_study

Answers = Mapping[str, float]
Evaluate = Callable[[Design], Answers]

LEAST, MOST = 1000, 20_000
"""Valid designs of a problem."""

_LOOKED_AT = 200
"""Designs by which it is told whether enough are feasible."""


def small_problem(number: int) -> tuple[str, Problem]:
    """Problem *number*, 0 and more, and its name; numbers go through the families in turn."""
    family = list(FAMILIES)[number % len(FAMILIES)]
    for attempt in range(100):
        random = Random(f"{family} {number} {attempt}")
        problem = FAMILIES[family](random)
        if LEAST <= problem.space.counts.searched <= MOST and _is_open(problem):
            return f"{family} {number}", problem
    raise ValueError(f"no problem {number} of that size")


def _is_open(problem: Problem) -> bool:
    """True if one in fifty designs is feasible."""
    step = problem.space.counts.searched // _LOOKED_AT
    some = list(islice(problem.space.designs(), 0, None, step))
    return sum(problem.admits(one) and bool(problem.evaluate(one)) for one in some) > len(some) / 50


def closed_form(
    file: Mapping[str, object], evaluate: Evaluate, objectives: Sequence[str], npus: int = 1
) -> Problem:
    """A problem with the space of *file*; *evaluate* gives nothing for a design that is refused."""
    facts = RunFacts(dimensions=0, npus=npus, fixed={})
    return Problem(
        space=build_space(SpaceFile.model_validate(file), facts),
        goals=Goals(objectives=dict.fromkeys(objectives, "minimise")),
        checks=[],
        canonical=lambda design: design,
        evaluate=lambda design: {
            name: value for name, value in evaluate(design).items() if name in objectives
        },
        score=lambda values: float(values[:, 0].min()),
        score_name=f"least {objectives[0]}",
    )


def limited(problem: Problem, amounts: Evaluate, shares: Mapping[str, float]) -> Problem:
    """*problem* where designs are refused whose amount exceeds that of a share of all designs."""
    every = [found for design in problem.space.designs() if (found := amounts(design))]
    limits = {
        name: float(np.quantile([found[name] for found in every], share))
        for name, share in shares.items()
    }
    whole = problem.evaluate

    def evaluate(design: Design) -> Answers:
        found = amounts(design)
        if not found or any(found[name] > limit for name, limit in limits.items()):
            return {}
        return whole(design)

    return replace(problem, evaluate=evaluate)


def layout(random: Random) -> Problem:
    """Plans of a transformer: memory and divisibility refuse, links between nodes are slower."""
    npus = random.choice([96, 128, 192, 256, 384, 512])
    layers, batch = random.choice([24, 32, 36, 48, 60, 64, 96]), npus * random.choice([1, 2, 3, 4])
    node, degrees = random.choice([4, 8, 16]), random.choice([3, 3, 4])
    state, acts, recompute = (
        random.uniform(60, 900),
        random.uniform(5, 80),
        random.uniform(0.2, 0.4),
    )
    link = [random.lognormvariate(0, 0.8) for _ in range(6)]
    others: dict[str, dict[str, object]] = {
        "interleave": {"choices": [1, 2, 4], "when": "pp > 1"},
        "zero": {"choices": [0, 1, 2, 3], "when": "dp > 1"},
        "recompute": {"choices": ["none", "selective", "full"]},
        "chunks": {"ladder": [1, 2, 4, 8, 16]},
        "order": {"choices": ["fifo", "lifo", "themis"]},
        "offload": {"choices": [False, True]},
    }
    chosen = random.sample(list(others), random.randint(2, 5))
    file = {
        "products": [{"of": ["dp", "tp", "pp", "cp"][:degrees], "equals": npus}],
        "axes": {"mb": {"ladder": [1, 2, 4, 8][: random.randint(3, 4)]}}
        | {name: others[name] for name in others if name in chosen},
    }

    def amounts(design: Design) -> Answers:
        dp, tp, pp, cp, mb = (int(design.get(k, 1)) for k in ("dp", "tp", "pp", "cp", "mb"))
        inter, zero = int(design.get("interleave", 1)), int(design.get("zero", 0))
        if batch % (dp * mb) or pp * inter > layers:
            return {}
        micro = batch // (dp * mb)
        if inter > 1 and micro % pp:
            return {}
        slow, held = {"none": (0.0, 1.0), "selective": (0.15, 0.4), "full": (1.0, 0.08)}[
            str(design.get("recompute", "selective"))
        ]
        own = state / (tp * pp)
        memory = own / (dp if zero == 3 else 1) + own / (dp if zero >= 2 else 1)
        memory += 3 * own / (dp if zero else 1) * (0.2 if design.get("offload") else 1.0)
        memory += acts * mb * held * min(pp, micro) / pp / (tp * cp) * (1 + 0.1 * (inter > 1))
        padded = -(-layers // (pp * inter)) * pp * inter / layers
        work = 100.0 * (1 + slow * recompute) * (1 + (pp - 1) / (micro * inter)) * padded
        work *= 1 + 0.15 / (mb / tp**0.5 + 0.1)
        chunks = int(design.get("chunks", 4))
        spread = {"fifo": 1.0, "lifo": 1.04, "themis": 0.97 + 0.05 * (tp > node)}
        wire = link[0] * 4 * (tp - 1) / tp * (6 if tp > node else 1) + link[1] * 1.5 * (cp - 1)
        wire += link[2] * 6 * (dp > 1) * (1.5 if zero == 3 else 1.0) / (tp * pp) ** 0.3
        wire *= spread[str(design.get("order", "fifo"))] * (1 + 0.4 / chunks + 0.02 * chunks)
        wire += link[3] * 0.4 * inter * (pp > 1) * (1 + (tp * pp > 4 * node))
        wire += link[4] * 5 * bool(design.get("offload"))
        price = 1.0 + 9 * min(tp, node) * link[5] + 2 * pp + 3 * cp * (1 + (tp > node))
        return {"iteration_time": work + wire, "footprint": memory, "network_cost": price}

    objectives = ["iteration_time", "network_cost", "footprint"][: random.choice([1, 1, 2, 3])]
    problem = closed_form(file, amounts, objectives, npus)
    return limited(problem, amounts, {"footprint": random.uniform(0.25, 0.8)})


def network(random: Random) -> Problem:
    """Networks of four kinds, each with knobs of its own; power and price are limited."""
    hops = {kind: random.uniform(1, 60) for kind in ("ring", "tree", "mesh", "switch")}
    parts = {kind: random.uniform(0.4, 1.0) for kind in hops}
    fixed = {kind: random.uniform(5, 60) for kind in hops}
    size, delay = random.uniform(2000, 20_000), random.uniform(0.005, 0.08)
    best_order = random.choice(list(hops))
    axes: dict[str, dict[str, object]] = {
        "kind": {"choices": list(hops)},
        "chunks": {"ladder": [1, 2, 4, 8, 16, 32]},
        "width": {"ladder": [1, 2, 4, 8, 16]},
        "wraps": {"choices": [True, False], "when": "kind == 'ring' or kind == 'mesh'"},
        "radix": {"ladder": [4, 8, 16, 32, 64], "when": "kind == 'switch' or kind == 'tree'"},
        "over": {"choices": [1, 2, 4], "when": "kind == 'switch'"},
        "speed": {"ladder": [25, 50, 100, 200, 400, 800][: random.randint(4, 6)]},
        "order": {"choices": ["lifo", "fifo", "themis"]},
        "encoding": {"choices": ["nrz", "pam4"]},
    }
    for name in random.sample(["encoding", "order", "chunks"], random.randint(0, 1)):
        del axes[name]
    step = random.choice([0.0, 0.0, 0.5, 2.0])

    def amounts(design: Design) -> Answers:
        kind, chunks = str(design["kind"]), int(design.get("chunks", 8))
        width, speed = int(design["width"]), int(design["speed"])
        radix, over = int(design.get("radix", 0)), int(design.get("over", 1))
        if kind == "switch" and radix < 4 * over:
            return {}
        order, pam = str(design.get("order", "fifo")), design.get("encoding") == "pam4"
        rate = width * speed * (1.6 if pam else 1.0) / over * parts[kind]
        rate *= {"lifo": 0.9, "fifo": 0.92, "themis": 0.97 if kind == best_order else 0.88}[order]
        steps = hops[kind] * (1.0 if design.get("wraps", True) else 1.6) + 64 / max(radix, 16)
        time = size / rate * (1 + 1.5 / chunks) + steps * delay * (1 + 0.2 * chunks + pam)
        price = width * speed * 0.5 + fixed[kind] + (3 + 3 * (kind == "switch") / over) * radix
        power = width * speed**1.1 * (1.4 if pam else 1.0) + 2 * radix
        time = round(time / step) * step + step if step else time
        return {"iteration_time": time, "capital_cost": price + 5 * width, "power": power}

    objectives = ["iteration_time", "capital_cost", "power"][: random.choice([1, 2, 3])]
    shares = {"power": random.uniform(0.5, 0.95), "capital_cost": random.uniform(0.5, 0.95)}
    return limited(closed_form({"axes": axes}, amounts, objectives), amounts, shares)


def words(random: Random) -> Problem:
    """Choices without an order or on ladders, effects of pairs, and pairs that are refused."""
    sizes = [random.randint(2, 7) for _ in range(random.randint(5, 8))]
    kinds = [random.choice(["choices", "ladder"]) for _ in sizes]
    file = {
        "axes": {
            f"k{at}": {
                kind: [f"w{n}" for n in range(size)] if kind == "choices" else [*range(size)]
            }
            for at, (size, kind) in enumerate(zip(sizes, kinds, strict=True))
        }
    }
    own = [[random.gauss(0, 1) for _ in range(size)] for size in sizes]
    slopes = [random.gauss(0, 1) for _ in sizes]
    for at, kind in enumerate(kinds):
        if kind == "ladder":
            top = random.uniform(0, sizes[at] - 1)
            own[at] = [abs(slopes[at]) * abs(n - top) for n in range(sizes[at])]
    pairs = [random.sample(range(len(sizes)), 2) for _ in range(random.randint(2, 6))]
    effects = {
        (a, b): [[random.gauss(0, 0.7) for _ in range(sizes[b])] for _ in range(sizes[a])]
        for a, b in pairs
    }
    refused = [(*random.sample(range(len(sizes)), 2), random.randint(3, 5)) for _ in range(2)]
    weights = [[random.gauss(0, 1) for _ in range(size)] for size in sizes]

    def amounts(design: Design) -> Answers:
        picked = [design[f"k{at}"] for at in range(len(sizes))]
        codes = [int(str(value).lstrip("w")) for value in picked]
        if any((codes[a] + codes[b]) % base == base - 1 for a, b, base in refused):
            return {}
        value = sum(row[code] for row, code in zip(own, codes, strict=True))
        value += sum(table[codes[a]][codes[b]] for (a, b), table in effects.items())
        load = sum(row[code] for row, code in zip(weights, codes, strict=True))
        return {"iteration_time": 40.0 + value, "power": 40.0 + load, "load": load - value}

    objectives = ["iteration_time", "power"][: random.choice([1, 1, 2])]
    problem = closed_form(file, amounts, objectives)
    return limited(problem, amounts, {"load": random.uniform(0.4, 1.0)})


def service(random: Random) -> Problem:
    """Replicas of a server: queues grow without bounds, latency and memory are limited."""
    npus = random.choice([16, 24, 32, 48, 64])
    rate, tokens = random.uniform(0.005, 0.1) * npus, random.uniform(100, 1000)
    size, cache = random.uniform(20, 400), random.uniform(0.01, 0.4)
    comm, burst = random.uniform(0.02, 0.3), random.uniform(1, 3)
    file = {
        "products": [{"of": ["replicas", "tp", "pp", "spare"], "equals": npus}],
        "axes": {
            "batch": {"ladder": [1, 2, 4, 8, 16, 32, 64, 128]},
            "precision": {"choices": ["bf16", "fp8", "int4"]},
            "chunk": {"ladder": [128, 256, 512, 1024, 2048][: random.randint(3, 5)]},
            "speculate": {"choices": [0, 2, 4], "when": "batch < 64"},
        },
    }

    def amounts(design: Design) -> Answers:
        tp, pp, copies = int(design["tp"]), int(design["pp"]), int(design["replicas"])
        batch, chunk = int(design["batch"]), int(design["chunk"])
        guess, spare = int(design.get("speculate", 0)), int(design["spare"])
        bits = {"bf16": 2.0, "fp8": 1.0, "int4": 0.6}[str(design["precision"])]
        if tp * pp > 16 or (bits < 1 and tp > 8):
            return {}
        memory = (size * bits + cache * batch * tokens / 50) / (tp * pp)
        step = 2 * size * bits / (tp * pp) ** 0.9 + batch * (0.3 + 0.2 * (bits < 1)) / tp
        step = (step + comm * (tp - 1) * (3 if tp > 8 else 1) + pp) * (
            1 + 0.25 * guess * batch / 64
        )
        step /= 1 + 0.6 * (1 - 0.7**guess)
        each = copies * batch * pp**0.8 / (step * tokens) * 1e3
        busy = rate / each * (1 + 40 / chunk)
        if busy >= 1:
            return {}
        first = chunk * size * bits / (tp * pp) / 500 + step * burst * busy / (1 - busy)
        price = (npus - spare + npus / spare) * (1 + 0.1 * (tp > 8))
        return {
            "time_per_output_token": step,
            "time_to_first_token": first,
            "usd_per_hour": price,
            "footprint": memory,
        }

    objectives = random.choice(
        [
            ["usd_per_hour", "time_per_output_token"],
            ["time_per_output_token"],
            ["time_to_first_token", "usd_per_hour"],
        ]
    )
    shares = {
        "footprint": random.uniform(0.4, 0.9),
        "time_to_first_token": random.uniform(0.4, 0.95),
    }
    return limited(closed_form(file, amounts, objectives, npus), amounts, shares)


def model0(random: Random) -> Problem:
    """The problem of ViT-22B with another model, machine and load, by a closed form."""
    name = "p5_vit22b_64.yaml"
    run, space = _drawn_run(name, random)
    goals = dict.fromkeys(["iteration_time", "capital_cost"], "minimise")
    return study(name, goals, run=run, space=space)


def simulated(random: Random) -> Problem:
    """The like by the simulator, with more knobs of the plan and the system."""
    name = "p5_vit22b_64_simulated.yaml"
    run, space = _drawn_run(name, random)
    del space["terms"]
    space["require"] = [rule for rule in space["require"] if "bytes" not in rule]
    run["workload"]["model"].pop("causal")
    run["workload"]["model"]["vocabulary"] = 32_000
    more: dict[str, dict[str, object]] = {
        "plan.recompute": {"choices": ["none", "selective", "full"]},
        "plan.zero_stage": {"choices": [0, 1, 2, 3]},
        "system.chunks": {"choices": [1, 4, 16]},
        "system.scheduling": {"choices": ["fifo", "lifo"]},
    }
    gone = list(space["axes"])[1:]
    for axis in random.sample(gone, 2):
        del space["axes"][axis]
    for axis in random.sample(list(more), 2):
        space["axes"][axis] = more[axis]
    goals = random.choice(
        [["iteration_time"], ["time_bandwidth"], ["iteration_time", "capital_cost"]]
    )
    changes = {"run": run, "space": space, "constraints": ["fits_in_memory"]}
    return study(name, dict.fromkeys(goals, "minimise"), **changes)


def _drawn_run(name: str, random: Random) -> tuple[dict[str, Any], dict[str, Any]]:
    """The run and the space of a shipped study with another model, load and numbers of NPUs."""
    data = yaml.safe_load(find_study(name).read_text())
    run, space = data["run"], data["space"]
    layers, hidden, heads = random.choice(
        [(24, 2048, 16), (32, 4096, 32), (40, 5120, 40), (48, 6144, 48), (60, 6656, 52)]
    )
    model = {"layers": layers, "hidden": hidden, "heads": heads, "ffn": 4 * hidden}
    run["workload"]["model"].update(name="drawn", **model)
    npus, inner = random.choice([32, 64, 128]), random.choice([4, 8])
    run["workload"] |= {
        "sequence": random.choice([128, 256, 512]),
        "global_batch": npus * random.choice([2, 4, 8, 16]),
    }
    run["platform"]["dimensions"][0]["npus"] = inner
    run["platform"]["dimensions"][1]["npus"] = npus // inner
    run["plan"] |= {"pp": 4, "dp": npus // 4}
    for product in space["products"]:
        product["equals"] = npus
    rules = [rule.replace("48 %", f"{layers} %") for rule in space["require"]]
    space["require"] = rules
    for at in (0, 1):
        delay = round(10 ** random.uniform(2.5, 4.5))
        run["platform"]["dimensions"][at]["latency"] = f"{delay} ns"
    return run, space


FAMILIES: Mapping[str, Callable[[Random], Problem]] = {
    "layout": layout,
    "network": network,
    "words": words,
    "service": service,
    "model0": model0,
    "simulated": simulated,
}
