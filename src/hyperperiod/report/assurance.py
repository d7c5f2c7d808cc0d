# SPDX-License-Identifier: BSD-2-Clause
"""A folder for a safety case: what is claimed of a system, on what grounds, and who checked it.

`assurance.md` says it in words and tables: the claim, the assumptions it rests on, what the
checkers of the certificate said, the evidence for each server and task, measured maxima beside the
bounds, what is not certified, and what has to be trusted. `argument.svg` is the same as a picture
in the Goal Structuring Notation (GSN Community Standard, version 3): goals are boxes, the strategy
leans, contexts have round corners, assumptions are ovals, solutions circles. Nothing is claimed
that the certificate does not have: a goal without evidence stands there as undeveloped, with a
diamond.

Times are integers in nanoseconds; measured ones are those of runs (`hosts.result`).
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from hyperperiod.analysis.certificate import Certificate, DomainEvidence
from hyperperiod.analysis.result import AnalysisResult
from hyperperiod.hosts.result import RunResult
from hyperperiod.model import System, Task
from hyperperiod.report.numbers import duration, times
from hyperperiod.report.page import fill

MOST_GOALS: Final = 6
"""So many domains have a goal each in the picture; more share one."""


class Checked(NamedTuple):
    """What a checker said of the certificate: how it was called, which program, its answer."""

    command: str
    sha256: str
    exit_code: int
    said: str


class TaskRow(NamedTuple):
    """A task: what decides that it is in time, its bound, and the worst that runs saw."""

    domain: str
    task: str
    deadline_ns: int | None
    evidence: str
    bound_ns: int | None
    seen_ns: int | None
    jobs: int
    misses: int

    @property
    def is_above(self) -> bool:
        """Whether a run saw more than the bound allows."""
        return self.bound_ns is not None and (self.seen_ns or 0) > self.bound_ns


@dataclass(frozen=True)
class Assurance:
    """What is known of a system: its analysis, the certificate, who checked it, what runs saw.

    `files` has the names of the files beside the page with their hashes (SHA-256).
    """

    system: System
    result: AnalysisResult
    certificate: Certificate
    checked: Sequence[Checked]
    runs: Sequence[RunResult]
    files: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def tasks(self) -> list[TaskRow]:
        """All tasks with a deadline of domains that are promised anything, in the file's order."""
        certified = {one.domain: one for one in self.certificate.domains}
        bounds = {
            (domain.name, task.name): task.response_bound_ns
            for domain in self.result.domains
            for task in domain.tasks
        }
        return [
            self._row(domain.name, task, certified, bounds)
            for domain in self.system.domains
            if domain.is_served
            for task in domain.tasks
            if task.deadline_ns is not None
        ]

    def _row(
        self,
        domain: str,
        task: Task,
        certified: Mapping[str, DomainEvidence],
        bounds: Mapping[tuple[str, str], int | None],
    ) -> TaskRow:
        entries = [
            seen
            for run in self.runs
            for inside in run.domains
            if inside.name == domain
            for seen in inside.tasks
            if seen.name == task.name
        ]
        responses = [seen.response_ns.max for seen in entries if seen.response_ns is not None]
        return TaskRow(
            domain,
            task.name,
            task.deadline_ns,
            self._evidence_text(certified.get(domain), f"{domain}.{task.name}"),
            bounds.get((domain, task.name)),
            max(responses, default=None),
            sum(seen.jobs for seen in entries),
            sum(seen.misses for seen in entries),
        )

    def _evidence_text(self, evidence: DomainEvidence | None, name: str) -> str:
        """Returns what the certificate has of a task, `domain.task`, in words."""
        if evidence is None:
            return "none"
        visits = [
            hop.response for flow in self.certificate.flows for hop in flow.hops if hop.hop == name
        ]
        if visits:
            return f"responses of {times(len(visits), 'hop')}, up to {duration(max(visits))}"
        if evidence.horizon is not None:
            points = times(len(evidence.points), "window")
            return f"{points} of its domain up to {duration(evidence.horizon)}"
        own = next(one for one in evidence.tasks if f"{evidence.domain}.{one.task}" == name)
        if own.jobs:
            return f"a window for each of {times(len(own.jobs), 'job')} in {duration(own.window)}"
        asked, got = duration(own.demand), duration(own.supply)
        return f"in {duration(own.window)}: {asked} asked for, {got} supplied"

    @property
    def items(self) -> str:
        """Returns what the claim names beside the jobs of tasks; empty where there are no flows."""
        flows = self.system.flows
        return f" and no item of {times(len(flows), 'flow')}" if flows else ""

    @property
    def not_promised(self) -> list[str]:
        """Domains that are promised nothing, so that nothing of them is to be certified."""
        return [one.name for one in self.system.domains if not one.is_served]

    @property
    def gaps(self) -> list[str]:
        """What keeps the claim from holding for the whole system, in words; empty if nothing."""
        open_ = [
            f"{one.domain} is not certified: {one.why}"
            for one in self.certificate.not_certified
            if one.domain not in self.not_promised
        ]
        open_ += [
            f"flow {one.flow} is not certified: {one.why}"
            for one in self.certificate.flows
            if one.why is not None
        ]
        refused = [f"{one.command} says: {one.said}" for one in self.checked if one.exit_code]
        late = [
            f"{row.domain}.{row.task} took {duration(row.seen_ns)} in a run, above its bound"
            for row in self.tasks
            if row.is_above
        ]
        late += [
            f"{row.domain}.{row.task} was late {times(row.misses, 'time')} in runs"
            for row in self.tasks
            if row.misses
        ]
        unchecked = [] if self.checked else ["no checker has looked at the certificate"]
        return [*open_, *unchecked, *refused, *late]

    @property
    def is_whole(self) -> bool:
        """Whether all that is promised is certified and checked, and no run speaks against it."""
        return not self.gaps

    def page(self) -> str:
        """Returns the page, as Markdown."""
        return fill("assurance.md.j2", it=self)

    def picture(self) -> str:
        """Returns the argument in the Goal Structuring Notation, as SVG."""
        return fill("argument.svg.j2", it=_Argument.of(self))


