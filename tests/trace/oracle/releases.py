# SPDX-License-Identifier: BSD-2-Clause
"""Jobs are released when the kind of their task says so.

Periodic: at offset + k * period, up to `jitter` later. Sporadic: at least one period after the
release before, less the jitter. Event: exactly one period after the job before has finished.
A release never overtakes the one before it.

Hops of flows: each release carries an item. At the first hop items come as the source says, in
whole bursts, and one is dropped exactly if as many as the queue holds are on their way. At each
further hop an item is released at the instant at which it has finished the one before.

A closed source: each item is sent by a client that has thought, since the source's offset or since
an item of its own has left, for no shorter and no longer than clients think. Whose item it is a
trace does not say, and need not: all think within one range, so if items can be given to clients at
all, then each one to the client that has thought for the longest. A client that has not sent
anything after the longest time for which it may think is found at the end.
"""

from collections import deque
from collections.abc import Iterator
from itertools import groupby

from tests.trace.oracle.finding import PropertyVerdict

from hyperperiod.trace.format import (
    FlowEntry,
    Header,
    Item,
    Kind,
    Records,
    TaskEntry,
    end_ns,
    task_name,
)
from hyperperiod.trace.items import visits
from hyperperiod.trace.records import Record, each


def check(header: Header, records: Records) -> PropertyVerdict:
    """Check each release against the one before it and against the task, items hop by hop."""
    finding = PropertyVerdict()
    flows = header.get("flows", [])
    hops = {task for flow in flows for task in flow["hops"]}
    _check_tasks(header, records, hops, finding)
    if flows:
        _check_hops(header, records, hops, finding)
        _Items(flows, finding).follow(records)
    return finding


def _check_tasks(
    header: Header, records: Records, hops: set[int], finding: PropertyVerdict
) -> None:
    tasks = header["tasks"]
    last_ns: list[int | None] = [None] * len(tasks)
    count = [0] * len(tasks)
    finished_ns: list[int | None] = [None] * len(tasks)
    kinds = records["kind"]
    for record in each(records[(kinds == Kind.RELEASE) | (kinds == Kind.COMPLETE)]):
        task = record.task
        if record.kind == Kind.COMPLETE:
            finished_ns[task] = record.time_ns
            continue
        if task in hops:
            continue
        low_ns, high_ns = _range(tasks[task], count[task], last_ns[task], finished_ns[task])
        if record.time_ns < low_ns or (high_ns is not None and record.time_ns > high_ns):
            finding.add(record.time_ns, _text(header, record, low_ns, high_ns))
        last_ns[task] = record.time_ns
        count[task] += 1


def _range(
    entry: TaskEntry | FlowEntry, index: int, last_ns: int | None, finished_ns: int | None
) -> tuple[int, int | None]:
    """The earliest and the latest instant for a release; None: no latest."""
    period_ns, jitter_ns, offset_ns = entry["period_ns"], entry["jitter_ns"], entry["offset_ns"]
    if entry["kind"] == "periodic" and period_ns is not None:
        own_ns = offset_ns + index * period_ns
        before_ns = last_ns or 0
        return max(own_ns, before_ns), max(own_ns + jitter_ns, before_ns)
    if last_ns is None:
        return offset_ns, offset_ns + jitter_ns
    if entry["kind"] == "sporadic" and period_ns is not None:
        return max(last_ns, last_ns + period_ns - jitter_ns), None
    if entry["kind"] == "event" and period_ns is not None and finished_ns is not None:
        return finished_ns + period_ns, finished_ns + period_ns + jitter_ns
    return last_ns, None


def _text(header: Header, record: Record, low_ns: int, high_ns: int | None) -> str:
    who = f"{task_name(header, record.task)} job {record.job}"
    until = "" if high_ns is None else f" to {high_ns}"
    return f"{who} is released outside {low_ns}{until}"


def _check_hops(header: Header, records: Records, hops: set[int], finding: PropertyVerdict) -> None:
    """Every release of a hop carries an item, and nothing else does."""
    kinds = records["kind"]
    released: set[tuple[int, int]] = set()
    for record in each(records[(kinds == Kind.RELEASE) | (kinds == Kind.ITEM)]):
        job = (record.task, record.job)
        who = f"{task_name(header, record.task)} job {record.job}"
        if record.kind == Kind.RELEASE and record.task in hops:
            released.add(job)
        elif record.kind == Kind.ITEM and job not in released:
            finding.add(record.time_ns, f"{who} carries an item but is not released")
        elif record.kind == Kind.ITEM:
            released.remove(job)
    for task, number in sorted(released):
        finding.add(end_ns(records), f"{task_name(header, task)} job {number} carries no item")


def _in_turn(records: Records) -> Iterator[tuple[Record, Item]]:
    """Within an instant what completes is first; then items come, by flow and number."""
    for _, together in groupby(visits(records), key=lambda visit: visit[0].time_ns):
        yield from sorted(
            together,
            key=lambda visit: (visit[0].kind != Kind.COMPLETE, visit[1].flow, visit[1].number),
        )


