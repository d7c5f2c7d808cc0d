# SPDX-License-Identifier: BSD-2-Clause
"""What `fit` keeps, refuses, proves and says; larger systems; overheads; Ctrl-C."""

from __future__ import annotations

import builtins
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hyperperiod.analysis import analyze
from hyperperiod.analysis.fit import exact
from hyperperiod.analysis.fit import fit as fitting
from hyperperiod.analysis.fit.answer import Fitted, Options, Progress
from hyperperiod.analysis.fit.candidates import grid_of, items_of
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.fit.result import result_of
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    MissingError,
    Overheads,
    Sbf,
    Scheduler,
    Swap,
    System,
    Task,
    load_system,
    parse_policy,
)
from hyperperiod.model.generate import csa_system
from hyperperiod.runs import simulate

SYSTEMS = Path(__file__).parents[2] / "systems"
MS = 1_000_000
US = 1_000
QUICK = Options(limit_s=20.0)
OVERHEAD = Options(least=Least.OVERHEAD, limit_s=20.0)


def task(period_ms: float, wcet_ms: float) -> Task:
    return Task(name="t", period_ns=int(period_ms * MS), wcet_ns=int(wcet_ms * MS))


def domain(name: str, period_ms: float, wcet_ms: float, **more: Any) -> Domain:
    return Domain(name=name, tasks=(task(period_ms, wcet_ms),), **more)


def system_of(*domains: Domain, policy: str = "ptps", pcpus: int = 2, **more: Any) -> System:
    return System(name="s", policy=parse_policy(policy), pcpus=pcpus, domains=domains, **more)


def counters(system: System) -> tuple[int, int]:
    """Switches and picks of four simulated seconds, as long as the paper ran."""
    result = simulate(system, horizon_ns=4_000 * MS, seed=1)
    assert all(t.misses == 0 for d in result.domains for t in d.tasks)
    return (
        sum(pcpu.switches for pcpu in result.pcpus),
        sum(pcpu.picks for pcpu in result.pcpus),
    )


def fitted_of(fitted: Fitted) -> System:
    assert fitted.system is not None, fitted.reason
    assert analyze(fitted.system).schedulable is True
    return fitted.system


# -- the ExSched paper's recommendations, measured ------------------------------------------------


def test_table_2_is_grouped_as_the_paper_recommends() -> None:
    """The optimum is the paper's better allocation, and the simulator counts fewer events."""
    found = fit(load_system(SYSTEMS / "exsched-table2-unfitted.toml"), OVERHEAD)
    assert found.status == "optimal"
    system = fitted_of(found)
    assert [d.pcpu for d in system.domains] == [0] * 8 + [1] * 8
    mixed = counters(load_system(SYSTEMS / "exsched-table2-mixed.toml"))
    grouped = counters(system)
    assert grouped[0] < 0.8 * mixed[0]
    assert grouped[1] < 0.8 * mixed[1]


def test_interfaces_are_made_to_coincide() -> None:
    """Fewer events than with the least bandwidth, by the model and in the simulator."""
    system = load_system(SYSTEMS / "avionics-unfitted.toml")
    plain = fitted_of(fit(system, QUICK))
    within = fit(system, replace(OVERHEAD, within=Fraction(1, 10)))
    least = fitted_of(within)
    periods = {d.interface.period_ns for d in least.domains if d.interface}
    assert len(periods) < len({d.interface.period_ns for d in plain.domains if d.interface})
    before, after = counters(plain), counters(least)
    assert after[0] < before[0]
    assert after[1] < before[1]
    found = result_of(within).bandwidth
    assert found.found is not None
    assert found.lower_bound is not None
    assert found.found <= 1.1 * found.lower_bound + 1e-9


# -- what is kept and what is refused -------------------------------------------------------------


def test_what_the_file_gives_stays() -> None:
    system = system_of(
        domain("a", 20, 4, pcpu=1, priority=3),
        domain("b", 20, 4, priority=2, interface=Interface(period_ns=10 * MS, budget_ns=5 * MS)),
        domain("c", 40, 4, priority=1, interface_period_ns=7 * MS),
        Domain(name="d", best_effort=True),
    )
    fitted = fit(system, QUICK)
    found = fitted_of(fitted)
    a, b, c, d = found.domains
    assert (a.pcpu, a.priority, b.priority, c.priority) == (1, 3, 2, 1)
    assert b.interface == Interface(period_ns=10 * MS, budget_ns=5 * MS)
    assert c.interface is not None
    assert c.interface.period_ns == 7 * MS
    assert d.pcpu in (0, 1)
    given = {entry.name: entry.given for entry in result_of(fitted).domains}
    assert given == {
        "a": ("pcpu", "priority"),
        "b": ("interface", "priority"),
        "c": ("interface_period", "priority"),
        "d": (),
    }


