# SPDX-License-Identifier: BSD-2-Clause
"""The naive model against expectations that were written by hand.

Schedules are drawn as strings, one character per tick: `A`, `B`, `C` for vcpus 0, 1, 2, `*` for
the spare and `.` for nobody.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from .model import (
    BEST_EFFORT,
    SPARE,
    Grant,
    Params,
    Policy,
    Setup,
    World,
)
from .workload import Run, finish_times, pays, play, runs

ENDLESS = {0: 10**6}
NOTHING: dict[int, int] = {}
PTPS = Policy("periodic", "fp", "none")
WCPS = Policy("periodic", "fp", "lend")
CRPS = Policy("periodic", "fp", "reclaim")


def draw(names: Sequence[object]) -> str:
    """A row of vcpus as a string."""
    signs: dict[object, str] = {None: ".", SPARE: "*", 0: "A", 1: "B", 2: "C", 3: "D"}
    return "".join(signs[name] for name in names)


def one_pcpu(policy: Policy, quantum: int | None = None) -> Setup:
    return Setup(policy, quantum=quantum, spare_period=12, spare_budget=0)


def schedule(
    setup: Setup, params: Sequence[Params], patterns: Sequence[dict[int, int]], ticks: int
) -> tuple[str, str]:
    """Who runs and who pays on pcpu 0."""
    rows = play(setup, params, patterns, ticks)
    return draw(runs(rows)), draw(pays(rows))


# -- the papers' examples ----------------------------------------------------------------------


def test_ertds_example_3() -> None:
    """Fig. 5 of the ERTDS paper: boxes A to G, the spare's budget gone or idle in each."""
    setup = Setup(Policy("deferrable", "edf", "spare"), spare_period=24, spare_budget=6)
    params = [Params(8, 2), Params(12, 6)]
    # vcpu 0 is busy until it has run 10 ticks; vcpu 1 stops at 4, starts again at 5, ends at 18.
    patterns = [{0: 10}, {0: 2, 5: 10}]
    runner, payer = schedule(setup, params, patterns, 25)
    #                 0       8           16      24
    assert runner == "AABBABBB" + "BAAABBBB" + "BBAAAA.." + "."
    assert payer == "AABB*BBB" + "BAA*BBBB" + "BBAA****" + "*"


def test_ertds_prefers_the_latest_deadline() -> None:
    """At 11 both are depleted: deadlines 16 and 12, so the one with 16 gets the spare."""
    setup = Setup(Policy("deferrable", "edf", "spare"), spare_period=24, spare_budget=6)
    rows = play(setup, [Params(8, 2), Params(12, 6)], [ENDLESS, {0: 2, 5: 10**6}], 12)
    assert rows[11] == [Grant(0, SPARE)]


def test_deferrable_counterexample_on_one_pcpu() -> None:
    """Bandwidths sum to 1 and yet (5, 10) gets 4.4 in [10, 20). Ticks of 0.05."""
    setup = one_pcpu(Policy("deferrable", "edf"))
    rows = play(setup, [Params(200, 100), Params(78, 39)], [ENDLESS, {195: 10**6}], 400)
    assert runs(rows)[200:400].count(0) == 88


def test_deferrable_counterexample_on_two_pcpus() -> None:
    """The GFB bound holds and yet (2, 5) gets 1 of 2 in [20, 25)."""
    setup = Setup(Policy("deferrable", "edf"), pcpus=2)
    late = {20: 10**6}
    rows = play(setup, [Params(12, 4), Params(12, 4), Params(5, 2)], [late, late, ENDLESS], 25)
    assert sum(grant.run == 2 for grants in rows[20:25] for grant in grants) == 1


# -- theorems ----------------------------------------------------------------------------------


def random_system(rng: random.Random, policy: Policy) -> tuple[Setup, list[Params]]:
    params = []
    for _ in range(rng.randint(1, 4)):
        period = rng.randint(2, 9)
        params.append(Params(period, rng.randint(1, period), rng.randint(0, 2)))
    return one_pcpu(policy, rng.choice([None, None, 1, 2])), params


def random_pattern(rng: random.Random, ticks: int) -> dict[int, int]:
    density = rng.choice([0.05, 0.2, 0.5])
    return {now: rng.randint(1, 3) for now in range(ticks) if rng.random() < density}


