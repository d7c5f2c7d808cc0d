# SPDX-License-Identifier: BSD-2-Clause
"""What can be reproduced of the CSA paper's ARINC-653 evaluation without its tasks: Table I by
systems drawn to have its utilizations, what rounding and the general bound would cost, and who
misses deadlines when switches cost time and no budget knows (Table II)."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from hyperperiod._analysis import Shape
from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.domains.domain_level import components_of
from hyperperiod.analysis.domains.minimal_budget import minimal_budget
from hyperperiod.model import Overheads, Sbf, System, parse_policy
from hyperperiod.model.arinc import TABLE_1, TABLE_2, arinc_workload
from hyperperiod.runs import simulate

TABLES: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "data" / "arinc_workloads.json").read_text()
)
PTPS = parse_policy("ptps")


def test_the_tables_are_the_paper_s() -> None:
    one, two = TABLES["table_1"], TABLES["table_2_workload_2_ptps"]
    thousandths = {
        number: (round(1000 * u_rm), round(1000 * u_w))
        for number, u_rm, u_w in zip(one["workload_id"], one["U_RM"], one["U_W"], strict=True)
    }
    assert thousandths == TABLE_1
    overheads = zip(two["domain"], two["interface_overhead"], strict=True)
    assert {domain: round(1000 * part) for domain, part in overheads} == TABLE_2


@pytest.mark.parametrize("number", range(1, 8))
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_table_1(number: int, seed: int) -> None:
    """Interfaces are computed from tasks and periods: harmonic bound, budgets rounded up."""
    system = arinc_workload(number, PTPS, seed=seed)
    assert resolve(system).sbf is Sbf.HARMONIC
    result = analyze(system)
    assert result.schedulable is True
    with_budgets = sum(domain.interface.bandwidth for domain in result.domains if domain.interface)
    tasks = sum(domain.utilization for domain in result.domains)
    one = TABLES["table_1"]
    assert with_budgets == pytest.approx(one["U_RM"][number - 1], abs=0.000_51)
    assert tasks == pytest.approx(one["U_W"][number - 1], abs=0.000_51)
    assert with_budgets - tasks == pytest.approx(one["overhead"][number - 1], abs=0.000_51)
    for domain in resolve(system).domains:
        assert domain.interface is not None
        real = minimal_budget(components_of(domain), Shape.HARMONIC, domain.interface.period_ns)
        assert real.budget_ns is not None
        assert real.budget_ns == domain.utilization * domain.interface.period_ns, "no overhead"
        assert domain.interface.budget_ns == -(-real.budget_ns // 1_000_000) * 1_000_000


def test_domains_of_workload_2() -> None:
    result = analyze(arinc_workload(2, PTPS))
    found = [round(1000 * (domain.interface_overhead or 0)) for domain in result.domains]
    assert found == [TABLE_2[domain] for domain in range(1, 7)]


def test_the_general_bound_cannot_serve_them() -> None:
    """A task with the period of its interface would need the whole pcpu for itself."""
    for number in range(1, 7):
        system = arinc_workload(number, PTPS).replace(sbf=Sbf.GENERAL)
        assert analyze(system).schedulable is False


def test_a_workload_that_the_paper_does_not_have() -> None:
    with pytest.raises(ValueError, match="1 to 7"):
        arinc_workload(8, PTPS)


@cache
def misses(policy: str, switch_ns: int) -> tuple[int, ...]:
    """Deadline misses of each domain of workload 2 in ten seconds."""
    resolved: System = resolve(arinc_workload(2, PTPS))
    costly = {
        "policy": parse_policy(policy),
        "overheads": Overheads(context_switch_ns=switch_ns),
    }
    run = simulate(resolved.replace(**costly), 10_000_000_000, 1)
    return tuple(sum(task.misses for task in domain.tasks) for domain in run.domains)


def test_low_overhead_domains_miss_first() -> None:
    """Table II: a domain that rounding gave little has nothing to pay for switches with."""
    overheads = [TABLE_2[domain] for domain in range(1, 7)]
    for policy in ("ptps", "wcps", "crps"):
        assert not any(misses(policy, 0))
    for switch_ns in (20_000, 50_000):
        missed = misses("ptps", switch_ns)
        assert missed[overheads.index(0)] > 0
        late = [overhead for overhead, count in zip(overheads, missed, strict=True) if count]
        spared = [overhead for overhead, count in zip(overheads, missed, strict=True) if not count]
        assert max(spared) > max(late)
        assert sum(misses("crps", switch_ns)) < sum(missed)