def test_quanta_are_whole() -> None:
    system = system_of(domain("a", 20, 4.5), domain("b", 30, 4), quantum_ns=2 * MS)
    for one in fitted_of(fit(system, QUICK)).domains:
        assert one.interface is not None
        assert one.interface.period_ns % (2 * MS) == 0
        assert one.interface.budget_ns % (2 * MS) == 0
    with pytest.raises(InputError, match="the quantum is the grid"):
        fit(system, Options(step_ns=MS))


def test_periods_stay_in_their_range() -> None:
    system = system_of(domain("a", 40, 4), domain("b", 60, 4))
    found = fitted_of(fit(system, replace(QUICK, periods=(7 * MS, 11 * MS), step_ns=MS // 4)))
    for one in found.domains:
        assert one.interface is not None
        assert 7 * MS <= one.interface.period_ns <= 11 * MS


@pytest.mark.parametrize(
    ("system", "status", "words"),
    [
        (
            system_of(domain("a", 10, 8), domain("b", 10, 8), domain("c", 10, 8)),
            "infeasible",
            "the tasks ask for 2.4 pcpus, and there are 2",
        ),
        (
            system_of(domain("a", 10, 5, pcpu=1), domain("b", 10, 5, pcpu=1), domain("c", 10, 1)),
            "infeasible",
            "pcpu 1: the domains pinned to it, a, b, need",
        ),
        (
            system_of(*(domain(name, 1, 0.5) for name in "abc")),
            "infeasible",
            "the least interfaces",
        ),
        (
            system_of(domain("a", 10, 5, interface=Interface(period_ns=10, budget_ns=1))),
            "infeasible",
            "domain a: its interface does not serve it",
        ),
        (
            system_of(domain("a", 10, 11, pcpu=0)),
            "infeasible",
            "domain a: no interface: the wcet of t, 11ms, is above its deadline, 10ms",
        ),
        (
            system_of(*(domain(name, 20, 2) for name in "abc"), policy="cbs+fp+none+global"),
            "not found",
            "no test covers servers that share pcpus under cbs+fp+none+global",
        ),
        (
            system_of(
                domain("a", 20, 2),
                swaps=(Swap(at_ns=MS, policy=parse_policy("crps")),),
            ),
            "not found",
            "what was chosen is not proved: ",
        ),
        (
            system_of(
                *(domain(name, 10, 1, interface=Interface(period_ns=10 * MS, budget_ns=6 * MS))
                  for name in "abc")
            ),
            "infeasible",
            "no choice among the interface of each domain passes",
        ),
    ],
)  # fmt: skip
def test_reasons(system: System, status: str, words: str) -> None:
    found = fit(system, QUICK)
    assert (found.status, found.system) == (status, None)
    assert words in found.reason


def test_what_is_not_found_is_not_called_infeasible() -> None:
    """Three servers of which two fill a pcpu: without the solver nothing is proved."""
    third = Interface(period_ns=10 * MS, budget_ns=6 * MS)
    system = system_of(*(domain(name, 10, 1, interface=third) for name in "abc"))
    found = fit(system, replace(QUICK, solver=False))
    assert found.status == "not found"
    assert "that is no proof" in found.reason


def test_periods_that_were_not_tried_are_not_called_impossible() -> None:
    """With long periods every domain needs a whole pcpu; only some of very many are tried."""
    system = system_of(*(domain(name, 10, 1) for name in "abc"))
    found = fit(system, replace(QUICK, periods=(100 * MS, 10**6 * MS)))
    assert found.status == "not found"
    assert "other periods or budgets were not tried" in found.reason
    assert "search" not in found.bandwidth_bounds
    found = fit(system, replace(QUICK, periods=(100 * MS, 110 * MS)))
    assert found.status == "infeasible"


@pytest.mark.parametrize(
    ("scheduler", "sbf", "status"),
    [
        ("edf", Sbf.GENERAL, "infeasible"),
        ("rm", Sbf.GENERAL, "infeasible"),
        ("fifo", Sbf.GENERAL, "not found"),
        ("rm", Sbf.SERVERS, "not found"),
    ],
)
def test_what_is_only_sufficient_proves_nothing_impossible(
    scheduler: str, sbf: Sbf, status: str
) -> None:
    system = system_of(
        *(domain(name, 10, 4.8, scheduler=scheduler, interface_period_ns=4 * MS) for name in "ab"),
        pcpus=1,
        sbf=sbf,
    )
    assert fit(system, QUICK).status == status


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, "optimal"),
        ({"sbf": Sbf.SERVERS}, "fitted"),
        ({"sbf": Sbf.EDP}, "fitted"),
        ({"overheads": Overheads(context_switch_ns=1_000)}, "fitted"),
    ],
)
def test_what_depends_on_others_is_not_called_optimal(more: dict[str, Any], status: str) -> None:
    found = fit(system_of(domain("a", 10, 2), domain("b", 20, 2), pcpus=1, **more), QUICK)
    assert found.status == status
    assert ("search" in found.bandwidth_bounds) == (status == "optimal")
    each = (task(10, 2).replace(vcpu=0), task(20, 2).replace(name="u", vcpu=1))
    two = Domain(name="two", vcpus=2, tasks=each)
    assert fit(system_of(two, pcpus=1, **more), QUICK).status == status


