# SPDX-License-Identifier: BSD-2-Clause
"""The explanation of one subject: its verdict, its breakdown, what would be enough, and the text.

A task inside a domain is judged on the supply of the domain's server; whether that server gets
its budget is a question of its own, asked from the host inward. If the answer to that is not
yes, the task is not proved either, and the text names the server to ask about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hyperperiod._analysis import Shape
from hyperperiod.analysis.component import Component, Load, NamedLoad
from hyperperiod.analysis.domains.domain_level import (
    MOVING,
    DomainVerdict,
    NotCovered,
    SupplyContract,
    cluster_of,
    components_of,
    judge_domain,
    shape_for,
    supply_of,
)
from hyperperiod.analysis.domains.mpr import mpr_witness
from hyperperiod.analysis.domains.supply_bound import Staircase, Supply
from hyperperiod.analysis.explain import enough, servers
from hyperperiod.analysis.explain.breakdown import (
    Breakdown,
    breakdown_in_hand,
    breakdown_of_cluster,
    breakdown_of_hop,
    breakdown_of_task,
)
from hyperperiod.analysis.explain.deciding import Deciding, deciding
from hyperperiod.analysis.explain.hops import hop
from hyperperiod.analysis.explain.subject import Subject, find
from hyperperiod.analysis.explain.supplies import CarriedSupply, LateSupply, Provision
from hyperperiod.analysis.explain.text import format_text
from hyperperiod.analysis.explain_result import (
    ExplainCurves,
    ExplainEnough,
    ExplainServer,
    ExplainShare,
    ExplainTask,
    ExplainWindow,
    Explanation,
)
from hyperperiod.analysis.flows.found import FlowAnalysis
from hyperperiod.analysis.flows.windows import hop_witness
from hyperperiod.analysis.resolve import DEFAULT_QUANTUM_NS, Resolution
from hyperperiod.analysis.servers.groups import domains_by_group, groups_of
from hyperperiod.analysis.servers.host_level import host_level
from hyperperiod.analysis.servers.server import Group, Server
from hyperperiod.analysis.servers.server_table import supply_by_table
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.analysis.verdict import Verdict, all_of
from hyperperiod.analysis.witness import TESTS, Share, Window, component_witness
from hyperperiod.model import Domain, Interface, Task, format_time

FLOWS = "No plain window shows why: items of flows release work in {}, at any distance."


def explain(
    resolution: Resolution, name: str, flows: FlowAnalysis, guaranteed: Mapping[str, Verdict]
) -> Explanation:
    """Returns what `analyze --json` prints under "explain"; InputError for an unknown name.

    `flows` is the analysis of all flows: a task in a domain that they pass through has the window
    of its bound there, and a driver loop says what it rests on. `guaranteed` is whether the
    servers of each domain get their budgets, by its name.
    """
    subject = find(resolution.system, name)
    if subject.task is not None and len(subject.path) == 1:
        outside = guaranteed[subject.domain.name]
        on_way = hop(flows, subject.domain.name, subject.task, outside)
        if on_way is not None:
            return _with_text(
                _result(
                    subject.name, "task", on_way.verdict, task=_task(subject.task), test=on_way.test
                ).replace(story=tuple(on_way.story))
            )
    view = _View(resolution, subject, flows)
    inside_another = len(subject.path) > 1
    found = view.load() if subject.task is not None or inside_another else view.server()
    return _with_text(found)


def explain_moving(
    domain: Domain, task: Task, verdict: Verdict, supplies: Sequence[Supply]
) -> Explanation:
    """Returns the explanation of a task whose jobs move: no window of one vcpu shows it.

    The vcpus with a server have these supplies, none if nothing is proved of them.
    """
    window_ns = verdict.bound_ns or task.deadline_ns
    story = [f"Its jobs move between the {domain.vcpus} vcpus of {domain.name}."]
    if supplies and window_ns is not None:
        parts = [format_time(supply.sbf(window_ns)) for supply in supplies]
        story.append(
            f"In any window of {format_time(window_ns)} those with a server surely get"
            f" {', '.join(parts)}, maybe at the same instants."
        )
    if verdict.holds:
        story.append("What can go first in it leaves enough beside that for the job.")
    test = f"{domain.scheduler}, virtual multiprocessor" if supplies else ""
    name = f"{domain.name}.{task.name}"
    found = _result(name, "task", verdict, task=_task(task), test=test)
    return _with_text(found.replace(story=tuple(story)))


def _with_text(found: Explanation) -> Explanation:
    return found.replace(text=format_text(found))


@dataclass(frozen=True)
class _Place:
    """A load with the domain whose server serves it, its component, and its number in that.

    On several vcpus it stands if its jobs move between them; each has the supply of the provision.
    """

    domain: Domain
    component: Component
    index: int
    deciding: Deciding
    vcpus: int = 1

    @property
    def source(self) -> NamedLoad:
        return self.component.sources[self.index]

    @property
    def provision(self) -> Provision:
        return self.deciding.provision

    def breakdown(self) -> Breakdown | None:
        """Returns the window that decides, broken down; None if the test looked at none."""
        witness, supply = self.deciding.witness, self.provision.supply
        if self.deciding.job is not None and isinstance(supply, CarriedSupply):
            return breakdown_in_hand(witness, self.source.name, self.deciding.job, supply)
        if self.vcpus > 1 and isinstance(supply, Supply):
            return breakdown_of_cluster(witness, supply, self.vcpus)
        assert not isinstance(supply, CarriedSupply), "it has a job"
        return breakdown_of_task(witness, self.source.name, supply)


class _View:
    """The system from where the subject stands."""

    def __init__(self, resolution: Resolution, subject: Subject, flows: FlowAnalysis) -> None:
        self.resolution, self.subject, self.flows = resolution, subject, flows
        self.judged: Mapping[str, DomainVerdict] = flows.domains
        self.system = resolution.system
        number = next(
            at
            for at, members in enumerate(domains_by_group(self.system))
            if subject.index in members
        )
        self.group: Group = groups_of(self.system)[number]
        self.contracts = contracts_of(self.system)

    def server(self) -> Explanation:
        """Explains a server of the host beside those that share its pcpus."""
        verdicts = host_level(self.system.policy, self.group)
        own = self._own_server([verdict.holds for verdict in verdicts.servers])
        if own is None:
            reason = self._no_server()
            return _result(self.subject.name, "server", Verdict.unknown(reason))
        at = self.group.servers.index(own)
        verdict = verdicts.servers[at]
        if not verdicts.deciders:
            return _result(own.name, "server", verdict)
        given = ExplainServer(
            period_ns=own.period_ns, budget_ns=own.budget_ns, lost_ns=0, blackout_ns=None
        )
        if own.windows:  # no other budget beside those of the others is asked for
            supply = supply_by_table(self.group, self.system.policy.order, own)
            given = given.replace(blackout_ns=supply.blackout_ns)
            return _result(own.name, "server", verdict, server=given, test=verdicts.test)
        granule_ns = self.system.quantum_ns or 1
        return _result(
            own.name,
            "server",
            verdict,
            servers.breakdown(verdicts.deciders[at], self.group, own),
            server=given,
            enough=ExplainEnough(
                budget_ns=enough.max_budget(self.system.policy, self.group, at, granule_ns)
            ),
            test=verdicts.test,
        )

    def _own_server(self, holds: Sequence[bool | None]) -> Server | None:
        """The server meant; of several vcpus the first that is not sure of its budget."""
        own = [one for one in self.group.servers if one.domain_index == self.subject.index]
        if self.subject.vcpu is not None:
            own = [one for one in own if one.name == self.subject.name]
        unsure = [one for one in own if holds[self.group.servers.index(one)] is not True]
        return next(iter([*unsure, *own]), None)

    def _no_server(self) -> str:
        domain = self.subject.domain
        failure = self.resolution.failures.get(domain.name)
        if failure is not None:
            return failure.reason
        return "best effort: it has no server, so nothing is promised"

    def load(self) -> Explanation:
        """A task, or an inner domain's server, on the supply of the domain around it."""
        subject = self.subject
        name, task = subject.name, subject.task
        around = subject.path if task is not None else subject.path[:-1]
        kind = "task" if task is not None else "server"
        passed = self.judged.get(around[-1].name)
        if task is not None and passed is not None:
            verdict = self._under(around, passed.parts[task.name])
            found = self._hop(around[-1], task, verdict)
            return found or _result(name, kind, verdict, task=_task(task)).replace(
                story=(FLOWS.format(around[-1].name),)
            )
        try:
            place, verdict = self._place(around)
            shown = place.breakdown()
        except NotCovered as error:
            verdict = self._under(around, self._verdict(around) or Verdict.unknown(str(error)))
            found = _result(name, kind, verdict, task=_task(task))
            return found.replace(story=(f"No window shows why: {error}.",) * bool(verdict.holds))
        if shown is not None and place.domain.name in self.resolution.failures:
            shown = replace(shown, story=(*shown.story, _without_interface(shown)))
        return _result(
            name,
            kind,
            self._under(around, verdict),
            shown,
            task=_task(task) if task is not None else _as_task(place.source.load),
            server=_server(place.domain, place.provision, place.deciding.lost_ns),
            enough=self._enough(place) if place.vcpus == 1 else None,
            test=TESTS[place.component.local] if place.vcpus == 1 else "global edf",
            provision=place.provision if place.vcpus == 1 else None,
        )

    def _hop(self, domain: Domain, task: Task, verdict: Verdict) -> Explanation | None:
        """The window of a task in a domain that items pass through; None if nothing bounds it."""
        for inside in self.flows.insides:
            names = [source.name for source in inside.vcpu.component.sources]
            if inside.vcpu.domain != domain.name or task.name not in names:
                continue
            witness = hop_witness(inside, task.name)
            known = domain.interface
            if witness is None or known is None:
                return None
            supply = inside.vcpu.supply
            lost_ns, provision = 0, Provision(supply, supply, bool(domain.windows))
            if isinstance(supply, Supply):
                lost_ns = known.budget_ns - supply.budget_ns
                provision = Provision(supply, replace(supply, budget_ns=known.budget_ns))
            return _result(
                self.subject.name,
                "task",
                verdict,
                breakdown_of_hop(witness, inside, task.name),
                task=_task(task),
                server=_server(domain, provision, lost_ns),
                test=TESTS[inside.vcpu.component.local],
                provision=provision,
            )
        return None

    def _verdict(self, around: Sequence[Domain]) -> Verdict | None:
        """Returns the verdict on the subject inside the domain around it; None if there is none."""
        domain = around[-1]
        if domain.name in self.resolution.failures:
            return None
        own = self.subject.task.name if self.subject.task else self.subject.domain.name
        found = judge_domain(domain, self.contracts[domain.name]).parts.get(own)
        return None if found is None or found.holds is None else found

    def _under(self, around: Sequence[Domain], verdict: Verdict) -> Verdict:
        """The verdict if it is not only for the case that the server gets its budget."""
        outside = all_of(self._outside(around))
        if verdict.holds and not outside.holds:
            return Verdict.unknown(f"on its supply it does, but {outside.reason}")
        return verdict

    def _place(self, around: Sequence[Domain]) -> tuple[_Place, Verdict]:
        """Returns the subject's load and its verdict; NotCovered if it has no load."""
        domain = around[-1]
        own = self.subject.task.name if self.subject.task else self.subject.domain.name
        failure = self.resolution.failures.get(domain.name)
        cluster = cluster_of(domain) if failure is None else None
        components = components_of(domain) if cluster is None else [cluster]
        component, index = _component_with(components, own)
        if failure is not None:
            if component.utilization <= 0:
                raise NotCovered(failure.reason)
            whole = self._whole_pcpu(domain, components)
            shown = Deciding(component_witness(component, index, whole), Provision(whole, whole))
            return _Place(domain, component, index, shown), failure
        contract = self.contracts[domain.name]
        verdict = judge_domain(domain, contract).parts[own]
        if cluster is None:
            shown = deciding(domain, contract, component, index, verdict)
            return _Place(domain, component, index, shown), verdict
        shown = _moving(domain, contract, component, index)
        return _Place(domain, component, index, shown, domain.vcpus), verdict

    def _whole_pcpu(self, domain: Domain, components: Sequence[Component]) -> Supply:
        """The largest budget in the period that was asked for, or in the first that was tried."""
        first = domain.interface_period_range
        period_ns = domain.interface_period_ns or (first.min_ns if first else None)
        period_ns = period_ns or self.system.quantum_ns or DEFAULT_QUANTUM_NS
        shape = shape_for(self.contracts[domain.name], period_ns, components)
        return Supply(shape, period_ns, period_ns)

    def _outside(self, around: Sequence[Domain]) -> Iterator[Verdict]:
        """Whether the server around gets its budget: on the host, then from domain to domain."""
        host = host_level(self.system.policy, self.group)
        for server, verdict in zip(self.group.servers, host.servers, strict=True):
            if server.domain_index == self.subject.index:
                yield _about(server.name, verdict)
        for depth, inner in enumerate(around[1:], start=1):
            outer = around[:depth]
            if outer[-1].interface is None:
                yield Verdict.unknown(f"{outer[-1].name} has no interface")
                continue
            parts = judge_domain(outer[-1], self.contracts[outer[-1].name]).parts
            yield _about(inner.name, parts[inner.name])

    def _enough(self, place: _Place) -> ExplainEnough:
        """Returns budget and wcet that would be enough; empty if the proof knows other servers."""
        found, nominal = place.deciding, place.provision.nominal
        granule_ns = self.system.quantum_ns or 1
        if not isinstance(nominal, Supply):
            return ExplainEnough()
        components = [one for one in components_of(place.domain) if one.sources]
        own, alone = place.component, [enough.only(place.component, place.index)]
        if found.loss is not None:
            overheads = enough.OverheadAccounts(
                self.contracts[place.domain.name].lost_ns, found.loss
            )
            others = all(overheads.hold(own, nominal))
            budget_ns, task_budget_ns = (
                overheads.min_budget(some, nominal, granule_ns) for some in (components, alone)
            )
            wcet_ns = overheads.max_wcet(own, place.index, nominal, below=others)
        elif found.by_interface and isinstance(place.provision.supply, Supply):
            supply = place.provision.supply
            others = enough.all_hold(own, supply)
            budget_ns, task_budget_ns = (
                enough.min_budget(some, supply, found.lost_ns, granule_ns)
                for some in (components, alone)
            )
            wcet_ns = enough.max_wcet(own, place.index, supply, below=others)
        else:
            return ExplainEnough()
        host = (
            None
            if budget_ns is None
            else enough.on_host(self.system, self.subject.index, place.domain, budget_ns)
        )
        return ExplainEnough(
            budget_ns=budget_ns,
            task_budget_ns=task_budget_ns,
            host=host,
            wcet_ns=wcet_ns,
            others_hold=others,
        )