@dataclass(frozen=True)
class _Node:
    """A shape of the picture: `kind` is that of the notation, x and y its middle."""

    kind: str
    name: str
    lines: Sequence[str]
    x: float
    y: float
    developed: bool = True


@dataclass(frozen=True)
class _Argument:
    """The nodes of the picture with arrows between them: `supports` filled, `context` open."""

    title: str
    width: float
    height: float
    nodes: Sequence[_Node]
    supports: Sequence[tuple[float, float, float, float]]
    context: Sequence[tuple[float, float, float, float]]

    WIDE: Final = 190.0
    HIGH: Final = 84.0
    GAP: Final = 34.0

    @classmethod
    def of(cls, about: Assurance) -> _Argument:
        """Lays out the argument: claim, strategy, a goal for each domain, and their evidence."""
        goals = _goals(about)
        columns = max(3, len(goals))
        step, across = cls.WIDE + cls.GAP, cls.HIGH + 52
        width = columns * step + cls.GAP
        middle, top = width / 2, 104.0
        count = times(len(about.tasks), "task")
        claim = f"No job of {count} of {about.system.name}{about.items} is late, in any run"
        rules = f"{about.system.name}: policy {about.system.policy}, the file that is hashed"
        nodes = [
            _node("goal", "G1", claim, middle, top, developed=about.is_whole),
            _node("context", "C1", rules, middle - step, top),
            _node("assumption", "A1", _assumed(about), middle + step, top),
            _node("strategy", "S1", "Over domains, each on its server", middle, top + across),
        ]
        half = cls.HIGH / 2
        supports = [(middle, top + half, middle, top + across - half)]
        context = [
            (middle - cls.WIDE / 2, top, middle - step + cls.WIDE / 2, top),
            (middle + cls.WIDE / 2, top, middle + step - cls.WIDE / 2, top),
        ]
        left = middle - (len(goals) - 1) * step / 2
        below, last = top + 2 * across, top + 3 * across
        for number, (text, found) in enumerate(goals):
            x = left + number * step
            nodes.append(_node("goal", f"G{number + 2}", text, x, below, developed=bool(found)))
            supports.append((middle, top + across + half, x, below - half))
            if found:
                nodes.append(_node("solution", f"Sn{number + 1}", found, x, last))
                supports.append((x, below + half, x, last - half - 8))
        return cls(claim, width, last + half + 40, nodes, supports, context)


def _node(kind: str, name: str, text: str, x: float, y: float, *, developed: bool = True) -> _Node:
    wide = {"solution": 13, "assumption": 24, "strategy": 24}.get(kind, 28)
    lines = textwrap.wrap(text, wide, max_lines=4, placeholder=" …")
    return _Node(kind, name, lines, x, y, developed)


def _assumed(about: Assurance) -> str:
    count = times(len(about.certificate.assumptions), "assumption")
    return f"{count} on tasks and host, on the page"


def _goals(about: Assurance) -> list[tuple[str, str]]:
    """Texts of the goals below the claim with those of their solutions, empty where there is none.

    The last one is what runs saw, if there were any.
    """
    served = [one for one in about.system.domains if one.is_served]
    certified = {one.domain for one in about.certificate.domains}
    budgets = {one.domain: one for one in about.certificate.servers}
    checked = about.checked and not any(one.exit_code for one in about.checked)
    how = "certificate, checked" if checked else "certificate, not checked"
    goals = []
    if len(served) <= MOST_GOALS:
        for domain in served:
            server = budgets.get(domain.name)
            text = f"Tasks of {domain.name} are in time"
            if server is not None:
                text += f" on a server of {duration(server.budget)} in {duration(server.period)}"
            goals.append((text, how if domain.name in certified else ""))
    else:
        proved = times(len(certified), "domain")
        if certified:
            goals.append((f"Tasks of {proved} are in time on their servers", how))
        if len(served) > len(certified):
            other = times(len(served) - len(certified), "other domain")
            goals.append((f"Tasks of {other} are in time", ""))
    if about.system.flows:
        open_ = [one for one in about.certificate.flows if one.why is not None]
        text = f"Items of {times(len(about.system.flows), 'flow')} are through by their deadlines"
        goals.append((text, "" if open_ else how))
    if about.runs:
        jobs = sum(row.jobs for row in about.tasks)
        late = any(row.misses or row.is_above for row in about.tasks)
        said = "" if late else f"{times(len(about.runs), 'run')}, {times(jobs, 'job')}"
        goals.append(("What runs saw is within the bounds", said))
    return goals
