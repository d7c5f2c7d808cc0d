# SPDX-License-Identifier: BSD-2-Clause
"""Host-level tests against a plain schedule of servers that always have work."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import lcm

import pytest

from hyperperiod.analysis.component import Load
from hyperperiod.analysis.servers.deferrable_edf import deferrable_edf, max_work
from hyperperiod.analysis.servers.deferrable_fp import deferrable_fp
from hyperperiod.analysis.servers.deferrable_grid import deferrable_grid
from hyperperiod.analysis.servers.edf_utilization import edf_utilization
from hyperperiod.analysis.servers.fp_response_time import fp_response_time
from hyperperiod.analysis.servers.global_edf import gfb_of_servers
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.model import Order, parse_policy


def group(*servers: tuple[int, int], pcpus: int = 1, equal: bool = False) -> Group:
    """Servers from (budget, period), by period or all of one priority."""
    return Group(
        tuple(
            Server(order, f"s{order}", period, budget, 0 if equal else period)
            for order, (budget, period) in enumerate(servers)
        ),
        pcpus,
    )


def worst_responses(servers: tuple[Server, ...], order: Order) -> list[int | None]:
    """Latest spending of each budget over the hyperperiod of periodic servers; None: too late."""
    left = [0] * len(servers)
    worst: list[int | None] = [0] * len(servers)
    for now in range(lcm(*(server.period_ns for server in servers)) + 1):
        for index, server in enumerate(servers):
            if now % server.period_ns == 0:
                if left[index]:
                    worst[index] = None
                left[index] = server.budget_ns
        ready = [index for index in range(len(servers)) if left[index]]
        if not ready:
            continue
        first = min(ready, key=lambda index: (_rank(servers[index], order, now), index))
        left[first] -= 1
        spent = now % servers[first].period_ns + 1
        latest = worst[first]
        if left[first] == 0 and latest is not None:
            worst[first] = max(latest, spent)
    return worst


def _rank(server: Server, order: Order, now: int) -> int:
    if order is Order.FP:
        return server.priority
    return (now // server.period_ns + 1) * server.period_ns


def some_servers(draw: random.Random) -> list[tuple[int, int]]:
    periods = draw.sample([2, 3, 4, 5, 6, 8, 10, 12, 15], draw.randint(1, 4))
    return [(draw.randint(1, max(1, period // 2)), period) for period in periods]


def test_fixed_priority_is_exact() -> None:
    draw = random.Random(50)
    late = 0
    for _ in range(400):
        one = group(*some_servers(draw))
        verdicts = fp_response_time(one)
        worst = worst_responses(one.servers, Order.FP)
        assert [verdict.bound_ns for verdict in verdicts] == worst, one
        assert all(verdict.holds is not None for verdict in verdicts)
        late += None in worst
    assert late > 50


def test_equal_priorities_are_never_promised_too_much() -> None:
    one = group((2, 5), (2, 5), (1, 5), equal=True)
    assert [verdict.bound_ns for verdict in fp_response_time(one)] == [5, 5, 5]
    full = group((2, 5), (2, 5), (2, 5), equal=True)
    assert [verdict.holds for verdict in fp_response_time(full)] == [None, None, False]
    assert host_level(parse_policy("ptps"), full).whole.holds is False
    mixed = group((1, 2), (4, 10), equal=True)
    assert [verdict.holds for verdict in fp_response_time(mixed)] == [None, True]


def test_edf_is_exact() -> None:
    draw = random.Random(51)
    for _ in range(400):
        one = group(*some_servers(draw))
        if lcm(*(server.period_ns for server in one.servers)) > 300:
            continue
        worst = worst_responses(one.servers, Order.EDF)
        assert edf_utilization(one).holds == (None not in worst), one


def test_edf_compares_exactly_at_one() -> None:
    thirds = group((1, 3), (1, 3), (1, 3))
    assert edf_utilization(thirds).holds is True
    hair = 10**15
    assert edf_utilization(group((1, 3), (2 * hair + 1, 3 * hair))).holds is False


def test_deferrable_servers_are_not_periodic_ones() -> None:
    """Back to back: the upper server ends one period and begins the next at once."""
    one = group((2, 4), (2, 8))
    assert all(verdict.holds for verdict in fp_response_time(one))
    assert [verdict.bound_ns for verdict in deferrable_fp(one)] == [2, 6]
    tight = group((2, 4), (4, 8))
    assert fp_response_time(tight)[1].holds is True
    assert deferrable_fp(tight)[1].holds is None
    assert deferrable_fp(group((3, 4), (3, 8)))[1].holds is False


def test_counterexamples_to_the_ertds_paper() -> None:
    """Two systems that its theorems accept; in both a server does not get its budget."""
    one_pcpu = group((500, 1000), (195, 390))
    assert one_pcpu.bandwidth == 1
    assert deferrable_edf(one_pcpu)[0].holds is None
    two_pcpus = group((4, 12), (4, 12), (2, 5), pcpus=2)
    assert gfb_of_servers(two_pcpus).holds is True
    assert deferrable_edf(two_pcpus)[2].holds is None
    assert host_level(parse_policy("rtds"), two_pcpus).whole.holds is None


def test_work_of_a_deferrable_server_within_a_period() -> None:
    assert max_work(Server(0, "k", 4, 3, 0), 10) == 8
    assert max_work(Server(0, "k", 12, 3, 0), 10) == 3
    assert max_work(Server(0, "k", 12, 11, 0), 10) == 10


def test_deferrable_edf_holds_where_all_interference_fits() -> None:
    assert all(v.holds for v in deferrable_edf(group((1, 10), (2, 10), (3, 10))))
    assert deferrable_edf(group((6, 10), (6, 10)))[0].holds is None


@pytest.mark.parametrize(
    ("policy", "test"),
    [
        ("crps", "response time"),
        ("polling", "response time"),
        ("periodic+edf+lend", "edf utilization"),
        ("cbs", "edf utilization"),
        ("ds", "deferrable response time"),
        ("deferrable+edf", "deferrable edf"),
    ],
)
def test_one_pcpu(policy: str, test: str) -> None:
    found = host_level(parse_policy(policy), group((1, 10), (2, 20)))
    assert found.test == test
    assert found.whole.holds is True


def test_what_no_test_covers_is_null() -> None:
    policy = parse_policy("cbs+fp+global")
    found = host_level(policy, group((1, 10), (2, 20), (1, 10), pcpus=2))
    assert (found.test, found.whole.holds) == ("none", None)
    assert found.whole.reason
    assert host_level(policy, group((1, 10), pcpus=2)).whole.holds is True
    full = group((7, 10), (7, 10), (7, 10), pcpus=2)
    assert host_level(policy, full).whole.holds is False


def test_sporadic_servers_are_judged_as_periodic_ones() -> None:
    draw = random.Random(53)
    for _ in range(100):
        one = group(*some_servers(draw))
        for order in ("", "+edf"):
            sporadic = host_level(parse_policy(f"sporadic{order}"), one).whole
            periodic = host_level(parse_policy(f"periodic{order or '+fp'}"), one).whole
            assert sporadic == periodic


def test_constant_bandwidth_servers_under_priorities() -> None:
    """(1, 4) above takes at most (w + 3) / 4 of a window: 5 units of one's own need 23 / 3."""
    found = host_level(parse_policy("cbs+fp"), group((1, 4), (5, 8)))
    assert (found.test, found.whole.holds) == ("cbs response time", True)
    assert [verdict.bound_ns for verdict in found.servers] == [1, 8]
    tight = host_level(parse_policy("cbs+fp"), group((1, 4), (6, 8)))
    assert [verdict.holds for verdict in tight.servers] == [True, None]
    assert fp_response_time(group((1, 4), (6, 8)))[1].holds is True
    late = host_level(parse_policy("cbs+fp"), group((2, 4), (5, 8)))
    assert late.whole.holds is False


