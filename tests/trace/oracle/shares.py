# SPDX-License-Identifier: BSD-2-Clause
"""Time that nobody with budget asks for goes in shares, to lost time first and then by weight.

Under the slack rule weights. A share lasts at most 500 us and begins only if no period of a server
that waits for it begins before its end. It goes to the vcpu with the lowest claim (made when a
slice was lost; settled by the share), else to the one with the lowest score among best-effort vcpus
and servers that may have extra time; the lower id among equals. It ends early only when its vcpu
has no work any more, somebody with budget has, or a claim comes up that is lower than its own. A
pcpu idles beside vcpus that take part only where a share does not fit.

Shares of one vcpu that follow one another leave one record, so their number is known only if every
pick is in time. Where a domain schedules globally, a share may end at the instant at which it
begins, and a score is paid of which a trace knows nothing. Such runs are skipped.
"""

from dataclasses import dataclass, field
from typing import Final

from tests.trace.oracle.finding import PropertyVerdict, lateness_ns
from tests.trace.oracle.replay import Moment
from tests.trace.oracle.servers import NEVER, Slice
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import Header, Records, server_name

SHARE_NS: Final = 500_000
_UNIT: Final = 1024
_WHOLE: Final = 128
"""The weight that is as good as all of a pcpu."""


@dataclass
class _Share:
    vcpu: int
    start_ns: int
    claim: int


@dataclass
class _Book:
    """The book of one pcpu: what was given out there, and to whom."""

    swaps: int
    share: _Share | None = None
    scores: dict[int, int] = field(default_factory=dict)
    settled: dict[int, int] = field(default_factory=dict)
    """By vcpu, how many of its claims are."""


