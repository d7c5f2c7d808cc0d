# SPDX-License-Identifier: BSD-2-Clause
"""What a domain's interface guarantees to the tasks inside it.

First which supply bound is sound for the server, as the table of proofs has it (`proofs`; what has
no row there is not covered):
- periodic and deferrable: the general one (the harmonic one or the one with explicit deadlines
  where it was asked for and is sound, `harmonic_supply` and `edp`);
- polling: the one with the longer blackout, since work that comes just after a refill waits for
  the next;
- sporadic: the same, as `sporadic_fp` and `sporadic_edf` prove, but as a bound that need not be
  met: a "no" is null;
- cbs: the general one. At any time with deadline d and amount q left, d - t - q <= period -
  budget: equality when a period begins, both sides fall alike while the server runs, and an
  arrival that keeps q and d finds q no larger than the rule allows, later time only helping. So
  before d at most period - budget is without supply, and again as much before the first supply
  of the next period: the blackout of the general bound (under priorities: `cbs_fp`). A
  window across an instant at which work arrives and all other is done may hold less, since a new
  period may begin there; busy windows have no such instant. Both are proved by machine under EDF:
  cbs_edf and cbs_with_breaks_refuted in proofs/;
- slice-once: that of polling. Work that comes just after a block waits for the next period, at
  most one away, and that has its slice by its end;
- slice under fp-edf, of an ordinary domain: that of slice-once, which it is;
- slice: the general one under fixed priority (`driver_loop.psedf`: with q left, the slice of the
  next period is at most period - budget + q away, and q is served before it or delays by no more
  than others delay a whole slice). Under EDF what is left of a slice may be lost to others before
  the deadline (`driver_loop.sedf_prime`), at most a budget more: that of polling.

Where more is known of a server than its interface, by what the others on its pcpus leave to it
(`servers.known_servers`), the better of both verdicts counts, if the system asks for that. A
verdict by the interface alone stays whatever becomes of the others; this one does not.

Then the test of the local scheduler. A domain with several vcpus is analysed vcpu by vcpu if
every task is pinned to one, or as a whole under gedf, where jobs move (`virtual_multiprocessor`).
Inner domains are loads of the outer one, and each is promised its interface if the outer test holds
for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from hyperperiod._analysis import Local, Shape
from hyperperiod.analysis.component import (
    Component,
    NamedLoad,
    component_of_domains,
    component_of_tasks,
)
from hyperperiod.analysis.domains.harmonic_supply import refusal
from hyperperiod.analysis.domains.prm_edf import edf
from hyperperiod.analysis.domains.prm_fifo import fifo
from hyperperiod.analysis.domains.prm_fixed_priority import fixed_priority
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.proofs import Cover, NotProved, Rules, proof_of
from hyperperiod.analysis.verdict import Verdict, all_of, better
from hyperperiod.model import (
    Budget,
    Domain,
    Interface,
    Order,
    Policy,
    Sbf,
    Scheduler,
    Scope,
    Slack,
    is_ordinary,
)

if TYPE_CHECKING:
    from hyperperiod.analysis.domains.budget_in_hand import CarriedBudget
    from hyperperiod.analysis.servers.known_servers import Known
    from hyperperiod.analysis.window_loss import WindowLoss

NO_DEADLINE = "busy: it has no deadline"
BEST_EFFORT = "best effort: no server, so nothing is promised"
NO_RESPONSE_BOUND = "edp sbf: the host level gives no response bound of the server"
FAIR = "fair: no test covers it"
MOVING = "gedf: jobs move between the vcpus, which are judged together"
LINUX_MOVES = "Linux does not know which vcpus have a pcpu: its jobs move only between whole pcpus"
MOVING_COSTS = "what overheads take of vcpus between which jobs move is not known"
WHOLE_BUDGET = "overheads may take the whole budget"
ONLY_SUFFICIENT = "what is known of the other servers is only sufficient"
MORE_THAN_WINDOWS = "its tasks ask for more than its windows come to"
IN_STEP = "released anywhere in the table it may be late; in step with the table it may be in time"
UNPINNED = "tasks on several vcpus are analysed only if each is pinned (vcpu = ...)"


class NotCovered(Exception):  # noqa: N818 - it is not an error of the user
    """No test covers this; the message is the reason."""


@dataclass(frozen=True)
class SupplyContract:
    """What stands behind a vcpu: the rule, the bound that was asked for, what overheads take.

    They take `lost_ns` of a budget while the vcpu has work, and `lost_across_hops_ns` while items
    go from one of its tasks to the next without a gap. `windows` is another account of them, by the
    length of a window (`window_loss`), where there is one. `deadline_ns`, which `Sbf.EDP` uses, is
    when in each period the budget has come, if that is known, and `refused` why it is not. `known`
    is what the other servers on the pcpus leave to these, where anything is proved of that.
    """

    rule: Budget
    sbf: Sbf = Sbf.GENERAL
    lost_ns: int = 0
    deadline_ns: int | None = None
    refused: str = ""
    order: Order = Order.EDF
    lost_across_hops_ns: int = 0
    slack: Slack = Slack.NONE
    scope: Scope = Scope.PARTITIONED
    windows: WindowLoss | None = None
    known: Known | None = None

    @property
    def by_interface(self) -> SupplyContract:
        """Returns the contract as it is when nothing is known of the other servers."""
        return replace(self, known=None)

    @property
    def rules(self) -> Rules:
        """The rules that a row of `proofs` must be about; an inner server has the defaults."""
        return Rules(self.rule, self.order, self.slack, self.scope)


def rule_behind(policy: Policy, domain: Domain) -> Budget:
    """The rule that a domain's servers are under: ordinary ones lose slices that others keep."""
    loses = policy.budget is Budget.SLICE and is_ordinary(policy, domain)
    return Budget.SLICE_ONCE if loses else policy.budget


