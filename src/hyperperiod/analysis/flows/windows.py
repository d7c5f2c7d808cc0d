# SPDX-License-Identifier: BSD-2-Clause
"""Why a task in a domain with hops has its response bound: the window that decides.

The window comes from the search that gave the bound (`busy_window`, `responses`): the kernels say
which job waits longest, when it is released in its busy window and when it is done, and the work in
that window is counted by the streams that they searched with. Three kinds of bounds compete, and
the least is shown:

- "queue": the job that waits longest, behind all that was released no later and below what is
  above, until it is "done";
- "busy window": under edf, the work of all tasks until none is pending;
- "backlog": the most items that can be pending at once, and what is above, until all is "done";
- "polling windows": in an executor, own jobs that are pending and what runs in their windows, until
  all is "done";
- "edf": the demand bound, with its tightest window, where the deadline is the bound.

Inputs: a vcpu with the streams of its tasks. Results: a witness, in nanoseconds; None where there
is no bound. Errors: none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hyperperiod import _analysis
from hyperperiod._analysis import Local
from hyperperiod.analysis.component import NamedLoad
from hyperperiod.analysis.domains.prm_executor import Executor
from hyperperiod.analysis.flows.responses import kept_demand
from hyperperiod.analysis.flows.stream import Stream
from hyperperiod.analysis.flows.vcpu import FlowVcpu
from hyperperiod.analysis.witness import Role, Share, Window, Witness, component_witness

QUEUE = "queue"
BUSY_WINDOW = "busy window"
BACKLOG = "backlog"
POLLING = "polling windows"


class Inside(NamedTuple):
    """A vcpu, with what the bounds on all hops leave to be known of its tasks.

    In order of priority: what releases each task, the most work (ns) that can be pending of it,
    None where only its streams bound that, and whether it is a timer. Under edf and fifo the work
    is that of all tasks.
    """

    vcpu: FlowVcpu
    streams: tuple[tuple[Stream, ...], ...]
    backlogs_ns: tuple[int | None, ...]
    timers: tuple[bool, ...]


def hop_witness(inside: Inside, task: str) -> Witness | None:
    """The window that decides the bound of a task; None if it has no bound."""
    sources = inside.vcpu.component.sources
    index = next(at for at, source in enumerate(sources) if source.name == task)
    found = list(_witnesses(inside, index))
    return min(found, key=bound_of, default=None)


def bound_of(witness: Witness) -> int:
    """The response bound (ns) that a witness of a hop stands for."""
    finish_ns = witness.deadline_ns if witness.finish_ns is None else witness.finish_ns
    return finish_ns - witness.release_ns


def asked_by(witness: Witness, inside: Inside, task: str) -> Callable[[int], int]:
    """Returns the work (ns) that the job of a witness waits for, by the length of the window."""
    component = inside.vcpu.component
    names = [source.name for source in component.sources]
    index = names.index(task)
    ahead_ns = sum(share.time_ns for share in witness.windows[0].shares)
    if component.local is not Local.FIXED_PRIORITY:
        return lambda _: ahead_ns
    above = range(index)
    covered = _shares(inside, index, above, witness.windows[0].window_ns)
    ahead_ns -= sum(share.time_ns for share in covered)
    return lambda at: ahead_ns + sum(share.time_ns for share in _shares(inside, index, above, at))


def _witnesses(inside: Inside, index: int) -> Iterator[Witness]:
    """One of each kind of bound that there is."""
    component = inside.vcpu.component
    if component.fifo_with_busy:
        return
    if component.local is Local.EXECUTOR:
        others = [place for place in range(len(component.sources)) if place != index]
        yield from _in_order(inside, index, [index], others)
        yield from _by_polling(inside, index)
        return
    above = range(index) if component.local is Local.FIXED_PRIORITY else range(0)
    own = [index] if component.local is Local.FIXED_PRIORITY else range(len(component.sources))
    if component.local is not Local.EDF:
        yield from _in_order(inside, index, own, above)
    else:
        yield from _by_deadline(inside, index)
        yield from _until_idle(inside, index)
    if component.local is not Local.EDF or len(component.sources) == 1:
        yield from _by_backlog(inside, index, own, above)


def _in_order(
    inside: Inside, index: int, own: Sequence[int], above: Sequence[int]
) -> Iterator[Witness]:
    """A job that is served in the order of release among its own."""
    blocking_ns = _blocking_ns(inside, own)
    found = _analysis.response_bound(
        _streams(inside, own), _streams(inside, above), inside.vcpu.supply.numbers, blocking_ns
    )
    if found is not None:
        _, release_ns, finish_ns = found
        shares = [*_shares(inside, index, above, finish_ns)]
        shares += _shares(inside, index, own, release_ns + 1)
        yield _witness(inside, index, QUEUE, release_ns, finish_ns, shares, blocking_ns)


def _until_idle(inside: Inside, index: int) -> Iterator[Witness]:
    """Nothing is pending for longer than work of the vcpu is."""
    own = range(len(inside.streams))
    blocking_ns = _blocking_ns(inside, own)
    supply = inside.vcpu.supply
    finish_ns = _analysis.busy_window(_streams(inside, own), supply.numbers, blocking_ns)
    if finish_ns is not None:
        shares = _shares(inside, index, own, finish_ns + 1)
        yield _witness(inside, index, BUSY_WINDOW, 0, finish_ns, shares, blocking_ns)


def _by_backlog(
    inside: Inside, index: int, own: Sequence[int], above: Sequence[int]
) -> Iterator[Witness]:
    """A job that is behind no more than can be pending at its release."""
    backlog_ns = inside.backlogs_ns[index]
    blocking_ns = _blocking_ns(inside, own)
    if backlog_ns is None:
        return
    finish_ns = _analysis.backlog_bound(
        backlog_ns, _streams(inside, above), inside.vcpu.supply.numbers, blocking_ns
    )
    if finish_ns is not None:
        name = inside.vcpu.component.sources[index].name
        shares = [*_shares(inside, index, above, finish_ns), Share(name, Role.OWN, backlog_ns)]
        yield _witness(inside, index, BACKLOG, 0, finish_ns, shares, blocking_ns)


def _by_polling(inside: Inside, index: int) -> Iterator[Witness]:
    """A job in an executor, from its release on."""
    vcpu = inside.vcpu
    sources = vcpu.component.sources
    callbacks = Executor(vcpu.component, inside.timers, inside.streams, vcpu.supply)
    found = callbacks.by_windows(index)
    if found is None:
        return
    finish_ns = found.response_ns
    own_ns = sources[index].load.wcet
    shares = [Share(sources[index].name, Role.OWN, found.pending * own_ns, found.pending, own_ns)]
    for place, streams in found.others.items():
        jobs, each_ns = sum(_analysis.stream_counts(streams, finish_ns)), sources[place].load.wcet
        shares.append(Share(sources[place].name, Role.OTHER, jobs * each_ns, jobs, each_ns))
    blocking_ns = _blocking_ns(inside, range(len(sources)))
    yield _witness(inside, index, POLLING, 0, finish_ns, shares, blocking_ns)


def _by_deadline(inside: Inside, index: int) -> Iterator[Witness]:
    """Under edf the deadline is a bound if the demand of all streams fits the supply."""
    component = inside.vcpu.component
    demand = kept_demand(component, inside.streams, inside.vcpu.supply)
    if demand is not None:
        source = component.sources[index]
        place = next(at for at, one in enumerate(demand.sources) if one.name == source.name)
        found = component_witness(demand, place, inside.vcpu.supply)
        yield found._replace(deadline_ns=source.load.deadline, release_ns=0, finish_ns=None)


def _witness(
    inside: Inside,
    index: int,
    test: str,
    release_ns: int,
    finish_ns: int,
    shares: Sequence[Share],
    blocking_ns: int,
) -> Witness:
    """The witness of one window until a job is done."""
    load = inside.vcpu.component.sources[index].load
    asked = (*shares, Share("blocking", Role.BLOCKING, blocking_ns))
    window = Window(
        "done",
        finish_ns,
        inside.vcpu.supply.sbf(finish_ns),
        tuple(share for share in asked if share.time_ns),
    )
    deadline_ns = release_ns + load.deadline
    holds = True if finish_ns <= deadline_ns else None
    return Witness(test, holds, (window,), deadline_ns, release_ns, finish_ns)


def _streams(inside: Inside, places: Sequence[int]) -> list[Stream]:
    return [stream for place in places for stream in inside.streams[place]]


def _blocking_ns(inside: Inside, own: Sequence[int]) -> int:
    sources: Sequence[NamedLoad] = inside.vcpu.component.sources
    return max(sources[place].load.blocking for place in own)


def _shares(inside: Inside, index: int, places: Sequence[int], window_ns: int) -> list[Share]:
    """Returns the demand of tasks in a half-open window: a share each, of all that release it."""
    component = inside.vcpu.component
    other = Role.HIGHER if component.local is Local.FIXED_PRIORITY else Role.OTHER
    shares = []
    for place in places:
        source = component.sources[place]
        jobs = sum(_analysis.stream_counts(inside.streams[place], window_ns))
        role = Role.OWN if place == index else other
        each_ns = source.load.wcet
        shares.append(Share(source.name, role, jobs * each_ns, jobs, each_ns))
    return shares
