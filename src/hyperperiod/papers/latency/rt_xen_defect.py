# SPDX-License-Identifier: BSD-2-Clause
"""The defects of RT-Xen 0.3, reproduced: what its servers did to a VM that had a pcpu for itself.

This is no policy of ours and nothing that anybody should run. It is a tick model of one server
with two rules inferred from the gaps that the paper prints (budget/period in ms: 25/50, 50/50,
75/50; a busy VM alone on a pcpu), so that its Tables 1 to 4 can be seen beside ours.

- `rt-xen-0.3-ds`: the deferrable server arms its replenishment only when the budget is used up,
  for the next period boundary strictly after that instant. Boundaries that pass while there is
  budget do nothing: refills are lost. The VM runs 25 and waits 25, runs 50 and waits 50, runs 75
  and waits 25: the 25.25, 50.4 and 25.4 ms of Table 1.
- `rt-xen-0.3-pps`: the periodic servers refill at every boundary, but a scheduler that looks at
  budgets once per quantum of 1 ms sees a budget used up before it sees the refill of the same
  instant. With budget = period one quantum in 100 is lost: the 1.12 ms of Tables 2 to 4.

The VM is taken to be always busy (its kernel is not tickless), and the tests are started by the
VM itself, so at instants drawn from the time that it runs. When the paper's runs began is not
known, so of the shares only the order of size can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import numpy as np

from hyperperiod.papers.latency.figures import LabRow, clocktick_row
from hyperperiod.papers.latency.samples import PAPER_TICK, Samples, Times, sample
from hyperperiod.papers.latency.settings import GivenServer, LatencySetting, Scenario

QUANTUM_NS = 1_000_000
# The tables where a quirk shows: our name of the policy, and the paper's of the server.
QUIRKS = {
    "rt-xen-0.3-ds": ("ds",),
    "rt-xen-0.3-pps": ("ptps", "wcps", "crps"),
}


def measure_defect(
    quirk: str, scenario: Scenario, setting: LatencySetting, runs: int, seed: int
) -> LabRow:
    """One setting, a VM alone on its pcpu, under one of the `QUIRKS`."""
    assert scenario.test == "clocktick"
    assert not setting.neighbours, "the model has one VM"
    rule = {"rt-xen-0.3-ds": _deferrable, "rt-xen-0.3-pps": _periodic}[quirk]
    server = setting.under_test
    busy_ns = runs * setting.test_time_ns + 20 * (server.budget_ns + server.period_ns)
    starts, ends = _away_and_back(rule, server, busy_ns)
    random = Random(f"{quirk} {setting.name} {seed}")
    ran_ns = int((ends - starts).sum())
    found = [
        _run(starts, ends, random.randrange(ran_ns - setting.test_time_ns), scenario, setting)
        for _ in range(runs)
    ]
    return clocktick_row(quirk, QUIRKS[quirk][0], scenario, setting.test_time_ns, found)


BudgetRule = Callable[[GivenServer, int, int, bool, list[int]], int]


def _deferrable(
    server: GivenServer, tick_ns: int, left_ns: int, used_up: bool, armed: list[int]
) -> int:
    """What is left after the tick at `tick_ns`; `armed` holds the one refill that is due, if any.

    `used_up`: the budget ran out at this very tick.
    """
    if used_up:
        armed.append((tick_ns // server.period_ns + 1) * server.period_ns)
    elif armed and tick_ns >= armed[0]:
        armed.clear()
        return server.budget_ns
    return left_ns


def _periodic(
    server: GivenServer, tick_ns: int, left_ns: int, used_up: bool, missed: list[int]
) -> int:
    """What is left (ns) of a periodic server's budget after the tick at `tick_ns`.

    `missed` holds the refill that came as the budget ran out.
    """
    if missed:
        missed.clear()
        return server.budget_ns
    if tick_ns % server.period_ns:
        return left_ns
    if used_up:
        missed.append(tick_ns)
        return left_ns
    return server.budget_ns


def _away_and_back(rule: BudgetRule, server: GivenServer, busy_ns: int) -> tuple[Times, Times]:
    """The spans in which a VM that is always busy runs, until it has run for `busy_ns`."""
    starts: list[int] = []
    ends: list[int] = []
    now_ns, left_ns, ran_ns = 0, server.budget_ns, 0
    state: list[int] = []
    while ran_ns < busy_ns:
        runs = left_ns > 0
        if runs and not (ends and ends[-1] == now_ns):
            starts.append(now_ns)
            ends.append(now_ns)
        now_ns += QUANTUM_NS
        if runs:
            ends[-1] = now_ns
            left_ns -= QUANTUM_NS
            ran_ns += QUANTUM_NS
        left_ns = rule(server, now_ns, left_ns, runs and left_ns == 0, state)
    return np.array(starts, np.int64), np.array(ends, np.int64)


def _run(
    starts: Times, ends: Times, start_ns: int, scenario: Scenario, setting: LatencySetting
) -> Samples:
    """One test that begins when the VM has run for `start_ns`."""
    lengths = ends - starts
    before = np.concatenate(([0], np.cumsum(lengths)))
    low = np.clip(start_ns - before[:-1], 0, lengths)
    high = np.clip(start_ns + setting.test_time_ns - before[:-1], 0, lengths)
    inside = high > low
    return sample((starts + low)[inside], (starts + high)[inside], scenario.loop_ns, PAPER_TICK)