@pytest.mark.parametrize("order", ["fp", "edf"])
def test_payers_under_crps_are_those_under_ptps_whatever_the_workload(order: str) -> None:
    """The payer at every instant is fixed by the servers alone."""
    rng = random.Random(1)
    for _ in range(150):
        ptps = Policy("periodic", "edf" if order == "edf" else "fp", "none")
        setup, params = random_system(rng, ptps)
        reclaim = setup._replace(policy=ptps._replace(slack="reclaim"))
        patterns = [[random_pattern(rng, 60) for _ in params] for _ in range(2)]
        quiet = pays(play(setup, params, [NOTHING] * len(params), 60))
        assert quiet == pays(play(setup, params, patterns[0], 60))
        assert quiet == pays(play(reclaim, params, patterns[0], 60))
        assert quiet == pays(play(reclaim, params, patterns[1], 60))


def test_every_job_finishes_no_later_under_crps_than_under_ptps() -> None:
    rng = random.Random(2)
    for _ in range(200):
        setup, params = random_system(rng, PTPS)
        patterns = [random_pattern(rng, 60) for _ in params]
        ptps = play(setup, params, patterns, 80)
        crps = play(setup._replace(policy=CRPS), params, patterns, 80)
        for v, pattern in enumerate(patterns):
            for late, early in zip(
                finish_times(ptps, v, pattern), finish_times(crps, v, pattern), strict=True
            ):
                assert late is None or (early is not None and early <= late)


def test_wcps_can_finish_a_job_later_than_ptps() -> None:
    """B spends one tick of budget early, on lent time; the other idles away before its next job."""
    params = [Params(4, 2, 0), Params(8, 2, 1)]
    patterns = [NOTHING, {0: 1, 3: 1}]
    ptps = play(one_pcpu(PTPS), params, patterns, 16)
    wcps = play(one_pcpu(WCPS), params, patterns, 16)
    assert finish_times(ptps, 1, patterns[1]) == [3, 4]
    assert finish_times(wcps, 1, patterns[1]) == [1, 9]


ALL_LOCAL = [
    Policy("periodic", order, slack)
    for order in ("fp", "edf")
    for slack in ("none", "lend", "reclaim")
] + [
    Policy(budget, order, slack)
    for budget in ("deferrable", "polling", "sporadic", "cbs")
    for order in ("fp", "edf")
    for slack in ("none", "spare", "extra")
]


