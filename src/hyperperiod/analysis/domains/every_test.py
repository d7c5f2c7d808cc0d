# SPDX-License-Identifier: BSD-2-Clause
"""Every test that applies to a domain, beside each other, whichever the system asks for.

The local scheduler says which test, the server which supply bounds it may use: the general one,
the harmonic one where the CSA paper would use it (all periods divide one another; it asks for no
more), the one with explicit deadlines where the host level gives them, and what is known of the
other servers on its pcpus (`servers.known_servers`). Where the paper's condition holds and
`harmonic_supply` still refuses, its verdict is shown as not sound. Jobs that move between vcpus
have tests of their own (`virtual_multiprocessor`, `mpr`). Best-effort domains have no tests.

Inputs: a domain with its interface, its supply contract. Result: named verdicts, one per test.
Errors: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.domain_level import (
    NotCovered,
    SupplyContract,
    cluster_of,
    components_of,
    judge_component,
    judge_domain,
    judge_known,
    supply_of,
)
from hyperperiod.analysis.domains.harmonic_supply import refusal
from hyperperiod.analysis.domains.supply_bound import Supply
from hyperperiod.analysis.verdict import NamedVerdict, Verdict, all_of
from hyperperiod.model import Budget, Domain, Sbf, Scheduler

if TYPE_CHECKING:
    from hyperperiod.analysis.servers.known_servers import Known

_RESOURCE = {Sbf.GENERAL: "periodic resource", Sbf.HARMONIC: "harmonic", Sbf.EDP: "edp resource"}
_SOURCE = {
    Sbf.GENERAL: "Shin and Lee 2003",
    Sbf.HARMONIC: "CSA paper, Eq. 1",
    Sbf.EDP: "Easwaran, Anand and Lee 2007",
}
_MULTI_SUPPLY = "Bini, Buttazzo and Bertogna 2009"


def every_test(domain: Domain, contract: SupplyContract) -> tuple[NamedVerdict, ...]:
    """Returns the verdict of each test that applies, on the condition that the server is served."""
    if any(inner.interface is None for inner in domain.domains):
        return ()
    try:
        cluster = cluster_of(domain)
        if cluster is not None:
            supply = supply_of(domain, replace(contract, sbf=Sbf.GENERAL), [cluster])
            return tests_of_cluster(domain, cluster, [supply] * domain.vcpus)
        components = components_of(domain)
        supply_of(domain, replace(contract, sbf=Sbf.GENERAL), components)
    except NotCovered:
        return ()
    return tuple(_tests(domain, contract, components))


def tests_of_cluster(
    domain: Domain, cluster: Component, supplies: Sequence[Supply]
) -> tuple[NamedVerdict, ...]:
    """Returns the verdicts on jobs that move: ours, the published one, those for equal vcpus."""
    from hyperperiod.analysis.domains.mpr import mpr_tests
    from hyperperiod.analysis.domains.virtual_multiprocessor import (
        judge_moving_whole,
        multi_supply,
    )

    local, loads, scheduler = cluster.local, cluster.loads, domain.scheduler
    ours = judge_moving_whole(local, loads, supplies)
    paper = multi_supply(local, loads, supplies)
    named = (
        NamedVerdict(f"{scheduler}, virtual multiprocessor", "", True, ours),
        NamedVerdict(f"{scheduler}, multi supply function", _MULTI_SUPPLY, True, paper),
    )
    if local is not Local.EDF or len(set(supplies)) > 1:
        return named
    return (*named, *mpr_tests(loads, supplies[0], len(supplies)))


def _tests(
    domain: Domain, contract: SupplyContract, components: Sequence[Component]
) -> Iterator[NamedVerdict]:
    yield _named(domain, contract, Sbf.GENERAL)
    if not domain.windows and all(_periods_divide(component) for component in components):
        yield _harmonic(domain, contract, components)
    if contract.deadline_ns is not None:
        yield _named(domain, contract, Sbf.EDP)
    if contract.known is not None:
        yield _known(domain, contract, contract.known)


def _known(domain: Domain, contract: SupplyContract, known: Known) -> NamedVerdict:
    """With what the other servers on the pcpus leave; the proof is in the file that is the source.

    What it does not cover is unknown, with the reason.
    """
    try:
        verdict = judge_known(domain, contract).whole
    except NotCovered as error:
        verdict = Verdict.unknown(str(error))
    return NamedVerdict(f"{domain.scheduler}, {known.test}", known.source, True, verdict)


def _named(domain: Domain, contract: SupplyContract, sbf: Sbf) -> NamedVerdict:
    verdict = judge_domain(domain, replace(contract.by_interface, sbf=sbf)).whole
    return NamedVerdict(*_title(domain, contract, sbf), sound=True, verdict=verdict)


def _title(domain: Domain, contract: SupplyContract, sbf: Sbf) -> tuple[str, str]:
    """Name and source; fifo and the supply of polling servers are ours."""
    resource, source = _RESOURCE[sbf], _SOURCE[sbf]
    late = contract.rule in (Budget.POLLING, Budget.SPORADIC)
    if sbf is Sbf.GENERAL and late:
        resource = f"{contract.rule} resource"
    ours = domain.scheduler in (Scheduler.FIFO, Scheduler.EXECUTOR) or late
    return f"{domain.scheduler}, {resource}", "" if ours else source


def _harmonic(
    domain: Domain, contract: SupplyContract, components: Sequence[Component]
) -> NamedVerdict:
    """The test on the harmonic supply as the paper has it; sound only where its bound is."""
    interface = domain.interface
    assert interface is not None, "there is a supply"
    sound = all(
        refusal(contract.rule, interface.period_ns, component.sources) is None
        for component in components
    )
    if sound:
        return _named(domain, contract, Sbf.HARMONIC)
    supply = Supply(Shape.HARMONIC, interface.period_ns, interface.budget_ns - contract.lost_ns)
    verdict = all_of(judge_component(component, supply)[0] for component in components)
    return NamedVerdict(*_title(domain, contract, Sbf.HARMONIC), sound=False, verdict=verdict)


def _periods_divide(component: Component) -> bool:
    """The paper's condition: pairwise; divisibility is transitive."""
    periods = sorted(load.period for load in component.loads)
    return all(longer % shorter == 0 for shorter, longer in pairwise(periods))