def _without_interface(shown: Breakdown) -> str:
    """Returns a sentence on an interface that was not found, from the window of a whole pcpu."""
    if shown.witness.holds:
        return "No interface was found; a whole pcpu, shown here, would serve this one, not all."
    return "No interface was found, and not even a whole pcpu, shown here, would do."


def _about(server: str, verdict: Verdict) -> Verdict:
    if verdict.holds:
        return verdict
    return Verdict(verdict.holds, f"server {server} may not get its budget (--explain {server})")


def _component_with(components: Sequence[Component], name: str) -> tuple[Component, int]:
    """The vcpu with a member of that name: of several the last, which has the lowest priority."""
    for component in components:
        for index, source in reversed(list(enumerate(component.sources))):
            if source.name == name:
                return component, index
        if name in component.starved:
            raise NotCovered(f"below the busy task {component.busy[0]}, it may never run")
        if name in component.busy:
            raise NotCovered("busy: it has no deadline")
    raise NotCovered("it has no deadline that a test could show")


def _moving(domain: Domain, contract: SupplyContract, component: Component, index: int) -> Deciding:
    """Returns the test that decides on jobs that move; NotCovered if no window shows it."""
    supply = supply_of(domain, contract, [component])
    witness = mpr_witness(component, index, supply, domain.vcpus)
    if witness is None:
        raise NotCovered(MOVING)
    nominal = supply_of(domain, replace(contract, lost_ns=0), [component])
    return Deciding(witness, Provision(supply, nominal), contract.lost_ns)


