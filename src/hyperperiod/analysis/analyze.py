# SPDX-License-Identifier: BSD-2-Clause
"""The analysis of a system: interfaces, verdicts, and why.

A domain is schedulable if its servers get their budgets (`host_level`) and those budgets serve
its tasks (`domain_level`). The system is if all its pcpus and domains are; best-effort domains
are promised nothing, so they are null and do not count. Verdicts are for the policy and the
interfaces at the start: with swaps or changes to come nothing is claimed for the whole run.
Tasks that a flow releases are judged with all flows together (`flows`), and a flow holds if its
items are in time end to end and the servers of all its hops get their budgets. A test of whole
flows (`flows.registry`) says so of their domains, too, without asking whether each server gets its
budget in every period.

All decisions are made in integers and fractions; floats appear only in what is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from hyperperiod.analysis.domains.domain_level import (
    DomainVerdict,
    SupplyContract,
    judge_domain,
)
from hyperperiod.analysis.domains.every_test import every_test
from hyperperiod.analysis.explain_result import Explanation
from hyperperiod.analysis.flows.found import NO_FLOWS, FlowAnalysis, unknown_flows
from hyperperiod.analysis.proofs import Rules, find_proof
from hyperperiod.analysis.resolve import Resolution, resolve_what_can_be
from hyperperiod.analysis.result import (
    AnalysisResult,
    DmprResult,
    DomainResult,
    DomainSensitivityResult,
    FlowResult,
    MinimalBudgetResult,
    OptimumResult,
    PaperResult,
    PcpuResult,
    SpareResult,
    TaskResult,
    TaskSensitivityResult,
    TestResult,
)
from hyperperiod.analysis.servers.groups import domains_by_group, groups_of
from hyperperiod.analysis.servers.host_level import HostVerdict, host_level
from hyperperiod.analysis.servers.server import Group
from hyperperiod.analysis.supply_contracts import contracts_of
from hyperperiod.analysis.verdict import NamedVerdict, Verdict, all_of
from hyperperiod.analysis.whole_domains import GuestFound, name_in_parts, whole_domains
from hyperperiod.model import (
    Budget,
    Domain,
    Order,
    Sbf,
    Scheduler,
    Slack,
    System,
    Task,
)
from hyperperiod.model.absent import ABSENT, Absent
from hyperperiod.model.split import part_names
from hyperperiod.model.vcpus import bandwidth_of, interface_result

if TYPE_CHECKING:
    from hyperperiod.analysis.guests import GuestSupply
    from hyperperiod.analysis.tried import Tried


def analyze(
    system: System,
    explain: str | None = None,
    *,
    sensitivity: bool = False,
    isolation: bool = False,
) -> AnalysisResult:
    """Interfaces and verdicts.

    `explain` names a task or a server whose test is shown. With `sensitivity` domains and tasks
    say how far from their edge they are, with `isolation` the domains are judged once more, each
    whatever the others do. InputError for a name that is not there.
    """
    return Analysis(system).result(explain, sensitivity=sensitivity, isolation=isolation)


FLOW_MOVES = "a flow goes through a domain whose jobs move between vcpus: no test covers it"


class Analysis:
    """What is known of one system: each part is found when it is first asked for, and once.

    Whoever needs several of them shares one object: a run takes the interfaces and whether servers
    get their budgets, its report the whole result. InputError, from whatever is asked for first,
    for a system that no test can look at.

    With `verdicts_only` tests that decide nothing, because others were asked for or have said yes,
    are not asked. The result has no `tests` and no `paper` then, all else is the same; explanations
    and sensitivities are not for such an object.
    """

    def __init__(self, system: System, *, verdicts_only: bool = False) -> None:
        self._given = system
        self._verdicts_only = verdicts_only

    @cached_property
    def resolution(self) -> Resolution:
        """The system with every interface that could be computed, and why others could not."""
        return resolve_what_can_be(self._given)

    @property
    def system(self) -> System:
        """The system as far as its interfaces are known, each vcpu by itself where they differ."""
        return self.resolution.system

    @cached_property
    def _whole(self) -> System:
        """The system as far as its interfaces are known, with the domains of the file."""
        return self.resolution.known()

    @cached_property
    def _guests(self) -> list[GuestSupply]:
        """The domains whose jobs move between vcpus that may differ."""
        moving = [one for one in self._whole.domains if one.is_split and one.moves_jobs]
        if not moving:
            return []
        from hyperperiod.analysis.guests import GuestSupply

        return [
            GuestSupply(one, [self.contracts[name] for name in one.vcpu_names]) for one in moving
        ]

    def _guest(self, guest: GuestSupply, *, sensitivity: bool) -> GuestFound:
        """Returns verdict, tests, margins of a domain whose jobs move; no tests if flows do."""
        by_flows = self.flows.domains.get(guest.domain.name)
        verdict = by_flows or guest.judge()
        tests = () if by_flows else tuple(_test_result(one) for one in guest.tests())
        if not sensitivity:
            return GuestFound(verdict, tests)
        margins = None if by_flows else guest.sensitivity()
        if margins is None:
            return GuestFound(verdict, tests, None, {})
        from hyperperiod.analysis.domains.domain_sensitivity import task_result

        deadlines = {task.name: task.deadline_ns for task in guest.domain.tasks}
        return GuestFound(
            verdict,
            tests,
            DomainSensitivityResult(
                wcet_factor=None if margins.factor is None else float(margins.factor),
                wcet_factor_exact=None if margins.factor is None else str(margins.factor),
                least_budget_ns=None,
                spare_budget_ns=None,
                exact=False,
            ),
            {task.name: task_result(task, deadlines[task.name] or 0) for task in margins.tasks},
        )

    @cached_property
    def groups(self) -> list[Group]:
        """The servers that share pcpus: those of each pcpu, or all under a global policy."""
        return groups_of(self.system)

    @cached_property
    def hosts(self) -> list[HostVerdict]:
        """Whether the servers of each group get their budgets."""
        spare = self._spare_bandwidth()
        return [
            host_level(self.system.policy, group, spare, verdicts_only=self._verdicts_only)
            for group in self.groups
        ]

    @cached_property
    def contracts(self) -> dict[str, SupplyContract]:
        """The supply contract of each domain's server, by the name of the domain."""
        sbfs = (self.system.sbf,) if self._verdicts_only else tuple(Sbf)
        return contracts_of(self.system, self.groups, sbfs=sbfs)

    @cached_property
    def guaranteed(self) -> dict[str, Verdict]:
        """Whether the servers of each domain get their budgets, by the name of the domain."""
        return {
            self.system.domains[index].name: all_of(
                host.servers[number] for number in group.numbers_of(index)
            )
            for members, group, host in zip(
                domains_by_group(self.system), self.groups, self.hosts, strict=True
            )
            for index in members
        }

    @cached_property
    def flows(self) -> FlowAnalysis:
        """The analysis of all flows; its modules are loaded for systems that have some."""
        if not self.system.flows:
            return NO_FLOWS
        moving = [guest.domain for guest in self._guests]
        hops = {f"{one.name}.{task.name}" for one in moving for task in one.tasks}
        if any(hop in hops for flow in self.system.flows for hop in flow.hops):
            domains = [*self.system.domains, *moving]
            return unknown_flows(self.system.flows, domains, FLOW_MOVES)
        from hyperperiod.analysis.flows.end_to_end import analyze_flows

        return analyze_flows(self.system, self.contracts, self._not_guaranteed())

    @cached_property
    def _group_of_domain(self) -> dict[int, int]:
        return {
            index: number
            for number, members in enumerate(domains_by_group(self.system))
            for index in members
        }

    def result(
        self, explain: str | None = None, *, sensitivity: bool = False, isolation: bool = False
    ) -> AnalysisResult:
        """Verdicts of the whole system; the options are those of `analyze`."""
        parts = tuple(
            self._domain_under(
                Verdict.yes() if domain.name in self.flows.proved else self.guaranteed[domain.name],
                domain,
                sensitivity=sensitivity,
            )
            for domain in self.system.domains
        )
        guests = {
            guest.domain.name: self._guest(guest, sensitivity=sensitivity) for guest in self._guests
        }
        domains = whole_domains(self._whole, parts, guests)
        counted = [
            (found.schedulable, of_domain(found.name, found.reason))
            for found, domain in zip(domains, self._whole.domains, strict=True)
            if domain.is_served
        ]
        flows = self._flow_results() if self.system.flows else ()
        counted += [(one.schedulable, f"flow {one.name}: {one.reason}") for one in flows]
        whole = all_of(
            [Verdict(holds, "" if holds else reason) for holds, reason in counted]
            + [host.whole for host in self._open_hosts()]
        )
        return AnalysisResult(
            system=self.system.name,
            policy=str(self.system.policy),
            schedulable=whole.holds,
            reason=whole.reason,
            pcpus=self._pcpus(),
            domains=domains,
            flows=flows,
            spare=self._spare() if self.system.policy.slack is Slack.SPARE else None,
            explain=None if explain is None else self.explanation(explain),
            isolation=self._isolation(domains) if isolation else (),
        )

    def _isolation(self, found: Sequence[DomainResult]) -> tuple[DomainResult, ...]:
        """Returns each domain as it is judged whatever the others do; `found` is as they are."""
        from hyperperiod.analysis.isolation import isolated

        def judge(system: System) -> Sequence[DomainResult]:
            return Analysis(system, verdicts_only=True).result().domains

        return tuple(isolated(self._whole, found, judge))

    def explanation(self, name: str) -> Explanation:
        """Returns why the task or server is in time or not; InputError for an unknown name."""
        # Loaded where it is asked for: it has as many modules as all the tests.
        from hyperperiod.analysis.explain import explain, explain_moving

        for guest, task in ((one, task) for one in self._guests for task in one.domain.tasks):
            if name == f"{guest.domain.name}.{task.name}":
                rows = {row.name: row.tasks for row in self.result().domains}[guest.domain.name]
                row = next(row for row in rows if row.name == task.name)
                verdict = Verdict(row.schedulable, row.reason, row.response_bound_ns)
                return explain_moving(guest.domain, task, verdict, guest.supplies)
        name = name_in_parts(self._given, name, self.guaranteed)
        return explain(self.resolution, name, self.flows, self.guaranteed)

    def _flow_results(self) -> tuple[FlowResult, ...]:
        from hyperperiod.analysis.flows.results import flow_results

        found = flow_results(self.flows, self._outside())
        homes = {name: one.name for one in self._given.domains for name in part_names(one)}
        return tuple(
            flow.replace(
                hops=tuple(
                    hop.replace(domain=homes.get(hop.domain, hop.domain)) for hop in flow.hops
                )
            )
            for flow in found
        )

    def _open_hosts(self) -> list[HostVerdict]:
        """Hosts that say more than their domains.

        They do where a domain has no interface, and where too much is promised to all of them
        together; but what a test of whole flows proves asks for no budgets.
        """
        if not all(domain.interface or domain.best_effort for domain in self.system.domains):
            return self.hosts
        proved = {
            self._group_of_domain[index]
            for index, domain in enumerate(self.system.domains)
            if domain.name in self.flows.proved
        }
        return [
            host for number, host in enumerate(self.hosts) if host.overload and number not in proved
        ]

    def _pcpus(self) -> tuple[PcpuResult, ...]:
        """One per pcpu; under a global policy each has its share of the bandwidth."""
        found: list[PcpuResult] = []
        for group, host in zip(self.groups, self.hosts, strict=True):
            whole = host.whole
            paper = None if self._verdicts_only else self._paper(group)
            tests = tuple(_test_result(named) for named in host.tests)
            found += [
                PcpuResult(
                    id=pcpu,
                    bandwidth=float(group.bandwidth / group.pcpus),
                    test=host.test,
                    schedulable=whole.holds,
                    reason=whole.reason,
                    paper=paper,
                    tests=tests,
                )
                for pcpu in range(len(found), len(found) + group.pcpus)
            ]
        return tuple(found)

    def _paper(self, group: Group) -> PaperResult | None:
        """The ERTDS paper's verdict, where its theorems claim to apply."""
        policy = self.system.policy
        about = policy.budget is Budget.DEFERRABLE and policy.order is Order.EDF
        if not about or find_proof(Rules.of(policy)) is None:
            return None
        from hyperperiod.analysis.servers.ertds import paper_verdict

        paper = paper_verdict(group, self._spare_bandwidth())
        return PaperResult(
            theorem=paper.theorem,
            schedulable=paper.schedulable,
            total=float(paper.total),
            bound=float(paper.bound),
        )

    def _spare_bandwidth(self) -> Fraction | None:
        """The bandwidth of the spare; None under a policy without one."""
        spare = self.system.spare if self.system.policy.slack is Slack.SPARE else None
        return None if spare is None else spare.bandwidth

    def _spare(self) -> SpareResult:
        """The spare server, beside the largest by the paper's formula and what it surely gets."""
        spare = self.system.spare
        groups = [group for group in self.groups if group.servers]
        if spare is None or not groups:
            return SpareResult(period_ns=None, budget_ns=None)
        from hyperperiod.analysis.servers.ertds import certain_spare_ns, paper_spare_ns

        period_ns = spare.period_ns
        # A cbs or sporadic server may spend more than its share of one spare period.
        on_grid = self.system.policy.budget in (Budget.DEFERRABLE, Budget.POLLING)
        whole = all(
            period_ns % server.period_ns == 0 for group in groups for server in group.servers
        )
        certain = on_grid and whole and not any(group.lost for group in groups)
        return SpareResult(
            period_ns=period_ns,
            budget_ns=spare.budget_ns,
            paper_budget_ns=min(paper_spare_ns(group, period_ns) for group in groups),
            certain_budget_ns=min(certain_spare_ns(group, period_ns) for group in groups)
            if certain
            else None,
        )

    def _outside(self) -> dict[str, Verdict]:
        """By domain, what must hold for anything inside it to hold."""
        found = {name: all_of([*self._unsettled(), host]) for name, host in self.guaranteed.items()}
        return found | {
            guest.domain.name: all_of(found[name] for name in guest.domain.vcpu_names)
            for guest in self._guests
        }

    def _not_guaranteed(self) -> dict[str, str]:
        """By domain, why its servers may not get their budgets; those that do are left out."""
        return {name: host.reason for name, host in self.guaranteed.items() if not host.holds}

    def _domain_under(self, host: Verdict, domain: Domain, *, sensitivity: bool) -> DomainResult:
        """A domain whose servers get their budgets if `host` holds, and those inside it."""
        inside = self._inside(domain, self.contracts[domain.name])
        unsettled = self._unsettled()
        outside = all_of([*unsettled, host])
        parts = {name: _under(outside, verdict) for name, verdict in inside.parts.items()}
        inner = tuple(
            self._domain_under(parts[child.name], child, sensitivity=sensitivity)
            for child in domain.domains
        )
        whole = all_of(
            [
                inside.whole,
                *unsettled,
                *([] if domain.best_effort else [host]),
                all_of(Verdict(child.schedulable, child.reason) for child in inner),
            ]
        )
        margins = self._sensitivity(domain) if sensitivity else None
        utilization = domain.utilization
        return DomainResult(
            name=domain.name,
            vcpus=domain.vcpus,
            utilization=float(utilization),
            interface=interface_result(domain),
            interface_overhead=None
            if domain.interface is None
            else float(bandwidth_of(domain) - utilization),
            schedulable=whole.holds,
            reason=whole.reason,
            tests=tuple(_test_result(one) for one in self._tests(domain)),
            tasks=tuple(
                _task_result(
                    task,
                    parts[task.name],
                    ABSENT if margins is None else margins[1].get(task.name),
                )
                for task in domain.tasks
            ),
            algorithm1=self._optimum(domain),
            minimal_budget=self._minimal_budget(domain),
            dmpr=self._dmpr(domain),
            blackout_ns=self._blackout_ns(domain),
            sensitivity=ABSENT if margins is None else margins[0],
            domains=inner,
        )

    def _inside(self, domain: Domain, contract: SupplyContract) -> DomainVerdict:
        failures = self.resolution.failures
        stuck = next((d.name for d in (domain, *domain.domains) if d.name in failures), None)
        if stuck is None:
            return self.flows.domains.get(domain.name) or judge_domain(domain, contract)
        whole = failures[stuck]
        named = [task.name for task in domain.tasks] + [inner.name for inner in domain.domains]
        return DomainVerdict(whole, {name: Verdict.unknown(whole.reason) for name in named})

    def _unsettled(self) -> list[Verdict]:
        """Returns an unknown with the reason where swaps or changes are to come, else nothing."""
        if self.system.swaps or self.system.changes:
            return [Verdict.unknown("swaps or changes are to come: only the start is analysed")]
        return []

    def _tests(self, domain: Domain) -> tuple[NamedVerdict, ...]:
        """Returns what every test says of a domain; no test is about work that flows release."""
        if self._verdicts_only or domain.name in self.flows.domains:
            return ()
        return every_test(domain, self.contracts[domain.name])

    def _sensitivity(
        self, domain: Domain
    ) -> tuple[DomainSensitivityResult | None, Mapping[str, TaskSensitivityResult]]:
        """Returns the margins of the domain, and of its tasks by name; None and none if unknown."""
        from hyperperiod.analysis.domains.domain_sensitivity import (
            domain_result,
            domain_sensitivity,
            task_result,
        )

        if domain.interface is None or domain.windows or domain.name in self.flows.domains:
            return None, {}
        contract, quantum_ns = self.contracts[domain.name], self.system.quantum_ns
        found = domain_sensitivity(domain, contract, quantum_ns, self._tried(domain))
        if found is None:
            return None, {}
        tasks = {
            task.name: task_result(found.tasks[task.name], task.deadline_ns)
            for task in domain.tasks
            if task.name in found.tasks and task.deadline_ns is not None
        }
        return domain_result(found), tasks

    def _tried(self, domain: Domain) -> Tried | None:
        """Other budgets for a domain of the host; those of inner ones change nothing else."""
        from hyperperiod.analysis.tried import Tried

        index = next((i for i, one in enumerate(self.system.domains) if one is domain), None)
        if index is None:
            return None
        number = self._group_of_domain[index]
        contract = self.contracts[domain.name]
        return Tried(self.system, index, contract, self.groups[number], self.hosts[number])

    def _blackout_ns(self, domain: Domain) -> int | None:
        """Returns the longest time that a partition is without its pcpu; None of a server."""
        known = self.contracts[domain.name].known if domain.windows else None
        return known.supplies[0].blackout_ns if known else None

    def _optimum(self, domain: Domain) -> OptimumResult | None:
        """Returns how Algorithm 1 found the interface; None if it did not."""
        optimum = self.resolution.optima.get(domain.name)
        if optimum is None:
            return None
        return OptimumResult(
            periods_tried=optimum.periods_tried,
            periods_pruned=optimum.periods_pruned,
            bound_ns=optimum.bound_ns,
            exact=optimum.exact,
        )

    def _minimal_budget(self, domain: Domain) -> MinimalBudgetResult | None:
        """Returns how the budget of a given period was computed; None if it was not."""
        found = self.resolution.budgets.get(domain.name)
        if found is None or domain.name in self.resolution.optima:
            return None
        return MinimalBudgetResult(exact=found.exact)

    def _dmpr(self, domain: Domain) -> DmprResult | None:
        """Returns what whole vcpus and a part of one would need in place of a domain under gedf."""
        if domain.scheduler is not Scheduler.GEDF:
            return None
        from hyperperiod.analysis.domains.dmpr import dmpr_result

        return dmpr_result(domain, self.contracts[domain.name], self.system.quantum_ns)


def of_domain(name: str, reason: str) -> str:
    """Reasons from the host level begin with the name of the server already."""
    return reason if reason.startswith(name) else f"domain {name}: {reason}"


def _under(outside: Verdict, verdict: Verdict) -> Verdict:
    """Returns the verdict inside, unknown where a yes of it rests on what is not proved outside."""
    if outside.holds or not verdict.holds:
        return verdict
    return Verdict.unknown(outside.reason)


def _test_result(named: NamedVerdict) -> TestResult:
    """Returns a test's verdict as results show it, beside others."""
    return TestResult(
        test=named.test,
        source=named.source,
        sound=named.sound,
        schedulable=named.verdict.holds,
        reason=named.verdict.reason,
    )


def _task_result(
    task: Task, verdict: Verdict, sensitivity: TaskSensitivityResult | Absent | None
) -> TaskResult:
    return TaskResult(
        name=task.name,
        deadline_ns=task.deadline_ns,
        response_bound_ns=verdict.bound_ns if verdict.holds else None,
        schedulable=verdict.holds,
        reason=verdict.reason,
        sensitivity=sensitivity,
    )
