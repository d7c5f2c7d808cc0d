# SPDX-License-Identifier: BSD-2-Clause
"""Best-effort vcpus run only where the pcpu would idle, pay nothing, and leave at once.

Inside such time they take turns: none runs longer than 1 ms while another one waits.
"""

from typing import Final

from hyperperiod.trace.format import SPARE, Header, Records, server_name
from hyperperiod.trace.properties.choice import able
from hyperperiod.trace.properties.finding import Finding, Watch, lateness_ns
from hyperperiod.trace.properties.order import first_able, periodic_choice
from hyperperiod.trace.replay import Grant, Moment, moments

TURN_NS: Final = 1_000_000


def check(header: Header, records: Records) -> Finding:
    """Look for best effort in time that belongs to others, on others' bills, or without end."""
    finding = Finding()
    allowed_ns = lateness_ns(header)
    watch = Watch(finding, allowed_ns)
    turns = Watch(finding, TURN_NS + allowed_ns)
    for moment in moments(header, records):
        for pcpus, ids in moment.groups():
            for pcpu in pcpus:
                grant = moment.grants[pcpu]
                if grant.run is None or not moment.is_best_effort(grant.run):
                    continue
                name = server_name(header, grant.run)
                if grant.also or not _may_pay(moment, grant):
                    text = f"{name} runs best effort and is charged"
                    watch.wrong((pcpu, "pay"), moment.now_ns, moment.until_ns, text)
                if _taken(moment, pcpu, pcpus, ids):
                    text = f"{name} runs best effort on pcpu {pcpu}, which is wanted"
                    watch.wrong((pcpu, "taken"), moment.now_ns, moment.until_ns, text)
                if _others_wait(moment, pcpu, grant.run):
                    text = f"{name} runs best effort for more than its turn while others wait"
                    turns.wrong((pcpu, grant.run), moment.now_ns, moment.until_ns, text)
    return finding


def _may_pay(moment: Moment, grant: Grant) -> bool:
    if grant.pay is None:
        return True
    return grant.pay == SPARE or moment.budget == "periodic"


def _taken(moment: Moment, pcpu: int, pcpus: list[int], ids: list[int]) -> bool:
    """Whether somebody with a server should have that pcpu instead."""
    if moment.budget == "periodic":
        return bool(periodic_choice(moment, pcpu, ids))
    if len(pcpus) == 1:
        return bool(first_able(moment, pcpu, ids))
    return any(moment.runs_on(vcpu) is None for vcpu in able(moment, ids))


def _others_wait(moment: Moment, pcpu: int, running: int) -> bool:
    for vcpu in moment.work:
        if vcpu == running or not moment.is_best_effort(vcpu):
            continue
        home = moment.header["vcpus"][vcpu]["pcpu"]
        at_home = not moment.partitioned or home in (None, pcpu)
        if at_home and moment.runs_on(vcpu) is None:
            return True
    return False
