# SPDX-License-Identifier: BSD-2-Clause
"""Runs scenarios under policies and puts our rows beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hyperperiod.model import GuestKind, Policy
from hyperperiod.papers.claim import Claim
from hyperperiod.papers.latency.claims import claims_of
from hyperperiod.papers.latency.figures import LabRow, paper_row
from hyperperiod.papers.latency.result import (
    LatencyNeighbour,
    LatencyResult,
    LatencyServer,
    LatencySettingResult,
    ScenarioResult,
)
from hyperperiod.papers.latency.rt_xen_defect import QUIRKS, measure_defect
from hyperperiod.papers.latency.settings import GivenServer, LatencySetting, Scenario
from hyperperiod.papers.latency.simulated import measure_simulated

Measure = Callable[[Scenario, LatencySetting, Policy, int, int], LabRow]
"""A host: one setting under one policy, so many runs, a seed."""


LONGEST_NS: dict[str, int | None] = {"sim": None, "xen": 200_000_000, "linux": 200_000_000}
"""How long a test is at most where the plan does not say; an emulated machine takes its time."""


@dataclass(frozen=True)
class Plan:
    """What to measure. `runs` replaces what the settings ask for, `longest_ns` cuts it. On Xen
    `guest` is what runs in the VM under test."""

    host: str
    scenarios: Sequence[Scenario]
    policies: Sequence[Policy]
    quirks: Sequence[str] = ()
    runs: int | None = None
    longest_ns: int | None = None
    seed: int = 1
    guest: GuestKind = GuestKind.EXECUTIVE

    def settings_of(self, scenario: Scenario) -> list[LatencySetting]:
        """The settings of a scenario that the guest can be in."""
        return [one for one in scenario.settings if self.guest.is_linux or not one.forks]

    @property
    def where(self) -> str:
        """The host, and the guest if that is another than usual, as a title has them."""
        return f"{self.host} with {self.guest}" if self.guest.is_linux else self.host


@dataclass(frozen=True)
class MeasuredSetting:
    """A setting with the rows of the paper and ours."""

    setting: LatencySetting
    rows: list[LabRow]


@dataclass(frozen=True)
class ScenarioOutcome:
    """A scenario measured, and what it shows."""

    scenario: Scenario
    settings: list[MeasuredSetting]
    claims: list[Claim]

    @property
    def result(self) -> ScenarioResult:
        """The scenario as `--json` prints it."""
        return ScenarioResult(
            name=self.scenario.name,
            title=self.scenario.title,
            source=self.scenario.source,
            settings=tuple(_setting_result(one) for one in self.settings),
            claims=tuple(self.claims),
        )


@dataclass(frozen=True)
class Results:
    """What was measured; after Ctrl-C up to there."""

    outcomes: list[ScenarioOutcome]
    interrupted: bool

    def result(self, plan: Plan) -> LatencyResult:
        """What `--json` prints of a plan that was measured."""
        return LatencyResult(
            host=plan.host,
            guest=plan.guest.value,
            seed=plan.seed,
            policies=tuple(str(policy) for policy in plan.policies),
            quirks=tuple(plan.quirks),
            interrupted=self.interrupted,
            scenarios=tuple(outcome.result for outcome in self.outcomes),
        )


def measure(plan: Plan, progress: Callable[[int], None] | None = None) -> Results:
    """Everything in the plan; `progress` is called with the number of rows measured so far."""
    rows: list[tuple[Scenario, LatencySetting, LabRow]] = []
    interrupted = False
    try:
        for one in _measured(plan):
            rows.append(one)
            if progress is not None:
                progress(len(rows))
    except KeyboardInterrupt:
        interrupted = True
    outcomes = [_outcome(plan, scenario, rows) for scenario in plan.scenarios]
    return Results([one for one in outcomes if one.settings], interrupted)


def _measured(plan: Plan) -> Iterator[tuple[Scenario, LatencySetting, LabRow]]:
    """Our rows, one after the other, with what they are about."""
    host = host_of(plan.host, plan.guest)
    for scenario in plan.scenarios:
        for setting in plan.settings_of(scenario):
            for row in _ours(plan, host, scenario, _cut(plan, setting)):
                yield scenario, setting, row


def _outcome(
    plan: Plan, scenario: Scenario, rows: Sequence[tuple[Scenario, LatencySetting, LabRow]]
) -> ScenarioOutcome:
    """The rows of a scenario beside the paper's; only settings of which there are any."""
    settings = []
    for setting in scenario.settings:
        ours = [row for where, what, row in rows if where is scenario and what is setting]
        if ours:
            printed = [paper_row(scenario, setting, figures) for figures in setting.paper]
            settings.append(MeasuredSetting(_cut(plan, setting), _side_by_side(printed + ours)))
    return ScenarioOutcome(scenario, settings, claims_of(scenario, settings_rows(settings)))


