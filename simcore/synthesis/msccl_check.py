"""Programs in MSCCL XML, read and run step by step to see whether they do what they should."""

from collections import defaultdict, deque
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from simcore.errors import ConfigError, SimulationError
from simcore.files.input_file import read_text
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from simcore.synthesis.msccl import NAMES, Slot

_MOST_NPUS = 1 << 16
_KINDS = {name: kind for kind, name in NAMES.items()}
_WRITES = ("r", "rrc")

Held = tuple[object, int]
"""The place in the whole that a chunk is of, and the NPUs that have contributed to it, as bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of a block.

    Attributes:
        kind: ``s``, ``r``, ``rrc`` or ``cpy``.
        source: Slot that is read.
        target: Slot that is written, for ``s`` that of the receiver.
        count: Chunks.
        after: Block and step of the same GPU that it waits for; -1: none.
    """

    kind: str
    source: Slot
    target: Slot
    count: int
    after: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Steps in order, and the peers that they send to and receive from (-1: none)."""

    send: int
    receive: int
    steps: list[Step]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A collective as blocks of steps.

    Attributes:
        kind: Which collective.
        chunks: Chunks of the whole.
        gpus: Blocks of each GPU.
    """

    kind: str
    chunks: int
    gpus: list[list[Block]]


def read_msccl(path: Path) -> Program:
    """The program of an MSCCL XML file.

    Raises:
        ConfigError: It cannot be read, or breaks a rule of the form.
    """
    text = read_text(path)
    try:
        return program_of(text)
    except ConfigError as error:
        raise error.in_file(path) from None


def program_of(text: str) -> Program:
    """The program of MSCCL XML.

    Raises:
        ConfigError: It breaks a rule of the form.
    """
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.begin
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise ConfigError("xml", "must be well-formed", got=str(error)) from None
    if reader.kind is None or len(reader.gpus) != reader.npus or reader.chunks % reader.npus:
        rule = "must have one element algo, a gpu per GPU, and equal pieces of chunks"
        raise ConfigError("algo", rule, got=f"{len(reader.gpus)} gpu, {reader.chunks} chunks")
    return Program(kind=reader.kind, chunks=reader.chunks, gpus=reader.gpus)


class _Reader:
    """Collects what elements say, in their order."""

    def __init__(self) -> None:
        self.kind: str | None = None
        self.npus, self.chunks = 1, 1
        self.gpus: list[list[Block]] = []

    def begin(self, name: str, values: dict[str, str]) -> None:
        """Take an element."""
        if name == "algo":
            self.kind = _KINDS.get(values.get("coll", ""))
            if self.kind is None:
                raise ConfigError(
                    "algo.coll", f"must be one of {', '.join(_KINDS)}", got=values.get("coll")
                )
            self.npus = _whole(values, "ngpus", 1, _MOST_NPUS)
            self.chunks = _whole(values, "nchunksperloop", 1, 1 << 30)
        elif name == "gpu":
            _whole(values, "id", len(self.gpus), len(self.gpus))
            self.gpus.append([])
        elif name == "tb" and self.gpus:
            blocks = self.gpus[-1]
            _whole(values, "id", len(blocks), len(blocks))
            ends = (_whole(values, key, -1, self.npus - 1) for key in ("send", "recv"))
            send, receive = ends
            blocks.append(Block(send=send, receive=receive, steps=[]))
        elif name == "step" and self.gpus and self.gpus[-1]:
            self.gpus[-1][-1].steps.append(_step(values))
        else:
            raise ConfigError("xml", "must hold gpu in algo, tb in gpu, step in tb", got=name)


def _step(values: dict[str, str]) -> Step:
    kind = values.get("type", "")
    if kind not in ("s", "r", "rrc", "cpy"):
        raise ConfigError("step.type", "must be one of s, r, rrc, cpy", got=kind)
    slots = []
    for side in ("src", "dst"):
        buffer = values.get(f"{side}buf", "")
        if buffer not in ("i", "o", "s"):
            raise ConfigError(f"step.{side}buf", "must be one of i, o, s", got=buffer)
        slots.append((buffer, _whole(values, f"{side}off", 0, 1 << 30)))
    after = _whole(values, "depid", -1, 1 << 30), _whole(values, "deps", -1, 1 << 30)
    count = _whole(values, "cnt", 1, 1 << 20)
    return Step(kind=kind, source=slots[0], target=slots[1], count=count, after=after)


