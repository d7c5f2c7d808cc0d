# SPDX-License-Identifier: BSD-2-Clause
"""Every item of the flows of a run: when it came, when it left, and whether it was dropped.

An item that was still on its way at the end has an empty finish, and so has one that was dropped.
Items are sorted by flow, in file order, and then by number.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hyperperiod.trace.format import Header, Item, Kind, Records, chunks, item_of
from hyperperiod.trace.records import Record, each


@dataclass
class FlowItem:
    """One row of `trace items`: an item from its release to its finish (ns)."""

    flow: str
    item: int
    release_ns: int
    finish_ns: int | None
    deadline_ns: int
    dropped: bool


def items(header: Header, records: Records) -> list[FlowItem]:
    """All items of flows that came in the run, in the order in which they came."""
    flows = header.get("flows", [])
    found: dict[tuple[int, int], FlowItem] = {}
    for record, item in visits(records):
        flow = flows[item.flow]
        key = (item.flow, item.number)
        if record.kind != Kind.COMPLETE and item.hop == 0:
            deadline_ns = record.time_ns + flow["deadline_ns"]
            dropped = record.kind == Kind.DROP
            found[key] = FlowItem(
                flow["name"], item.number, record.time_ns, None, deadline_ns, dropped
            )
        elif record.kind == Kind.COMPLETE and item.hop + 1 == len(flow["hops"]) and key in found:
            found[key].finish_ns = record.time_ns
    return [found[key] for key in sorted(found)]


def visits(records: Records) -> Iterator[tuple[Record, Item]]:
    """The records that say where items are, with the item: item, drop, and the hop's complete."""
    carried: dict[tuple[int, int], Item] = {}
    for piece in chunks(records):
        kinds = piece["kind"]
        if not carried and not np.isin(kinds, (Kind.ITEM, Kind.DROP)).any():
            continue
        for record in each(piece[np.isin(kinds, (Kind.ITEM, Kind.DROP, Kind.COMPLETE))]):
            if record.kind == Kind.COMPLETE:
                item = carried.pop((record.task, record.job), None)
                if item is not None:
                    yield record, item
                continue
            item = item_of(record.value)
            if record.kind == Kind.ITEM:
                carried[record.task, record.job] = item
            yield record, item