def test_deferrable_servers_on_one_grid() -> None:
    """Harmonic periods leave no room for budget that is saved up; coprime ones all of it."""
    harmonic = group((2, 4), (4, 8))
    assert [verdict.bound_ns for verdict in deferrable_grid(harmonic)] == [2, 8]
    found = host_level(parse_policy("ds"), harmonic)
    assert (found.test, found.whole.holds) == ("deferrable response time on one grid", True)
    coprime = group((2, 4), (2, 9), (1, 25))
    assert [v.bound_ns for v in deferrable_grid(coprime)] == [
        v.bound_ns for v in deferrable_fp(coprime)
    ]
    draw = random.Random(54)
    for _ in range(200):
        one = group(*some_servers(draw))
        for published, sharper in zip(deferrable_fp(one), deferrable_grid(one), strict=True):
            assert sharper.holds is not None or published.holds is None
            if published.bound_ns is not None:
                assert sharper.bound_ns is not None
                assert sharper.bound_ns <= published.bound_ns


def test_global_policies() -> None:
    fits = group((2, 10), (2, 10), (5, 10), pcpus=2)
    for policy in ("rtds", "ertds", "cbs+edf+global", "periodic+edf+global"):
        assert host_level(parse_policy(policy), fits).whole.holds is True
    for policy in ("periodic+fp+global", "deferrable+fp+global"):
        found = host_level(parse_policy(policy), fits)
        assert (found.test, found.whole.holds) == ("global response time", True)
        heavy = group((8, 10), (8, 10), (3, 10), pcpus=2)
        assert host_level(parse_policy(policy), heavy).whole.holds is None
    enough = group((9, 10), (9, 10), pcpus=2)
    assert host_level(parse_policy("rtds"), enough).whole.holds is True
    over = group((9, 10), (9, 10), (9, 10), pcpus=2)
    assert host_level(parse_policy("rtds"), over).whole.holds is False


