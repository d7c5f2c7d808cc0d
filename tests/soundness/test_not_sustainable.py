# SPDX-License-Identifier: BSD-2-Clause
"""Where asking for less is worse: a witness for each exception that docs/analysis/proofs.md names.

`test_sustainability` leaves these out of what it changes, and nothing else.
"""

from __future__ import annotations

import pytest
from tests.support.verdicts import Said, said_of, scaled, with_budget
from tests.support.worlds import alone, domain, system, task

from hyperperiod.analysis import analyze
from hyperperiod.model import Domain, Flow, Source, Stolen, System


def test_under_rm_a_longer_period_takes_a_task_its_rank() -> None:
    b = task("b", 15, 4)
    before = said_of(alone("rm", task("a", 10, 3, deadline=4), b))
    after = said_of(alone("rm", task("a", 20, 3, deadline=4), b))
    assert (before["d.a"], after["d.a"]) == (Said(True, 3), Said(False))


def test_under_dm_a_longer_deadline_above_the_period_takes_a_task_its_rank() -> None:
    a, c = task("a", 3, 1, deadline=7), task("c", 3, 1, deadline=5)
    before = said_of(alone("dm", a, task("b", 10, 3, deadline=6), c))
    after = said_of(alone("dm", a, task("b", 10, 3, deadline=8), c))
    assert before["d"].holds
    assert after["d"].holds is False


def test_under_edf_a_bound_is_a_deadline() -> None:
    b = task("b", 15, 4)
    before = said_of(alone("edf", task("a", 10, 3, deadline=6), b))
    after = said_of(alone("edf", task("a", 10, 3, deadline=9), b))
    assert (before["d.a"], after["d.a"]) == (Said(True, 6), Said(True, 9))


@pytest.mark.parametrize("changes", [{"deadline": 11}, {"period": 15, "deadline": 10}])
def test_harmonic_supply_asks_for_harmonic_tasks(changes: dict[str, int]) -> None:
    def given(**more: int) -> System:
        first = task("a", more.pop("period", 10), 1, **more)
        return system("ptps", domain("d", (2, 5), first, task("b", 20, 2)), sbf="harmonic")

    assert said_of(given())["d"].holds
    assert said_of(given(**changes))["d"].holds is None


@pytest.mark.parametrize("policy", ["ptps", "periodic+edf"])
def test_a_periodic_server_that_nobody_interrupts_has_its_budget_early(policy: str) -> None:
    short, long = domain("a", (3, 6), task("t", 20, 1)), domain("b", (8, 20), task("t", 40, 1))
    before = said_of(system(policy, short, long, sbf="servers"))
    after = said_of(system(policy, long, sbf="servers"))
    assert (before["b.t"], after["b.t"]) == (Said(True, 10), Said(True, 13))


def test_equal_servers_take_turns_where_nobody_is_above_them() -> None:
    def one(name: str, priority: int) -> Domain:
        return domain(name, (1, 6), task("t", 12, 1), priority=priority)

    before = said_of(system("ptps", one("a", 1), one("b", 2), one("c", 2), sbf="servers"))
    after = said_of(system("ptps", one("b", 2), one("c", 2), sbf="servers"))
    assert (before["c.t"], after["c.t"]) == (Said(True, 6), Said(True, 7))


def test_a_client_whose_work_is_shorter_comes_back_sooner() -> None:
    def given(wcet: int) -> System:
        first = domain("a", (1000, 1000), task("in", 100, wcet, kind="event"), pcpu=0)
        second = domain(
            "b", (1000, 1000), task("out", 90, 2, kind="event"), task("own", 100, 30), pcpu=1
        )
        source = Source.of({"kind": "closed", "clients": 1, "think": 0})
        flow = Flow(name="f", source=source, hops=("a.in", "b.out"), deadline_ns=1000)
        return system("ptps", first, second, pcpus=2).replace(flows=(flow,))

    longer, shorter = said_of(given(20)), said_of(given(5))
    assert (longer["b.own"], shorter["b.own"]) == (Said(True, 34), Said(True, 42))