def host_of(name: str, guest: GuestKind = GuestKind.EXECUTIVE) -> Measure:
    """What measures a setting there, on Xen with such a guest."""
    if name == "sim":
        return measure_simulated
    if name == "xen":
        from hyperperiod.papers.latency.on_xen import measure_on_xen

        return partial(measure_on_xen, guest=guest)
    from hyperperiod.papers.latency.on_linux import measure_on_linux

    return measure_on_linux


def rows_of(plan: Plan) -> int:
    """How many rows `measure` will measure."""
    return sum(
        len(plan.policies) + sum(_shows(quirk, scenario, setting) for quirk in plan.quirks)
        for scenario in plan.scenarios
        for setting in plan.settings_of(scenario)
    )


def settings_rows(settings: Sequence[MeasuredSetting]) -> list[tuple[LatencySetting, list[LabRow]]]:
    """Each setting with the rows that are ours."""
    return [(one.setting, [row for row in one.rows if row.source == "ours"]) for one in settings]


def _cut(plan: Plan, setting: LatencySetting) -> LatencySetting:
    """The setting with tests as long and as many as the plan wants."""
    longest_ns = plan.longest_ns or LONGEST_NS[plan.host] or setting.test_time_ns
    test_time_ns = min(setting.test_time_ns, longest_ns)
    runs = None if plan.host == "sim" else setting.runs_in_machine
    return setting.replace(test_time_ns=test_time_ns, runs=plan.runs or runs or setting.runs)


def _ours(
    plan: Plan, host: Measure, scenario: Scenario, setting: LatencySetting
) -> Iterator[LabRow]:
    for quirk in plan.quirks:
        if _shows(quirk, scenario, setting):
            row = measure_defect(quirk, scenario, setting, setting.runs, plan.seed)
            yield replace(row, label=quirk)
    for policy in plan.policies:
        yield host(scenario, setting, policy, setting.runs, plan.seed)


def _shows(quirk: str, scenario: Scenario, setting: LatencySetting) -> bool:
    """Whether the paper has this setting for a server that the quirk is about."""
    about = QUIRKS[quirk]
    return (
        scenario.test == "clocktick"
        and not setting.neighbours
        and any(printed.policy in about for printed in setting.paper)
    )


def _side_by_side(rows: list[LabRow]) -> list[LabRow]:
    """Each policy's rows together: the paper's, a quirk's, ours; policies in order of ours."""
    order = {row.policy: place for place, row in enumerate(rows) if row.source == "ours"}
    ranks = {"paper": 0, "ours": 2}
    return sorted(
        rows, key=lambda row: (order.get(row.policy, len(rows)), ranks.get(row.source, 1))
    )


def _setting_result(one: MeasuredSetting) -> LatencySettingResult:
    setting = one.setting
    return LatencySettingResult(
        name=setting.name,
        test_time_ns=setting.test_time_ns,
        pause_ns=setting.pause_ns,
        under_test=_server_result(setting.under_test),
        neighbours=tuple(
            LatencyNeighbour(**vars(_server_result(neighbour)), running=neighbour.running)
            for neighbour in setting.neighbours
        ),
        rows=tuple(row.result for row in one.rows),
    )


def _server_result(server: GivenServer) -> LatencyServer:
    interface = server.interface
    return LatencyServer(
        budget_ns=interface.budget_ns,
        period_ns=interface.period_ns,
        paper_budget_ns=server.budget_ns,
        priority=server.priority,
    )