class _Items:
    """The items of flows that are on their way at the record that is looked at."""

    def __init__(self, flows: list[FlowEntry], finding: PropertyVerdict) -> None:
        self.flows = flows
        self.finding = finding
        self.under_way = [0] * len(flows)
        self.came = [0] * len(flows)
        self.last_ns: list[int | None] = [None] * len(flows)
        self.ready: dict[tuple[int, int], tuple[int, int]] = {}  # item: next hop, since when
        # Of closed sources: since when its clients think that have no item on its way.
        self.thinking = [deque([flow["offset_ns"]] * flow.get("clients", 0)) for flow in flows]

    def follow(self, records: Records) -> None:
        for record, item in _in_turn(records):
            if item.flow >= len(self.flows) or item.hop >= len(self.flows[item.flow]["hops"]):
                self.finding.add(record.time_ns, f"{item} is an item of no flow")
            elif record.kind == Kind.COMPLETE:
                self._complete(record, item)
            elif item.hop == 0:
                self._come(record, item)
            else:
                self._go_on(record, item)
        last_ns = end_ns(records)
        for (flow, number), (hop, since_ns) in sorted(self.ready.items()):
            if since_ns < last_ns:
                name = self.flows[flow]["name"]
                text = f"{name} item {number} is done before hop {hop} and never gets there"
                self.finding.add(since_ns, text)
        for flow, thinking in enumerate(self.thinking):
            for since_ns in thinking:
                self._check_thought(flow, "", since_ns, last_ns, sent=False)

    def _complete(self, record: Record, item: Item) -> None:
        if item.hop + 1 < len(self.flows[item.flow]["hops"]):
            self.ready[item.flow, item.number] = (item.hop + 1, record.time_ns)
        else:
            self.under_way[item.flow] -= 1
            if "clients" in self.flows[item.flow]:
                self.thinking[item.flow].append(record.time_ns)

    def _come(self, record: Record, item: Item) -> None:
        flow = self.flows[item.flow]
        who = f"{flow['name']} item {item.number}"
        full = self.under_way[item.flow] >= flow["queue"]
        if item.number != self.came[item.flow]:
            self.finding.add(record.time_ns, f"{who} comes as number {self.came[item.flow]}")
        self._check_source(record, item, who)
        if full != (record.kind == Kind.DROP):
            what = "is dropped" if record.kind == Kind.DROP else "comes"
            on_way = self.under_way[item.flow]
            self.finding.add(record.time_ns, f"{who} {what} with {on_way} on their way")
        if record.kind == Kind.ITEM:
            self._at(record, item)
            self.under_way[item.flow] += 1
        self.came[item.flow] += 1
        self.last_ns[item.flow] = record.time_ns

    def _check_source(self, record: Record, item: Item, who: str) -> None:
        flow = self.flows[item.flow]
        if "clients" in flow:
            thinking = self.thinking[item.flow]
            if thinking:
                self._check_thought(item.flow, who, thinking.popleft(), record.time_ns, sent=True)
            else:
                self.finding.add(record.time_ns, f"{who} comes while every client waits")
            return
        release, place = divmod(self.came[item.flow], flow["burst"])
        last_ns = self.last_ns[item.flow]
        low_ns, high_ns = _range(flow, release, last_ns, None)
        if place > 0 and last_ns is not None:
            low_ns = high_ns = last_ns
        if record.time_ns < low_ns or (high_ns is not None and record.time_ns > high_ns):
            until = "" if high_ns is None else f" to {high_ns}"
            self.finding.add(record.time_ns, f"{who} comes outside {low_ns}{until}")

    def _check_thought(
        self, flow: int, who: str, since_ns: int, now_ns: int, *, sent: bool
    ) -> None:
        """A client has thought since then, and sends now, or the run ends."""
        entry = self.flows[flow]
        low_ns = since_ns + entry.get("think_least_ns", 0)
        high_ns = since_ns + entry.get("think_most_ns", 0)
        if sent and not low_ns <= now_ns <= high_ns:
            self.finding.add(now_ns, f"{who} comes outside {low_ns} to {high_ns}")
        elif not sent and high_ns < now_ns:
            self.finding.add(now_ns, f"{entry['name']}: a client never sends after {high_ns}")

    def _go_on(self, record: Record, item: Item) -> None:
        self._at(record, item)
        ready = self.ready.pop((item.flow, item.number), None)
        if ready != (item.hop, record.time_ns):
            name = self.flows[item.flow]["name"]
            text = f"{name} item {item.number} is at hop {item.hop} but was not done before it"
            self.finding.add(record.time_ns, text)

    def _at(self, record: Record, item: Item) -> None:
        flow = self.flows[item.flow]
        if flow["hops"][item.hop] != record.task:
            text = f"{flow['name']} item {item.number} is at a task that is not hop {item.hop}"
            self.finding.add(record.time_ns, text)
