# SPDX-License-Identifier: BSD-2-Clause
"""The settings of a scenario and what the paper measured in them: `experiments/latency-*.toml`.

Budgets are as printed. The paper has some above their period, which means "always"; a server here
has at most its period, so the budget of `GivenServer.interface` is the period then, and
`GivenServer.cut` says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from hyperperiod.model import Interface, format_time
from hyperperiod.model.load import read_toml
from hyperperiod.model.part import AtLeast, Part, key
from hyperperiod.model.values import PositiveTime, Whole
from hyperperiod.resources import EXPERIMENTS

SCENARIOS = ("affinity", "contention-1", "contention-2", "interrupt")

Hostile = Literal["yield-storm", "wake-storm", "hypercall-storm", "timer-storm"]
"""What such a VM does (guests/executive/hostile.c)."""
Count = Annotated[int, Whole(1)]
Percent = Annotated[int, Whole(0, 100)]


class GivenServer(Part):
    """What a VM is given, as the paper prints it."""

    budget_ns: PositiveTime
    period_ns: PositiveTime
    priority: int = 0

    @property
    def interface(self) -> Interface:
        """The interface of the server in the model's terms."""
        return Interface(period_ns=self.period_ns, budget_ns=min(self.budget_ns, self.period_ns))

    @property
    def cut(self) -> bool:
        """Whether the paper's budget is more than there is."""
        return self.budget_ns > self.period_ns

    def __str__(self) -> str:
        return f"{format_time(self.budget_ns)} in {format_time(self.period_ns)}"


class Neighbour(GivenServer):
    """Another VM on the same pcpu; one that runs never stops.

    On Xen one may be `hostile` instead, whose work is to keep the hypervisor busy.
    """

    running: bool
    hostile: Hostile | None = None


class Figures(Part):
    """What the paper measured under one of its servers; `policy` is our name of it."""

    server: str
    policy: str
    table: Count
    runs: Count
    time_ns: PositiveTime | None = None
    tick_only: Percent | None = None
    longest_tick_ns: PositiveTime | None = None
    longest_ns: PositiveTime | None = None
    executed_ns: PositiveTime | None = None
    response_ns: PositiveTime | None = None


class LatencySetting(Part):
    """One row of a table: the VM under test, its neighbours, and how often it is tested.

    `runs_in_machine` is how often on an emulated machine, if not as often as in the simulator. With
    `forks` so many ordinary processes of the VM itself keep its kernel busy, which must be Linux.
    """

    name: str
    test_time_ns: PositiveTime
    pause_ns: PositiveTime = 1_000_000_000
    runs: Count
    runs_in_machine: Count | None = None
    forks: Annotated[int, Whole(0, 64)] = 0
    under_test: GivenServer
    neighbours: tuple[Neighbour, ...] = ()
    paper: tuple[Figures, ...] = ()


class Scenario(Part):
    """Settings that belong together.

    `clocktick` times a busy loop of `loop_ns` during `test_time`, `runs` times, with `pause`
    between; `response` sends an interrupt every `pause` during `test_time`, which is the vcpu's own
    alarm or, with `device`, that of a device which the VM has for itself. A loop that is at most
    `tick_limit_ns` too long suffered from nothing but clock ticks.
    """

    name: str
    title: str
    source: str
    test: Literal["clocktick", "response"]
    device: bool = False
    quantum_ns: PositiveTime | None = None
    loop_ns: PositiveTime = 68_000
    tick_limit_ns: PositiveTime = 150_000
    settings: Annotated[tuple[LatencySetting, ...], AtLeast(1)] = key(name="setting")


def load_scenarios(
    names: tuple[str, ...] = SCENARIOS, folder: Path = EXPERIMENTS
) -> list[Scenario]:
    """The scenarios by name; InputError for a file that is wrong."""
    return [read_toml(str(folder / f"latency-{name}.toml"), Scenario) for name in names]
