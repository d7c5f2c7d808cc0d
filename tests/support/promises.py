# SPDX-License-Identifier: BSD-2-Clause
"""What a run on any host must keep: promises of the analysis, and the properties of traces."""

from collections.abc import Mapping
from pathlib import Path

from hyperperiod.analysis import AnalysisResult
from hyperperiod.analysis.result import FlowResult, TaskResult
from hyperperiod.hosts.result import RunFlow, RunResult, RunTask
from hyperperiod.model import System
from hyperperiod.trace.check import check_file
from hyperperiod.trace.properties import Status


def require_promises(name: str, verdict: AnalysisResult, result: RunResult) -> None:
    """Asserts that no job or item of a run is late, and that none takes longer than its bound."""
    pairs: list[tuple[TaskResult | FlowResult, RunTask | RunFlow]]
    pairs = list(zip(verdict.flows, result.flows, strict=True))
    for promised, domain in zip(verdict.domains, result.domains, strict=True):
        pairs += list(zip(promised.tasks, domain.tasks, strict=True))
    for bound, found in pairs:
        where = f"{name} {found.name}"
        assert found.misses == 0, where
        if bound.response_bound_ns is not None and found.response_ns is not None:
            assert found.response_ns.max <= bound.response_bound_ns, where


def require_properties(path: Path) -> None:
    """Asserts that `trace check` finds nothing in a trace."""
    checked = check_file(path)
    assert not checked.interrupted
    for one, finding in checked.findings:
        assert finding.status is not Status.FAILS, (path, one.name, finding.violations[:3])


def nothing_is_lost(system: System, result: RunResult) -> None:
    """Every item was dropped, has left, or is one of at most `queue` on their way."""
    for flow, found in zip(system.flows, result.flows, strict=True):
        on_way = found.items - found.dropped - found.finished
        assert 0 <= on_way <= flow.queue, flow.name


def require_budgets(
    system: System, used: Mapping[str, float], donated: Mapping[str, float], horizon_ns: int
) -> None:
    """No server has more than its bandwidth and a budget of the period before; nor the spare."""
    for domain in system.domains:
        assert domain.interface is not None
        allowed = float(domain.interface.bandwidth) + 2 * domain.interface.budget_ns / horizon_ns
        assert used[domain.name] - donated[domain.name] <= allowed
    spare = system.spare
    most = 0.0 if spare is None else float(spare.bandwidth) + 2 * spare.budget_ns / horizon_ns
    assert sum(donated.values()) <= most
