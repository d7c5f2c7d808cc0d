# SPDX-License-Identifier: BSD-2-Clause
"""The charges on each pcpu cover exactly the time for which its run and idle records name a payer.

A charge of v that ends at t says: this server paid for [t - v, t) on this pcpu. All charges of a
server on a pcpu together must be the stretches in which that pcpu named it as payer: nothing is
charged twice, nothing that nobody ordered, and nothing is left unpaid.
"""

from collections import defaultdict

from tests.trace.oracle.finding import PropertyVerdict, lateness_ns

from hyperperiod.trace.format import NONE, SECOND_PAYER, Header, Kind, Records, end_ns, server_name
from hyperperiod.trace.interval_arrays import interval_arrays
from hyperperiod.trace.records import each

Stretch = tuple[int, int]


def check(header: Header, records: Records) -> PropertyVerdict:
    """Compare charged stretches with ordered ones, per pcpu and payer."""
    finding = PropertyVerdict()
    charged = _charged(header, records, finding)
    ordered = _ordered(header, records)
    allowed_ns = lateness_ns(header)
    last_ns = end_ns(records)
    for key in sorted(charged.keys() | ordered.keys()):
        pcpu, payer = key
        who = f"{server_name(header, payer)} on pcpu {pcpu}"
        paid, due = joined(charged[key]), joined(ordered[key])
        for start_ns, stop_ns in minus(paid, due):
            if stop_ns - start_ns > allowed_ns:
                finding.add(start_ns, f"{who} is charged until {stop_ns} but is not the payer")
        for start_ns, stop_ns in minus(due, paid):
            if stop_ns - start_ns > allowed_ns and stop_ns < last_ns:
                finding.add(start_ns, f"{who} is the payer until {stop_ns} but is not charged")
    return finding


def _charged(
    header: Header, records: Records, finding: PropertyVerdict
) -> dict[tuple[int, int], list[Stretch]]:
    found: dict[tuple[int, int], list[Stretch]] = defaultdict(list)
    for record in each(records[records["kind"] == Kind.CHARGE]):
        if record.value == 0:
            continue
        stretches = found[record.pcpu, record.payer]
        start_ns = record.time_ns - record.value
        if stretches and start_ns < stretches[-1][1]:
            who = server_name(header, record.payer)
            finding.add(start_ns, f"{who} is charged twice for one time on pcpu {record.pcpu}")
        stretches.append((start_ns, record.time_ns))
    return found


def _ordered(header: Header, records: Records) -> dict[tuple[int, int], list[Stretch]]:
    found: dict[tuple[int, int], list[Stretch]] = defaultdict(list)
    for pcpu, intervals in enumerate(interval_arrays(header, records)):
        for interval in intervals:
            stretch = (int(interval["start_ns"]), int(interval["end_ns"]))
            payer, vcpu = int(interval["payer"]), int(interval["vcpu"])
            if payer != NONE:
                found[pcpu, payer].append(stretch)
            if interval["flags"] & SECOND_PAYER and vcpu != payer:
                found[pcpu, vcpu].append(stretch)
    return found


def joined(stretches: list[Stretch]) -> list[Stretch]:
    """Sorted stretches, with those that touch or overlap made one."""
    result: list[Stretch] = []
    for start_ns, stop_ns in sorted(stretches):
        if result and start_ns <= result[-1][1]:
            result[-1] = (result[-1][0], max(stop_ns, result[-1][1]))
        else:
            result.append((start_ns, stop_ns))
    return result


def minus(whole: list[Stretch], part: list[Stretch]) -> list[Stretch]:
    """What of `whole` no stretch of `part` covers; both sorted and disjoint."""
    result: list[Stretch] = []
    at = 0
    for start_ns, stop_ns in whole:
        while at < len(part) and part[at][1] <= start_ns:
            at += 1
        position, here_ns = at, start_ns
        while position < len(part) and part[position][0] < stop_ns:
            if part[position][0] > here_ns:
                result.append((here_ns, part[position][0]))
            here_ns = max(here_ns, part[position][1])
            position += 1
        if here_ns < stop_ns:
            result.append((here_ns, stop_ns))
    return result
