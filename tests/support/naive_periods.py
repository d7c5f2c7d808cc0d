# SPDX-License-Identifier: BSD-2-Clause
"""Whether servers got their budgets, counted naively from a trace.

What servers have left and when their periods end it takes from the replay of the oracle
(tests/trace/oracle), which shares nothing with the core.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.trace.oracle.replay import Moment, Replay, is_spare
from tests.trace.oracle.servers import ReplayedServer, Sporadic

from hyperperiod.hosts.result import PeriodCount
from hyperperiod.trace.format import Header, Records, end_ns


@dataclass
class Piece:
    """A stretch of a run, for one server: `left_ns` at its beginning, on its own level."""

    start_ns: int
    end_ns: int
    begin_ns: int
    deadline_ns: int
    budget_ns: int
    left_ns: int
    pays: bool
    works: bool

    def left_at(self, time_ns: int) -> int:
        spent_ns = min(max(time_ns, self.start_ns), self.end_ns) - self.start_ns
        return self.left_ns - (spent_ns if self.pays else 0)


@dataclass
class Life:
    """One server from when it came under its rule."""

    vcpu: int
    server: ReplayedServer
    taken_over: bool
    pieces: list[Piece] = field(default_factory=list)


def lives(header: Header, records: Records) -> list[Life]:
    """Each server of a run under each of its rules."""
    found: dict[int, Life] = {}
    replay = Replay(header, records)
    first = list(replay.state.servers.values())
    for moment in replay.moments():
        for vcpu, server in moment.servers.items():
            if is_spare(vcpu) or isinstance(server, Sporadic):
                continue
            new = Life(vcpu, server, taken_over=server not in first)
            found.setdefault(id(server), new).pieces.append(piece(moment, vcpu, server))
    return list(found.values())


def piece(moment: Moment, vcpu: int, server: ReplayedServer) -> Piece:
    paid = any(vcpu in moment.payers(pcpu) for pcpu in range(len(moment.grants)))
    own = server.level == 0
    return Piece(
        moment.now_ns,
        moment.until_ns,
        server.deadline_ns - server.period_ns,
        server.deadline_ns,
        server.budget_ns,
        server.remaining_ns if own else 0,
        paid and own,
        vcpu in moment.work,
    )


def counted(life: Life, horizon_ns: int) -> Iterator[PeriodCount]:
    """The count of each period of a server that was wanted."""
    deadlines = list(dict.fromkeys(one.deadline_ns for one in life.pieces))
    for deadline_ns in deadlines[1 if life.taken_over else 0 :]:
        own = [one for one in life.pieces if one.deadline_ns == deadline_ns]
        first, last = own[0], own[-1]
        if first.left_ns <= 0:
            continue
        done_ns = next(
            (
                one.start_ns + one.left_ns
                for one in own
                if one.pays and one.left_at(one.end_ns) <= 0
            ),
            None,
        )
        over = last.end_ns >= deadline_ns
        lost = done_ns is None and any(
            one.left_ns <= 0 for one in own if one.start_ns < deadline_ns
        )
        until_ns = min(deadline_ns, horizon_ns if done_ns is None else done_ns)
        if lost or not (over or done_ns) or not worked(life, first.begin_ns, until_ns):
            continue
        at_end = [one.left_at(deadline_ns) for one in own if one.start_ns < deadline_ns]
        left_ns = max(0, at_end[-1]) if over and at_end else 0
        if over and not at_end:
            left_ns = first.left_ns
        complete = done_ns is not None and worked(life, first.begin_ns, done_ns)
        yield PeriodCount(
            1,
            int(left_ns > 0),
            first.budget_ns - left_ns,
            done_ns - first.begin_ns if complete and done_ns is not None else 0,
        )


def worked(life: Life, from_ns: int, to_ns: int) -> bool:
    """Whether the server had work all the time."""
    inside = [one for one in life.pieces if one.start_ns < to_ns and one.end_ns > from_ns]
    return life.pieces[0].start_ns <= from_ns and all(one.works for one in inside)


def naive(header: Header, records: Records) -> list[PeriodCount]:
    """The counts of all vcpus."""
    counts = [PeriodCount() for _ in header["vcpus"]]
    for life in lives(header, records):
        for one in counted(life, end_ns(records)):
            counts[life.vcpu] |= one
    return counts