def contract_under(policy: Policy, domain: Domain, sbf: Sbf) -> SupplyContract:
    """Returns the contract of a domain of the host, without overheads and explicit deadline."""
    rule = rule_behind(policy, domain)
    sbf = Sbf.SERVERS if domain.windows else sbf
    return SupplyContract(rule, sbf, order=policy.order, slack=policy.slack, scope=policy.scope)


def contract_inside(sbf: Sbf) -> SupplyContract:
    """Returns the contract of an inner domain: its server is periodic, whatever the policy is."""
    return SupplyContract(Budget.PERIODIC, sbf)


class DomainVerdict(NamedTuple):
    """The domain as a whole, and each of its tasks (or inner domains) by name."""

    whole: Verdict
    parts: dict[str, Verdict]


def components_of(domain: Domain) -> list[Component]:
    """The components of a domain, one per vcpu; NotCovered if tasks may move between vcpus."""
    if cluster_of(domain) is not None:
        raise NotCovered(MOVING)
    if domain.scheduler is Scheduler.FAIR:
        raise NotCovered(FAIR)
    if domain.domains:
        if domain.scheduler is Scheduler.FIFO:
            raise NotCovered("inner domains under fifo: no test covers it")
        return [component_of_domains(domain.scheduler, domain.domains)]
    if domain.vcpus == 1:
        return [component_of_tasks(domain.scheduler, domain.tasks)]
    if domain.moves_jobs:
        raise NotCovered(UNPINNED)
    return [
        component_of_tasks(domain.scheduler, [t for t in domain.tasks if t.vcpu == vcpu])
        for vcpu in range(domain.vcpus)
    ]


def cluster_of(domain: Domain) -> Component | None:
    """Returns the component that all vcpus of a gedf domain serve together; None for others."""
    if domain.scheduler is not Scheduler.GEDF or domain.vcpus == 1:
        return None
    if domain.domains:
        return component_of_domains(domain.scheduler, domain.domains)
    return component_of_tasks(domain.scheduler, domain.tasks)