class SharesWatcher(Watcher):
    """Gives out the shares once more, and compares."""

    def __init__(self, header: Header) -> None:
        super().__init__(header, _why_not(header))
        self.books: dict[int, _Book] = {}

    def see(self, moment: Moment) -> None:
        for pcpu, rules in enumerate(moment.rules):
            if rules.slack != "weights":
                self.books.pop(pcpu, None)
                continue
            book = self.books.setdefault(pcpu, _Book(moment.swaps))
            if book.swaps != moment.swaps:
                book = self.books[pcpu] = _Book(moment.swaps)
            for kept in (book.scores, book.settled):
                for vcpu in [vcpu for vcpu in kept if moment.home(vcpu) != pcpu]:
                    del kept[vcpu]  # it has moved, and begins anew where it is
            self._see_pcpu(moment, pcpu, book)

    def _see_pcpu(self, moment: Moment, pcpu: int, book: _Book) -> None:
        grant = moment.grants[pcpu]
        if grant.run is None or grant.pay is not None:
            book.share = None
            idles = grant.run is None and not grant.stolen
            if idles and (waiting := self._first(moment, pcpu, book, moment.now_ns)):
                name = server_name(self.header, waiting[0])
                self.wrong(moment, pcpu, f"pcpu {pcpu} idles although {name} may have a share")
            return
        at_ns = moment.now_ns
        if not self._goes_on(moment, grant.run, book, at_ns):
            self._judge_end(moment, grant.run, book)
            self._begin(moment, pcpu, grant.run, book, at_ns)
        elif self._is_claimed(moment, pcpu, book):
            name = server_name(self.header, grant.run)
            self.wrong(moment, (pcpu, "claim"), f"{name} goes on although there is a lower claim")
        while book.share is not None and book.share.start_ns + SHARE_NS < moment.until_ns:
            at_ns = book.share.start_ns + SHARE_NS
            self._begin(moment, pcpu, grant.run, book, at_ns)

    def _goes_on(self, moment: Moment, run: int, book: _Book, at_ns: int) -> bool:
        return (
            book.share is not None
            and book.share.vcpu == run
            and at_ns < book.share.start_ns + SHARE_NS
            and moment.work_since[run] <= book.share.start_ns
        )

    def _judge_end(self, moment: Moment, run: int, book: _Book) -> None:
        """Another share begins: was the one before it over, or beaten by a claim?"""
        share = book.share
        if share is None or moment.now_ns >= share.start_ns + SHARE_NS:
            return
        lost_work = share.vcpu not in moment.work or moment.work_since[share.vcpu] > share.start_ns
        lost_work |= moment.home(share.vcpu) != moment.home(run)
        if not lost_work and self._claim(moment, run, book) >= share.claim:
            name = server_name(self.header, share.vcpu)
            self.wrong(moment, (share.vcpu, "early"), f"the share of {name} ends early")

    def _is_claimed(self, moment: Moment, pcpu: int, book: _Book) -> bool:
        first = self._first(moment, pcpu, book, moment.now_ns)
        assert book.share is not None
        return bool(first) and self._claim(moment, first[0], book) < book.share.claim

    def _begin(self, moment: Moment, pcpu: int, run: int, book: _Book, at_ns: int) -> None:
        """A share for the one that runs: is it its turn? It costs a claim, or score."""
        right = self._first(moment, pcpu, book, at_ns)
        if run not in right:
            names = server_name(self.header, right[0]) if right else "nobody"
            text = f"a share for {server_name(self.header, run)}, not for {names}"
            self.finding.add(at_ns, text)
        claim = self._claim(moment, run, book)
        book.share = _Share(run, at_ns, claim)
        if claim != NEVER:
            book.settled[run] = self._claims(moment, run)
            return
        score = book.scores.get(run, 0)
        for vcpu in self._by_score(moment, pcpu):
            book.scores[vcpu] = max(0, book.scores.get(vcpu, 0) - score)
        book.scores[run] = self._cost(moment, run)

    def _first(self, moment: Moment, pcpu: int, book: _Book, at_ns: int) -> list[int]:
        """Who may have a share that begins then; nobody if there is no room for it."""
        own = [v for v in moment.servers if v in moment.work and moment.home(v) == pcpu]
        if any(moment.servers[v].deadline_ns < at_ns + SHARE_NS for v in own):
            return []
        claims = {v: self._claim(moment, v, book) for v in own}
        scores = {v: book.scores.get(v, 0) for v in self._by_score(moment, pcpu)}
        if min(claims.values(), default=NEVER) < NEVER:
            return [min(claims, key=lambda v: (claims[v], v))]
        return [min(scores, key=lambda v: (scores[v], v))] if scores else []

    def _by_score(self, moment: Moment, pcpu: int) -> list[int]:
        """The vcpus on a pcpu that have work and take part by their score."""
        return [
            v
            for v in sorted(moment.work)
            if moment.home(v) == pcpu
            and (moment.is_best_effort(v) or self.header["vcpus"][v]["extra"])
        ]

    def _claim(self, moment: Moment, vcpu: int, book: _Book) -> int:
        server = moment.servers.get(vcpu)
        if not isinstance(server, Slice) or server.claims == book.settled.get(vcpu, 0):
            return NEVER
        return server.claim or NEVER

    def _claims(self, moment: Moment, vcpu: int) -> int:
        server = moment.servers[vcpu]
        return server.claims if isinstance(server, Slice) else 0

    def _cost(self, moment: Moment, vcpu: int) -> int:
        if moment.is_best_effort(vcpu):
            return _UNIT * _WHOLE // (self.header["vcpus"][vcpu].get("weight") or 1)
        server = moment.servers[vcpu]
        return _UNIT * server.period_ns // server.budget_ns


def _why_not(header: Header) -> str:
    """Why nothing is said of this run, or empty."""
    if header["slack"] != "weights" and not header["swaps"]:
        return "the policy of this run gives no shares"
    if lateness_ns(header) > 0:
        return "picks come late: how many shares a vcpu had is not known"
    if header.get("global_guests"):
        return "a domain schedules globally: a share may end when it begins"
    return ""


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(SharesWatcher(header), records)
