# SPDX-License-Identifier: BSD-2-Clause
"""Which proof gave a verdict on a part of a domain, and what decides in it.

The analysis has up to four proofs of one vcpu's work (`domain_level`), of which the best verdict
counts:
- on the supply of the interface, less what overheads take of a budget;
- on the supply of whole budgets, with overheads counted by windows (`prm_windows`);
- on what the servers beside leave (`known_servers`); of a partition on its windows, and no other;
- with what is left of the budget when work comes (`budget_in_hand`).
Here the same functions are asked in that order, and the first whose verdict is that of the analysis
tells why: by the witness of its own test. Where no proof says yes, it is the first of all.

Inputs: a domain, what stands behind it, the vcpu's component, the number of a source, the verdict
of the analysis. Results: a witness, the supply that it is about. Errors: NotCovered where there is
no supply, and so nothing to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from hyperperiod.analysis.component import Component
from hyperperiod.analysis.domains.budget_in_hand import CarriedBudget, CarriedJob, job_in_hand
from hyperperiod.analysis.domains.domain_level import (
    WHOLE_BUDGET,
    NotCovered,
    SupplyContract,
    components_of,
    judge_by_windows,
    judge_component,
    judge_in_hand,
    supply_if_left,
    supply_of,
)
from hyperperiod.analysis.domains.prm_windows import windows_witness
from hyperperiod.analysis.explain.supplies import CarriedSupply, LateSupply, Provision
from hyperperiod.analysis.verdict import Verdict
from hyperperiod.analysis.window_loss import WindowLoss
from hyperperiod.analysis.witness import IN_HAND, Role, Share, Window, Witness, component_witness
from hyperperiod.model import Domain, Sbf


class Deciding(NamedTuple):
    """A deciding test: its witness, the supply, and what overheads take of a budget (ns).

    `by_interface`: nothing but the interface is known of the supply. `loss` is what its windows
    lose, if overheads are counted by windows; `job` that of a witness with a budget in hand.
    """

    witness: Witness
    provision: Provision
    lost_ns: int = 0
    by_interface: bool = False
    loss: WindowLoss | None = None
    job: CarriedJob | None = None


class _Proof(NamedTuple):
    verdict: Verdict
    decides: Callable[[], Deciding]


def deciding(
    domain: Domain, contract: SupplyContract, component: Component, index: int, verdict: Verdict
) -> Deciding:
    """Returns the test that gave this verdict on a source of one of the domain's vcpus."""
    proofs = _proofs(domain, contract, component, index)
    for proof in proofs:
        if not verdict.holds or _is_same(proof.verdict, verdict):
            return proof.decides()
    if not verdict.holds:
        raise NotCovered(WHOLE_BUDGET)
    raise AssertionError(f"no proof of {domain.name} has the verdict of the analysis: {verdict}")


def _is_same(one: Verdict, other: Verdict) -> bool:
    return (one.holds, one.bound_ns) == (other.holds, other.bound_ns)


def _proofs(
    domain: Domain, contract: SupplyContract, component: Component, index: int
) -> Iterator[_Proof]:
    """Every proof that applies, with the verdict of each."""
    components = components_of(domain)
    name = component.sources[index].name
    supply = supply_if_left(domain, contract, components)
    if supply is not None and not domain.windows:
        nominal = supply_of(domain, replace(contract, lost_ns=0), components)
        found = Deciding(
            component_witness(component, index, supply),
            Provision(supply, nominal),
            contract.lost_ns,
            by_interface=True,
        )
        yield _Proof(judge_component(component, supply)[1][name], lambda: found)
    by_windows = judge_by_windows(domain, contract, component)
    if by_windows is not None and contract.windows is not None:
        loss, whole = contract.windows, by_windows.supply
        yield _Proof(
            by_windows.parts[name],
            lambda: Deciding(
                windows_witness(component, index, whole, loss),
                Provision(LateSupply(whole, loss.late_ns), whole),
                loss=loss,
            ),
        )
    known = contract.known
    if contract.sbf is not Sbf.SERVERS or known is None or known.refused:
        return
    number = components.index(component)
    stairs = known.supplies[number]
    whole_verdict, parts = judge_component(component, stairs)
    yield _Proof(
        parts[name],
        lambda: Deciding(
            component_witness(component, index, stairs),
            Provision(stairs, stairs, bool(domain.windows)),
        ),
    )
    if known.in_hand:
        hand = known.in_hand[number]
        _, lower = judge_in_hand(component, hand, whole_verdict, parts)
        bounds_ns = [lower[source.name].bound_ns for source in component.sources]
        yield _Proof(lower[name], lambda: _in_hand(component, hand, bounds_ns, index))


def _in_hand(
    component: Component, hand: CarriedBudget, bounds_ns: list[int | None], index: int
) -> Deciding:
    """The job with the bound as its response, and all that is done by its end."""
    known = [bound_ns for bound_ns in bounds_ns if bound_ns is not None]
    assert len(known) == len(bounds_ns), "every bound holds up the others"
    job = job_in_hand(component, hand, known, index)
    assert job is not None, "a bound is the response of some job"
    supply = CarriedSupply(hand, job.start.used_ns)
    own = component.sources[index]
    shares = [
        Share(source.name, Role.HIGHER, work_ns, work_ns // source.load.wcet, source.load.wcet)
        for source, coming in zip(component.sources, job.start.above, strict=False)
        if (work_ns := coming.work_in(job.finish_ns))
    ]
    wcet_ns = own.load.wcet
    shares.append(Share(own.name, Role.OWN, job.number * wcet_ns, job.number, wcet_ns))
    if own.load.blocking:
        shares.append(Share("blocking", Role.BLOCKING, own.load.blocking))
    window = Window("done", job.finish_ns, supply.sbf(job.finish_ns), tuple(shares))
    witness = Witness(
        IN_HAND,
        holds=True,
        windows=(window,),
        deadline_ns=job.release_ns + own.load.deadline,
        release_ns=job.release_ns,
        finish_ns=job.finish_ns,
        loads=tuple(component.loads[: index + 1]),
    )
    return Deciding(witness, Provision(supply, supply), job=job)
