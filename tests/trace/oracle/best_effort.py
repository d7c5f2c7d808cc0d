# SPDX-License-Identifier: BSD-2-Clause
"""Best-effort vcpus run exactly where the pcpu would idle, pay nothing, and leave at once.

So a pcpu on which one could run does not idle. Inside such time they take turns of 1 ms: on one
pcpu none runs longer while another one waits, and where several pcpus are shared, none runs for
more turns than there are vcpus to take them. Under the slack rule weights both is said by another
property (shares).
"""

from typing import Final

from tests.trace.oracle.choice import able
from tests.trace.oracle.finding import PropertyVerdict, Watch
from tests.trace.oracle.order import first_able, periodic_choice
from tests.trace.oracle.replay import Moment
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import SPARE, Header, Records, server_name

TURN_NS: Final = 1_000_000


class BestEffortWatcher(Watcher):
    """Looks for best effort in time that belongs to others, on others' bills, or without end."""

    def __init__(self, header: Header) -> None:
        super().__init__(header)
        self.guests = [vcpu for vcpu, entry in enumerate(header["vcpus"]) if entry["best_effort"]]
        shared = header["scope"] == "global" and header["pcpus"] > 1
        turns = len(self.guests) if shared else 1
        self.turns = Watch(self.finding, turns * (TURN_NS + self.allowed_ns))

    def see(self, moment: Moment) -> None:
        if not self.guests:
            return
        for pcpus, ids in moment.groups():
            for pcpu in pcpus:
                run = moment.grants[pcpu].run
                if run is None:
                    self._judge_idle(moment, pcpu)
                elif moment.is_best_effort(run):
                    self._judge(moment, pcpu, pcpus, ids)

    def _judge_idle(self, moment: Moment, pcpu: int) -> None:
        waiting = self._waiting(moment, pcpu)
        if waiting and moment.rules[pcpu].slack != "weights":
            name = server_name(self.header, waiting[0])
            text = f"pcpu {pcpu} idles although {name} would run best effort"
            self.wrong(moment, (pcpu, "idle"), text)

    def _judge(self, moment: Moment, pcpu: int, pcpus: list[int], ids: list[int]) -> None:
        grant = moment.grants[pcpu]
        assert grant.run is not None
        name = server_name(self.header, grant.run)
        if grant.also or not _may_pay(moment, pcpu):
            self.wrong(moment, (pcpu, "pay"), f"{name} runs best effort and is charged")
        if grant.run not in moment.work:
            self.wrong(moment, (pcpu, "work"), f"{name} runs best effort without work")
        if _taken(moment, pcpu, pcpus, ids):
            text = f"{name} runs best effort on pcpu {pcpu}, which is wanted"
            self.wrong(moment, (pcpu, "taken"), text)
        if moment.rules[pcpu].slack != "weights" and self._waiting(moment, pcpu):
            text = f"{name} runs best effort for more than its turn while others wait"
            self.turns.wrong((pcpu, grant.run), moment.now_ns, moment.until_ns, text)

    def _waiting(self, moment: Moment, pcpu: int) -> list[int]:
        """Best-effort vcpus with work and without a pcpu that could have this one."""
        waiting = []
        for vcpu in self.guests:
            at_home = not moment.partitioned or moment.home(vcpu) == pcpu
            if at_home and vcpu in moment.work and moment.runs_on(vcpu) is None:
                waiting.append(vcpu)
        return waiting


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(BestEffortWatcher(header), records)


def _may_pay(moment: Moment, pcpu: int) -> bool:
    pay = moment.grants[pcpu].pay
    return pay is None or pay == SPARE or moment.rules[pcpu].budget == "periodic"


def _taken(moment: Moment, pcpu: int, pcpus: list[int], ids: list[int]) -> bool:
    """Whether somebody with a server should have that pcpu instead."""
    if moment.rules[pcpu].budget == "periodic":
        return bool(periodic_choice(moment, pcpu, ids))
    if len(pcpus) == 1:
        return bool(first_able(moment, pcpu, ids))
    return any(moment.runs_on(vcpu) is None for vcpu in able(moment, ids))
