# SPDX-License-Identifier: BSD-2-Clause
"""The vcpu of a depleted server runs only on donated time, the spare, extra time or a share.

Extra time is marked as such: the grant of a vcpu that has fallen below its own level says so.
(Where pcpus are shared, a grant that a refill leaves right is not made anew, so its mark may stay
on after that.)
"""

from tests.trace.oracle.finding import PropertyVerdict
from tests.trace.oracle.replay import Moment
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import SPARE, Header, Records, server_name


class DepletedWatcher(Watcher):
    """Looks for a vcpu that runs with nothing left and nobody to pay for it."""

    def see(self, moment: Moment) -> None:
        for pcpu, grant in enumerate(moment.grants):
            if grant.run is None or moment.is_best_effort(grant.run):
                continue
            server = moment.servers[grant.run]
            name = server_name(self.header, grant.run)
            if not server.usable and not _helped(moment, pcpu):
                self.wrong(moment, grant.run, f"{name} runs depleted")
            marked = grant.extra == (server.level > 0)
            if grant.pay == grant.run and not marked:
                text = f"{name} is on level {server.level}, marked as extra time: {grant.extra}"
                self.wrong(moment, (grant.run, "level"), text)


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(DepletedWatcher(header), records)


def _helped(moment: Moment, pcpu: int) -> bool:
    """Whether another server with budget pays, or nobody, as the policy allows."""
    grant = moment.grants[pcpu]
    if grant.pay is None and moment.rules[pcpu].slack == "weights":
        return True
    if grant.pay is None or grant.pay == grant.run:
        return False
    allowed = grant.pay == SPARE or moment.rules[pcpu].slack == "reclaim"
    return allowed and all(moment.usable(payer) for payer in moment.payers(pcpu))
