"""The event engine of the unfolded simulation: every NPU, every message.

All state of a run lies in one int64 array, the arena: records are word offsets into it, their
fields are the constants of ``layout``. So a kernel can stop at any event (to let the arena grow, or
to hand messages to another network) and go on later, and two runs never meet.
"""
