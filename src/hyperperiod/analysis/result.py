# SPDX-License-Identifier: BSD-2-Clause
"""The result of an analysis: what `analyze` returns and `--json` prints.

`schedulable` is true, false or null (`verdict`), and `reason` stands beside every false and null.
Times are whole nanoseconds. docs/formats.md has every key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hyperperiod.analysis.explain_result import Explanation
from hyperperiod.model.absent import ABSENT, Absent
from hyperperiod.model.result_object import ResultObject
from hyperperiod.model.vcpus import InterfaceResult
from hyperperiod.tabular import Row, Tabular

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes


class TestResult(ResultObject):
    """The verdict of one published test; `sound` is whether a yes of it counts."""

    __test__ = False  # of pytest, which would take the name for one of its own

    test: str
    source: str
    sound: bool
    schedulable: bool | None
    reason: str = ""


class PaperResult(ResultObject):
    """The ERTDS paper's own verdict on the servers of a pcpu; it never counts."""

    theorem: str
    schedulable: bool
    total: float
    bound: float


class PcpuResult(ResultObject):
    """Whether the servers of a pcpu get their budgets; under a global policy all say the same."""

    id: int
    bandwidth: float
    test: str
    schedulable: bool | None
    reason: str = ""
    paper: PaperResult | None = None
    tests: tuple[TestResult, ...]


class TaskSensitivityResult(ResultObject):
    """The margins of a task, the others as they are; null where they are not known."""

    shortest_deadline_ns: int | None
    slack_ns: int | None
    largest_wcet_ns: int | None
    extra_wcet_ns: int | None
    exact: bool


class TaskResult(ResultObject):
    """Whether a task meets its deadline, and a bound on its response where one is proved."""

    name: str
    deadline_ns: int | None
    response_bound_ns: int | None
    schedulable: bool | None
    reason: str = ""
    sensitivity: TaskSensitivityResult | Absent | None = ABSENT


class OptimumResult(ResultObject):
    """The search of Algorithm 1 for an interface, in numbers."""

    periods_tried: int
    periods_pruned: int
    bound_ns: int
    exact: bool


class MinimalBudgetResult(ResultObject):
    """The search for the least budget of a period: exact, or up to what was too hard."""

    exact: bool


class DmprResult(ResultObject):
    """Instead of equal vcpus: whole ones, and a last one with a budget in the same period."""

    whole_pcpus: int
    budget_ns: int | None
    bandwidth: float | None


class DomainSensitivityResult(ResultObject):
    """The margins of a domain: of all its work, and of its budget in the same period."""

    wcet_factor: float | None
    wcet_factor_exact: str | None
    least_budget_ns: int | None
    spare_budget_ns: int | None
    exact: bool


class VcpuResult(ResultObject):
    """One vcpu of a domain whose vcpus may differ: its interface, and whether its tasks are served.

    Of a domain whose jobs move between its vcpus: whether the vcpu gets its budget.
    """

    name: str
    pcpu: int | None
    utilization: float
    interface: InterfaceResult | None
    interface_overhead: float | None
    schedulable: bool | None
    reason: str = ""
    tests: tuple[TestResult, ...]
    algorithm1: OptimumResult | None = None
    minimal_budget: MinimalBudgetResult | None = None
    sensitivity: DomainSensitivityResult | Absent | None = ABSENT


class DomainResult(ResultObject):
    """A domain: its interface, whether its tasks are served, and the domains inside it.

    `each_vcpu` is there if its vcpus may differ; `interface` is what all of them have, or null.
    """

    name: str
    vcpus: int
    utilization: float
    interface: InterfaceResult | None
    interface_overhead: float | None
    schedulable: bool | None
    reason: str = ""
    tests: tuple[TestResult, ...]
    tasks: tuple[TaskResult, ...]
    algorithm1: OptimumResult | None = None
    minimal_budget: MinimalBudgetResult | None = None
    dmpr: DmprResult | None = None
    blackout_ns: int | None = None
    sensitivity: DomainSensitivityResult | Absent | None = ABSENT
    each_vcpu: tuple[VcpuResult, ...] = ()
    domains: tuple[DomainResult, ...] = ()


class HopResult(ResultObject):
    """One hop of a flow: its bound is from the release there to the completion there."""

    domain: str
    task: str
    response_bound_ns: int | None


class FlowPaperResult(ResultObject):
    """A paper's own verdict on a driver loop; it never counts."""

    test: str
    schedulable: bool


class FlowResult(ResultObject):
    """Whether the items of a flow are in time from end to end."""

    name: str
    deadline_ns: int
    response_bound_ns: int | None
    schedulable: bool | None
    reason: str = ""
    paper: FlowPaperResult | None = None
    throughput_bound_hz: float | Absent | None = ABSENT
    hops: tuple[HopResult, ...]


