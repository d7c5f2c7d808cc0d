# SPDX-License-Identifier: BSD-2-Clause
"""The machine at the other end of the networks: it sends what comes to a card, and takes what goes.

It is one more domain of the emulated machine, on a pcpu of its own in a pool of its own, so that
the system under test is as if it were alone; and as its clock is the machine's counter, an instant
is the same at both ends and a run repeats to the bit (guests/executive/outside.c).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hyperperiod.hosts.guests import ring_bytes, run_words
from hyperperiod.hosts.rings import GUEST_RING_OFFSET
from hyperperiod.hosts.xen.command_line import CARD_WORD_BYTES, split_words
from hyperperiod.hosts.xen.devicetree import ARGUMENTS_LIMIT, PAGES, Card
from hyperperiod.hosts.xen.images import executive
from hyperperiod.hosts.xen.machine import MIB, Guest

PAGE: Final = PAGES - 1
"""The place of its cards; those before are for who is under test."""


def outside(
    number: int,
    flows: Sequence[str],
    items: int,
    *,
    cards: int,
    pcpu: int,
    epoch_ns: int,
    horizon_ns: int,
    seed: int,
) -> Guest:
    """The guest that is outside, as domain `number`, and has the pcpu alone.

    `flows` are the words of those whose items it sends; up to `items` of them come back to it.
    It is on so many networks as there are `cards`.
    """
    memory_bytes = GUEST_RING_OFFSET + -(-ring_bytes(items) // (4 * MIB)) * 4 * MIB
    words = [
        "workload=outside",
        f"domain={number}",
        *run_words(epoch_ns, horizon_ns, seed, memory_bytes),
        *flows,
    ]
    own = tuple(Card(PAGE, number) for number in range(cards))
    line, rest = split_words(words, ARGUMENTS_LIMIT - cards * CARD_WORD_BYTES)
    return Guest(executive(), line, memory_bytes, ramdisk=rest, cards=own, pcpu=pcpu)