def test_inner_interfaces_that_were_computed_prove_nothing_impossible() -> None:
    """With others inside, less is enough: then there is an answer."""
    tasks = {"i0": (15, 2), "i1": (12, 4)}
    small = domain("small", 100, 1, interface=Interface(period_ns=10 * MS, budget_ns=MS))

    def status(given: dict[str, Interface]) -> str:
        inner = tuple(
            domain(name, *of, scheduler="edf", interface=given.get(name))
            for name, of in tasks.items()
        )
        outer = Domain(name="a", scheduler=Scheduler.EDF, domains=inner)
        return fit(system_of(outer, small, pcpus=1), QUICK).status

    assert status({}) == "not found"
    given = {
        "i0": Interface(period_ns=5 * MS, budget_ns=MS),
        "i1": Interface(period_ns=4 * MS, budget_ns=2 * MS),
    }
    assert status(given) == "optimal"


def test_options_that_do_not_fit() -> None:
    system = system_of(domain("a", 20, 2), policy="rtds")
    with pytest.raises(InputError, match="--fewest"):
        fit(system, Options(fewest=True))
    with pytest.raises(InputError, match="--within"):
        fit(system, Options(within=Fraction(1, 20)))


def test_a_slice_by_weight_is_not_chosen() -> None:
    """It is what the others leave; other policies give the domain an interface instead."""
    weighted = domain("b", 300, 2).replace(weight=4)
    system = system_of(domain("a", 20, 2), weighted, policy="sedf")
    with pytest.raises(InputError, match="domain b: weight: found 4"):
        fit(system, QUICK)
    found = fit(system.replace(policy=parse_policy("crps")), QUICK)
    assert found.system is not None
    chosen = found.system.domains[1]
    assert chosen.interface is not None
    assert chosen.weight is None


