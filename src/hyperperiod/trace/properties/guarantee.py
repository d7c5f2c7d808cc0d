# SPDX-License-Identifier: BSD-2-Clause
"""A server with work throughout a window gets at least what its supply bound promises for it.

For periodic and deferrable servers the bound is that of the periodic resource model: nothing for
at most 2 (period - budget), then the budget in each period. A polling server may be empty when
work comes, so its longest wait is 2 period - budget. Checked are all windows that start when
work arrives or at a refill and are at most 64 periods long.

This is a promise only where the host-level test holds; whoever writes the trace says so in its
header. Other budget rules and runs with overheads are skipped. After a swap or a change the
promise rests until the server's first refill.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from hyperperiod.trace.format import Header, Records, server_name
from hyperperiod.trace.properties.finding import Finding, lateness_ns
from hyperperiod.trace.properties.watcher import Watcher, watched
from hyperperiod.trace.replay import Moment, is_spare
from hyperperiod.trace.servers import Server

WINDOW_PERIODS: Final = 64
BOUNDED: Final = ("periodic", "deferrable", "polling")

Terms = tuple[str, int, int]


@dataclass
class _Stretch:
    """A time throughout which one server has work under one rule with one interface."""

    terms: Terms
    end_ns: int
    starts: list[int]
    runs: list[tuple[int, int]] = field(default_factory=list)

    def add_run(self, start_ns: int, end_ns: int) -> None:
        if self.runs and self.runs[-1][1] == start_ns:
            self.runs[-1] = (self.runs[-1][0], end_ns)
        else:
            self.runs.append((start_ns, end_ns))


class GuaranteeWatcher(Watcher):
    """Gathers stretches of work and the supply in them; measures their windows at the end."""

    def __init__(self, header: Header) -> None:
        super().__init__(header, _why_not(header))
        self.found: list[tuple[int, _Stretch]] = []
        self.open: dict[int, _Stretch] = {}
        self.deadlines: dict[int, int] = {}

    def see(self, moment: Moment) -> None:
        for vcpu, server in moment.servers.items():
            if not is_spare(vcpu):
                self._see_server(moment, vcpu, server)
        for grant in moment.grants:
            stretch = self.open.get(grant.run) if grant.run is not None else None
            if stretch is not None:
                stretch.add_run(moment.now_ns, moment.until_ns)

    def close(self) -> Finding:
        for vcpu, stretch in self.found:
            _check_stretch(server_name(self.header, vcpu), stretch, self.finding)
        return self.finding

    def _see_server(self, moment: Moment, vcpu: int, server: Server) -> None:
        terms = (moment.budget, server.period_ns, server.budget_ns)
        stretch = self.open.get(vcpu)
        bound = vcpu in moment.work and server.settled and moment.budget in BOUNDED
        if stretch is not None and not (bound and stretch.terms == terms):
            del self.open[vcpu]
            stretch = None
        if bound:
            if stretch is None:
                stretch = _Stretch(terms, moment.now_ns, [moment.now_ns])
                self.open[vcpu] = stretch
                self.found.append((vcpu, stretch))
            elif self.deadlines.get(vcpu) != server.deadline_ns:
                stretch.starts.append(moment.now_ns)
            stretch.end_ns = moment.until_ns
        self.deadlines[vcpu] = server.deadline_ns


def check(header: Header, records: Records) -> Finding:
    """Replay the run and watch it."""
    return watched(GuaranteeWatcher(header), records)


def _why_not(header: Header) -> str:
    """Why nothing is promised in this run, or empty."""
    if not header.get("guarantees", False):
        return "the header does not promise it: no host-level test is known to hold"
    if lateness_ns(header) > 0:
        return "overheads take part of the supply"
    if header["budget"] not in BOUNDED and not header["swaps"]:
        return f"no bound is promised for {header['budget']} servers"
    return ""


def sbf(budget: str, period_ns: int, budget_ns: int, window_ns: int) -> int:
    """The least supply in any window of that length, as the CSA paper's Eq. 1 counts it."""
    blackout_ns = 2 * (period_ns - budget_ns)
    if budget == "polling":
        blackout_ns = 2 * period_ns - budget_ns
    first_ns = blackout_ns - (period_ns - budget_ns)
    if window_ns < first_ns:
        return 0
    whole = (window_ns - first_ns) // period_ns
    return whole * budget_ns + max(0, window_ns - blackout_ns - whole * period_ns)


def _check_stretch(name: str, stretch: _Stretch, finding: Finding) -> None:
    """The bound can only be broken where a gap in the supply ends, or the stretch does."""
    rule, period_ns, budget_ns = stretch.terms
    gap_ends = [start_ns for start_ns, _ in stretch.runs] + [stretch.end_ns]
    supplied = [0]
    for start_ns, stop_ns in stretch.runs:
        supplied.append(supplied[-1] + stop_ns - start_ns)
    for begin_ns in stretch.starts:
        at = bisect_right(gap_ends, begin_ns)
        before_ns = supplied[at]
        if at > 0 and at <= len(stretch.runs):
            before_ns -= max(0, stretch.runs[at - 1][1] - begin_ns)
        for index in range(at, len(gap_ends)):
            window_ns = gap_ends[index] - begin_ns
            if window_ns > WINDOW_PERIODS * period_ns:
                break
            got_ns = supplied[index] - before_ns
            due_ns = sbf(rule, period_ns, budget_ns, window_ns)
            if got_ns < due_ns:
                text = f"{name} got {got_ns} of {due_ns} ns in a window of {window_ns} ns"
                finding.add(begin_ns, text)
                break