@pytest.mark.parametrize(
    ("policy", "servers", "pcpus", "said"),
    [
        ("ptps", [(1, 4), (6, 8), (6, 8)], 1, [True, None, None]),
        ("deferrable+fp+global", [(1, 4), (7, 8), (7, 8), (7, 8)], 2, [True, None, None, None]),
        ("periodic+fp+global", [(1, 4), (2, 8), (9, 9), (9, 9)], 2, [True, True, None, None]),
        ("periodic+edf", [(1, 2), (20, 21)], 1, [None, None]),
        ("rtds", [(2, 100), (9, 9), (9, 9)], 2, [None, None, None]),
    ],
)
def test_too_much_for_all_refutes_no_server_that_is_proved(
    policy: str, servers: list[tuple[int, int]], pcpus: int, said: list[bool | None]
) -> None:
    """A "no" is for the group, and for a server only where a test is exact for it."""
    one = replace(group(*servers, pcpus=pcpus), turns=True)
    found = host_level(parse_policy(policy), one)
    assert found.whole.holds is False
    assert "bandwidths sum to" in found.whole.reason
    assert [verdict.holds for verdict in found.servers] == said


def test_the_last_server_that_is_open_goes_short() -> None:
    """All others are proved, and somebody does not get its budget."""
    some = group((1, 4), (4, 5), pcpus=1)
    found = host_level(parse_policy("ptps"), replace(some, overhead=(Load(1, 2**61, 2**61),)))
    assert [verdict.holds for verdict in found.servers] == [True, False]


def test_an_overloaded_class_of_ordinary_domains_does_not_condemn_the_real_time_one() -> None:
    one = group((2, 10), (6, 10), (6, 10))
    ranks = [0, 9, 9]
    servers = tuple(s._replace(priority=rank) for s, rank in zip(one.servers, ranks, strict=True))
    found = host_level(parse_policy("psedf"), replace(one, servers=servers))
    assert [verdict.holds for verdict in found.servers] == [True, None, None]
    assert found.whole.holds is False


def test_no_servers() -> None:
    assert host_level(parse_policy("ptps"), group()).whole.holds is True


def test_every_test_that_applies_is_shown() -> None:
    """The chosen one first; what is published but does not hold comes last and never counts."""
    two_pcpus = group((4, 12), (4, 12), (2, 5), pcpus=2)
    found = host_level(parse_policy("rtds"), two_pcpus)
    assert [(said.test, said.sound, said.verdict.holds) for said in found.tests] == [
        ("deferrable edf", True, None),
        ("theorem 4", False, True),
    ]
    assert found.tests[1].source == "ERTDS paper"
    tight = host_level(parse_policy("ds"), group((3, 4), (1, 8)))
    assert (tight.tests[-1].sound, tight.tests[-1].verdict.holds) == (False, True)
    assert tight.whole.holds is not False


def test_the_bandwidth_of_a_spare_is_part_of_the_papers_sum() -> None:
    half = group((1, 4), (1, 4))
    with_spare = host_level(parse_policy("ertds"), half, Fraction(2, 3)).tests[-1]
    assert (with_spare.test, with_spare.verdict.holds) == ("theorem 3", False)


def test_a_group_holds_if_one_sound_test_accepts_it() -> None:
    """Below the GFB bound, and too much for the test that lets servers idle first."""
    one = group((4, 12), (4, 12), (2, 5), pcpus=2)
    found = host_level(parse_policy("periodic+edf+global"), one)
    assert (found.test, found.whole.holds) == ("gfb", True)
    assert [said.test for said in found.tests] == [
        "gfb",
        "iterative bcl",
        "baker",
        "deferrable edf",
    ]
