"""``simcore serve``: latency and throughput of a service."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simcore.cli.first_use import announce_compilation
from simcore.cli.settings import (
    calibration_option,
    json_option,
    setting,
    settings_option,
    write_text,
)

if TYPE_CHECKING:
    from simcore.result import IterationResult
    from simcore.serving import Service, ServiceResult
    from simcore.validation import Band


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@settings_option("prefill.plan.tp=4 or answer=512")
@calibration_option
@json_option
def serve(
    file: Path, settings: tuple[str, ...], calibration: Path | None, json_out: Path | None
) -> None:
    """Simulate the service that FILE describes: one pool reads prompts, another one answers."""
    from simcore.serving import check_service, load_service, simulate_service
    from simcore.validation import Site, load_calibration, prediction_band

    service = load_service(file, dict(setting(text) for text in settings))
    check_service(service, memory=False)
    site = None if calibration is None else Site(load_calibration(calibration))
    announce_compilation(folded=True)
    simulated = simulate_service(service)
    band = (prediction_band if site is None else site.band)(service.decode_run)
    _print(service, simulated, band)
    if json_out is not None:
        write_text(json_out, _as_json(service, simulated, band))


def _print(service: "Service", simulated: "ServiceResult", band: "Band") -> None:
    from rich.console import Console

    from simcore.units import format_memory, format_quantity
    from simcore.validation import accelerator_trust

    console, result = Console(), simulated.answered(band.middle)
    pools = {"prefill": result.reading, "decode": result.answering}
    console.print(
        f"[bold]{service.model.name}[/bold] on {result.npus} x {service.platform.npu.name} "
        f"({service.platform.name}): {service.prefill.plan.npus} read prompts of "
        f"{service.prompt:,} tokens, {service.decode.plan.npus} answer with {service.answer:,}"
    )
    first = format_quantity(result.time_to_first_token_s, "s")
    token = format_quantity(result.time_per_output_token_s, "s")
    console.print(
        f"time to first token [bold]{first}[/bold], time per output token [bold]{token}[/bold]; "
        f"{format_quantity(result.transfer_s, 's')} more until the cache of "
        f"{format_quantity(result.cache_bytes, 'B')} is there; "
        f"{format_quantity(result.request_s, 's')} per request"
    )
    console.print(_throughput(result))
    for name, pool in pools.items():
        needed, there = pool.footprint_bytes, pool.memory_bytes
        console.print(
            f"{name}: {format_memory(needed)} of {format_memory(there)} per NPU; "
            f"MFU {pool.mfu:.1%}"
            + ("; [bold red]does not fit[/bold red]" if needed > there else _short(pool))
        )
    console.print(f"compute: {result.answering.compute}, as {result.answering.compute_reason}")
    for note in result.notes:
        console.print(f"[dim]note: {note}[/dim]")
    for line in _band_lines(simulated.time_per_output_token_s, band):
        console.print(line)
    trust = accelerator_trust(service.platform.npu)
    if not trust.startswith("measured"):
        console.print(f"accelerator {service.platform.npu.name}: {trust}")


def _band_lines(token_s: float, band: "Band") -> list[str]:
    """Words on how far a simulated time per output token was moved, and may be off."""
    from simcore.units import format_quantity

    low, high = (format_quantity(end, "s") for end in band.of(token_s))
    lines = [f"measured against (time per output token): {low} to {high}, {band}"]
    if band.middle != 1:
        moved = f"simulated {format_quantity(token_s, 's')}, moved x {band.middle:.3f}"
        lines.insert(0, f"calibrated (time per output token): {moved}")
    return lines


def _short(pool: "IterationResult") -> str:
    """Words on memory that is short although the tensors fit."""
    return f"; {pool.memory_fit.reason}" if pool.memory_fit.is_short else ""


def _throughput(result: "ServiceResult") -> str:
    limits = ", ".join(f"{name} {rate:,.4g}" for name, rate in result.limits.items())
    return (
        f"[bold]{result.requests_per_s:,.4g}[/bold] requests/s, "
        f"{result.tokens_per_s:,.1f} tokens/s ({result.tokens_per_s / result.npus:,.1f} per NPU), "
        f"limited by {result.bottleneck} (requests/s: {limits})"
    )


def _as_json(service: "Service", simulated: "ServiceResult", band: "Band") -> str:
    """Result and inputs, keys with units; the same inputs give the same bytes."""
    import json

    from simcore import __version__

    result, token_s = simulated.answered(band.middle), simulated.time_per_output_token_s
    content = {
        "simcore_version": __version__,
        "service": service.model_dump(mode="json"),
        "metrics": result.metrics(),
        "bottleneck": result.bottleneck,
        "footprint_bytes": {
            "prefill": result.reading.footprint.components(),
            "decode": result.answering.footprint.components(),
        },
        "memory": {
            "prefill": result.reading.memory_fit.reason,
            "decode": result.answering.memory_fit.reason,
        },
        "compute": result.answering.compute,
        "compute_reason": result.answering.compute_reason,
        "measured_against": str(band),
        "simulated_time_per_output_token_s": token_s,
        "time_per_output_token_band": band.as_table(token_s),
        "notes": list(result.notes),
    }
    return json.dumps(content, indent=1) + "\n"