def _supply_instant(provision: Provision) -> str:
    """Returns the end of the sentence on the critical instant: the state of the server."""
    supply = provision.supply
    if supply.blackout_ns == 0 or isinstance(supply, CarriedSupply):
        return ""
    dark = f": {format_time(supply.blackout_ns)} pass without any supply"
    if provision.windows:
        gap = format_time(supply.blackout_ns)
        return f", at the end of one of its windows: up to {gap} pass to the next"
    if isinstance(supply, Staircase):
        return f", when the servers beside its own take as much as they can{dark}"
    base = supply.base if isinstance(supply, LateSupply) else supply
    if base.shape is Shape.POLLING:
        return f", just after the server gave a budget away for lack of work{dark}"
    if base.shape is Shape.HARMONIC:
        return f", at a refill of the server, whose budget comes as late as it can{dark}"
    if base.deadline_ns != base.period_ns:
        bound = format_time(base.deadline_ns)
        dark = f", {bound} after its refill{dark}"
    return (
        ", just when the server has spent a budget as early as it can, and the next one comes as"
        f" late as it can{dark}"
    )


def _task(task: Task | None) -> ExplainTask | None:
    if task is None or task.wcet_ns is None or task.period_ns is None:
        return None
    assert task.deadline_ns is not None, "the model fills deadlines in"
    return ExplainTask(
        wcet_ns=task.wcet_ns,
        period_ns=task.period_ns,
        deadline_ns=task.deadline_ns,
        jitter_ns=task.jitter_ns,
        offset_ns=task.offset_ns,
        blocking_ns=task.blocking_ns,
    )


