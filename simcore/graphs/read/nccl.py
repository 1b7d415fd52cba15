"""Servers as NCCL describes them: the XML that ``NCCL_TOPO_DUMP_FILE`` writes.

GPUs are NPUs, in the order of their ranks or devices. PCI bridges, CPUs, network cards and the
NVSwitches of a server, which NCCL takes for one, are switches. Bandwidths are those that NCCL gives
such links (``src/graph/topo.h`` and ``topo.cc`` of NVIDIA/nccl 2.25, BSD-3-Clause: figures alone).
"""

from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.graphs.read.xml_file import read_xml

_NVLINK_GB_PER_S = {60: 18.0, 70: 20.0, 80: 20.0, 86: 12.0, 90: 20.6, 100: 40.1}
"""Bandwidth of one NVLink in one direction, from that compute capability on."""
_PCI_100_MBPS = {"2.5": 15, "5": 30, "8": 60, "16": 120, "32": 240, "64": 480}
"""Per lane, by GT/s."""
_BETWEEN_CPUS_GB_PER_S = {"AuthenticAMD": 16.0, "GenuineIntel": 10.0}
_BETWEEN_OTHER_CPUS_GB_PER_S = 6.0
_GPU_CLASSES = ("0x03", "0x12")
_NVSWITCH = "nvswitch"


def nccl_table(path: Path) -> dict[str, Any]:
    """The node-link data of a server.

    Raises:
        ConfigError: The file cannot be read, or holds no GPU.
    """
    reader = _Server(str(path))
    read_xml(path, reader.start, reader.end)
    return reader.table()


class _Server:
    """Parts of a server, as their elements come."""

    def __init__(self, at: str) -> None:
        self._at = at
        self._above: list[str] = []
        self._busid: list[str] = []
        self._places: dict[int, str] = {}
        self._gpu_at: dict[str, str] = {}
        self._nvlinks: list[tuple[str, str, str, int, float]] = []
        self._switches: dict[str, str] = {}
        self._edges: list[dict[str, str]] = []
        self._cpus: list[tuple[str, str]] = []
        self._speed: list[float] = []
        self._sm = 0

    def start(self, tag: str, found: dict[str, str]) -> None:
        """Take the beginning of an element."""
        if tag == "cpu":
            name = f"cpu{len(self._cpus)}"
            self._cpus.append((name, found.get("vendor", "")))
            self._switches[name] = "cpu"
            self._above.append(name)
        elif tag == "pci":
            self._busid.append(found.get("busid", ""))
            self._speed.append(_pci_gb_per_s(found))
            if found.get("class", "").startswith("0x06"):
                name = f"pci {found.get('busid', len(self._switches))}"
                self._switches[name] = "pci"
                self._join(name, "pci")
                self._above.append(name)
            else:
                self._above.append(self._above[-1] if self._above else "")
        elif tag == "gpu":
            self._gpu(found)
        elif tag == "nvlink":
            self._nvlink(found)
        elif tag == "nic":
            name = f"nic {self._busid[-1] if self._busid else len(self._switches)}"
            if name not in self._switches:
                self._switches[name] = "nic"
                self._join(name, "pci")

    def end(self, tag: str) -> None:
        """Take the end of an element."""
        if tag in ("cpu", "pci") and self._above:
            self._above.pop()
        if tag == "pci":
            self._busid.pop()
            self._speed.pop()

    def table(self) -> dict[str, Any]:
        """The node-link data.

        Raises:
            ConfigError: There is no GPU.
        """
        if not self._places:
            raise ConfigError(self._at, "must describe a server with GPUs", got="none")
        for (a, vendor), (b, _) in zip(self._cpus, self._cpus[1:], strict=False):
            rate = _BETWEEN_CPUS_GB_PER_S.get(vendor, _BETWEEN_OTHER_CPUS_GB_PER_S)
            self._edges.append(_edge(a, b, "cpu", rate))
        self._add_nvlinks()
        gpus = [{"id": self._places[number]} for number in sorted(self._places)]
        switches = [{"id": name, "tier": tier} for name, tier in self._switches.items()]
        return {"nodes": gpus + switches, "edges": self._edges}

    def _gpu(self, found: dict[str, str]) -> None:
        number = self._whole(found, "rank" if "rank" in found else "dev")
        if number in self._places:
            raise ConfigError(self._at, "must give each GPU a number of its own", got=number)
        self._places[number] = name = f"gpu{number}"
        if self._busid:
            self._gpu_at[self._busid[-1]] = name
        self._sm = self._whole(found, "sm")
        self._join(name, "pci")

    def _nvlink(self, found: dict[str, str]) -> None:
        source = next(reversed(self._places.values()), "")
        known = [rate for sm, rate in _NVLINK_GB_PER_S.items() if sm <= self._sm]
        rate = known[-1] if known else next(iter(_NVLINK_GB_PER_S.values()))
        kind, target = found.get("tclass", ""), found.get("target", "")
        self._nvlinks.append((source, target, kind, self._whole(found, "count"), rate))

    def _add_nvlinks(self) -> None:
        """Add NVLinks: to GPUs once for both ends, all others to the one switch."""
        for source, target, kind, count, rate in self._nvlinks:
            if kind.startswith(_GPU_CLASSES):
                other = self._gpu_at.get(target)
                if other is not None and source < other:
                    self._edges.append(_edge(source, other, "nvlink", count * rate))
                continue
            self._switches.setdefault(_NVSWITCH, _NVSWITCH)
            self._edges.append(_edge(source, _NVSWITCH, "nvlink", count * rate))

    def _join(self, name: str, kind: str) -> None:
        above = next((one for one in reversed(self._above) if one), None)
        if above is not None and above != name:
            self._edges.append(_edge(above, name, kind, self._speed[-1] if self._speed else 12.0))

    def _whole(self, found: dict[str, str], key: str) -> int:
        try:
            return int(found.get(key, ""))
        except ValueError:
            rule = f"must give GPUs and NVLinks {key}, a whole number"
            raise ConfigError(self._at, rule, got=found.get(key)) from None


def _pci_gb_per_s(found: dict[str, str]) -> float:
    """Bandwidth of a PCI link, GB/s; that of Gen3 x16 where it is not told."""
    per_lane = _PCI_100_MBPS.get(found.get("link_speed", "").split(" ")[0].removesuffix(".0"), 60)
    width = found.get("link_width", "")
    lanes = int(width) if width.isdigit() and int(width) else 16
    return lanes * per_lane / 80


def _edge(a: str, b: str, kind: str, gb_per_s: float) -> dict[str, str]:
    return {"source": a, "target": b, "kind": kind, "bandwidth": f"{gb_per_s!r} GB/s"}
