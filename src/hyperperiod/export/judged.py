# SPDX-License-Identifier: BSD-2-Clause
"""What is proved of a system under a scheduler that a host has itself.

Of SCHED_DEADLINE something is, by the rules that it is exported with. Of shares by weight nothing
is, with limits or without: `quota` says why. So whether deadlines hold there is unknown.
"""

from __future__ import annotations

from typing import Final, Unpack

from hyperperiod.export.deadline import as_deadline
from hyperperiod.for_host import ForHost, HostCostOptions, for_host
from hyperperiod.hosts import machine_of, scheduler_of
from hyperperiod.hosts.linux.stock import Stock, refuse
from hyperperiod.model import System

JUDGED: Final = {"linux-deadline": as_deadline}
"""What a system is judged as on a host, where there is a proof."""


def for_stock(system: System, host: str, **costs: Unpack[HostCostOptions]) -> ForHost:
    """The system as `host`, one of `hosts.STOCK`, is to be given it, and what is proved there.

    Options and errors are those of `for_host`; InputError for what that scheduler cannot do.
    """
    judged = JUDGED[host](system) if host in JUDGED else system
    ready = for_host(judged, machine_of(host), **costs)
    refuse(ready.system, Stock(scheduler_of(host)))
    if host in JUDGED:
        return ready
    unknown = ready.counted.replace(schedulable=None, without=None, not_proved=())
    return ready._replace(counted=unknown, remedy="")