def _whole(values: dict[str, str], key: str, least: int, most: int) -> int:
    try:
        found = int(values.get(key, ""))
    except ValueError:
        found = least - 1
    if not least <= found <= most:
        raise ConfigError(key, f"must be a whole number, {least} to {most}", got=values.get(key))
    return found


def check_program(program: Program) -> None:
    """Run a program: each GPU must end with what its collective gives it, counted once.

    Raises:
        SimulationError: It does not, or blocks wait for each other.
    """
    npus, own = len(program.gpus), program.chunks // len(program.gpus)
    held = [_begin(program, npu, own) for npu in range(npus)]
    done = [[0] * len(blocks) for blocks in program.gpus]
    lines: dict[tuple[int, int], deque[list[Held]]] = defaultdict(deque)
    moved = True
    while moved:
        moved = False
        for npu, blocks in enumerate(program.gpus):
            for number, block in enumerate(blocks):
                while done[npu][number] < len(block.steps) and _run(
                    npu, block, block.steps[done[npu][number]], held[npu], done[npu], lines
                ):
                    done[npu][number] += 1
                    moved = True
    for npu, blocks in enumerate(program.gpus):
        if any(done[npu][at] < len(block.steps) for at, block in enumerate(blocks)):
            raise SimulationError(f"program: no step must wait for ever; one of GPU {npu} does")
        for slot, what in _end(program, npu, own).items():
            if held[npu].get(slot) != what:
                raise SimulationError(
                    f"program: GPU {npu} must end with its chunks; {slot[0]}[{slot[1]}] is another"
                )


def _run(
    npu: int,
    block: Block,
    step: Step,
    held: dict[Slot, Held],
    done: list[int],
    lines: dict[tuple[int, int], deque[list[Held]]],
) -> bool:
    """Run a step if it can be; whether it was."""
    number, before = step.after
    if number >= 0 and (number >= len(done) or done[number] <= before):
        return False
    if step.kind in _WRITES:
        line = lines[block.receive, npu]
        if not line:
            return False
        came = line.popleft()
    else:
        came = [_at(held, step.source, place, npu) for place in range(step.count)]
    if step.kind == "s":
        lines[npu, block.send].append(came)
        return True
    for place, what in enumerate(came):
        slot = step.target[0], step.target[1] + place
        if step.kind == "rrc":
            there = _at(held, step.source, place, npu)
            if there[0] != what[0] or there[1] & what[1]:
                raise SimulationError(
                    f"program: a contribution must count once; at GPU {npu} one does not"
                )
            held[slot] = what[0], there[1] | what[1]
        else:
            held[slot] = what
    return True


def _at(held: dict[Slot, Held], slot: Slot, place: int, npu: int) -> Held:
    found = held.get((slot[0], slot[1] + place))
    if found is None:
        raise SimulationError(f"program: GPU {npu} must send what it holds; {slot} is empty")
    return found


def _begin(program: Program, npu: int, own: int) -> dict[Slot, Held]:
    """Contents of a GPU's buffers at first."""
    if program.kind == ALL_GATHER:
        return {("o", at): (at, 1 << npu) for at in range(npu * own, (npu + 1) * own)}
    if program.kind == ALL_TO_ALL:
        return {("i", at): ((npu, at), 1 << npu) for at in range(program.chunks)}
    return {("i", at): (at, 1 << npu) for at in range(program.chunks)}


def _end(program: Program, npu: int, own: int) -> dict[Slot, Held]:
    """Contents that its buffers must have in the end."""
    everyone = (1 << len(program.gpus)) - 1
    mine = range(npu * own, (npu + 1) * own)
    if program.kind == ALL_GATHER:
        return {("o", at): (at, 1 << at // own) for at in range(program.chunks)}
    if program.kind == REDUCE_SCATTER:
        return {("i", at): (at, everyone) for at in mine}
    if program.kind == ALL_REDUCE:
        return {("i", at): (at, everyone) for at in range(program.chunks)}
    return {
        ("o", at): ((at // own, npu * own + at % own), 1 << at // own)
        for at in range(program.chunks)
    }
