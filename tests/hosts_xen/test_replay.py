# SPDX-License-Identifier: BSD-2-Clause
"""Rings of a made-up host, played again: right ones pass, and no lie does."""

from __future__ import annotations

import functools
import operator
import random
from typing import Any

import numpy as np
import pytest
from tests.support.naive_periods import naive

from hyperperiod import _sim
from hyperperiod.hosts.merge import _STEP_OF as STEP_OF
from hyperperiod.hosts.replay import replay
from hyperperiod.hosts.result import PeriodCount
from hyperperiod.hosts.rings import Ring, RingHeader, new_records
from hyperperiod.model import FailedError
from hyperperiod.model.policy import PRESETS, Policy, Scope
from hyperperiod.trace.format import EXTRA, NONE, RECORD, SECOND_PAYER, SPARE, STOLEN, Call, Kind

MS = 1_000_000
SERVERS = ((10 * MS, 3 * MS, 0), (15 * MS, 4 * MS, 1), (20 * MS, 8 * MS, 2))


class Hypervisor:
    """A core that is driven as Xen drives it, and the ring of it."""

    def __init__(self, policy: Policy, pcpus: int = 1, source: int = 0) -> None:
        self.source = source
        self.pcpus = pcpus
        self.records: list[tuple[int, ...]] = []
        rules = (policy.budget.code, policy.order.code, policy.slack.code)
        word = rules[0] | rules[1] << 8 | rules[2] << 16
        self.core = _sim.Core(*rules, pcpus, 0, 30 * MS, 2 * MS)
        self.note(0, Call.QUANTUM)
        self.note(0, Call.BUDGET, value=2 * MS)
        self.note(0, Call.SET_SPARE, value=30 * MS)
        self.note(0, Call.START, value=word, job=pcpus)

    def note(self, now_ns: int, kind: int, **more: int) -> None:
        fields = {
            "value": 0,
            "job": 0,
            "pcpu": 0,
            "vcpu": NONE,
            "payer": NONE,
            "task": NONE,
            "kind": kind,
            "flags": 0,
            "reserved": 0,
            **more,
        }
        self.records.append((now_ns, *fields.values()))

    def add(
        self,
        vcpu: int,
        period_ns: int,
        budget_ns: int,
        priority: int,
        flags: int,
        weight: int = 0,
    ) -> None:
        assert self.core.add(vcpu, period_ns, budget_ns, priority, flags, 0, weight) == 0
        self.note(0, Call.BUDGET, value=budget_ns)
        self.note(0, Call.ADD, vcpu=vcpu, value=period_ns or weight, job=priority, flags=flags)

    def arrive(self, vcpu: int, now_ns: int) -> None:
        self.core.arrive(vcpu, now_ns)
        self.note(now_ns, Kind.ARRIVE, vcpu=vcpu)

    def depart(self, vcpu: int, now_ns: int) -> None:
        self.core.depart(vcpu, now_ns)
        self.note(now_ns, Kind.DEPART, vcpu=vcpu)

    def steal(self, pcpu: int, now_ns: int) -> None:
        self.core.steal(pcpu, now_ns)
        self.note(now_ns, Call.STEAL, value=pcpu)

    def give_back(self, pcpu: int, now_ns: int) -> None:
        self.core.give_back(pcpu, now_ns)
        self.note(now_ns, Call.RETURN, value=pcpu)

    def pick(self, pcpu: int, now_ns: int) -> _sim.Grant:
        grant = self.core.pick(pcpu, now_ns)
        _, until_ns, run, pay, also, level = grant
        payer = SPARE if pay == "spare" else NONE if pay is None else int(pay)
        self.note(
            now_ns,
            Kind.IDLE if run is None else Kind.RUN,
            value=until_ns,
            job=level,
            pcpu=pcpu,
            vcpu=NONE if run is None else run,
            payer=payer,
            flags=(SECOND_PAYER if also is not None else 0) | (EXTRA if level else 0),
        )
        return grant

    def ring(self, *, lost: int = 0) -> Ring:
        records = np.array(self.records, RECORD)
        header = RingHeader(64, 1 << 20, len(records), 10**9, 0, self.source, 2, 0)
        return Ring(header, records, lost)