@pytest.mark.parametrize("policy", ALL_LOCAL, ids="+".join)
def test_no_server_pays_more_than_its_budget_per_period(policy: Policy) -> None:
    """In each period from its origin; sporadic and cbs, whose periods move, up to any instant."""
    rng = random.Random(str(policy))
    for _ in range(30):
        setup, params = random_system(rng, policy)
        setup = setup._replace(spare_budget=3)
        params = [one._replace(extra=rng.random() < 0.7) for one in params]
        rows = play(setup, params, [random_pattern(rng, 70) for _ in params], 72)
        for v, one in enumerate(params):
            paid = [
                any(v in (grant.pay, grant.also) and grant.level == 0 for grant in grants)
                for grants in rows
            ]
            for now in range(72):
                if policy.budget == "sporadic":
                    assert sum(paid[:now]) <= -(-now // one.period) * one.budget
                elif policy.budget == "cbs":
                    assert sum(paid[:now]) * one.period <= (now + one.period) * one.budget
                elif now % one.period == 0:
                    assert sum(paid[now : now + one.period]) <= one.budget


@pytest.mark.parametrize("policy", ALL_LOCAL, ids="+".join)
def test_laws_of_every_grant(policy: Policy) -> None:
    """Who runs has work; who pays is whom the policy names; one vcpu on one pcpu."""
    rng = random.Random(str(policy))
    pcpus = [1, 2, 3] if policy.slack not in ("lend", "reclaim") else [1]
    for _ in range(30):
        setup, params = random_system(rng, policy)
        setup = setup._replace(spare_budget=4, pcpus=rng.choice(pcpus))
        run = Run(setup, [one._replace(extra=rng.random() < 0.5) for one in params])
        for now in range(60):
            arrivals = [rng.choice([0, 0, 0, 1, 2]) for _ in params]
            grants = (run.start if now == 0 else run.step)(arrivals)
            busy = [grant.run for grant in grants if grant.run is not None]
            assert len(set(busy)) == len(busy)
            assert all(run.backlog[v] > 0 for v in busy)
            for grant in grants:
                check_payment(policy, grant)
            for vcpu in run.world.vcpus.values():
                assert vcpu.remaining >= 0
                if policy.budget == "sporadic":
                    assert sum(refill.amount for refill in vcpu.refills) == vcpu.params.budget


def check_payment(policy: Policy, grant: Grant) -> None:
    if policy.slack == "lend" and grant.run != grant.pay:
        assert grant.also == grant.run
        return
    assert grant.also is None
    if policy.budget == "periodic" and policy.slack == "none":
        assert grant.run in (None, grant.pay)
    elif policy.budget == "periodic":
        assert grant.run is None or grant.pay is not None
    elif grant.pay != SPARE:
        assert grant.run == grant.pay


# -- one rule at a time ------------------------------------------------------------------------


def test_periodic_budget_idles_away() -> None:
    params = [Params(4, 2, 0), Params(8, 3, 1)]
    assert schedule(one_pcpu(PTPS), params, [{1: 1}, ENDLESS], 9) == (
        ".ABB..B..",
        "AABBAAB.A",
    )


def test_lend_charges_both_and_gives_way_at_once() -> None:
    params = [Params(6, 3, 0), Params(12, 4, 1)]
    rows = play(one_pcpu(WCPS), params, [{2: 1}, ENDLESS], 7)
    assert draw(runs(rows)) == "BBABB.."
    assert draw(pays(rows)) == "AAABB.A"
    assert draw([grants[0].also for grants in rows]) == "BB....."


def test_reclaim_keeps_the_budget_of_who_runs() -> None:
    params = [Params(6, 3, 0), Params(12, 2, 1), Params(12, 1, 2)]
    rows = play(one_pcpu(CRPS), params, [NOTHING, ENDLESS, ENDLESS], 12)
    assert draw(runs(rows)) == "BBBBBCBBB..."
    assert draw(pays(rows)) == "AAABBCAAA..."


def test_reclaim_prefers_those_with_budget_of_their_own() -> None:
    """At 6 B is depleted and C is not: C runs, though B is higher; at 9 time is nobody's."""
    params = [Params(6, 3, 0), Params(12, 1, 1), Params(12, 3, 2)]
    rows = play(one_pcpu(CRPS), params, [NOTHING, ENDLESS, ENDLESS], 12)
    assert draw(runs(rows)) == "BBBBCCCCCC.."
    assert draw(pays(rows)) == "AAABCCAAAC.."


def test_polling_loses_its_budget_when_it_has_no_work() -> None:
    params = [Params(4, 2, 0)]
    setup = one_pcpu(Policy("polling"))
    assert schedule(setup, params, [{0: 1, 2: 1}], 8)[0] == "A...A..."
    # Work that comes at the very instant of the departure keeps it.
    assert schedule(setup, params, [{0: 1, 1: 1}], 8)[0] == "AA......"


def test_deferrable_keeps_its_budget_within_the_period() -> None:
    setup = one_pcpu(Policy("deferrable"))
    assert schedule(setup, [Params(4, 2, 0)], [{3: 5}], 12)[0] == "...AAA..AA.."


def test_sporadic_budget_comes_back_one_period_after_the_activation() -> None:
    setup = one_pcpu(Policy("sporadic"))
    # One tick is used from 3 and three from 5: one comes back at 11 and three at 13, and so on.
    runner, _ = schedule(setup, [Params(8, 4, 0)], [{3: 1, 5: 99}], 24)
    assert runner == "...A.AAA...A.AAA...A.AAA"


def test_sporadic_arrival_takes_in_what_it_would_meet() -> None:
    """At 6 two are left and two come back at 8, when the two are used: one piece from 6."""
    setup = one_pcpu(Policy("sporadic"))
    runner, _ = schedule(setup, [Params(5, 4, 0)], [{3: 2, 6: 99}], 18)
    assert runner == "...AA.AAAA.AAAA.AA"


def test_sporadic_budget_in_one_piece() -> None:
    setup = one_pcpu(Policy("sporadic"))
    assert schedule(setup, [Params(5, 2, 0)], [ENDLESS], 12)[0] == "AA...AA...AA"
    assert schedule(setup, [Params(5, 5, 0)], [ENDLESS], 12)[0] == "A" * 12


def test_sporadic_deadline_stays_while_an_activation_is_served() -> None:
    """The first keeps its deadline 6 up to its last tick; at 6 its next one is 12."""
    setup = one_pcpu(Policy("sporadic", "edf"))
    params = [Params(6, 4), Params(7, 3)]
    assert schedule(setup, params, [ENDLESS, ENDLESS], 8)[0] == "AAAABBBA"


def test_cbs_arrival_rule() -> None:
    setup = one_pcpu(Policy("cbs", "edf"))
    run = Run(setup, [Params(8, 4)])
    run.start([1])
    for now in range(1, 5):
        run.step([0])
        assert run.world.vcpus[0].deadline == 8, now
    # At 5: 3 left, 3 ticks to the deadline, 3 * 8 > 3 * 4: a new period.
    run.step([6])
    assert (run.world.vcpus[0].remaining, run.world.vcpus[0].deadline) == (4, 13)
    # Depleted at 9, it waits for 13 and goes on with deadline 21.
    ran = [run.step([0])[0].run for _ in range(6, 15)]
    assert draw(ran) == "AAA....AA"
    assert run.world.vcpus[0].deadline == 21


def test_cbs_keeps_deadline_and_budget_when_the_bandwidth_allows() -> None:
    run = Run(one_pcpu(Policy("cbs", "edf")), [Params(8, 4)])
    run.start([3])
    for _ in range(3):
        run.step([0])
    run.step([1])
    # At 4: 1 left, 4 ticks to the deadline, 1 * 8 <= 4 * 4.
    assert (run.world.vcpus[0].remaining, run.world.vcpus[0].deadline) == (1, 8)


def test_extra_time_orders_by_level_first() -> None:
    setup = one_pcpu(Policy("deferrable", "edf", "extra"))
    params = [Params(8, 2, extra=True), Params(12, 3, extra=True)]
    rows = play(setup, params, [ENDLESS, ENDLESS], 12)
    # Depleted at 2 and 5 both are at level 1: deadline 8 first, then 12 until the refill at 8.
    assert draw(runs(rows)) == "AABBBAABAABB"
    assert [grants[0].level for grants in rows] == [0] * 5 + [1] * 3 + [0] * 2 + [1] * 2


def test_without_permission_no_extra_time() -> None:
    setup = one_pcpu(Policy("deferrable", "edf", "extra"))
    assert schedule(setup, [Params(4, 1)], [ENDLESS], 8)[0] == "A...A..."


def test_equals_without_a_quantum_the_last_to_run_goes_on() -> None:
    setup = one_pcpu(Policy("deferrable"))
    params = [Params(20, 9), Params(20, 9)]
    assert schedule(setup, params, [{2: 3}, {0: 4, 7: 1}], 9)[0] == "BBBBAAAB."
    # Remembered over an idle time: B was the last.
    assert schedule(setup, params, [{4: 2}, {0: 2, 4: 2}], 8)[0] == "BB..BBAA"


def test_equals_take_turns_of_one_quantum() -> None:
    setup = one_pcpu(Policy("deferrable"), quantum=2)
    params = [Params(20, 9), Params(20, 9)]
    assert schedule(setup, params, [ENDLESS, ENDLESS], 10)[0] == "AABBAABBAA"
    # Alone it gets a new turn; B waits until the turn that began at 2 is over.
    assert schedule(setup, params, [ENDLESS, {3: 9}], 10)[0] == "AAAABBAABB"


def test_equal_payers_take_turns_with_or_without_work() -> None:
    params = [Params(8, 3), Params(8, 3)]
    assert schedule(one_pcpu(PTPS, quantum=1), params, [NOTHING, ENDLESS], 8) == (
        ".B.B.B..",
        "ABABAB..",
    )


def test_best_effort_runs_when_nobody_else_does() -> None:
    setup = one_pcpu(PTPS)
    params = [Params(6, 3), BEST_EFFORT, BEST_EFFORT]
    assert schedule(setup, params, [{2: 1}, ENDLESS, ENDLESS], 8) == ("BCABCBCB", "AAA...AA")


def test_placement_stays_and_returns() -> None:
    """Global: who runs stays; a newcomer takes its last pcpu if free, else the lowest free."""
    setup = Setup(Policy("deferrable", "fp"), pcpus=2)
    params = [Params(20, 9, 0), Params(20, 9, 1), Params(20, 9, 2)]
    rows = play(setup, params, [{0: 1, 3: 2, 8: 1}, {0: 5}, {4: 9}], 9)
    assert draw(runs(rows, 0)) == "A..AACCCC"
    assert draw(runs(rows, 1)) == "BBBBB...A"


def test_spare_runs_on_one_pcpu_only() -> None:
    setup = Setup(Policy("deferrable", "edf", "spare"), 2, spare_period=6, spare_budget=4)
    rows = play(setup, [Params(6, 1), Params(6, 2)], [ENDLESS, ENDLESS], 6)
    assert draw(runs(rows, 0)) == "AAAAA."
    assert draw(pays(rows, 0)) == "A****."
    assert draw(runs(rows, 1)) == "BB...."


def test_periodic_servers_on_two_pcpus_occupy_them_and_idle() -> None:
    setup = Setup(Policy("periodic", "fp"), pcpus=2)
    params = [Params(6, 2, 0), Params(6, 3, 1), Params(6, 2, 2)]
    rows = play(setup, params, [NOTHING, ENDLESS, ENDLESS], 6)
    assert draw(pays(rows, 0)) == "AACC.."
    assert draw(pays(rows, 1)) == "BBB..."
    assert draw(runs(rows, 0)) == "..CC.."


# -- changes -----------------------------------------------------------------------------------


def test_an_added_server_waits_for_a_multiple_of_its_period() -> None:
    world = World(one_pcpu(Policy("deferrable")), [], now=3)
    world.add(0, Params(4, 2))
    world.arrive(0)
    ran = []
    for _ in range(7):
        ran.append(world.decide()[0].run)
        world.elapse()
        world.refill()
    assert draw(ran) == ".AA..AA"


def test_an_update_waits_for_the_next_refill_which_is_the_new_origin() -> None:
    run = Run(one_pcpu(Policy("deferrable")), [Params(4, 2)])
    run.start([99])
    run.world.update(0, Params(3, 1))
    ran = [run.step([0])[0].run for _ in range(1, 11)]
    assert draw(ran) == "A.." + "A.." + "A.." + "A"


def test_cbs_takes_an_update_with_an_arrival_that_starts_a_period() -> None:
    run = Run(Setup(Policy("cbs")), [Params(6, 3)])
    run.start([1])
    run.world.update(0, Params(4, 1))
    server = run.world.vcpus[0]
    for _ in range(4):
        run.step([0])
    assert (server.params, server.remaining, server.deadline) == (Params(6, 3), 2, 6)
    run.step([1])  # two left for one tick is more than the bandwidth
    assert (server.params, server.remaining, server.deadline) == (Params(4, 1), 1, 9)


def test_cbs_takes_an_update_at_its_deadline_at_the_latest() -> None:
    run = Run(Setup(Policy("cbs")), [Params(6, 3)])
    run.start([2])
    run.world.update(0, Params(4, 2))
    for _ in range(6):
        run.step([0])
    server = run.world.vcpus[0]
    assert (run.world.now, server.remaining, server.deadline) == (6, 2, 10)
    run.world.update(0, Params(5, 1))
    run.world.update(0, Params(8, 1))  # in place of the one before
    for _ in range(4):
        run.step([0])
    assert (server.params, server.deadline) == (Params(8, 1), 18)


def test_a_swap_keeps_what_is_left_and_the_deadline() -> None:
    run = Run(one_pcpu(Policy("periodic")), [Params(6, 3)])
    run.start([1])
    run.step([0])
    run.world.swap(Policy("sporadic"))
    vcpu = run.world.vcpus[0]
    assert [tuple(refill) for refill in vcpu.refills] == [(1, 2), (6, 1)]
    run.world.swap(Policy("deferrable"))
    assert (vcpu.remaining, vcpu.deadline) == (2, 6)