def _as_task(load: Load) -> ExplainTask:
    """Returns an inner domain's server as the task that it is for the domain around it."""
    return ExplainTask(
        wcet_ns=load.wcet,
        period_ns=load.period,
        deadline_ns=load.deadline,
        jitter_ns=0,
        offset_ns=0,
        blocking_ns=0,
    )


def _server(domain: Domain, provision: Provision, lost_ns: int) -> ExplainServer:
    """The server that serves the subject, of which overheads take so much per period.

    Where the domain has none, that is the pcpu that is shown instead.
    """
    server = provision.nominal if domain.interface is None else domain.interface
    assert isinstance(server, Supply | Interface), "without an interface it is a plain supply"
    return ExplainServer(
        period_ns=server.period_ns,
        budget_ns=server.budget_ns,
        lost_ns=lost_ns,
        blackout_ns=provision.supply.blackout_ns,
    )


def _result(
    name: str,
    kind: str,
    verdict: Verdict,
    breakdown: Breakdown | None = None,
    *,
    task: ExplainTask | None = None,
    server: ExplainServer | None = None,
    enough: ExplainEnough | None = None,
    test: str = "",
    provision: Provision | None = None,
) -> Explanation:
    """Returns an explanation in which only the text is missing."""
    found = Explanation(
        subject=name,
        kind=kind,
        schedulable=verdict.holds,
        reason="" if verdict.holds else verdict.reason,
        test=test,
        task=task,
        server=server,
        enough=enough or ExplainEnough(),
        account="",
        critical_instant="",
        story=(),
        windows=(),
        curves=None,
        text="",
    )
    return found if breakdown is None else _with_breakdown(found, breakdown, provision)


