"""Messages among NPUs of which only one per class is simulated.

The NPU that stands for a class sends to its true partner. Another may stand for that partner; then
the message reaches this stand-in, as if it came from whoever is to the stand-in what the sender is
to the partner, and under the tag of the stand-in's own group.
"""

from simcore.kernels.collectives.records import PEERS_HALVING
from simcore.kernels.events import layout as f
from simcore.kernels.events.compiled import kernel
from simcore.kernels.events.fold.ties import LINE_SHIFT, LIST_LINES, PAIRED
from simcore.kernels.events.layout import Floats, Ints
from simcore.kernels.events.members import listed_id
from simcore.kernels.events.messages import present_as


@kernel
def present_to_stand_in(arena: Ints, rates: Floats, walk: int, message: int) -> None:
    """Let a walk's *message* look as the stand-in of its receiver awaits it."""
    phase, ahead = arena[walk + f.WALK_PHASE], arena[walk + f.WALK_AHEAD]
    members, stride = arena[phase + f.PHASE_MEMBERS], arena[phase + f.PHASE_STRIDE]
    pairs = arena[walk + f.WALK_PEERS] == PEERS_HALVING
    receiver = arena[arena[arena[f.PLACES] + arena[message + f.MSG_DST]] + f.NPU_ID]
    tag, line, ids = arena[walk + f.WALK_TAG], arena[phase + f.PHASE_LINE], 0
    if arena[phase + f.PHASE_LIST] == 0:
        index = receiver // stride % members
    else:
        place = (arena[walk + f.WALK_INDEX] + ahead) % members
        seen = arena[phase + f.PHASE_LIST] + f.LIST_MEMBERS + 3 * members + f.SEEN_WORDS * place
        ids, index = arena[seen + f.SEEN_LIST], arena[seen + f.SEEN_INDEX]
        line = LIST_LINES + arena[seen + f.SEEN_GROUP]
        tag = (arena[seen + f.SEEN_GROUP] + 1) * f.TAGS_PER_GROUP + tag % f.TAGS_PER_GROUP
    back = _way_back(index, ahead, pairs)
    sender_index = (index + back) % members
    if ids == 0:
        src = receiver + (sender_index - index) * stride
    else:
        src = listed_id(arena, ids, sender_index)
    cause = line << LINE_SHIFT | (PAIRED | abs(ahead) if pairs else ahead % members)
    present_as(arena, rates, arena[walk + f.WALK_NPU], message, tag, src, cause)


@kernel
def _way_back(index: int, ahead: int, pairs: bool) -> int:
    """Offset from the member at *index* of the one which sends to it *ahead*."""
    if not pairs:
        return -ahead
    distance = abs(ahead)
    return -distance if distance > 0 and index // distance % 2 == 1 else distance


@kernel
def present_in_tree(arena: Ints, rates: Floats, walk: int, message: int) -> None:
    """Let a *message* up or down a tree look as the stand-in of its receiver awaits it.

    Alike NPUs are at one place in their trees, so parents and children lie as far apart.
    """
    phase, sender = arena[walk + f.WALK_PHASE], arena[message + f.MSG_SRC]
    apart = arena[message + f.MSG_DST] - sender
    receiver = arena[arena[arena[f.PLACES] + arena[message + f.MSG_DST]] + f.NPU_ID]
    ahead = apart // arena[phase + f.PHASE_STRIDE] % arena[phase + f.PHASE_MEMBERS]
    cause = arena[phase + f.PHASE_LINE] << LINE_SHIFT | ahead
    tag, npu = arena[walk + f.WALK_TAG], arena[walk + f.WALK_NPU]
    present_as(arena, rates, npu, message, tag, receiver - apart, cause)
