"""Windows of TCP: Reno, Cubic, and DCTCP in the form of RFC 8257."""

from simcore.kernels.packets.controls import tcp as k
from simcore.packets.controls.base import Control, Words
from simcore.packets.parameters import Parameters


def _words(run: Parameters) -> Words:
    return {
        k.FIRST: float(run.tcp_first_window),
        k.GAIN: 0.0625,  # RFC 8257, 4.2
        k.BETA: 0.7,  # RFC 9438, 4.6
        k.GROWTH: 0.4,  # RFC 9438, 5.1
    }


RENO, CUBIC, DCTCP_WINDOW = (Control(int(code), _words) for code in (k.RENO, k.CUBIC, k.DCTCP))
