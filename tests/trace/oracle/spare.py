# SPDX-License-Identifier: BSD-2-Clause
"""The spare serves one depleted vcpu at a time, never while one with budget lacks a pcpu.

It serves the waiting depleted vcpu with the latest deadline, at most its own budget in each of
its periods (that is checked with all other budgets), and nobody who has budget left.
"""

from tests.trace.oracle.choice import able
from tests.trace.oracle.finding import PropertyVerdict
from tests.trace.oracle.replay import Moment
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import SPARE, Header, Records, server_name


class SpareWatcher(Watcher):
    """Looks at where the spare is, and for whom."""

    def __init__(self, header: Header) -> None:
        super().__init__(header, "" if header["spare"] else "this run has no spare")

    def see(self, moment: Moment) -> None:
        for key, text in _wrong(moment).items():
            self.wrong(moment, key, text)


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(SpareWatcher(header), records)


def _wrong(moment: Moment) -> dict[object, str]:
    """What is wrong with the spare, or with each of them: partitioned pcpus have their own."""
    wrong: dict[object, str] = {}
    for pcpus, ids in moment.groups():
        if moment.rules[pcpus[0]].slack != "spare":
            continue
        here = [pcpu for pcpu in pcpus if moment.grants[pcpu].pay == SPARE]
        if len(here) > 1:
            wrong["two", pcpus[0]] = f"the spare is on pcpus {here} at once"
        free = [pcpu for pcpu in pcpus if _is_free(moment, pcpu)]
        if free and not here and moment.usable(moment.spare_on(free[0])):
            wrong["absent", pcpus[0]] = f"the spare is not on pcpu {free[0]}, which is free"
        if not here:
            continue
        for vcpu in able(moment, ids):
            if moment.runs_on(vcpu) is None:
                name = server_name(moment.header, vcpu)
                text = f"the spare has pcpu {here[0]} while {name} waits with budget"
                wrong["waits", pcpus[0]] = text
        wrong.update(_wrong_choice(moment, here[0], ids))
    return wrong


def _is_free(moment: Moment, pcpu: int) -> bool:
    run = moment.grants[pcpu].run
    return run is None or moment.is_best_effort(run)


def _wrong_choice(moment: Moment, pcpu: int, ids: list[int]) -> dict[object, str]:
    run = moment.grants[pcpu].run
    depleted = [vcpu for vcpu in ids if vcpu in moment.work and not moment.servers[vcpu].usable]
    if run is None or moment.is_best_effort(run):
        if depleted:
            text = f"the spare idles on pcpu {pcpu} while a depleted vcpu waits"
            return {("idles", pcpu): text}
        return {}
    name = server_name(moment.header, run)
    if run not in depleted:
        return {("needless", pcpu): f"the spare pays for {name}, which is not depleted"}
    if moment.servers[run].deadline_ns < max(moment.servers[v].deadline_ns for v in depleted):
        return {("latest", pcpu): f"the spare runs {name}, which has not the latest deadline"}
    return {}