class SpareResult(ResultObject):
    """The spare server, beside the largest by the paper's formula and what it surely gets."""

    period_ns: int | None
    budget_ns: int | None
    paper_budget_ns: int | None = None
    certain_budget_ns: int | Absent | None = ABSENT


class BoundGuest(ResultObject):
    """The bandwidth that a guest whose jobs move would need with its tasks bound to vcpus.

    `bandwidth` is that of all its vcpus under the local `scheduler`, each task on its number of
    `vcpus`; `moving` is what it needs as it is, null where that is not known.
    """

    domain: str
    scheduler: str
    bandwidth: float
    moving: float | None
    vcpus: Mapping[str, int]


class AnalysisResult(ResultObject, Tabular):
    """The result of the analysis of a system, before it runs.

    `isolation` is there if it was asked for: the domains again, each as it is judged when nothing
    is known of the tasks of all others.
    """

    system: str
    policy: str
    schedulable: bool | None
    reason: str = ""
    pcpus: tuple[PcpuResult, ...]
    domains: tuple[DomainResult, ...]
    flows: tuple[FlowResult, ...] = ()
    spare: SpareResult | None = None
    bound: tuple[BoundGuest, ...] = ()
    explain: Explanation | None = None
    isolation: tuple[DomainResult, ...] = ()

    TABLES = ("tasks", "domains", "pcpus", "flows")

    @property
    def not_judged(self) -> list[str]:
        """The tasks that no verdict is about, by name: without a deadline, or best effort."""
        return [
            f"{domain.name}.{task.name}"
            for domain in _every_domain(self.domains)
            for task in domain.tasks
            if task.deadline_ns is None or is_best_effort(domain)
        ]

    @property
    def is_judged(self) -> bool:
        """Whether the verdict is about a deadline of any task or flow."""
        tasks = sum(len(domain.tasks) for domain in _every_domain(self.domains))
        return bool(self.flows) or tasks > len(self.not_judged)

    @property
    def not_proved(self) -> list[str]:
        """The tasks and flows with a deadline that is not proved to hold, by name."""
        tasks = [
            f"{domain.name}.{task.name}"
            for domain in _every_domain(self.domains)
            for task in domain.tasks
            if task.deadline_ns is not None and task.schedulable is not True
        ]
        flows = [f"flow {flow.name}" for flow in self.flows if flow.schedulable is not True]
        return [*tasks, *flows]

    @property
    def without_room(self) -> list[str]:
        """The domains whose servers have just the time that their tasks ask for, by name."""
        return [
            domain.name
            for domain in _every_domain(self.domains)
            if domain.interface_overhead == 0 and domain.utilization
        ]

    @property
    def headline(self) -> str:
        words = {True: "schedulable", False: "not schedulable", None: "unknown"}
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.system} under {self.policy}: {words[self.schedulable]}{reason}"

    def _rows(self, table: str) -> Iterator[Row]:
        match table:
            case "tasks":
                for domain in _every_domain(self.domains):
                    for task in domain.tasks:
                        verdict = _columns(task, "deadline_ns", "response_bound_ns", "schedulable")
                        yield {"domain": domain.name, "task": task.name, **verdict}
            case "flows":
                for flow in self.flows:
                    verdict = _columns(flow, "deadline_ns", "response_bound_ns", "schedulable")
                    yield {"flow": flow.name, **verdict}
            case "domains":
                for domain in _every_domain(self.domains):
                    interface = domain.interface
                    yield {
                        "domain": domain.name,
                        **_columns(domain, "vcpus", "utilization"),
                        "period_ns": interface.period_ns if interface else None,
                        "budget_ns": interface.budget_ns if interface else None,
                        **_columns(domain, "interface_overhead", "schedulable"),
                    }
            case _:
                for pcpu in self.pcpus:
                    yield {"pcpu": pcpu.id, **_columns(pcpu, "bandwidth", "test", "schedulable")}

    def _draw(self, ax: Axes) -> None:
        """Draws the response bound of each task and flow as a share of its deadline."""
        from hyperperiod.plots import draw_shares

        names, shares = [], []
        for row in [*self._rows("tasks"), *self._rows("flows")]:
            bound_ns, deadline_ns = row["response_bound_ns"], row["deadline_ns"]
            if deadline_ns is not None:
                names.append(f"{row['domain']}.{row['task']}" if "task" in row else row["flow"])
                shares.append(None if bound_ns is None else bound_ns / deadline_ns)
        draw_shares(ax, names, shares, "response bound, of the deadline")


def is_best_effort(domain: DomainResult | VcpuResult) -> bool:
    """Whether a domain has no interface because it wants none; the analysis says why."""
    return domain.interface is None and domain.reason.startswith("best effort")


def _columns(one: ResultObject, *names: str) -> Row:
    return {name: getattr(one, name) for name in names}


def _every_domain(domains: Sequence[DomainResult]) -> Iterator[DomainResult]:
    """The domains at all depths, outer ones before those in them."""
    for domain in domains:
        yield domain
        yield from _every_domain(domain.domains)
