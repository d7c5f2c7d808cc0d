# SPDX-License-Identifier: BSD-2-Clause
"""Domains under gedf, from the system file to the verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hyperperiod._analysis import Shape
from hyperperiod.analysis import analyze, resolve
from hyperperiod.analysis.domains.component_sensitivity import scaled
from hyperperiod.analysis.domains.domain_level import SupplyContract, cluster_of
from hyperperiod.analysis.domains.domain_sensitivity import domain_sensitivity
from hyperperiod.analysis.domains.mpr import mpr
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.result import DmprResult, DomainResult
from hyperperiod.model import Budget, InputError, Sbf, System, load_system

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


THREE = "".join(
    f'[[domain.task]]\nname = "{name}"\nperiod = "100ms"\ndeadline = "6ms"\nwcet = "2ms"\n'
    for name in "abc"
)

Gedf = Callable[..., System]


@pytest.fixture
def gedf(tmp_path: Path) -> Gedf:
    """Makes one domain on so many vcpus and pcpus, under global periodic servers with EDF."""

    def make(interface: str, vcpus: int = 2, top: str = "", inside: str = THREE) -> System:
        path = tmp_path / "system.toml"
        path.write_text(
            f'name = "s"\npolicy = "periodic+edf+none+global"\npcpus = {vcpus}\n{top}\n'
            f'[[domain]]\nname = "d"\nscheduler = "gedf"\nvcpus = {vcpus}\n{interface}\n{inside}'
        )
        return load_system(path)

    return make


def only(system: System) -> DomainResult:
    (domain,) = analyze(system).domains
    return domain


def test_a_system_file_with_clusters() -> None:
    system = resolve(load_system(EXAMPLES / "virtual-cluster.toml"))
    budgets = [domain.interface.budget_ns for domain in system.domains if domain.interface]
    assert budgets == [48_000_000, 32_000_000]
    assert analyze(system).schedulable is True


def test_the_deterministic_form_stands_beside_it() -> None:
    """One whole pcpu and 46 ms in 50 beside two vcpus of 48."""
    vision, planning = analyze(load_system(EXAMPLES / "virtual-cluster.toml")).domains
    assert vision.dmpr == DmprResult(whole_pcpus=1, budget_ns=46_000_000, bandwidth=1.92)
    assert planning.dmpr is None


def test_whole_pcpus_and_parts_of_them(gedf: Gedf) -> None:
    assert only(gedf('interface = { period = "5ms", budget = "5ms" }')).schedulable is True
    part = only(gedf('interface = { period = "5ms", budget = "3ms" }'))
    assert part.schedulable is None
    assert "only sufficient" in str(part.reason)
    small = only(gedf('interface = { period = "500us", budget = "450us" }'))
    assert small.schedulable is True
    bounds = [task.response_bound_ns or 0 for task in small.tasks]
    assert max(bounds) <= 6_000_000
    assert min(bounds) > 2_000_000


def test_every_test_of_a_cluster_beside_the_others(gedf: Gedf) -> None:
    tests = only(gedf('interface = { period = "5ms", budget = "5ms" }')).tests
    ours = ["virtual multiprocessor", "multi supply function", "mpr"]
    names = [f"gedf, {name}" for name in (*ours, "gfb", "bcl", "iterative bcl", "baker")]
    assert [test.test for test in tests] == names
    assert [test.schedulable for test in tests] == [True] * len(names)
    part = only(gedf('interface = { period = "5ms", budget = "3ms" }')).tests
    assert [test.test for test in part] == names[:3]


def test_how_far_a_cluster_is_from_its_edge(gedf: Gedf) -> None:
    """Every answer is confirmed by the test; one unit beyond the least budget none is."""
    system = gedf('interface = { period = "500us", budget = "450us" }')
    (domain,) = system.domains
    contract = SupplyContract(Budget.PERIODIC, Sbf.GENERAL)
    found = domain_sensitivity(domain, contract)
    assert found is not None
    assert found.factor is not None
    cluster = cluster_of(domain)
    assert cluster is not None
    loads, supply = cluster.loads, Supply(Shape.GENERAL, 500_000, 450_000)
    assert found.factor > 1
    assert mpr(scaled(loads, found.factor), supply, 2).holds is True
    for index, load in enumerate(loads):
        task = found.tasks["abc"[index]]
        assert task.largest_wcet_ns is not None
        assert task.largest_wcet_ns > load.wcet
        assert task.slack_ns is not None
        assert task.slack_ns > 0
        grown = load._replace(wcet=task.largest_wcet_ns)
        assert mpr([*loads[:index], grown, *loads[index + 1 :]], supply, 2).holds is True
        sooner = load._replace(deadline=load.deadline - task.slack_ns)
        assert mpr([*loads[:index], sooner, *loads[index + 1 :]], supply, 2).holds is True
    least_ns = found.least_budget_ns
    assert least_ns is not None
    assert mpr(loads, Supply(Shape.GENERAL, 500_000, least_ns), 2).holds is True
    assert mpr(loads, Supply(Shape.GENERAL, 500_000, least_ns - 1), 2).holds is None
    short = gedf('interface = { period = "5ms", budget = "3ms" }').domains[0]
    edge = domain_sensitivity(short, contract)
    assert edge is not None
    assert edge.tasks["a"].slack_ns is None
    assert edge.factor is not None
    assert edge.factor < 1


def test_a_budget_is_computed_for_a_given_period_only(gedf: Gedf) -> None:
    open_period = only(gedf(""))
    assert open_period.schedulable is None
    assert "given period" in str(open_period.reason)
    computed = resolve(gedf('interface_period = "500us"', top='quantum = "10us"')).domains[0]
    assert computed.interface is not None
    assert computed.interface.budget_ns % 10_000 == 0


def test_one_vcpu_under_gedf_is_edf(gedf: Gedf) -> None:
    cluster = gedf('interface = { period = "5ms", budget = "5ms" }', vcpus=1)
    edf = cluster.replace(
        domains=tuple(
            domain.replace(scheduler=type(domain.scheduler).EDF) for domain in cluster.domains
        )
    )
    assert only(cluster).schedulable == only(edf).schedulable is True


def test_harmonic_supply_is_refused(gedf: Gedf) -> None:
    whole = 'interface = { period = "50ms", budget = "50ms" }'
    harmonic = only(gedf(whole, top='sbf = "harmonic"'))
    assert harmonic.schedulable is None
    assert "harmonic" in str(harmonic.reason)


def test_domains_inside_a_cluster(gedf: Gedf) -> None:
    """Each vcpu of an inner domain is a load of the outer one; two of them may run at once."""
    inner = "".join(
        f'[[domain.domain]]\nname = "{name}"\nscheduler = "gedf"\nvcpus = 2\n'
        f'interface = {{ period = "10ms", budget = "4ms" }}\n[[domain.domain.task]]\n'
        f'name = "t"\nperiod = "100ms"\nwcet = "5ms"\n'
        for name in ("x", "y")
    )
    outer = only(gedf('interface = { period = "1ms", budget = "1ms" }', inside=inner))
    assert outer.schedulable is True
    three = only(gedf('interface = { period = "1ms", budget = "1ms" }', vcpus=1, inside=inner))
    assert three.schedulable is False


def test_an_inner_domain_without_an_interface_leaves_the_cluster_unknown(gedf: Gedf) -> None:
    inner = (
        '[[domain.domain]]\nname = "x"\ninterface_period = "4ms"\n[[domain.domain.task]]\n'
        'name = "t"\nperiod = "5ms"\nwcet = "4ms"\ndeadline = "3ms"\n'
    )
    outer = only(gedf('interface = { period = "4ms", budget = "3ms" }', inside=inner))
    assert outer.schedulable is not True
    assert outer.dmpr is None
    assert "the wcet of t, 4ms, is above its deadline, 3ms" in str(outer.reason)


def test_pins_are_refused(gedf: Gedf) -> None:
    pinned = '[[domain.task]]\nname = "a"\nperiod = "100ms"\nwcet = "1ms"\nvcpu = 1\n'
    with pytest.raises(InputError, match="jobs move"):
        gedf('interface = { period = "5ms", budget = "5ms" }', inside=pinned)
