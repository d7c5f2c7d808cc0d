# SPDX-License-Identifier: BSD-2-Clause
"""Why a test said what it said: the window that decides, who asks for how much in it, the supply.

A witness comes from the code that gives the verdict, never from a second search: of the kernels by
`witness`, which runs the same search with a note where it decides (`kernels/witness.hpp`), of the
tests of servers beside their verdicts. What is asked for in a window is the sum of its shares; a
window is short if that is more than its supply. What it proves depends on the test:
- fixed priority: no, if the window in which least is missing is short ("closest", and the whole one
  up to the "deadline"); yes, if one up to the deadline is covered (until it is "done");
- edf: no, if a window is short (the "first", or one "far" out if that is too far to find); yes,
  if the "tightest" is covered;
- fifo: the job that waits longest until it is "done", or the first late one up to its "deadline";
- gedf on several vcpus: the "tightest" window that ends with a deadline of the task, or one that is
  short ("far"): what others can take of all vcpus, and what these get while its job runs;
- of servers in one of their periods: all that the others can take of that "period" and the budget,
  which the pcpu must hold. Of several pcpus each gets its part of what is taken.

All times are integers in nanoseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from hyperperiod import _analysis
from hyperperiod._analysis import Local
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply


class Role(StrEnum):
    """The kind of a share of a window: who takes it."""

    OWN = "own"
    HIGHER = "higher"
    EQUAL = "equal"
    OTHER = "other"
    BLOCKING = "blocking"
    OVERHEAD = "overhead"
    BLACKOUT = "blackout"
    GAP = "gap"


class Share(NamedTuple):
    """Time that somebody takes: `jobs` times `each_ns` where it comes in jobs."""

    who: str
    role: Role
    time_ns: int
    jobs: int | None = None
    each_ns: int | None = None


class Window(NamedTuple):
    """A window of time, what it is, and who asks for how much of it."""

    what: str
    window_ns: int
    supply_ns: int
    shares: tuple[Share, ...]

    @property
    def demand_ns(self) -> int:
        return sum(share.time_ns for share in self.shares)

    @property
    def short_ns(self) -> int:
        """Demand less supply: above 0 something is missing."""
        return self.demand_ns - self.supply_ns


class Witness(NamedTuple):
    """The finding of one test on one task or server, and the window that shows it.

    The first of `windows` decides; there is none if the test decided without one, or not at all.
    The job that decides is released at `release_ns`, due at `deadline_ns` and done at `finish_ns`,
    None where that is not known, or where no single job decides. `complete` is false where a
    shorter window than the one given might be short, or a tighter one be found. `loads` are those
    that ask, if the test is one of the kernels; under fixed priority the last is the one meant.
    """

    test: str
    holds: bool | None
    windows: tuple[Window, ...]
    deadline_ns: int
    release_ns: int = 0
    finish_ns: int | None = None
    complete: bool = True
    loads: tuple[Load, ...] = ()


IN_HAND = "budget in hand"
"""The witness of a server that has most of its budget when work comes."""

TESTS = {
    Local.FIXED_PRIORITY: "fixed priority",
    Local.EDF: "edf",
    Local.FIFO: "fifo",
    Local.EXECUTOR: "executor",
}
"""What the tests of the kernels are called."""

_HOLDS = {
    _analysis.Verdict.HOLDS: True,
    _analysis.Verdict.MISSES: False,
    _analysis.Verdict.UNKNOWN: None,
}


def component_witness(component: Component, index: int, supply: Supply | Staircase) -> Witness:
    """Returns the window that shows why a source is in time on a supply, or not.

    Without a window behind a busy task under fifo, of which no test says anything.
    """
    sources = component.sources
    if component.fifo_with_busy:
        return Witness(TESTS[component.local], None, (), sources[index].load.deadline)
    if component.local is Local.EXECUTOR:
        last = component.with_last(index)
        roles = [Role.OTHER] * (len(sources) - 1) + [Role.OWN]
        found = kernel_witness(last.local, last.sources, roles, len(sources) - 1, supply)
        return found._replace(test=TESTS[component.local], holds=found.holds or None)
    if component.local is Local.FIXED_PRIORITY:
        roles = [Role.HIGHER] * index + [Role.OWN]
    else:
        own = sources[index].name
        roles = [Role.OWN if source.name == own else Role.OTHER for source in sources]
    return kernel_witness(component.local, sources, roles, index, supply)


def kernel_witness(
    local: Local,
    sources: Sequence[NamedLoad],
    roles: Sequence[Role],
    index: int,
    supply: Supply | Staircase,
) -> Witness:
    """The same with a role for each source; under fixed priority those before `index` are above."""
    loads = [source.load for source in sources]
    verdict, complete, release_ns, finish_ns, found = supply.why(local, loads, index)
    holds = _HOLDS[verdict]
    names = _names(local, holds, complete=complete)
    windows = []
    for what, (window_ns, supply_ns, blocking_ns, jobs) in zip(names, found, strict=False):
        shares = [
            Share(source.name, role, number * source.load.wcet, number, source.load.wcet)
            for source, role, number in zip(sources, roles, jobs, strict=False)
        ]
        shares.append(Share("blocking", Role.BLOCKING, blocking_ns))
        kept = tuple(share for share in shares if share.time_ns)
        windows.append(Window(what, window_ns, supply_ns, kept))
    deadline_ns = release_ns + sources[index].load.deadline
    if local is Local.EDF and windows:
        deadline_ns = windows[0].window_ns
    asking = sources[: index + 1] if local is Local.FIXED_PRIORITY else sources
    return Witness(
        TESTS[local],
        holds,
        tuple(windows),
        deadline_ns,
        release_ns,
        finish_ns,
        complete,
        tuple(source.load for source in asking),
    )


def _names(local: Local, holds: bool | None, *, complete: bool) -> tuple[str, ...]:
    """Returns what to call the windows that a kernel gives, in their order."""
    if local is Local.EDF:
        return ("tightest",) if holds else ("first",) if complete else ("far",)
    if holds:
        return ("done",)
    return ("closest", "deadline") if local is Local.FIXED_PRIORITY else ("deadline",)
