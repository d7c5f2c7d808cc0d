# SPDX-License-Identifier: BSD-2-Clause
"""A pcpu idles while a vcpu with a server waits only where the policy wants it to.

Without slack, under periodic servers, it idles whenever the payer has no work. Where time is lent
it idles only if no waiting vcpu has budget, where it is reclaimed only if nobody has any. Under
the other rules it idles only if no waiting vcpu has budget. Best effort does not count as idling
here, nor does the spare.
"""

from tests.trace.oracle.choice import able
from tests.trace.oracle.finding import PropertyVerdict
from tests.trace.oracle.replay import Moment
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import Header, Records, server_name


class IdleWatcher(Watcher):
    """Looks for idle pcpus beside vcpus that should have had them."""

    def see(self, moment: Moment) -> None:
        for pcpus, ids in moment.groups():
            idle = [pcpu for pcpu in pcpus if moment.grants[pcpu].run is None]
            if not idle:
                continue
            for vcpu in _wronged(moment, pcpus[0], ids):
                if moment.runs_on(vcpu) is None:
                    name = server_name(self.header, vcpu)
                    self.wrong(moment, vcpu, f"pcpu {idle[0]} idles although {name} may run")


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(IdleWatcher(header), records)


def _wronged(moment: Moment, pcpu: int, ids: list[int]) -> list[int]:
    """Who may not be left waiting while that pcpu, or one that shares its servers, idles."""
    rules = moment.rules[pcpu]
    if rules.budget == "periodic" and rules.slack == "none":
        paying = {grant.pay for grant in moment.grants}
        return [vcpu for vcpu in able(moment, ids) if vcpu in paying]
    if rules.slack == "reclaim" and any(moment.servers[vcpu].usable for vcpu in ids):
        return [vcpu for vcpu in ids if vcpu in moment.work]
    return able(moment, ids)
