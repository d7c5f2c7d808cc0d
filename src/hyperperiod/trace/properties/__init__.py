# SPDX-License-Identifier: BSD-2-Clause
"""The properties of a trace, one per file.

Each module opens with the property in one sentence and has `check(header, records)`, which
returns a `PropertyVerdict`. They are listed here by hand, in the order in which they are reported:
what a run is made of first, then budgets, then decisions, then guarantees.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from hyperperiod.trace.format import Header, Progress, Records, end_ns
from hyperperiod.trace.properties import (
    best_effort,
    budget,
    demand,
    depleted,
    guarantee,
    guest_order,
    idle,
    jobs,
    one_pcpu,
    order,
    paid_time,
    payer,
    releases,
    shares,
    spare,
)
from hyperperiod.trace.properties.finding import PropertyVerdict, Status, Violation
from hyperperiod.trace.properties.watcher import Watcher, watch_all

__all__ = ["PROPERTIES", "Property", "PropertyVerdict", "Status", "Violation", "check_all"]


class Property(NamedTuple):
    """A property: what it is called, what it says, and who checks it.

    Those that are judged moment by moment have a watcher too, so that a run is replayed once for
    all of them.
    """

    name: str
    text: str
    check: Callable[[Header, Records], PropertyVerdict]
    watcher: Callable[[Header], Watcher] | None = None

    @property
    def statement(self) -> str:
        """The one sentence with which the property's module opens."""
        return self.text.strip().splitlines()[0]


PROPERTIES: Final = (
    Property("one-pcpu", one_pcpu.__doc__ or "", one_pcpu.check),
    Property("releases", releases.__doc__ or "", releases.check),
    Property("jobs", jobs.__doc__ or "", jobs.check),
    Property("demand", demand.__doc__ or "", demand.check),
    Property("guest-order", guest_order.__doc__ or "", guest_order.check),
    Property("paid-time", paid_time.__doc__ or "", paid_time.check),
    Property("budget", budget.__doc__ or "", budget.check, budget.BudgetWatcher),
    Property("depleted", depleted.__doc__ or "", depleted.check, depleted.DepletedWatcher),
    Property("payer", payer.__doc__ or "", payer.check, payer.PayerWatcher),
    Property("order", order.__doc__ or "", order.check, order.OrderWatcher),
    Property("idle", idle.__doc__ or "", idle.check, idle.IdleWatcher),
    Property(
        "best-effort", best_effort.__doc__ or "", best_effort.check, best_effort.BestEffortWatcher
    ),
    Property("spare", spare.__doc__ or "", spare.check, spare.SpareWatcher),
    Property("shares", shares.__doc__ or "", shares.check, shares.SharesWatcher),
    Property("guarantee", guarantee.__doc__ or "", guarantee.check, guarantee.GuaranteeWatcher),
)


REPLAY_WORK: Final = 75
"""What the replay takes, in hundredths of all the work (measured on a long run)."""
WORK: Final = 100


def check_all(
    header: Header, records: Records, progress: Progress | None = None
) -> list[PropertyVerdict]:
    """What every property finds, in the order of PROPERTIES, with one replay.

    `progress` is called with how much of WORK is done.
    """
    say = progress or (lambda _done: None)
    watchers = [None if one.watcher is None else one.watcher(header) for one in PROPERTIES]
    replayed = [watcher for watcher in watchers if watcher is not None]
    horizon_ns = max(end_ns(records), 1)
    watch_all(replayed, header, records, lambda now_ns: say(REPLAY_WORK * now_ns // horizon_ns))
    findings = []
    for one, watcher in zip(PROPERTIES, watchers, strict=True):
        findings.append(one.check(header, records) if watcher is None else watcher.finding)
        say(REPLAY_WORK + (WORK - REPLAY_WORK) * len(findings) // len(PROPERTIES))
    return findings
