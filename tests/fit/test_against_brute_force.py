# SPDX-License-Identifier: BSD-2-Clause
"""On small systems `fit` finds what trying everything finds, and what it finds runs.

Every answer is analysed again here and simulated; heuristics alone may be worse, never better.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from tests.fit import brute

from hyperperiod.analysis import analyze
from hyperperiod.analysis.fit.answer import Fitted, Options
from hyperperiod.analysis.fit.fit import fit
from hyperperiod.analysis.fit.scoring import Least
from hyperperiod.model import System
from hyperperiod.runs import simulate

MS = 1_000_000
PERIODS = (2 * MS, 5 * MS)
POLICIES = (
    "ptps",
    "crps",
    "periodic+edf",
    "ds",
    "deferrable+edf",
    "polling",
    "cbs",
    "periodic+edf+none+global",
    "rtds",
)
# What rounding may hide: 10^-9 of a pcpu and 10^-3 events per second for each term.
WIDTH = Fraction(1, 10**8)
PRICE = Fraction(1, 2)


BASE = Options(periods=PERIODS, step_ns=MS // 2, limit_s=60.0)


def options(least: Least, **changes: Any) -> Options:
    return replace(BASE, least=least, **changes)


def periods_ns() -> list[int]:
    return list(range(PERIODS[0], PERIODS[1] + 1, MS // 2))


def check_sound(system: System, fitted: Fitted) -> None:
    """The answer keeps what was given, is proved, and misses nothing when it runs."""
    if fitted.system is None:
        return
    assert analyze(fitted.system).schedulable is True
    for before, after in zip(system.domains, fitted.system.domains, strict=True):
        assert before.interface in (None, after.interface)
        assert before.pcpu in (None, after.pcpu)
        assert after.tasks == before.tasks
    result = simulate(fitted.system, horizon_ns=400 * MS, seed=3)
    assert all(task.misses == 0 for domain in result.domains for task in domain.tasks)


def check(system: System) -> None:
    best = brute.best(system, periods_ns(), MS // 2)
    least = fit(system, options(Least.BANDWIDTH))
    check_sound(system, least)
    if best.bandwidth is None:
        assert least.status in ("infeasible", "not found"), system
    else:
        assert least.status == "optimal", (system, least.reason)
        assert least.system is not None
        assert abs(brute.bandwidth(least.system) - best.bandwidth) <= WIDTH, system
        assert max(least.bandwidth_bounds.values()) <= best.bandwidth
    cheap = fit(system, options(Least.OVERHEAD))
    check_sound(system, cheap)
    if best.cost is not None:
        assert cheap.status == "optimal", (system, cheap.reason)
        assert cheap.system is not None
        assert cheap.cost_bound is not None
        assert cheap.cost_bound <= best.cost
        assert brute.cost(cheap.system) - best.cost <= PRICE, system
    for kind, found in ((Least.BANDWIDTH, least), (Least.OVERHEAD, cheap)):
        quick = fit(system, options(kind, solver=False))
        check_sound(system, quick)
        if quick.system is not None:
            assert found.system is not None, system
            value = brute.bandwidth if kind is Least.BANDWIDTH else brute.cost
            slack = WIDTH if kind is Least.BANDWIDTH else PRICE
            assert value(found.system) <= value(quick.system) + slack


@pytest.mark.parametrize("policy", POLICIES)
def test_two_domains(policy: str) -> None:
    check(brute.drawn(1, policy, domains=2, pcpus=2))


@pytest.mark.parametrize("number", range(2))
@pytest.mark.parametrize("policy", ["ptps", "ds"])
def test_three_domains_on_one_pcpu(policy: str, number: int) -> None:
    check(brute.drawn(number, policy, domains=3, pcpus=1, load=0.7 if policy == "ptps" else 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("domains", "pcpus"), [(2, 1), (2, 2), (3, 1), (3, 2)])
def test_many(policy: str, number: int, domains: int, pcpus: int) -> None:
    check(brute.drawn(number, policy, domains=domains, pcpus=pcpus, load=0.55 + 0.03 * number))


@pytest.mark.slow
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize(("domains", "pcpus"), [(4, 2), (5, 3)])
def test_more_domains(number: int, domains: int, pcpus: int) -> None:
    """Fewer periods, so that trying everything ends."""
    system = brute.drawn(number, "ptps", domains=domains, pcpus=pcpus, load=0.6)
    only = (3 * MS, 3 * MS + MS // 2) if domains == 4 else (3 * MS, 3 * MS)
    found = fit(system, Options(periods=only, step_ns=MS // 2, limit_s=60.0))
    best = brute.best(system, list(range(only[0], only[1] + 1, MS // 2)), MS // 2)
    check_sound(system, found)
    assert (found.system is None) == (best.bandwidth is None)
    if found.system is not None and best.bandwidth is not None:
        assert abs(brute.bandwidth(found.system) - best.bandwidth) <= WIDTH


@pytest.mark.parametrize("number", range(3))
def test_within_a_share_of_the_least_bandwidth(number: int) -> None:
    system = brute.drawn(number, "periodic+edf", domains=2, pcpus=2)
    least = brute.best(system, periods_ns(), MS // 2).bandwidth
    assert least is not None
    limit = least * Fraction(11, 10)
    best = brute.best(system, periods_ns(), MS // 2, limit + WIDTH)
    found = fit(system, options(Least.OVERHEAD, within=Fraction(1, 10)))
    check_sound(system, found)
    assert found.system is not None
    assert best.cost is not None
    assert brute.bandwidth(found.system) <= limit + WIDTH
    assert brute.cost(found.system) - best.cost <= PRICE
