"""Alike parts of a network, of which one is simulated: why that changes no answer.

A flow's packets, answers, pauses and credits touch the ports of its ways and their switches, which
share a buffer and count turns. (With credits switches share nothing; parts then join and fall apart
as patterns change, so that more is gained where all flows of a switch are taken as one part.) Flows
that touch nothing in common, directly or over others, are in different *parts*. An event of a part
schedules events of that part alone, and the order of a part's own events depends on nothing but
their times and who scheduled them; so a part behaves as if it were alone, whatever else lies in the
queue of events. Its behaviour follows from the state in which it began and from the flows that it
was told since.

So parts that began in the same state, but for the names of ports and nodes, and have been told the
same flows at the same times ever since are in the same state now. One of them, the *leader*, is
simulated; its *followers'* flows end when the leader's do. A flow that makes a follower differ, or
that touches two parts, is told only after the follower has been given a copy of the leader's state.

What parts share after all is the stream of random numbers of marks. Folded parts therefore draw
none: the kernel stops, and all are copied, before a queue can grow so long that one is drawn. The
names of hosts and the numbers of flows matter to the hash that chooses ways and to the choice of
lanes: ways and lanes are part of what is compared. Runs whose links lose packets or change, whose
flows draw detours or change ways after pauses are not folded.

Order of flows that end in one ns: see ``kernels.packets.event_wheel``, on groups.
"""
