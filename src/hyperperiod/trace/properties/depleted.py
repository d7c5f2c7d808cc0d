# SPDX-License-Identifier: BSD-2-Clause
"""The vcpu of a depleted server runs only on donated time, on the spare, or on extra time."""

from hyperperiod.trace.format import SPARE, Header, Records, server_name
from hyperperiod.trace.properties.finding import Finding, Watch, lateness_ns
from hyperperiod.trace.replay import Moment, moments


def check(header: Header, records: Records) -> Finding:
    """Look for a vcpu that runs with nothing left and nobody to pay for it."""
    finding = Finding()
    watch = Watch(finding, lateness_ns(header))
    for moment in moments(header, records):
        for pcpu, grant in enumerate(moment.grants):
            if grant.run is None or moment.is_best_effort(grant.run):
                continue
            if not moment.servers[grant.run].usable and not _helped(moment, pcpu):
                text = f"{server_name(header, grant.run)} runs depleted"
                watch.wrong(grant.run, moment.now_ns, moment.until_ns, text)
    return finding


def _helped(moment: Moment, pcpu: int) -> bool:
    """Whether another server with budget pays, as the policy allows."""
    grant = moment.grants[pcpu]
    if grant.pay is None or grant.pay == grant.run:
        return False
    allowed = grant.pay == SPARE or moment.slack == "reclaim"
    return allowed and all(moment.servers[payer].usable for payer in moment.payers(pcpu))