def shape_for(
    contract: SupplyContract,
    period_ns: int | None,
    components: Sequence[Component],
    *,
    moving: bool = False,
) -> Shape:
    """The supply bound to compute with; NotCovered if none is proved, or the harmonic one refused.

    What is proved must be so with the overheads behind the contract and the blocking in the
    components, and if jobs are moving between vcpus for one that has no work at times.
    """
    blocked = any(load.blocking for component in components for load in component.loads)
    needed = [Cover.OVERHEADS] * bool(contract.lost_ns) + [Cover.BLOCKING] * blocked
    needed += [Cover.GAPS] * moving
    if moving and contract.lost_ns:
        raise NotCovered(MOVING_COSTS)
    if moving and contract.sbf is Sbf.HARMONIC:
        raise NotCovered("harmonic sbf: not for jobs that move between vcpus")
    try:
        proof = proof_of(contract.rules, *needed)
    except NotProved as error:
        raise NotCovered(str(error)) from error
    if contract.sbf is Sbf.HARMONIC:
        for component in components:
            reason = refusal(contract.rule, period_ns, component.sources)
            if reason is not None:
                raise NotCovered(reason)
        return Shape.HARMONIC
    return proof.supply


def supply_of(domain: Domain, contract: SupplyContract, components: Sequence[Component]) -> Supply:
    """The supply that each vcpu of the domain surely gets; NotCovered where nothing is proved."""
    if domain.interface is None:
        raise NotCovered(BEST_EFFORT)
    moving = cluster_of(domain) is not None
    if moving:
        require_knowing(domain, domain.interface)
    return supply_under(domain.interface, contract, components, moving=moving)


def require_knowing(domain: Domain, interface: Interface) -> None:
    """NotCovered for a guest that moves jobs, but not away from a vcpu that has lost its pcpu."""
    always_there = interface.budget_ns == interface.period_ns
    if domain.guest.is_linux and not always_there:
        raise NotCovered(LINUX_MOVES)


def supply_under(
    interface: Interface,
    contract: SupplyContract,
    components: Sequence[Component],
    *,
    moving: bool = False,
) -> Supply:
    """The supply of a vcpu with this interface; NotCovered where nothing is proved of it."""
    shape = shape_for(contract, interface.period_ns, components, moving=moving)
    budget_ns = interface.budget_ns - contract.lost_ns
    if budget_ns <= 0:
        raise NotCovered(WHOLE_BUDGET)
    if contract.sbf is not Sbf.EDP:
        return Supply(shape, interface.period_ns, budget_ns)
    if contract.deadline_ns is None:
        raise NotCovered(contract.refused or NO_RESPONSE_BOUND)
    return Supply(shape, interface.period_ns, budget_ns, contract.deadline_ns)


def supply_if_left(
    domain: Domain, contract: SupplyContract, components: Sequence[Component]
) -> Supply | None:
    """Returns the supply of each vcpu; None if only the account by windows leaves it anything."""
    try:
        return supply_of(domain, contract, components)
    except NotCovered as error:
        if contract.windows is None or str(error) != WHOLE_BUDGET:
            raise
        return None


def _nothing_left(component: Component) -> tuple[Verdict, dict[str, Verdict]]:
    nothing = Verdict.unknown(WHOLE_BUDGET)
    names = [*(source.name for source in component.sources), *component.starved]
    return nothing, dict.fromkeys(names, nothing)


def judge_domain(domain: Domain, contract: SupplyContract) -> DomainVerdict:
    """The verdicts under the domain's interface, if its server gets its budget.

    What is known of the other servers, where the system asks for that (`Sbf.SERVERS`), only adds to
    them: a yes, or a lower response bound.
    """
    found = _judge_by_interface(domain, contract)
    if contract.sbf is not Sbf.SERVERS:
        return found
    try:
        sharper = judge_known(domain, contract)
    except NotCovered:
        return found
    if domain.windows:
        return _in_windows(found, sharper)
    parts = {name: better(found.parts[name], other) for name, other in sharper.parts.items()}
    return DomainVerdict(better(found.whole, sharper.whole), found.parts | parts)


def _in_windows(found: DomainVerdict, exact: DomainVerdict) -> DomainVerdict:
    """The verdicts on the windows themselves; a "no" is about what these come to (`found`)."""
    whole = found.whole if found.whole.holds is False else exact.whole
    refuted = {name: one for name, one in found.parts.items() if one.holds is False}
    return DomainVerdict(whole, found.parts | exact.parts | refuted)


