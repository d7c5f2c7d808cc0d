# SPDX-License-Identifier: BSD-2-Clause
"""Who pays at each instant is whom the policy names, judged by budgets worked out independently.

Periodic servers: the first server in the order that has budget pays, whoever runs; globally the
first m of them. A vcpu that runs on lent time pays as well. Every other server pays for itself
while it runs and for nothing else; the spare pays where it stands; nobody pays for a share of the
rule weights, nor when nobody is in charge.
"""

from tests.trace.oracle.choice import first, ranked
from tests.trace.oracle.finding import PropertyVerdict
from tests.trace.oracle.replay import Grant, Moment
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import SPARE, Header, Records, server_name


class PayerWatcher(Watcher):
    """Compares the payers of every grant with those that the policy names."""

    def see(self, moment: Moment) -> None:
        for pcpus, ids in moment.groups():
            for pcpu, right in _named(moment, pcpus, ids).items():
                pay = moment.grants[pcpu].pay
                if pay not in right:
                    who, others = _name(self.header, pay), _names(self.header, right)
                    self.wrong(moment, (pcpu, pay), f"pcpu {pcpu}: {who} pays, not {others}")
        for pcpu, grant in enumerate(moment.grants):
            if grant.also != _must_also_pay(moment, pcpu, grant):
                who = _name(self.header, grant.run)
                text = f"pcpu {pcpu}: {who} pays as well: {grant.also}"
                self.wrong(moment, (pcpu, "also"), text)


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(PayerWatcher(header), records)


def _named(moment: Moment, pcpus: list[int], ids: list[int]) -> dict[int, set[int | None]]:
    """The servers that may be the payer, by pcpu: one, or any of several equals."""
    if moment.rules[pcpus[0]].budget != "periodic":
        return _own(moment, pcpus)
    able = [vcpu for vcpu in ids if moment.servers[vcpu].usable]
    if not moment.partitioned:
        return _wrong_global(moment, pcpus, able)
    if not able:
        return {pcpus[0]: {None}}
    return {pcpus[0]: {*first(moment, able, moment.last_payer[pcpus[0]])}}


def _wrong_global(moment: Moment, pcpus: list[int], able: list[int]) -> dict[int, set[int | None]]:
    """The pcpus whose payer is not one of the first m, and who may pay; equals are all right."""
    best = ranked(moment, able)[: len(pcpus)]
    paying = {moment.grants[pcpu].pay for pcpu in pcpus} - {None}
    right = sorted(moment.rank(vcpu) for vcpu in best)
    if sorted(moment.rank(vcpu) for vcpu in able if vcpu in paying) == right:
        best = [vcpu for vcpu in able if vcpu in paying]
    missing = {vcpu for vcpu in best if vcpu not in paying}
    wrong = [pcpu for pcpu in pcpus if moment.grants[pcpu].pay not in best]
    return {pcpu: {*missing} if missing else {None} for pcpu in wrong}


def _own(moment: Moment, pcpus: list[int]) -> dict[int, set[int | None]]:
    """The servers that may be the payer, by pcpu, where a server pays only for itself."""
    named: dict[int, set[int | None]] = {}
    has_spare = moment.rules[pcpus[0]].slack == "spare"
    has_shares = moment.rules[pcpus[0]].slack == "weights"
    for pcpu in pcpus:
        grant = moment.grants[pcpu]
        if grant.run is None or moment.is_best_effort(grant.run):
            named[pcpu] = {None, SPARE} if has_spare else {None}
        elif moment.servers[grant.run].usable:
            named[pcpu] = {grant.run}
        else:
            named[pcpu] = {SPARE} if has_spare else {None} if has_shares else set()
    return named


def _must_also_pay(moment: Moment, pcpu: int, grant: Grant) -> bool:
    lends = moment.rules[pcpu].slack == "lend"
    if not lends or grant.run is None or moment.is_best_effort(grant.run):
        return False
    return grant.pay != grant.run


def _name(header: Header, server: int | None) -> str:
    return "nobody" if server is None else server_name(header, server)


def _names(header: Header, servers: set[int | None]) -> str:
    return " or ".join(sorted(_name(header, server) for server in servers)) or "anybody"
