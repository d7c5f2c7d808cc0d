# SPDX-License-Identifier: BSD-2-Clause
"""The spare serves one depleted vcpu at a time, never while one with budget lacks a pcpu.

It serves the waiting depleted vcpu with the latest deadline, at most its own budget in each of
its periods (that is checked with all other budgets), and nobody who has budget left.
"""

from hyperperiod.trace.format import SPARE, Header, Records, server_name
from hyperperiod.trace.properties.choice import able
from hyperperiod.trace.properties.finding import Finding, Watch, lateness_ns, skipped
from hyperperiod.trace.replay import Moment, moments


def check(header: Header, records: Records) -> Finding:
    """Look at every instant at which the spare pays."""
    if header["spare"] is None:
        return skipped("this run has no spare")
    finding = Finding()
    watch = Watch(finding, lateness_ns(header))
    for moment in moments(header, records):
        where = [pcpu for pcpu, grant in enumerate(moment.grants) if grant.pay == SPARE]
        if not where:
            continue
        for key, text in _wrong(moment, where).items():
            watch.wrong(key, moment.now_ns, moment.until_ns, text)
    return finding


def _wrong(moment: Moment, where: list[int]) -> dict[str, str]:
    wrong = {}
    if len(where) > 1:
        wrong["two"] = f"the spare is on pcpus {where} at once"
    for pcpus, ids in moment.groups():
        here = [pcpu for pcpu in pcpus if pcpu in where]
        if not here:
            continue
        for vcpu in able(moment, ids):
            if moment.runs_on(vcpu) is None:
                name = server_name(moment.header, vcpu)
                wrong["waits"] = f"the spare has pcpu {here[0]} while {name} waits with budget"
        wrong.update(_wrong_choice(moment, here[0], ids))
    return wrong


def _wrong_choice(moment: Moment, pcpu: int, ids: list[int]) -> dict[str, str]:
    run = moment.grants[pcpu].run
    depleted = [v for v in ids if v in moment.work and not moment.servers[v].usable]
    if run is None or moment.is_best_effort(run):
        if depleted:
            return {"idles": f"the spare idles on pcpu {pcpu} while a depleted vcpu waits"}
        return {}
    name = server_name(moment.header, run)
    if run not in depleted:
        return {"needless": f"the spare pays for {name}, which is not depleted"}
    if moment.servers[run].deadline_ns < max(moment.servers[v].deadline_ns for v in depleted):
        return {"latest": f"the spare runs {name}, which has not the latest deadline"}
    return {}
