# SPDX-License-Identifier: BSD-2-Clause
"""What overheads take: counted by hand, read back from a measurement, and never more by mistake."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.worlds import longest_ns

from hyperperiod.analysis import analyze
from hyperperiod.analysis.component import Load
from hyperperiod.analysis.domains.domain_level import judge_domain
from hyperperiod.analysis.overheads import (
    _LOANS,
    _PERIODS,
    _UNKNOWN,
    budget_loss_ns,
    event_cost_ns,
    longest_pick_ns,
    overhead_loads,
)
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.analysis.tasks.request_bound import rbf
from hyperperiod.analysis.window_loss import NEVER_DUE_NS, window_loss
from hyperperiod.hosts.xen.measure import LongestGap, XenCosts, costs
from hyperperiod.model import (
    Budget,
    Domain,
    Interface,
    Overheads,
    Slack,
    System,
    Task,
    load_system,
    parse_policy,
)
from hyperperiod.runs import simulate

US, MS = 1_000, 1_000_000
COSTS = Overheads(
    context_switch_ns=5, pick_ns=3, replenish_ns=7, wake_ns=11, interrupt_ns=2, migration_ns=100
)


def domain(name: str, task_period: int, budget: int, period: int, **more: Any) -> Domain:
    task = Task(name="t", period_ns=task_period, wcet_ns=1)
    return Domain(
        name=name, tasks=(task,), interface=Interface(period_ns=period, budget_ns=budget), **more
    )


def system(*domains: Domain, policy: str = "ds", **more: Any) -> System:
    return System(name="s", policy=parse_policy(policy), overheads=COSTS, domains=domains, **more)


TWO = (domain("a", 1000, 200, 500), domain("b", 2000, 300, 1000))


def test_beside_the_budgets_a_pcpu_loses_one_pick_and_one_for_each_server() -> None:
    """Pick, interrupt, switch; three wakes; two refills of each of two servers."""
    one = system(*TWO)
    longest = 3 + 2 + 5 + 3 * 11 + 2 * 2 * 7
    assert longest_pick_ns(one, TWO) == longest
    loads = overhead_loads(one, TWO)
    assert [rbf(loads, window) for window in (1, 10**12)] == [3 * longest] * 2


def test_migrations_cost_nothing_on_one_pcpu() -> None:
    """A global policy on one pcpu with no other costs loses nothing, and is analysed."""
    one = system(*TWO).replace(
        policy=parse_policy("periodic+fp+none+global"), overheads=Overheads(migration_ns=58)
    )
    assert overhead_loads(one, TWO) == ()
    assert overhead_loads(one.replace(pcpus=2), TWO) != ()


def test_a_budget_loses_the_picks_that_grant_it() -> None:
    """In 500: a refill of each, a job of b; the first pick and the one in progress."""
    one = system(*TWO)
    picks, paid = 2 + 1 + 2, 1 * 11 + 2 * 7
    by_hand = picks * (3 + 2 + 5) + paid + 2 * longest_pick_ns(one, TWO)
    assert budget_loss_ns(one, TWO, TWO[0]) == by_hand


def test_ones_own_jobs_cost_nothing_while_there_is_work() -> None:
    often = (domain("a", 10, 200, 500), TWO[1])
    assert budget_loss_ns(system(*often), often, often[0]) == budget_loss_ns(
        system(*TWO), TWO, TWO[0]
    )
    assert budget_loss_ns(system(*often), often, often[1]) > 100 * 5


def test_wakes_inside_a_nested_neighbour_count() -> None:
    """The jobs of inner domains wake the vcpu around them, and so do refills of inner servers."""
    jobs = tuple(Task(name=f"t{number}", period_ns=100, wcet_ns=1) for number in range(3))
    interface = Interface(period_ns=1000, budget_ns=300)
    flat = Domain(name="b", interface=interface, tasks=jobs)
    inner = Interface(period_ns=100, budget_ns=10)
    nested = Domain(
        name="b",
        interface=interface,
        domains=tuple(
            Domain(name=f"b{number}", interface=inner, tasks=(task,))
            for number, task in enumerate(jobs)
        ),
    )
    losses = []
    for other in (flat, nested):
        both = (TWO[0], other)
        losses.append(budget_loss_ns(system(*both), both, TWO[0]))
    assert losses[1] >= losses[0] > budget_loss_ns(system(*TWO), TWO, TWO[0])


def test_across_hops_ones_own_wakes_are_paid_for() -> None:
    """A job every 1000 in periods of 500: one wake and one pick more than with work throughout."""
    one = system(*TWO)
    within = budget_loss_ns(one, TWO, TWO[0])
    across = budget_loss_ns(one, TWO, TWO[0], across_hops=True)
    assert across - within == (3 + 2 + 5) + 11


@pytest.mark.parametrize("policy", ["ptps", "wcps", "crps", "periodic+edf", "deferrable+fp+spare"])
def test_turns_to_pay_and_to_run_end_apart(policy: str) -> None:
    """Work comes in the middle of a turn to pay: from then on two picks in every quantum."""
    tick, period, quantum = 500, 1_000_000, 10_000
    costs = Overheads(pick_ns=tick)
    for wcet_us in range(6000, 9600, 40):
        task = Task(name="t", period_ns=10 * MS, wcet_ns=wcet_us * US, offset_ns=quantum // 2)
        one = System(
            name="s",
            policy=parse_policy(policy),
            quantum_ns=quantum,
            spare=Interface(period_ns=period, budget_ns=quantum),
            overheads=costs,
            domains=(Domain(name="d", interface_period_ns=period, tasks=(task,)),),
        )
        said = analyze(one).domains[0]
        if said.tasks[0].schedulable is not True:
            break
        seen = simulate(one, 60 * MS).domains[0].tasks[0]
        assert seen.misses == 0
        assert 0 < longest_ns(seen) <= (said.tasks[0].response_bound_ns or 0)
    assert said.interface is None
    assert wcet_us > 8000


def test_loans_end_with_budgets_and_turns() -> None:
    """Under lend two refills and two servers more in 500; with a quantum twice, and its turns."""
    pick = 3 + 2 + 5
    one, lent = system(*TWO, policy="ptps"), system(*TWO, policy="wcps")
    assert budget_loss_ns(lent, TWO, TWO[0]) - budget_loss_ns(one, TWO, TWO[0]) == (2 + 2) * pick
    turned = lent.replace(quantum_ns=10)
    longer = budget_loss_ns(turned, TWO, TWO[0]) - budget_loss_ns(lent, TWO, TWO[0])
    assert longer == (2 + 2 + 2 * 50) * pick


def test_shared_pcpus_charge_every_event_to_everybody() -> None:
    one = system(*TWO, policy="rtds", pcpus=2)
    cost = event_cost_ns(COSTS, 2)
    assert cost == 2 + 11 + 7 + 2 * (3 + 5 + 100)
    assert overhead_loads(one, TWO) == (
        Load(2 * cost, 500, 500, 500),
        Load(2 * cost, 1000, 1000, 1000),
        Load(2 * cost, 1000, 1000, 1000),
        Load(2 * cost, 2000, 2000, 2000),
    )
    assert budget_loss_ns(one, TWO, TWO[0]) == rbf(overhead_loads(one, TWO), 500)
    assert event_cost_ns(COSTS, 1) == cost - 2 * 100


PICK = COSTS.pick_ns + COSTS.interrupt_ns + COSTS.context_switch_ns


def test_windows_lose_what_happens_in_them() -> None:
    """Refills at 500, 1000, ... make one pick each; the job of b makes none, and is a wake."""
    one = system(*TWO)
    longest = longest_pick_ns(one, TWO)
    first, second = (window_loss(one, TWO, own) for own in TWO)
    assert first is not None
    assert second is not None
    assert first.once_ns == longest + 2 * 11 + 2 * 7
    assert first.late_ns == 3 * longest
    refills = [Load(PICK, 500, NEVER_DUE_NS), *(Load(7, p, NEVER_DUE_NS) for p in (500, 1000))]
    assert list(first.loads) == [*refills, Load(11, 2000, NEVER_DUE_NS)]
    assert list(second.loads) == [*refills, Load(PICK + 11, 1000, NEVER_DUE_NS)]


def test_an_arrival_behind_makes_a_pick_if_its_refill_comes_sooner() -> None:
    """A period of 700 is no multiple of 500: the timer has to be set again."""
    odd = (TWO[0], domain("c", 2000, 300, 700))
    loss = window_loss(system(*odd), odd, odd[0])
    assert loss is not None
    assert rbf(loss.loads[-1:], 1) == PICK + 11
    assert [load.period for load in loss.loads if load.wcet == PICK] == [500, 700]


def test_across_hops_windows_lose_ones_own_arrivals() -> None:
    one = system(*TWO)
    within = window_loss(one, TWO, TWO[0])
    across = window_loss(one, TWO, TWO[0], across_hops=True)
    assert within is not None
    assert across is not None
    assert rbf(across.loads, 1000) - rbf(within.loads, 1000) == PICK + 11


@pytest.mark.parametrize("policy", ["wcps", "sporadic", "cbs", "sedf", "cbs+edf+none+global"])
def test_no_account_by_windows_where_nothing_is_proved(policy: str) -> None:
    one = system(*TWO, policy=policy, pcpus=2)
    assert window_loss(one, TWO, TWO[0]) is None


def test_on_shared_pcpus_windows_lose_every_event_at_its_dearest() -> None:
    both = tuple(one.replace(pcpu=None) for one in TWO)
    shared = system(*both, policy="rtds", pcpus=2)
    loss = window_loss(shared, both, both[0])
    assert loss is not None
    assert loss.loads == overhead_loads(shared, both)
    longest_ns = longest_pick_ns(system(*TWO), TWO) + COSTS.migration_ns
    assert (loss.once_ns, loss.late_ns) == (longest_ns, 3 * longest_ns)


def test_windows_confirm_what_budgets_do_not() -> None:
    """Either account is enough; with less budget neither is."""
    costs = Overheads(**dict.fromkeys(vars(COSTS), 1))
    said = []
    for budget in (41, 75, 400):
        both = (
            domain("a", 4000, budget, 500, pcpu=0),
            domain("b", 8000, 300, 1000, pcpu=0),
        )
        one = System(name="s", policy=parse_policy("ds"), overheads=costs, domains=both)
        long = both[0].replace(tasks=(both[0].tasks[0].replace(wcet_ns=300),))
        contract = contracts_of(one.replace(domains=(long, both[1])))["a"]
        pair = [
            judge_domain(long, p).whole.holds for p in (contract, replace(contract, windows=None))
        ]
        said.append(pair)
    assert said == [[None, None], [True, None], [True, True]]


def test_a_rule_that_no_row_is_about_costs_as_much_as_the_dearest() -> None:
    for rows in _PERIODS.values():
        assert all(unknown >= known for unknown, known in zip(_UNKNOWN, rows, strict=True))
    assert max(_LOANS.values()) == 1
    assert set(_PERIODS) <= set(Budget)
    assert set(_LOANS) <= set(Slack)


def test_without_overheads_nothing_is_lost() -> None:
    free = system(*TWO).replace(overheads=Overheads(migration_ns=5))
    assert overhead_loads(free, TWO) == ()
    assert budget_loss_ns(free.replace(overheads=Overheads()), TWO, TWO[0]) == 0


MEASURED = {"still": 900, "turn": 1600, "refill": 2100, "depart": 1500, "start": 2500}

SYSTEM = """
name = "measured"
policy = "{policy}"
pcpus = 1

