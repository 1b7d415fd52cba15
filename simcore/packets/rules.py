"""The rules of a run, as words at the start of the arena: packets, recovery, routing, control."""

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.kernels.packets import layout as f
from simcore.packets.controls import control_of
from simcore.packets.parameters import Parameters

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# In the order of ``layout.BY_HASH`` and what follows.
_ROUTINGS = ("ecmp", "spray", "adaptive", "flowlet", "valiant", "ugal")
_IN_ANY_ORDER = ("spray", "adaptive")


def write_rules(run: Parameters, arena: Ints, reals: Floats) -> None:
    """Write what a run's packets go by.

    Args:
        run: Its parameters.
        arena: (W,) int64; see ``kernels.packets.layout``.
        reals: (W,) float64, the same memory.

    Raises:
        ConfigError: Parameters do not go together.
    """
    _refuse_contradictions(run)
    control = control_of(run)
    arena[f.PACKET_WORDS] = f.LONG_PACKET_WORDS if control.stamps_hops else f.SHORT_PACKET_WORDS
    arena[f.CONTROL] = control.code
    arena[f.PAYLOAD] = run.packet_payload_size
    # 36: link 2, IPv4 20, UDP 8, sequence and class 6; 48: padded to 60 with a link's 14, so that
    # the first 14 bytes of telemetry cost nothing
    arena[f.HEADERS] = run.header_bytes + control.telemetry_bytes
    arena[f.ACK_BYTES] = run.ack_bytes + max(0, control.telemetry_bytes - 14)
    arena[f.ROUTING] = _ROUTINGS.index(run.routing)
    arena[f.ANY_ORDER] = run.routing in _IN_ANY_ORDER
    arena[f.FLOWLET_NS] = run.flowlet_ns
    arena[f.DETOUR_BIAS] = run.ugal_bias_bytes
    arena[f.LANES] = len(run.lane_weights)
    arena[f.CREDITS] = run.link_control == "credits"
    arena[f.PAUSES_PEERS] = run.link_control == "pfc"
    arena[f.STAMPS_HOPS] = control.stamps_hops
    arena[f.ACK_PAUSES] = not run.ack_high_prio
    reals[f.LOSS] = run.loss
    arena[f.PACES_AT_RATE] = run.rate_bound
    arena[f.ACK_INTERVAL] = run.l2_ack_interval
    arena[f.CHUNK] = run.l2_chunk_size
    arena[f.BACK_TO_ZERO] = run.l2_back_to_zero
    arena[f.RETRY_NS] = run.retry_ns
    arena[f.MOST_RETRIES] = run.retries
    arena[f.BACKS_OFF] = run.retry_backoff
    arena[f.REORDER_PACKETS] = run.reorder_packets if run.selective_repeat else 0
    arena[f.COALESCED_BYTES] = run.ack_coalesce_bytes
    arena[f.CNP_NS] = run.cnp_interval_ns
    arena[f.SCALES_WINDOW] = run.var_win
    arena[f.MARKS] = run.enable_qcn
    arena[f.HOP_UNIT] = run.int_multi
    arena[f.TRAIN] = run.train
    for word, value in control.words(run).items():
        (reals if isinstance(value, float) else arena)[word] = value


def _refuse_contradictions(run: Parameters) -> None:
    control = control_of(run)
    if control.needs_window and not run.has_win:
        raise ConfigError("params.has_win", "must be 1 for this congestion control", got=0)
    if control.stamps_hops and run.routing in (*_IN_ANY_ORDER, "flowlet"):
        rule = "must be ecmp for a congestion control that compares records of the same hops"
        raise ConfigError("params.routing", rule, got=run.routing)
    if run.cnp_interval_ns and not control.hears_of_marks:
        rule = "must be 0 for a congestion control that ACKs tell of marks"
        raise ConfigError("params.cnp_interval_ns", rule, got=run.cnp_interval_ns)
    for key, default in (("selective_repeat", 0), ("ack_coalesce_bytes", 0), ("retry_ns", 0)):
        if run.train > 1 and getattr(run, key) != default:
            rule = f"must be {default} where packets are moved as trains"
            raise ConfigError(f"params.{key}", rule, got=getattr(run, key))
    if len(run.lane_weights) > 1 and run.link_control != "credits":
        rule = "must be one weight where links have no credits"
        raise ConfigError("params.lane_weights", rule, got=run.lane_weights)
    if run.selective_repeat and run.l2_back_to_zero:
        rule = "must be 0 where lost packets alone are sent again"
        raise ConfigError("params.l2_back_to_zero", rule, got=1)


def full_packet_bytes(run: Parameters) -> int:
    """Bytes of a full packet of data on the wire."""
    return run.packet_payload_size + run.header_bytes + control_of(run).telemetry_bytes


def record_words(run: Parameters) -> int:
    """Words that a flow takes when it starts, for packets that came out of order."""
    return run.reorder_packets // 32 if run.selective_repeat else 0


def takes_detours(run: Parameters) -> bool:
    """True if flows may take another way than a shortest one."""
    return run.routing in ("valiant", "ugal")


def way_lists(run: Parameters) -> int:
    """Lists as long as a way that a flow has: of data and ACKs, and what stands behind them."""
    return 4 if takes_detours(run) or run.routing == "flowlet" else 2
