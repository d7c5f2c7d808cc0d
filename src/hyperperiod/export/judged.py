# SPDX-License-Identifier: BSD-2-Clause
"""What is proved of a system under a scheduler that a host has itself.

Of some something is, by the rules that they are exported with: SCHED_DEADLINE, Xen's RTDS, and a
pcpu for each vcpu. Of shares by weight nothing is, with limits or without: `quota` says why. So
whether deadlines hold there is unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Final, Unpack

from hyperperiod.analysis import Analysis
from hyperperiod.analysis.result import AnalysisResult
from hyperperiod.export.deadline import as_deadline
from hyperperiod.export.stock import WHOLE, on_own_pcpus, require_servers, under, without_ours
from hyperperiod.for_host import ForHost, HostCostOptions, for_host
from hyperperiod.hosts import Stock, machine_of, scheduler_of
from hyperperiod.hosts.linux import stock as on_linux
from hyperperiod.hosts.stock import unserved
from hyperperiod.hosts.xen import stock as on_xen
from hyperperiod.model import System

_MACHINES: Final[dict[str, ModuleType]] = {"linux": on_linux, "xen": on_xen}


def for_stock(system: System, host: str, **costs: Unpack[HostCostOptions]) -> ForHost:
    """The system as `host`, one of `hosts.STOCK`, is to be given it, and what is proved there.

    It has the interfaces that it has under our scheduler. Options and errors are those of
    `for_host`; InputError for what that scheduler cannot do.
    """
    scheduler = Stock(scheduler_of(host))
    judged_as = partial(_judged_as, scheduler)
    ready = for_host(system, machine_of(host), judged_as=judged_as, **costs)
    ready = ready._replace(not_told=_MACHINES[machine_of(host)].not_told(ready.system, scheduler))
    if scheduler in _RULES:
        return ready
    unknown = ready.counted.replace(schedulable=None, without=None, not_proved=())
    return ready._replace(counted=unknown, remedy="")


def _judged_as(scheduler: Stock, system: System) -> System:
    _MACHINES[machine_of(scheduler.host)].refuse(system, scheduler)
    return _RULES[scheduler](system) if scheduler in _RULES else system


def _as_rtds(system: System) -> System:
    """The system as RTDS schedules it, on one pcpu or on all together, best effort with servers."""
    require_servers(system, Stock.RTDS.host)
    served = without_ours(on_xen.with_servers(system), "xl sched-rtds")
    return under(served, "deferrable+edf+extra", "rtds")


def _as_null(system: System) -> System:
    """The system with a pcpu for each vcpu."""
    return on_own_pcpus(without_ours(system, "nothing"), "ptps", WHOLE)


_RULES: Final[dict[Stock, Callable[[System], System]]] = {
    Stock.DEADLINE: as_deadline,
    Stock.RTDS: _as_rtds,
    Stock.NULL: _as_null,
}
"""The system as schedulers of which something is proved have it."""


def stock_page(ready: ForHost, host: str) -> tuple[System, AnalysisResult]:
    """What the page of a run on `host` shows of a system that `for_stock` made, and as proved."""
    scheduler = Stock(scheduler_of(host))
    if scheduler in _RULES:
        proved = ready.judged.result()
        reasons = [proved.reason, ready.not_told]
        shown = ready.judged.system
    else:
        shown = unserved(ready.system, scheduler)
        nobody = Analysis(shown).result()
        pcpus = tuple(one.replace(schedulable=None, test="") for one in nobody.pcpus)
        proved = nobody.replace(schedulable=None, pcpus=pcpus)
        reasons = [f"nothing is proved of {host}", ready.not_told]
    return shown, proved.replace(reason="; ".join(filter(None, reasons)))
