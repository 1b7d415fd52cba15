"""Writes fitted values into the files of accelerators and stacks."""

from fit_values import FAMILIES, SCALE, SHARED

from simcore.files.resources import find_config
from simcore.machine import Efficiency, load_npu

_UNITS = {"gemm_ramp_s": "gemm_ramp", "kernel_overhead_s": "kernel_overhead"}
_SOFTWARE = ("issue_s", "casts", "attention_share", "traffic", "routing", "routing_s", "group_s")
_TIMES = {"routing_s": "routing_time", "group_s": "group"}
Fitted = dict[tuple[str, str], float]


def write_family(name: str, fitted: Fitted, told: str) -> None:
    """Put the values of the family *name* and where they are from into its files."""
    family = FAMILIES[name]
    own = ", ".join(family.free)
    source = f"{own} fitted by benchmarks/fit_compute.py to {told}"
    source += f"; known beforehand: {family.source}" if family.source else ""
    source += f"; the others as {FAMILIES[family.basis].npus[0]}" if family.basis else ""
    for npu in family.npus:
        _write_npu(npu, _efficiency(name, npu, fitted), source)


def write_stack(name: str, fitted: Fitted, told: str) -> None:
    """Put the values of the stack *name* and where they are from into its file."""
    path = find_config("stacks", name, at="stack")
    owners = [name, *(owner for owner, (stacks, _) in SHARED.items() if name in stacks)]
    own = {key: value for (who, key), value in fitted.items() if who in owners}
    lines = path.read_text().splitlines(keepends=True)
    for key, value in own.items():
        shown = f"{value:.3g}"
        field = key
        if key in _TIMES:
            field, shown = _TIMES[key], f"{value * 1e6:.3g} us"
        at = next((i for i, line in enumerate(lines) if line.startswith(f"{field}:")), None)
        new = f"{field}: {shown}\n"
        if at is None:
            lines.insert(2, new)
        else:
            lines[at] = new
    told = f"{', '.join(own)} fitted by benchmarks/fit_compute.py to {told}"
    if any(line.startswith("issue:") for line in lines):
        told += "; issue: a launch from PyTorch"
    block = ["source: >-\n", *(f"  {line}\n" for line in _wrapped(told, 94))]
    path.write_text("".join(_replaced(lines, "source: >-", block, "")))


def _efficiency(family: str, npu: str, fitted: Fitted) -> Efficiency:
    """Values of one accelerator."""
    own, basis = FAMILIES[family], FAMILIES[family].basis
    part = _read(FAMILIES[basis].npus[0]) if basis else _read(npu)
    changes = {key: value for (who, key), value in fitted.items() if who == basis and basis}
    changes |= {key: value for (who, key), value in fitted.items() if who == family}
    scale = changes.pop(SCALE, 1.0)
    part = part.model_copy(update=changes)
    scaled = {
        key: min(0.98, scale * value)
        for key in ("gemm", "gemm_narrow", "gemm_fp4")
        if (value := getattr(part, key)) is not None
    }
    return part.model_copy(update=scaled) if SCALE in own.free else part


def _read(npu: str) -> Efficiency:
    return load_npu(npu).efficiency


def _write_npu(name: str, efficiency: Efficiency, source: str) -> None:
    path = find_config("npus", name, at="npu")
    table = efficiency.model_dump(exclude_none=True)
    lines = ["efficiency:\n"]
    for field, value in table.items():
        if field in _SOFTWARE:
            continue
        if field in _UNITS:
            lines.append(f"  {_UNITS[field]}: {value * 1e6:.4g} us\n")
        else:
            lines.append(f"  {field}: {value:.4g}\n")
    text = _replaced(path.read_text().splitlines(keepends=True), "efficiency:", lines, "")
    lines = ["  efficiency: >-\n", *(f"    {line}\n" for line in _wrapped(source, 92))]
    path.write_text("".join(_replaced(text, "  efficiency:", lines, "  ")))


def _replaced(text: list[str], key: str, lines: list[str], indent: str) -> list[str]:
    """*text* with the block that starts with *key* replaced."""
    first = next(i for i, line in enumerate(text) if line.startswith(key))
    last = first + 1
    while last < len(text) and text[last].startswith(f"{indent}  "):
        last += 1
    return text[:first] + lines + text[last:]


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines
