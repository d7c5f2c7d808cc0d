# SPDX-License-Identifier: BSD-2-Clause
"""What is proved of a system under a scheduler that a host has itself.

Of SCHED_DEADLINE something is, by the rules that it is exported with. Of shares by weight nothing
is, with limits or without: `quota` says why. So whether deadlines hold there is unknown.
"""

from __future__ import annotations

from functools import partial
from typing import Unpack

from hyperperiod.analysis import Analysis
from hyperperiod.analysis.result import AnalysisResult
from hyperperiod.export.deadline import as_deadline
from hyperperiod.for_host import ForHost, HostCostOptions, for_host
from hyperperiod.hosts import Stock, machine_of, scheduler_of
from hyperperiod.hosts.linux.stock import not_told, refuse, unserved
from hyperperiod.model import System


def for_stock(system: System, host: str, **costs: Unpack[HostCostOptions]) -> ForHost:
    """The system as `host`, one of `hosts.STOCK`, is to be given it, and what is proved there.

    It has the interfaces that it has under our scheduler. Options and errors are those of
    `for_host`; InputError for what that scheduler cannot do.
    """
    scheduler = Stock(scheduler_of(host))
    judged_as = partial(_judged_as, scheduler)
    ready = for_host(system, machine_of(host), judged_as=judged_as, **costs)
    ready = ready._replace(not_told=not_told(ready.system, scheduler))
    if scheduler is Stock.DEADLINE:
        return ready
    unknown = ready.counted.replace(schedulable=None, without=None, not_proved=())
    return ready._replace(counted=unknown, remedy="")


def _judged_as(scheduler: Stock, system: System) -> System:
    refuse(system, scheduler)
    return as_deadline(system) if scheduler is Stock.DEADLINE else system


def stock_page(ready: ForHost, host: str) -> tuple[System, AnalysisResult]:
    """What the page of a run on `host` shows of a system that `for_stock` made, and as proved."""
    scheduler = Stock(scheduler_of(host))
    if scheduler is Stock.DEADLINE:
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
