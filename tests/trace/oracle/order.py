# SPDX-License-Identifier: BSD-2-Clause
"""Who runs at each instant is whom the policy names: the first in its order that may run.

Per pcpu, under periodic servers, H being the one that pays: H if it has work; else, where time is
lent, the first with work and budget; where it is reclaimed, the first with work, those with
budget before the depleted; else nobody. Under all other rules the first m with work and budget
run on m pcpus. What runs beyond that (best effort, the spare, shares) has its own properties.
"""

from tests.trace.oracle.choice import able, first, ranked
from tests.trace.oracle.finding import PropertyVerdict
from tests.trace.oracle.replay import Moment
from tests.trace.oracle.watcher import Watcher, watched

from hyperperiod.trace.format import SPARE, Header, Records, server_name


class OrderWatcher(Watcher):
    """Compares who runs with who should."""

    def see(self, moment: Moment) -> None:
        for pcpus, ids in moment.groups():
            if moment.rules[pcpus[0]].budget == "periodic":
                wrong = _periodic(moment, pcpus, ids)
            elif len(pcpus) == 1:
                wrong = _single(moment, pcpus[0], first_able(moment, pcpus[0], ids))
            else:
                wrong = _several(moment, pcpus, ids)
            for key, text in wrong.items():
                self.wrong(moment, key, text)


def check(header: Header, records: Records) -> PropertyVerdict:
    """Replay the run and watch it."""
    return watched(OrderWatcher(header), records)


def first_able(moment: Moment, pcpu: int, ids: list[int]) -> list[int]:
    """Returns who may be chosen first among the servers that have work and budget."""
    return first(moment, able(moment, ids), moment.last_run[pcpu])


def periodic_choice(moment: Moment, pcpu: int, ids: list[int]) -> list[int]:
    """Who may run on a pcpu with periodic servers, given who pays there."""
    payer = moment.grants[pcpu].pay
    if payer is None:
        return []
    if payer in moment.work:
        return [payer]
    slack = moment.rules[pcpu].slack
    if slack == "none":
        return []
    chosen = first_able(moment, pcpu, ids)
    if chosen or slack == "lend":
        return chosen
    depleted = [vcpu for vcpu in ids if vcpu in moment.work]
    return first(moment, depleted, moment.last_run[pcpu])


def _periodic(moment: Moment, pcpus: list[int], ids: list[int]) -> dict[object, str]:
    wrong: dict[object, str] = {}
    for pcpu in pcpus:
        wrong.update(_single(moment, pcpu, periodic_choice(moment, pcpu, ids)))
    return wrong


def _single(moment: Moment, pcpu: int, right: list[int]) -> dict[object, str]:
    run = _server_run(moment, pcpu)
    if run in right or (run is None and not right):
        return {}
    names = [server_name(moment.header, vcpu) for vcpu in right]
    text = f"pcpu {pcpu}: {_name(moment, run)} runs, not {' or '.join(names) or 'nobody'}"
    return {(pcpu, run, *right): text}


def _several(moment: Moment, pcpus: list[int], ids: list[int]) -> dict[object, str]:
    waiting = able(moment, ids)
    best = ranked(moment, waiting)[: len(pcpus)]
    running = [vcpu for pcpu in pcpus if (vcpu := _server_run(moment, pcpu)) is not None]
    if sorted(map(moment.rank, running)) == [moment.rank(vcpu) for vcpu in best]:
        return {}
    late = ", ".join(server_name(moment.header, vcpu) for vcpu in best if vcpu not in running)
    others = ", ".join(server_name(moment.header, vcpu) for vcpu in running if vcpu not in best)
    return {tuple(best): f"{late or 'nobody'} should run, and {others or 'nobody'} should not"}


def _server_run(moment: Moment, pcpu: int) -> int | None:
    """Who runs there on the time of a server: not best effort, on the spare or on a share."""
    grant = moment.grants[pcpu]
    if grant.pay is None and moment.rules[pcpu].slack == "weights":
        return None
    if grant.run is None or grant.pay == SPARE or moment.is_best_effort(grant.run):
        return None
    return grant.run


def _name(moment: Moment, vcpu: int | None) -> str:
    return "nobody" if vcpu is None else server_name(moment.header, vcpu)
