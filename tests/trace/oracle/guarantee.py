# SPDX-License-Identifier: BSD-2-Clause
"""A server with work throughout a window gets at least what its supply bound promises for it.

For periodic and deferrable servers the bound is that of the periodic resource model: nothing for
at most 2 (period - budget), then the budget in each period. A polling server may be empty when
work comes, so its longest wait is 2 period - budget; so may a slice that is lost (slice-once), and
one that is kept may lose its rest to earlier deadlines (slice under edf). A window that starts at a
refill has no such wait: the whole budget by each refill to come. Checked are all windows that start
when work arrives or at a refill and are at most 64 periods long. Under slice-once work that runs
out and comes anew at one instant loses a slice: it ends a window and begins another. The ordinary
servers of fp-edf are slice-once under edf here.

This is a promise only where the host-level test holds; whoever writes the trace says so in its
header. Other budget rules are skipped. After a swap or a change the promise rests until the
server's first refill.

Late picks. Let each pick come at most L late, on a pcpu of its own. The bound is then lowered, for
a window of length t of server i, by

    L * (2 + (floor(t / period) + 2) * (1 + sum over the others j on the pcpu of c(i, j)))

with c = 1, or floor(period of i / period of j) + 2 where j may have extra time. The argument, for
one period of i in which it has work throughout. Take the time from the last instant before which
nobody ahead of i could run, or from the refill if that was later, up to when i has its budget.

- Once somebody of i and those ahead of it could run, one pick later one of them has the pcpu: what
  was there before them takes at most L, once. From then on each pick, late or not, is between them.
- What i runs too long by is its own supply. What j runs too long by is charged to j. If it is a
  debt, j pays it back, so that over the whole time j is charged at most the budgets that the
  host-level test counts, and L for the last debt. If instead j's deadline moves behind that of i
  while it runs, there is no debt, and at most L once, since j is behind i from then on. Debts in
  extra time are forgiven: there it is L for each of j's periods that the time touches.
- What the test counts for j does not depend on when j runs, and what nobody has used by the end of
  its period is lost. So one period's loss, L (1 + sum c), is not carried into the next.

A window touches at most floor(t / period) + 2 periods. Once per window i itself may start with a
debt of L, and its work may arrive while another one runs at i's expense: the 2 in front.

Skipped are runs in which picks come so late that this leaves nothing; shared pcpus, for which this
argument says nothing; and polling servers and slices that are lost under edf with extra time, since
there the time looked at may be as long as the run, with forgiven debts all along.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

from tests.trace.oracle.finding import PropertyVerdict, lateness_ns
from tests.trace.oracle.replay import Moment, RulesInForce, is_spare
from tests.trace.oracle.servers import ReplayedServer
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import Header, Records, server_name

WINDOW_PERIODS: Final = 64
BOUNDED: Final = ("periodic", "deferrable", "polling", "slice", "slice-once")
LOST: Final = ("polling", "slice-once")
"""The rules whose budget may be gone, although nobody used it, when work comes."""

Terms = tuple[str, str, int, int]


@dataclass
class _Stretch:
    """A time throughout which one server has work under one rule with one interface."""

    terms: Terms
    end_ns: int
    starts: list[tuple[int, bool]]
    """When windows start, and whether at a refill."""
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
        self.late_picks = [_late_picks(header, vcpu) for vcpu in range(len(header["vcpus"]))]
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

    def close(self) -> PropertyVerdict:
        for vcpu, stretch in self.found:
            taken = _Taken(self.allowed_ns, self.late_picks[vcpu], stretch.terms[2])
            _check_stretch(server_name(self.header, vcpu), stretch, taken, self.finding)
        return self.finding

    def _see_server(self, moment: Moment, vcpu: int, server: ReplayedServer) -> None:
        rules = moment.rules_of(vcpu)
        if moment.is_ordinary(vcpu):
            rules = rules._replace(budget="slice-once", order="edf")
        terms = (rules.budget, rules.order, server.period_ns, server.budget_ns)
        stretch = self.open.get(vcpu)
        bound = vcpu in moment.work and server.settled and self._is_bounded(rules)
        woke = rules.budget == "slice-once" and moment.work_since.get(vcpu) == moment.now_ns
        if stretch is not None and (woke or not bound or stretch.terms != terms):
            del self.open[vcpu]
            stretch = None
        if bound:
            begins = server.deadline_ns - server.period_ns == moment.now_ns
            at_refill = begins and server.usable  # else it was lost at that very instant
            if stretch is None:
                stretch = _Stretch(terms, moment.now_ns, [])
                self.open[vcpu] = stretch
                self.found.append((vcpu, stretch))
            if not stretch.starts or self.deadlines.get(vcpu) != server.deadline_ns:
                stretch.starts.append((moment.now_ns, at_refill))
            stretch.end_ns = moment.until_ns
        self.deadlines[vcpu] = server.deadline_ns

    def _is_bounded(self, rules: RulesInForce) -> bool:
        endless = rules.budget in LOST and rules[1:] == ("edf", "extra")
        return rules.budget in BOUNDED and not (self.allowed_ns and endless)


@dataclass(frozen=True)
class _Taken:
    """What late picks may take from a server: in each of its periods so many."""

    late_ns: int
    picks: int
    period_ns: int

    def max_ns(self, window_ns: int) -> int:
        """The most in any window of that length."""
        periods = window_ns // self.period_ns + 2
        return self.late_ns * (2 + periods * self.picks)


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(GuaranteeWatcher(header), records)


def _why_not(header: Header) -> str:
    """Why nothing is promised in this run, or empty."""
    if not header.get("guarantees", False):
        return "the header does not promise it: no host-level test is known to hold"
    if lateness_ns(header) > 0 and header["scope"] == "global" and header["pcpus"] > 1:
        return "no bound is known for what late picks take where pcpus are shared"
    if _is_empty(header):
        return f"picks come up to {lateness_ns(header)} ns late, which leaves no bound above 0"
    if header["budget"] not in BOUNDED and not header["swaps"]:
        return f"no bound is promised for {header['budget']} servers"
    return ""


def _is_empty(header: Header) -> bool:
    """Whether late picks may take everything from every server, however long the window."""
    bounds = []
    for number, vcpu in enumerate(header["vcpus"]):
        period_ns, budget_ns = vcpu["period_ns"], vcpu["budget_ns"]
        if period_ns is not None and budget_ns is not None:
            taken = _Taken(lateness_ns(header), _late_picks(header, number), period_ns)
            window_ns = WINDOW_PERIODS * period_ns
            bounds.append(WINDOW_PERIODS * budget_ns - taken.max_ns(window_ns))
    return max(bounds, default=1) <= 0


def _late_picks(header: Header, vcpu: int) -> int:
    """How many late picks may take time from a server in one of its periods; see above."""
    own = header["vcpus"][vcpu]
    picks = 1
    for number, other in enumerate(header["vcpus"]):
        apart = header["scope"] == "partitioned" and other["pcpu"] != own["pcpu"]
        if number == vcpu or apart or own["period_ns"] is None or other["period_ns"] is None:
            continue
        picks += own["period_ns"] // other["period_ns"] + 2 if other["extra"] else 1
    return picks


def sbf(terms: Terms, window_ns: int) -> int:
    """The least supply in any window of that length, as the CSA paper's Eq. 1 counts it."""
    budget, order, period_ns, budget_ns = terms
    blackout_ns = 2 * (period_ns - budget_ns)
    if budget in LOST or (budget, order) == ("slice", "edf"):
        blackout_ns = 2 * period_ns - budget_ns
    first_ns = blackout_ns - (period_ns - budget_ns)
    if window_ns < first_ns:
        return 0
    whole = (window_ns - first_ns) // period_ns
    return whole * budget_ns + max(0, window_ns - blackout_ns - whole * period_ns)