def judge_known(domain: Domain, contract: SupplyContract) -> DomainVerdict:
    """The verdicts with what is known of the servers beside; NotCovered with the reason."""
    known = contract.known
    if known is None:
        raise NotCovered(f"what other servers leave: no proof is known for {contract.rules}")
    if known.refused:
        raise NotCovered(known.refused)
    components = components_of(domain)
    shape_for(contract, None, components)
    parts: dict[str, Verdict] = {}
    wholes: list[Verdict] = []
    for number, (component, supply) in enumerate(zip(components, known.supplies, strict=True)):
        whole, verdicts = judge_component(component, supply)
        if known.in_hand:
            whole, verdicts = judge_in_hand(component, known.in_hand[number], whole, verdicts)
        wholes.append(_known_only(domain, whole))
        parts |= {name: _known_only(domain, verdict) for name, verdict in verdicts.items()}
    return DomainVerdict(all_of(wholes), parts)


def judge_in_hand(
    component: Component, hand: CarriedBudget, whole: Verdict, verdicts: dict[str, Verdict]
) -> tuple[Verdict, dict[str, Verdict]]:
    """With lower bounds where the domain's own work cannot have used the budget just before."""
    names = [source.name for source in component.sources]
    # The vcpus of an inner domain are sources of one name.
    if component.local is not Local.FIXED_PRIORITY or len(set(names)) != len(names):
        return whole, verdicts
    from hyperperiod.analysis.domains.budget_in_hand import bounds_in_hand

    found = bounds_in_hand(component, hand, [verdicts[name].bound_ns for name in names])
    lower = {
        name: Verdict.yes(bound_ns)
        for name, bound_ns in zip(names, found, strict=True)
        if bound_ns is not None
    }
    verdicts = verdicts | lower
    return all_of(verdicts.values()), verdicts


def _judge_by_interface(domain: Domain, contract: SupplyContract) -> DomainVerdict:
    busy = {t.name: Verdict.unknown(NO_DEADLINE) for t in domain.tasks if t.period_ns is None}
    try:
        if domain.interface is None:
            raise NotCovered(BEST_EFFORT)
        cluster = cluster_of(domain)
        components = components_of(domain) if cluster is None else [cluster]
        supply = supply_if_left(domain, contract, components)
    except NotCovered as error:
        whole = Verdict.unknown(str(error))
        named = [t.name for t in domain.tasks] + [inner.name for inner in domain.domains]
        return DomainVerdict(whole, dict.fromkeys(named, whole) | busy)
    parts: dict[str, Verdict] = {}
    wholes: list[Verdict] = []
    for component in components:
        if supply is None:
            whole, verdicts = _nothing_left(component)
        elif cluster is None:
            whole, verdicts = judge_component(component, supply)
        else:
            whole, verdicts = judge_cluster(component, [supply] * domain.vcpus)
        if cluster is None:
            whole, verdicts = _with_windows(domain, contract, component, whole, verdicts)
        reason = IN_STEP if domain.windows else only_sufficient(contract)
        if reason:
            whole = _soften(whole, reason)
            verdicts = {name: _soften(verdict, reason) for name, verdict in verdicts.items()}
        for source in component.sources:
            if source.too_long:
                verdicts[source.name] = _too_long(source, verdicts[source.name])
                whole = _too_long(source, whole)
        if domain.windows and supply is not None and component.utilization > supply.bandwidth:
            whole = Verdict.no(MORE_THAN_WINDOWS)
        wholes.append(whole)
        parts |= verdicts
    return DomainVerdict(all_of(wholes), parts | busy)


def _with_windows(
    domain: Domain,
    contract: SupplyContract,
    component: Component,
    whole: Verdict,
    verdicts: dict[str, Verdict],
) -> tuple[Verdict, dict[str, Verdict]]:
    """Returns the better verdicts of both accounts of overheads, with the shorter bounds."""
    found = judge_by_windows(domain, contract, component)
    if found is None:
        return whole, verdicts
    return whole if component.starved else better(whole, found.whole), {
        name: better(verdict, found.parts.get(name, verdict)) for name, verdict in verdicts.items()
    }


class ByWindows(NamedTuple):
    """Verdicts with overheads counted by windows, on this supply of whole budgets."""

    supply: Supply
    whole: Verdict
    parts: dict[str, Verdict]