[[domain]]
name = "control"
interface_period = "5ms"
pcpu = 0
[[domain.task]]
name = "loop"
period = "20ms"
wcet = "4ms"

[[domain]]
name = "media"
interface_period = "10ms"
pcpu = 0
[[domain.task]]
name = "frame"
period = "40ms"
wcet = "9ms"

"""


@pytest.mark.parametrize("policy", ["crps", "ds", "sporadic", "cbs", "cbs+fp", "periodic+edf"])
def test_measured_costs_go_into_a_file_and_its_verdict(tmp_path: Path, policy: str) -> None:
    """The table that `doctor --measure` writes, below a system; the verdict holds in a run."""
    found = costs({**MEASURED, "foreign": 1400})
    measured = XenCosts({"still": LongestGap(900, 10)}, found)
    path = tmp_path / "system.toml"
    path.write_text(SYSTEM.format(policy=policy) + measured.table())
    read = load_system(path)
    assert read.overheads == found
    assert found.pick_ns > 0
    said = analyze(read)
    assert said.schedulable is True
    free = analyze(read.replace(overheads=Overheads()))
    for priced, plain in zip(said.domains, free.domains, strict=True):
        assert priced.interface is not None
        assert plain.interface is not None
        assert priced.interface.budget_ns > plain.interface.budget_ns
    run = simulate(read, 400 * MS)
    for seen, claim in zip(run.domains, said.domains, strict=True):
        assert seen.tasks[0].misses == 0
        assert 0 < longest_ns(seen.tasks[0]) <= (claim.tasks[0].response_bound_ns or 0)