def _due_ns(terms: Terms, window_ns: int, *, at_refill: bool) -> int:
    """How much (ns) a server is due in a window of this length, if every pick is in time."""
    if not at_refill:
        return sbf(terms, window_ns)
    _, _, period_ns, budget_ns = terms
    whole, part_ns = divmod(window_ns, period_ns)
    return whole * budget_ns + max(0, part_ns - (period_ns - budget_ns))


def _check_stretch(name: str, stretch: _Stretch, taken: _Taken, finding: PropertyVerdict) -> None:
    """The bound can only be broken where a gap in the supply ends, or the stretch does."""
    gap_ends = [start_ns for start_ns, _ in stretch.runs] + [stretch.end_ns]
    supplied = [0]
    for start_ns, stop_ns in stretch.runs:
        supplied.append(supplied[-1] + stop_ns - start_ns)
    for start_ns, at_refill in stretch.starts:
        at = bisect_right(gap_ends, start_ns)
        before_ns = supplied[at]
        if at > 0 and at <= len(stretch.runs):
            before_ns -= max(0, stretch.runs[at - 1][1] - start_ns)
        for index in range(at, len(gap_ends)):
            window_ns = gap_ends[index] - start_ns
            if window_ns > WINDOW_PERIODS * taken.period_ns:
                break
            got_ns = supplied[index] - before_ns
            due_ns = _due_ns(stretch.terms, window_ns, at_refill=at_refill)
            due_ns -= taken.max_ns(window_ns)
            if got_ns < due_ns:
                text = f"{name} got {got_ns} of {due_ns} ns in a window of {window_ns} ns"
                finding.add(start_ns, text)
                break
