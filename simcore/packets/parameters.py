"""Parameters of a packet run: the keys of the reference's configuration, in lower case."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from simcore.schema import Schema

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_RATE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?) ?([kKmMgGtT]?)(?:bps|b/s)")
MOST_RATE = 10**14
"""Fastest link, in bit/s."""


def _rate(value: object) -> object:
    """A rate in bit/s, given as a number or as text such as ``20Mb/s``."""
    if isinstance(value, str):
        match = _RATE.fullmatch(value.strip())
        if match is None:
            raise ValueError("must be a rate such as '20Mb/s', or bit/s")
        return round(float(match[1]) * _UNITS[match[2].lower()])
    return value


Rate = Annotated[int, BeforeValidator(_rate, json_schema_input_type=Any), Field(ge=1, le=MOST_RATE)]
"""Bit/s."""
Increase = Annotated[
    int, BeforeValidator(_rate, json_schema_input_type=Any), Field(ge=0, le=MOST_RATE)
]
"""Bit/s; may be 0."""
Switch = Literal[0, 1]
Interval = Annotated[float, Field(ge=1, le=1e9)]
"""Microseconds; only the whole ones count."""
Share = Annotated[float, Field(ge=0, le=1)]
Nanoseconds = Annotated[int, Field(ge=0, le=10**12)]
PerRate = dict[Annotated[int, Field(ge=1)], Annotated[float, Field(ge=0, le=1e9)]]
"""A value for each rate of links, in bit/s."""


class Parameters(Schema):
    """Everything about a run but its network and its flows.

    What is left out is as in the script of the HPCC authors, without congestion control.
    """

    cc_mode: Annotated[int, Field(ge=0, le=10**6)] = 0
    packet_payload_size: Annotated[int, Field(ge=1, le=65_000)] = 1000
    has_win: Switch = 0
    global_t: Switch = 1
    var_win: Switch = 0
    rate_bound: Switch = 1
    ack_high_prio: Switch = 0
    l2_ack_interval: Annotated[int, Field(ge=1, le=10**9)] = 1
    l2_chunk_size: Annotated[int, Field(ge=1, le=10**12)] = 4000
    l2_back_to_zero: Switch = 0

    buffer_size: Annotated[int, Field(ge=1, le=4095)] = 32
    headroom_factor: Annotated[int, Field(ge=0, le=10**6)] = 3
    headroom_packets: Annotated[int, Field(ge=0, le=10**6)] = 0
    train: Annotated[int, Field(ge=1, le=64)] = 1
    header_bytes: Annotated[int, Field(ge=1, le=1000)] = 36
    ack_bytes: Annotated[int, Field(ge=1, le=1000)] = 48
    link_control: Literal["pfc", "credits", "drop"] = "pfc"
    credit_bytes: Annotated[int, Field(ge=0, lt=1 << 32)] = 0
    lane_weights: Annotated[
        list[Annotated[int, Field(ge=1, le=255)]], Field(min_length=1, max_length=15)
    ] = Field(default_factory=lambda: [1])
    routing: Literal["ecmp", "spray", "adaptive", "flowlet", "valiant", "ugal"] = "ecmp"
    reroute_ns: Nanoseconds = 100_000
    flowlet_ns: Annotated[int, Field(ge=1, le=10**12)] = 10_000
    ugal_bias_bytes: Annotated[int, Field(ge=0, le=10**12)] = 0
    retry_ns: Nanoseconds = 0
    retries: Annotated[int, Field(ge=0, le=10**6)] = 7
    retry_backoff: Switch = 0
    selective_repeat: Switch = 0
    reorder_packets: Annotated[int, Field(ge=64, le=1 << 20, multiple_of=64)] = 1024
    ack_coalesce_bytes: Annotated[int, Field(ge=0, le=10**9)] = 0
    cnp_interval_ns: Nanoseconds = 0
    enable_qcn: Switch = 1
    kmin_kb: PerRate = Field(default_factory=dict)
    kmax_kb: PerRate = Field(default_factory=dict)
    pmax: dict[Annotated[int, Field(ge=1)], Share] = Field(default_factory=dict)
    error_rate_per_link: Share = 0.0
    link_error_rate: Share = 0.0
    own_losses: Switch = 0

    rate_ai: Increase = 5_000_000
    rate_hai: Increase = 50_000_000
    min_rate: Rate = 1_000_000_000
    ewma_gain: Share = 0.00390625
    alpha_resume_interval: Interval = 1.0
    rate_decrease_interval: Interval = 4.0
    rp_timer: Interval = 300.0
    clamp_target_rate: Switch = 0
    fast_recovery_times: Annotated[int, Field(ge=0, le=10**6)] = 1
    dctcp_rate_ai: Increase = 1_000_000_000
    u_target: Annotated[float, Field(gt=0, le=1)] = 0.95
    mi_thresh: Annotated[int, Field(ge=0, le=10**6)] = 0
    int_multi: Annotated[int, Field(ge=1, le=10**6)] = 1
    fast_react: Switch = 1
    multi_rate: Switch = 0
    sample_feedback: Switch = 0
    timely_alpha: Share = 0.875
    timely_beta: Share = 0.8
    timely_tlow_ns: Nanoseconds = 50_000
    timely_thigh_ns: Nanoseconds = 500_000
    timely_minrtt_ns: Annotated[int, Field(ge=1, le=10**12)] = 20_000

    # of controls beyond the reference
    control: str = ""
    byte_counter: Annotated[int, Field(ge=1, le=10**12)] = 10_000_000
    hpcc_flows: Annotated[float, Field(gt=0, le=1e9)] = 100.0
    timely_segment_bytes: Annotated[int, Field(ge=1, le=10**9)] = 16_384
    swift_base_ns: Nanoseconds = 20_000
    swift_link_ns: Nanoseconds = 3_050
    swift_range_ns: Nanoseconds = 100_000
    swift_range_least: Annotated[float, Field(gt=0, le=1e6)] = 0.1
    swift_range_most: Annotated[float, Field(gt=0, le=1e6)] = 100.0
    swift_ai: Annotated[float, Field(gt=0, le=1e3)] = 1.0
    swift_beta: Share = 0.8
    swift_most_cut: Annotated[float, Field(gt=0, lt=1)] = 0.5
    swift_least: Annotated[float, Field(gt=0, le=1)] = 0.01
    swift_most: Annotated[float, Field(ge=1, le=1e6)] = 1000.0
    swift_most_timeouts: Annotated[int, Field(ge=1, le=10**6)] = 5
    tcp_first_window: Annotated[float, Field(ge=1, le=1e6)] = 10.0
    ccti_increase: Annotated[int, Field(ge=1, le=10**4)] = 1
    ccti_limit: Annotated[int, Field(ge=1, le=10**4)] = 127
    ccti_timer_ns: Annotated[int, Field(ge=1, le=10**12)] = 153_600
    ccti_gap: Annotated[float, Field(gt=0, le=1e3)] = 0.125

    # without any effect on a run, as in the reference
    use_dynamic_pfc_threshold: Switch = 1

    @property
    def loss(self) -> float:
        """Share of packets that a link loses."""
        return self.link_error_rate or self.error_rate_per_link