def test_a_computed_budget_is_smaller_where_less_is_asked() -> None:
    """Where time is stolen `sbf = "edp"` is the general bound, which asks for a larger budget."""

    def given(*stolen: Stolen) -> System:
        own = Domain.of(
            {"name": "d", "interface_period": 5, "task": [task("t", 60, 18, deadline=30, jitter=3)]}
        )
        return system("ptps", own, sbf="edp", stolen=stolen)

    thefts = Stolen(period_ns=105, duration_ns=1)
    before, after = said_of(given(thefts)), said_of(given())
    assert (before["d.t"], after["d.t"]) == (Said(True, 24), Said(True, 30))


def test_where_switches_cost_best_effort_is_switched_to() -> None:
    def given(*more: Domain) -> System:
        own = domain("d", (50, 100), task("a", 400, 10))
        return system("wcps", own, *more, overheads={"context_switch": 1})

    assert said_of(given())["d.a"] == Said(True, 124)
    assert said_of(given(domain("more", None)))["d.a"] == Said(True, 126)


def test_the_global_fp_test_counts_whole_nanoseconds() -> None:
    def one(name: str, interface: tuple[int, int], **more: int) -> Domain:
        return domain(name, interface, task("t", 60, 1, vcpu=0), **more)

    pair = domain("c", (1, 3), task("t", 60, 1, vcpu=0), task("u", 60, 1, vcpu=1), vcpus=2)
    domains = one("a", (2, 6)), one("b", (1, 2)), pair, one("d", (1, 3))
    given = system("periodic+fp+none+global", *domains, pcpus=2)
    assert said_of(given)["a"].holds
    assert said_of(scaled(given, 2))["a"].holds is None


def test_what_just_misses_a_polling_server_comes_a_unit_after_its_refill() -> None:
    servers = domain("a", (2, 10), task("t", 20, 1)), domain("b", (2, 10), task("t", 40, 1))
    given = system("polling", *servers, sbf="servers")
    assert said_of(given)["a.t"] == Said(True, 12)
    assert said_of(scaled(given, 7))["a.t"] == Said(True, 7 * 13 - 1)


def test_what_others_of_cbs_take_is_counted_in_whole_nanoseconds() -> None:
    """Beside it 1.8 of 6 units are taken at most: 1 in whole units, 12 in units of a seventh."""
    servers = domain("a", (1, 6), task("t", 24, 1)), domain("b", (3, 10), task("t", 40, 1))
    given = system("cbs", *servers, sbf="servers")
    assert said_of(given)["a.t"] == Said(True, 2)
    assert said_of(scaled(given, 7))["a.t"] == Said(True, 7 * 2 + 5)


def test_who_of_equals_goes_short_is_the_order_of_the_file() -> None:
    high = domain("z", (3, 10), task("t", 50, 1), priority=0)

    def given(*names: str) -> System:
        equals = (domain(name, (4, 10), task("t", 50, 2), priority=1) for name in names)
        return system("ptps", *equals, high)

    one, other = said_of(given("a", "b")), said_of(given("b", "a"))
    assert [one[name].holds for name in "ab"] == [None, False]
    assert [other[name].holds for name in "ab"] == [False, None]


def test_what_one_server_is_given_more_is_not_left_to_those_below() -> None:
    def given(budget: int) -> System:
        above = domain("a", (budget, 10), task("t", 20, 1))
        return system("ptps", above, domain("b", (3, 10), task("t", 20, 2)), sbf="servers")

    assert said_of(given(2))["b.t"] == Said(True, 11)
    assert said_of(given(5))["b.t"] == Said(True, 14)


def test_with_explicit_deadlines_a_smaller_budget_is_done_earlier() -> None:
    """So the least budget is told as safe, and not as exact."""
    given = system("ptps", domain("a", (10, 11), task("t", 25, 3)), sbf="edp")
    told = analyze(given, sensitivity=True).domains[0].sensitivity
    assert told
    assert (told.least_budget_ns, told.exact) == (3, False)
    assert said_of(with_budget(given, 0, 2))["a"].holds
