# SPDX-License-Identifier: BSD-2-Clause
"""Who is first: the order of servers with its ties, as the properties need it."""

from collections.abc import Iterable

from tests.trace.oracle.replay import Moment


def ranked(moment: Moment, servers: Iterable[int]) -> list[int]:
    """Returns the servers in the order in which they are chosen, equals by id."""
    return sorted(servers, key=lambda server: (moment.rank(server), server))


def first(moment: Moment, servers: Iterable[int], last: int | None) -> list[int]:
    """Who may be chosen from `servers`: the first in the order, nobody if there are none.

    Among equals the last one chosen goes on, else the lowest id is taken. With a quantum equals
    take turns: then any of them is right here, and all of them are returned.
    """
    in_order = ranked(moment, servers)
    if not in_order:
        return []
    equals = [one for one in in_order if moment.rank(one) == moment.rank(in_order[0])]
    if moment.header["quantum_ns"] is not None:
        return equals
    return [last] if last in equals and last is not None else equals[:1]


def able(moment: Moment, servers: Iterable[int]) -> list[int]:
    """Those of the servers that have budget and work at this moment."""
    return [one for one in servers if moment.servers[one].usable and one in moment.work]