def test_without_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name.startswith("ortools"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    system = system_of(domain("a", 20, 2), domain("b", 20, 2))
    with pytest.raises(MissingError, match=r"install it with: pip install 'hyperperiod\[fit\]'"):
        fit(system, QUICK)
    assert fit(system, replace(QUICK, solver=False)).status == "fitted"


# -- choices that need more than a sum ------------------------------------------------------------


def test_fewest_pcpus() -> None:
    system = system_of(*(domain(name, 40, 6) for name in "abcd"), policy="periodic+edf", pcpus=4)
    found = fit(system, replace(QUICK, fewest=True))
    assert found.fewest_proved is True
    assert fitted_of(found).pcpus == 1
    spread = fitted_of(fit(system, QUICK))
    assert spread.pcpus == 4


def test_an_order_that_periods_do_not_give() -> None:
    """Deferrable servers: by period the test fails, in Audsley's order it passes."""
    system = system_of(
        domain("a", 200, 10, interface=Interface(period_ns=14 * MS, budget_ns=8 * MS)),
        domain("b", 200, 10, interface=Interface(period_ns=15 * MS, budget_ns=3 * MS)),
        policy="ds",
        pcpus=1,
    )
    assert analyze(system).schedulable is None
    found = fitted_of(fit(system, QUICK))
    assert [one.priority for one in found.domains] == [1, 0]


@pytest.mark.parametrize("policy", ["periodic+edf", "ptps", "ds"])
def test_a_pcpu_more_is_never_worse(policy: str) -> None:
    for seed in range(1):
        system = generated(5, seed, policy, Fraction(9, 10))
        values = []
        for pcpus in (1, 2, 3):
            found = fit(system.replace(pcpus=pcpus), QUICK)
            assert found.status in ("optimal", "infeasible", "not found")
            values.append(result_of(found).bandwidth.found or 99.0)
        assert values == sorted(values, reverse=True)


def cost_of(fitted: Fitted) -> float:
    """What is lost to overheads in what was found."""
    rates = result_of(fitted).events.found
    assert rates is not None
    return rates.cost


def test_more_time_is_never_worse() -> None:
    system = generated(6, 3, "ptps", Fraction(12, 10)).replace(pcpus=3)
    costs = [cost_of(fit(system, replace(OVERHEAD, limit_s=limit_s))) for limit_s in (0.5, 1.5)]
    assert costs[1] <= costs[0] + 1e-6


def test_the_same_twice() -> None:
    system = generated(4, 2, "crps", Fraction(8, 10)).replace(pcpus=2)
    first, second = fit(system, OVERHEAD), fit(system, OVERHEAD)
    assert first.status == second.status == "optimal"
    assert first.system == second.system


def generated(domains: int, seed: int, policy: str, utilization: Fraction) -> System:
    made = csa_system(
        "generated", parse_policy(policy), seed=seed, utilization=utilization, domains=domains
    )
    open_ones = tuple(one.replace(pcpu=None) for one in made.domains)
    return made.replace(domains=open_ones, pcpus=4)


@pytest.mark.parametrize("domains", [10, pytest.param(30, marks=pytest.mark.slow)])
def test_larger_systems(domains: int) -> None:
    system = generated(domains, 1, "crps", Fraction(26, 10))
    found = fit(system, Options(limit_s=20.0))
    assert found.status == "optimal"
    assert result_of(found).bandwidth.gap == pytest.approx(0, abs=1e-6)
    fitted_of(found)


@pytest.mark.parametrize("least", list(Least))
def test_overheads(least: Least) -> None:
    """Budgets grow by what their pcpu can lose, and the whole is proved with that."""
    system = load_system(SYSTEMS / "avionics-unfitted.toml").replace(
        overheads=Overheads(context_switch_ns=4 * US, pick_ns=2 * US)
    )
    found = fit(system, Options(least=least, limit_s=1.5))
    counters(fitted_of(found))
    bandwidth = result_of(found).bandwidth
    assert bandwidth.found is not None
    assert bandwidth.lower_bound is not None
    assert bandwidth.found >= bandwidth.lower_bound - 1e-6
    assert result_of(found).events.unit == "ns/s"


def test_nested_domains() -> None:
    inner = (domain("x", 40, 2), domain("y", 60, 3))
    outer = Domain(name="outer", domains=inner)
    system = system_of(outer, domain("b", 30, 6))
    outer_found = analyze(fitted_of(fit(system, QUICK))).domains[0]
    assert [child.schedulable for child in outer_found.domains] == [True, True]


def test_several_vcpus_in_one_domain() -> None:
    tasks = tuple(Task(name=f"t{v}", period_ns=40 * MS, wcet_ns=8 * MS, vcpu=v) for v in range(2))
    system = system_of(Domain(name="wide", vcpus=2, tasks=tasks), domain("b", 40, 10))
    found = fit(system, QUICK)
    system = fitted_of(found)
    assert system.domains[0].pcpu != system.domains[1].pcpu


# -- being interrupted ----------------------------------------------------------------------------


def test_interrupted_before_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_arguments: Any, **_options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "items_of", interrupt)
    found = fit(system_of(domain("a", 20, 2)), QUICK)
    assert (found.system, found.interrupted) == (None, True)
    assert "interrupted" in found.reason


def test_interrupted_while_solving(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best until then is proved and returned."""

    def interrupt(_self: exact.Search) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(exact.Search, "_solve", interrupt)
    found = fit(load_system(SYSTEMS / "avionics-unfitted.toml"), OVERHEAD)
    assert found.interrupted
    assert found.status == "fitted"
    fitted_of(found)


def test_what_is_said_meanwhile() -> None:
    said: list[Progress] = []
    fit(system_of(domain("a", 20, 2), domain("b", 20, 2)), QUICK, said.append)
    assert [one.doing for one in said][:2] == ["candidates", "heuristics"]
    assert said[-1].best == pytest.approx(said[-1].bound)


# -- the solver is not believed blindly -----------------------------------------------------------


def test_a_bound_above_a_known_choice_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    real = exact.Search._solve

    def lying(self: exact.Search) -> Any:
        solver, status, choice = real(self)
        return type("Lying", (), {
            "best_objective_bound": 10.0**12,
            "response_proto": solver.response_proto,
        })(), status, choice  # fmt: skip

    monkeypatch.setattr(exact.Search, "_solve", lying)
    found = fit(load_system(SYSTEMS / "avionics-unfitted.toml"), OVERHEAD)
    assert found.status == "fitted"
    cost = cost_of(found)
    assert found.cost_bound is not None
    assert found.cost_bound < Fraction(cost)
    fitted_of(found)


def test_candidates_serve_their_domains() -> None:
    system = load_system(SYSTEMS / "avionics-unfitted.toml")
    for only_shared in (False, True):
        items, failed = items_of(system, grid_of(system, None, None), only_shared=only_shared)
        assert not failed
        for item in items:
            alone = system.domains[item.index].replace(pcpu=0)
            for period_ns, budget_ns in item.candidates:
                interface = Interface(period_ns=period_ns, budget_ns=budget_ns)
                one = alone.replace(interface=interface)
                update = {"domains": (one,), "pcpus": 1}
                assert analyze(system.replace(**update)).schedulable is True
                assert item.least <= interface.bandwidth
