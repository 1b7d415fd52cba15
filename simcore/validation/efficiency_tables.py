"""Tables of the fitted values for the page on measured runs: silicon, and software stacks."""

from simcore.files.resources import shipped_names
from simcore.machine import Npu, load_npu
from simcore.machine.stack import Stack, load_stack


def silicon_table() -> str:
    """Parts of the peaks that kernels reach on each shipped accelerator, with sources."""
    lines = [
        "| accelerator | matrix products | below 16 bits | fused attention | memory "
        "| software | where from |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_silicon_line(load_npu(name)) for name in shipped_names("npus")]
    return "\n".join(lines)


def _silicon_line(npu: Npu) -> str:
    values = npu.efficiency
    narrow = f"{values.gemm_narrow:.0%}" if values.gemm_narrow else ""
    cells = (
        *(npu.name, f"{values.gemm:.0%}", narrow, f"{values.attention:.0%}"),
        *(f"{values.memory:.0%}", npu.stack, npu.sources.efficiency),
    )
    return f"| {' | '.join(cells)} |"


def stack_table() -> str:
    """Costs of each shipped stack, with sources."""
    lines = [
        "| software | launches per kernel | element-wise traffic | casts, bytes | attention "
        "| routing | where from |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [_stack_line(load_stack(name)) for name in shipped_names("stacks")]
    return "\n".join(lines)


def _stack_line(stack: Stack) -> str:
    cells = (
        *(stack.name, _launches(stack), f"{stack.traffic:.2g}"),
        *(f"{stack.casts:.2g}", f"{stack.attention:.0%}"),
        *(f"{stack.routing:.2g} and {stack.routing_s * 1e6:.0f} us", stack.source),
    )
    return f"| {' | '.join(cells)} |"


def _launches(stack: Stack) -> str:
    """Launches in place of a counted kernel, and the time of one."""
    return f"{stack.launches:.0f} of {stack.issue_s * 1e6:.0f} us" if stack.issue_s else "none"