def play(
    policy: Policy, seed: int, steps: int = 400, *, tick_ns: int = 1, late_ns: int = 700
) -> Hypervisor:
    """Random work on three servers and a best-effort vcpu, with picks that come late at times."""
    draw = random.Random(seed)
    pcpus = 2 if policy.scope is Scope.GLOBAL else 1
    host = Hypervisor(policy, pcpus)
    for vcpu, server in enumerate(SERVERS):
        host.add(vcpu, *server, flags=2 if policy.slack in ("extra", "weights") else 0)
    host.add(3, 0, 0, 0, flags=1, weight=40)
    works: set[int] = set()
    until = [0] * pcpus
    now_ns = 0
    for _ in range(steps):
        next_ns = now_ns + draw.randrange(1, 3 * MS // tick_ns) * tick_ns
        now_ns = min(*until, next_ns) + draw.choice((0, 0, late_ns))
        vcpu = draw.randrange(4)
        if min(until) > now_ns:
            (host.depart if vcpu in works else host.arrive)(vcpu, now_ns)
            works ^= {vcpu}
        settle(host, until, now_ns)
    return host


def settle(host: Hypervisor, until: list[int], now_ns: int) -> None:
    """Picks wherever one is due, and again wherever another pcpu's pick asks for it."""
    due = {pcpu for pcpu, end_ns in enumerate(until) if end_ns <= now_ns}
    while True:
        kicks = host.core.kicks(now_ns)
        due |= {pcpu for pcpu in range(host.pcpus) if kicks >> pcpu & 1}
        if not due:
            return
        for pcpu in sorted(due):
            until[pcpu] = host.pick(pcpu, now_ns)[1]
        due.clear()


@pytest.mark.parametrize("policy", PRESETS.values(), ids=str)
def test_the_same_calls_have_the_same_answers(policy: Policy) -> None:
    host = play(policy, seed=len(str(policy)))
    end_ns = host.records[-1][0]
    played = replay(host.ring(), end_ns)
    assert played.pcpus == host.pcpus
    picks = [row for row in host.records if row[7] in (Kind.RUN, Kind.IDLE) and row[0] < end_ns]
    assert sum(played.picks(end_ns)) == len(picks) > 100
    assert 0 < played.lateness_ns <= 700


def play_robbed(policy: Policy, seed: int) -> Hypervisor:
    """All servers have work, and one pcpu is taken away and given back, again and again."""
    draw = random.Random(seed)
    host = Hypervisor(policy, 2 if policy.scope is Scope.GLOBAL else 1)
    for vcpu, server in enumerate(SERVERS):
        host.add(vcpu, *server, flags=0)
        host.arrive(vcpu, 0)
    until = [0] * host.pcpus
    now_ns = 0
    settle(host, until, now_ns)
    for _ in range(100):
        now_ns = min(*until, now_ns + draw.randrange(3 * MS), 1 << 62)
        settle(host, until, now_ns)
        host.steal(0, now_ns)
        until[0] = 1 << 62
        settle(host, until, now_ns)
        now_ns += draw.randrange(MS)
        host.give_back(0, now_ns)
        settle(host, until, now_ns)
    return host


@pytest.mark.parametrize("policy", PRESETS.values(), ids=str)
def test_nobody_runs_or_pays_where_the_pcpu_is_stolen(policy: Policy) -> None:
    host = play_robbed(policy, seed=11)
    end_ns = host.records[-1][0]
    found = replay(host.ring(), end_ns).records
    own = found[(found["pcpu"] == 0) & np.isin(found["kind"], (Kind.RUN, Kind.IDLE))]
    taken = np.flatnonzero((own["flags"] & STOLEN) > 0)
    assert len(taken) == 100
    assert (own["kind"][taken] == Kind.IDLE).all()
    assert (own["payer"][taken] == NONE).all()
    returns = [row[0] for row in host.records if row[7] == Call.RETURN]
    assert own["time_ns"][taken + 1].tolist() == returns


@pytest.mark.parametrize("thefts", [False, True])
@pytest.mark.parametrize("policy", PRESETS.values(), ids=str)
def test_what_is_charged_is_what_was_granted(policy: Policy, thefts: bool) -> None:
    host = play_robbed(policy, seed=7) if thefts else play(policy, seed=7)
    end_ns = host.records[-1][0]
    found = replay(host.ring(), end_ns).records
    for pcpu in range(host.pcpus):
        own = found[found["pcpu"] == pcpu]
        grants = own[np.isin(own["kind"], (Kind.RUN, Kind.IDLE))]
        ends = np.append(grants["time_ns"][1:], end_ns)
        charges = own[own["kind"] == Kind.CHARGE]
        for payer in np.unique(grants["payer"]).tolist():
            if payer == NONE:
                continue
            also = (grants["flags"] & SECOND_PAYER > 0) & (grants["vcpu"] == payer)
            paid = (grants["payer"] == payer) | also
            due_ns = int((ends[paid] - grants["time_ns"][paid]).sum())
            assert int(charges["value"][charges["payer"] == payer].sum()) == due_ns > 0


@pytest.mark.parametrize("field", ["value", "job", "vcpu", "payer", "kind", "flags"])
def test_a_grant_that_the_core_would_not_give_is_shown(field: str) -> None:
    ring = play(PRESETS["crps"], seed=3).ring()
    at = np.flatnonzero(ring.records["kind"] == Kind.RUN)[40]
    ring.records[field][at] = {"kind": Kind.IDLE, "flags": EXTRA}.get(
        field, int(ring.records[field][at]) ^ 1
    )
    with pytest.raises(FailedError, match="Xen and the core decide differently on pcpu 0") as error:
        replay(ring, 10**9)
    assert f"record {at}: Xen: " in error.value.log
    assert f"record {at}: core: " in error.value.log


def test_a_call_that_was_not_made_is_noticed() -> None:
    """Without the arrival a vcpu would not run."""
    whole = play(PRESETS["ptps"], seed=5).ring()
    kinds, vcpus = whole.records["kind"], whole.records["vcpu"]
    runs_at_once = (kinds[1:] == Kind.RUN) & (vcpus[1:] == vcpus[:-1])
    at = int(np.flatnonzero((kinds[:-1] == Kind.ARRIVE) & runs_at_once)[3])
    ring = Ring(whole.header, np.delete(whole.records, at), 0)
    with pytest.raises(FailedError, match="decide differently"):
        replay(ring, 10**9)


def change(ring: Ring, **fields: Any) -> Ring:
    records = ring.records.copy()
    for field, value in fields.items():
        records[field][5] = value
    return Ring(ring.header, records, ring.lost)


def test_rings_that_cannot_be_played_are_refused_with_the_reason() -> None:
    good = play(PRESETS["ptps"], seed=1, steps=30)
    assert good.ring().records["kind"][5] == Call.ADD
    for ring, reason in (
        (good.ring(lost=3), "lost 3 of"),
        (change(good.ring(), kind=99), "no record has the kind 99"),
        (change(good.ring(), kind=Call.STEAL, value=1), "no pcpu has the number 1"),
        (change(good.ring(), vcpu=64), "no vcpu has the number 64"),
        (change(good.ring(), job=1 << 30), "the core refuses a call"),
        (Ring(good.ring().header, good.ring().records[6:], 0), "does not begin with the start"),
    ):
        with pytest.raises(FailedError, match=reason):
            replay(ring, 10**9)


def test_what_comes_after_the_end_is_checked_but_not_kept() -> None:
    host = play(PRESETS["crps"], seed=9)
    end_ns = host.records[-1][0] // 2
    played = replay(host.ring(), end_ns)
    assert int(played.records["time_ns"].max()) == end_ns
    ring = host.ring()
    last = int(np.flatnonzero(ring.records["kind"] == Kind.RUN)[-1])
    ring.records["value"][last] += 1
    with pytest.raises(FailedError):
        replay(ring, end_ns)


def test_the_part_of_a_pcpu_has_its_number() -> None:
    ring = play(PRESETS["wcps"], seed=2).ring()
    moved = Ring(RingHeader(**{**ring.header.__dict__, "source": 3}), ring.records, 0)
    played = replay(moved, 10**9)
    assert played.first_pcpu == 3
    pcpus = np.unique(played.records["pcpu"])
    assert pcpus[pcpus != NONE].tolist() == [3]


def test_periods_are_those_of_the_replayed_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Picks come late at times: there are debts, and periods that end before that is noticed."""
    overbooked = (*SERVERS[:2], (20 * MS, 12 * MS, 2))
    monkeypatch.setattr(f"{__name__}.SERVERS", overbooked)
    total = PeriodCount()
    for policy in PRESETS.values():
        host = play(policy, 1, tick_ns=MS // 10, late_ns=MS // 10)
        end_ns = host.records[-1][0] - 5 * MS
        played = replay(host.ring(), end_ns)
        found = [played.periods[vcpu] for vcpu in range(4)]
        records = in_order(played.records, end_ns)
        assert found == naive(header_of(policy), records, MS // 10), policy
        total = functools.reduce(operator.or_, found, total)
    assert total.wanted > 100
    assert total.short > 0


def header_of(policy: Policy) -> Any:
    """What the naive model needs to know of the host that `play` is."""
    servers = [
        {"pcpu": 0, "period_ns": period_ns, "budget_ns": budget_ns, "priority": priority}
        for period_ns, budget_ns, priority in SERVERS
    ]
    extra = policy.slack in ("extra", "weights")
    return {
        "pcpus": 2 if policy.scope is Scope.GLOBAL else 1,
        "scope": str(policy.scope),
        "budget": str(policy.budget),
        "order": str(policy.order),
        "slack": str(policy.slack),
        "spare": {"period_ns": 30 * MS, "budget_ns": 2 * MS},
        "changes": [],
        "vcpus": [
            *({**server, "best_effort": False, "extra": extra} for server in servers),
            {"pcpu": 0, "period_ns": None, "budget_ns": None, "best_effort": True, "extra": False},
        ],
    }


def in_order(records: Any, end_ns: int) -> Any:
    """The records as a trace has them."""
    every = np.append(records, new_records(1, Kind.END, end_ns))
    steps = STEP_OF[every["kind"]]
    return every[np.lexsort((np.arange(len(every)), steps, every["time_ns"]))]
