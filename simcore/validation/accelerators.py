"""The accelerators that published tables name, and the machines they come in by default."""

from dataclasses import dataclass

GB = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One accelerator of the tables.

    Attributes:
        npu: Its file in ``configs/npus``.
        fabric: Its scale-up links, a file in ``configs/fabrics``.
        per_node: Accelerators that the scale-up links join, where the row does not say.
        scale_up_bytes_per_s: Of one accelerator, one direction, where the row does not say.
        scale_out_bytes_per_s: Likewise, to other nodes.
        torus_dimensions: 0: a switch joins the node; else the rings that all accelerators form.
    """

    npu: str
    fabric: str
    per_node: int
    scale_up_bytes_per_s: float
    scale_out_bytes_per_s: float
    torus_dimensions: int = 0
    topology: str = "switch"


def _gpu(npu: str, fabric: str, per_node: int, up: float, out: float) -> Accelerator:
    return Accelerator(
        npu=npu,
        fabric=fabric,
        per_node=per_node,
        scale_up_bytes_per_s=up * GB,
        scale_out_bytes_per_s=out * GB,
    )


def _tpu(npu: str, links: float, torus: int, slice_chips: int) -> Accelerator:
    return Accelerator(
        npu=npu,
        fabric="ici",
        per_node=slice_chips,
        scale_up_bytes_per_s=links * GB,
        scale_out_bytes_per_s=6.25 * GB,
        torus_dimensions=torus,
        topology="ring",
    )


ACCELERATORS = {
    "V100-16GB": _gpu("v100_16", "nvlink2", 8, 150, 12.5),
    "V100-32GB": _gpu("v100_32", "nvlink2", 8, 150, 12.5),
    "V100-SXM2": _gpu("v100_32", "nvlink2", 8, 150, 12.5),
    "A100-40GB-SXM": _gpu("a100_40", "nvlink3", 8, 300, 25),
    "A100-80GB-SXM": _gpu("a100_80", "nvlink3", 8, 300, 25),
    "A100-SXM": _gpu("a100_80", "nvlink3", 8, 300, 25),
    "H100-80GB-SXM": _gpu("h100_80", "nvlink4", 8, 450, 50),
    "Hopper (H100/H200 class)": _gpu("h100_80", "nvlink4", 8, 450, 50),
    "H100-96GB-HBM2e-500W": _gpu("h100_96", "nvlink4", 8, 450, 50),
    "H200-141GB-SXM": _gpu("h200", "nvlink4", 8, 450, 50),
    "H800": _gpu("h800", "nvlink4", 8, 200, 50),
    "B200": _gpu("b200", "nvlink5", 8, 900, 50),
    "B300": _gpu("b300", "nvlink5", 8, 900, 100),
    "GB200": _gpu("gb200", "nvlink5", 72, 900, 50),
    "GB300": _gpu("gb300", "nvlink5", 72, 900, 100),
    "MI300X": _gpu("mi300x", "infinity_fabric", 8, 448, 50),
    "Gaudi2": _gpu("gaudi2", "on_chip_ethernet", 8, 262.5, 37.5),
    "Gaudi3": _gpu("gaudi3", "on_chip_ethernet", 8, 525, 75),
    "TPUv2": _tpu("tpu_v2", 248, 2, 256),
    "TPUv3": _tpu("tpu_v3", 320, 2, 1024),
    "TPUv4": _tpu("tpu_v4", 270, 3, 4096),
    "TPUv5e": _tpu("tpu_v5e", 200, 2, 256),
    "TPUv5p": _tpu("tpu_v5p", 600, 3, 8960),
    "TPUv6e": _tpu("tpu_v6e", 400, 2, 256),
}
"""By the tables' own names. Bandwidths: data sheets, as in ``configs/npus`` and platforms."""