def _with_breakdown(
    found: Explanation, breakdown: Breakdown, provision: Provision | None
) -> Explanation:
    witness, curves = breakdown.witness, breakdown.curves
    return found.replace(
        account=witness.test,
        critical_instant=breakdown.instant + (_supply_instant(provision) if provision else ""),
        story=breakdown.story,
        windows=tuple(_window(window, provision) for window in witness.windows),
        curves=ExplainCurves(
            demand=curves.demand,
            supply=curves.supply,
            stairs=curves.stairs,
            release_ns=witness.release_ns,
            deadline_ns=witness.deadline_ns,
            finish_ns=witness.finish_ns,
            blackout_ns=curves.blackout_ns,
            end_ns=curves.end_ns,
        ),
    )


def _window(window: Window, provision: Provision | None) -> ExplainWindow:
    lost = () if provision is None else provision.lost_in(window.window_ns)
    return ExplainWindow(
        what=window.what,
        window_ns=window.window_ns,
        demand_ns=window.demand_ns,
        supply_ns=window.supply_ns,
        short_ns=window.short_ns,
        shares=tuple(_share(share) for share in window.shares),
        lost=tuple(_share(share) for share in lost),
    )


def _share(share: Share) -> ExplainShare:
    return ExplainShare(**{**share._asdict(), "role": str(share.role)})