def judge_by_windows(
    domain: Domain, contract: SupplyContract, component: Component
) -> ByWindows | None:
    """The verdicts on one vcpu's work by that account; None where there is none."""
    if contract.windows is None or contract.sbf is Sbf.HARMONIC:
        return None
    from hyperperiod.analysis.domains.prm_windows import judge_windows

    try:
        supply = supply_of(domain, replace(contract, lost_ns=0), [component])
    except NotCovered:  # where overheads may take the whole budget nothing else was asked yet
        return None
    found = judge_windows(component, supply, contract.windows)
    if found is None:
        return None
    return ByWindows(supply, found[0], _by_name(component.sources, found[1]))


def only_sufficient(contract: SupplyContract) -> str:
    """Returns why a "no" under this supply is only a lack of proof; empty where it is exact."""
    if contract.lost_ns:
        return "with overheads the test is only sufficient"
    return proof_of(contract.rules).loose


def _soften(verdict: Verdict, reason: str) -> Verdict:
    if verdict.holds is False:
        return Verdict.unknown(f"{verdict.reason} ({reason})")
    return verdict


def _known_only(domain: Domain, verdict: Verdict) -> Verdict:
    """What others leave is a bound; windows are exact, but releases may be in step with them."""
    if domain.windows and verdict.holds is False:
        return Verdict.unknown(IN_STEP)
    return _soften(verdict, ONLY_SUFFICIENT)


def _too_long(source: NamedLoad, verdict: Verdict) -> Verdict:
    """The plainest reason in place of what a test says about all windows and supplies.

    Work longer than its deadline misses it whatever the test is good for.
    """
    holds = False if source.load.wcet > source.load.deadline else verdict.holds
    return Verdict(holds, source.too_long)


def judge_cluster(
    component: Component, supplies: Sequence[Supply]
) -> tuple[Verdict, dict[str, Verdict]]:
    """The verdict on jobs that move between vcpus, each with a supply, and on their tasks.

    A "no" is about bandwidth, which all servers that a test covers use up.
    """
    from hyperperiod.analysis.domains.virtual_multiprocessor import judge_moving

    verdicts = judge_moving(component.local, component.loads, supplies)
    parts = _by_name(component.sources, verdicts)
    if component.starved:
        below = Verdict.unknown(f"below the busy task {component.busy[0]}: no test covers it")
        return below, parts | dict.fromkeys(component.starved, below)
    return all_of(verdicts), parts


def judge_component(
    component: Component, supply: Supply | Staircase
) -> tuple[Verdict, dict[str, Verdict]]:
    """The verdict on one vcpu's work, and on each part of it by name."""
    if component.local is Local.EDF:
        whole = edf(component, supply)
        verdicts = [
            Verdict.yes(source.load.deadline)
            if whole.holds
            else Verdict.unknown(f"edf does not say which task is late: {whole.reason}")
            for source in component.sources
        ]
    elif component.local is Local.FIFO:
        verdicts = fifo(component, supply)
        whole = all_of(verdicts)
    elif component.local is Local.EXECUTOR:
        from hyperperiod.analysis.domains.prm_executor import executor

        verdicts = executor(component, supply)
        whole = all_of(verdicts)
    else:
        verdicts = fixed_priority(component, supply)
        whole = all_of(verdicts)
    parts = _by_name(component.sources, verdicts)
    if component.starved:
        never = Verdict.no(f"below the busy task {component.busy[0]}, it may never run")
        return never, parts | dict.fromkeys(component.starved, never)
    return whole, parts


def _by_name(sources: Sequence[NamedLoad], verdicts: Sequence[Verdict]) -> dict[str, Verdict]:
    """The vcpus of an inner domain are sources of one name: it gets the worst of their verdicts."""
    parts = {source.name: verdict for source, verdict in zip(sources, verdicts, strict=True)}
    if len(parts) == len(sources):
        return parts
    parts = {}
    for source, verdict in zip(sources, verdicts, strict=True):
        other = parts.get(source.name, verdict)
        both = all_of([other, verdict])
        if both.holds and other.bound_ns is not None and verdict.bound_ns is not None:
            both = Verdict.yes(max(other.bound_ns, verdict.bound_ns))
        parts[source.name] = both
    return parts
