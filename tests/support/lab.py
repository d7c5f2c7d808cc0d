# SPDX-License-Identifier: BSD-2-Clause
"""The latency lab for tests of its hosts: some settings of a scenario, and their rows."""

from __future__ import annotations

import pytest

from hyperperiod.model import PRESETS, GuestKind
from hyperperiod.papers.latency import Plan, load_scenarios, measure
from hyperperiod.papers.latency.figures import LabRow
from hyperperiod.papers.latency.lab import settings_rows
from hyperperiod.papers.latency.settings import Scenario

MS = 1_000_000
POLICIES = [policy for name, policy in PRESETS.items() if "hsf" not in name]


def only(scenario: str, *settings: str) -> Scenario:
    """A scenario with these settings."""
    (found,) = load_scenarios((scenario,))
    chosen = tuple(setting for setting in found.settings if setting.name in settings)
    assert len(chosen) == len(settings)
    return found.replace(settings=chosen)


def rows(
    host: str,
    scenario: Scenario,
    policies: str,
    runs: int | None = None,
    guest: GuestKind = GuestKind.EXECUTIVE,
) -> list[LabRow]:
    """Our rows, setting by setting, once all claims hold."""
    chosen = [PRESETS[name] for name in policies.split()]
    plan = Plan(host, [scenario], chosen, runs=runs, longest_ns=100 * MS, guest=guest)
    (outcome,) = measure(plan).outcomes
    assert [claim.ours for claim in outcome.claims if not claim.holds] == []
    return [row for _, found in settings_rows(outcome.settings) for row in found]


def agree(host: str, scenario: Scenario, policies: str, runs: int, kernel_ns: int) -> None:
    """Rows of a host are as the simulator says: but for what its kernel takes of a loop, at most so
    long (ns)."""
    measured = rows(host, scenario, policies, runs)
    simulated = rows("sim", scenario, policies, runs)
    for real, predicted in zip(measured, simulated, strict=True):
        assert real.runs == runs
        assert real.longest_ns is not None
        assert predicted.longest_ns is not None
        assert abs(real.longest_ns - predicted.longest_ns) <= kernel_ns
        assert real.tick_only is not None
        assert predicted.tick_only is not None
        # The tests begin at other places of the period; 30 of them say so much.
        assert abs(real.tick_only - predicted.tick_only) <= 0.2
        if real.stretch is not None:
            assert predicted.stretch is not None
            # A test of 100 ms ends up to a turn or two earlier or later.
            assert real.stretch == pytest.approx(predicted.stretch, rel=0.04)


def require_repeats(host: str, scenario: Scenario, policy: str, runs: int) -> None:
    """Two machines give the same row, to the length of each loop."""
    first, again = (rows(host, scenario, policy, runs)[0] for _ in range(2))
    assert first == again
    assert first.series is not None
    assert again.series is not None
    assert first.series.length_ns.tolist() == again.series.length_ns.tolist()


def require_answers(row: LabRow, kernel_ns: int) -> None:
    """All interrupts of 100 ms were answered, within so many nanoseconds."""
    assert row.response is not None
    assert row.response.unanswered == 0
    assert row.runs == 199
    min_ns, max_ns = row.response.min_ns, row.response.max_ns
    assert min_ns is not None
    assert max_ns is not None
    assert 0 < min_ns <= max_ns < kernel_ns
