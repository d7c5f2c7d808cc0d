# SPDX-License-Identifier: BSD-2-Clause
"""The channels of a system: for each two domains between which items of flows go, memory that both
share and an event channel.

An item goes from the domain of each hop to that of the next one, and when it has left, the domain
of the source is told. A channel has a ring for each direction with room for every item that can be
on its way in any of its flows, so that it is never full. The guests call the end of a channel a
wire (guests/executive/wire.h).

In both domains a channel is at the same address and has the same port. Xen knows it by a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from hyperperiod.model import System, hops_of, tasks_of

SHARED_START = 0x1_0000_0000
"""Where in a guest all that is shared begins (guests/board/board.h): a gap in Xen's layout."""
FIRST_OFFSET = 0x1_0000
"""Where the first channel begins, after `SHARED_START`: the page before is shared with Xen."""
PAGE_BYTES = 4096
INDEX_BYTES = 128
"""What the two indices of a ring take, each on a cache line of its own."""
MESSAGE_BYTES = 16
"""What each message in a ring takes."""

CHANNEL_LIMIT = 32
"""So many pieces of memory can be shared (Xen's NR_SHMEM_BANKS)."""


@dataclass(frozen=True)
class Channel:
    """What connects domains `lower` and `higher` (by number, from 0).

    `room` is in messages for each direction, a power of two.
    """

    number: int
    lower: int
    higher: int
    room: int
    offset: int

    @property
    def name(self) -> str:
        """The name by which Xen knows the memory."""
        return f"wire{self.number}"

    @property
    def port(self) -> int:
        """The port of the event channel, the same in both domains."""
        return self.number + 1

    @property
    def address(self) -> int:
        """The address at which both domains have the memory."""
        return SHARED_START + self.offset

    @property
    def size(self) -> int:
        """The size of the memory in bytes, whole pages."""
        return _channel_bytes(self.room)

    def other(self, domain: int) -> int | None:
        """The domain at the other end than `domain`, or None if that has no end."""
        ends = {self.lower: self.higher, self.higher: self.lower}
        return ends.get(domain)


def channels_of(system: System) -> list[Channel]:
    """The channels that the flows of a system need, in the order in which they are first needed."""
    wanted: dict[tuple[int, int], int] = {}
    for flow, hops in zip(system.flows, hop_places(system), strict=True):
        for ends in dict.fromkeys(_crossings(hops)):
            wanted[ends] = wanted.get(ends, 0) + flow.queue
    channels = []
    offset = FIRST_OFFSET
    for number, ((lower, higher), items) in enumerate(wanted.items()):
        room = 1 << (items - 1).bit_length()
        channels.append(Channel(number, lower, higher, room, offset))
        offset += _channel_bytes(room)
    return channels


def hop_places(system: System) -> list[list[tuple[int, int]]]:
    """For each flow its hops as (domain, task in it), both by number."""
    tasks = tasks_of(system)
    return [
        [(tasks[hop].domain_index, tasks[hop].index) for hop in hops] for hops in hops_of(system)
    ]


def _crossings(hops: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The pairs of domains between which an item goes, and back to the source at the end."""
    for (here, _), (there, _) in pairwise([*hops, hops[0]]):
        if here != there:
            yield min(here, there), max(here, there)


def _channel_bytes(room: int) -> int:
    size = 2 * (INDEX_BYTES + MESSAGE_BYTES * room)
    return -(-size // PAGE_BYTES) * PAGE_BYTES
