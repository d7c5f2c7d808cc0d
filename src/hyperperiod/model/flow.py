# SPDX-License-Identifier: BSD-2-Clause
"""Flows of items through tasks, their sources and devices, and what the keys must be together.

At the end: what the flows of a system must be beside its domains.
"""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from hyperperiod.model.domain import Domain
from hyperperiod.model.exclusions import Narrower, excluded
from hyperperiod.model.limits import FLOW_LIMIT, HOP_LIMIT, Items, Priority
from hyperperiod.model.part import Part, key
from hyperperiod.model.task import Task
from hyperperiod.model.units import TIME_LIMIT_NS
from hyperperiod.model.values import Etf, Finding, Name, Path, PositiveTime, Time, duplicates
from hyperperiod.model.words import SourceKind, TaskKind, ThinkDraw


class Source(Part):
    """The source of the items of a flow.

    Periodic or sporadic: `burst` of them at each release, like a task's. Closed: each of `clients`
    thinks for `think_ns` on average, sends an item, and thinks again when that has left.
    """

    kind: SourceKind = key(
        "`periodic` or `sporadic` releases, or `closed`: clients that wait for the item before",
        default=SourceKind.PERIODIC,
    )
    period_ns: PositiveTime | None = key(
        "from one release to the next, at least; required, except for `closed`",
        default=None,
        unset="none",
    )
    offset_ns: Time = key(
        "when the first release is, or when all clients begin to think", default=0
    )
    jitter_ns: Time = key("how late a release may be", default=0)
    burst: Items = key("how many items each release brings", default=1)
    clients: Items | None = key(
        "how many, 1 to 65536; each has one item on its way or thinks; `closed` only",
        default=None,
        unset="none",
    )
    think_ns: Time | None = key(
        'for how long a client thinks on average; may be `"0s"`; `closed` only',
        default=None,
        unset="none",
    )
    think_draw: ThinkDraw | None = key(
        "`uniform`: a whole number of nanoseconds from 0 to 2 * `think`; `constant`: always"
        " `think`; `closed` only",
        default=None,
        unset="`uniform`",
    )

    if TYPE_CHECKING:  # tools/signatures.py

        def __init__(
            self,
            *,
            kind: str = ...,
            period: int | str | None = ...,
            period_ns: int | str | None = ...,
            offset: int | str = ...,
            offset_ns: int | str = ...,
            jitter: int | str = ...,
            jitter_ns: int | str = ...,
            burst: int = ...,
            clients: int | None = ...,
            think: int | str | None = ...,
            think_ns: int | str | None = ...,
            think_draw: str | None = ...,
        ) -> None: ...

    def _findings(self) -> Iterable[Finding]:
        if self.kind is SourceKind.CLOSED:
            yield from _closed_source(self)
            return
        if self.period_ns is None:
            allowed = f"a time above 0; kind {self.kind} needs period"
            yield Finding(("period",), "nothing", allowed)
        yield from excluded(Narrower.OPEN_SOURCE, self, kind=self.kind)

    @property
    def think_range_ns(self) -> tuple[int, int]:
        """The shortest and the longest time for which a client thinks; 0 without clients."""
        mean_ns = self.think_ns or 0
        constant = self.think_draw is ThinkDraw.CONSTANT
        return (mean_ns, mean_ns) if constant else (0, 2 * mean_ns)


class Flow(Part):
    """Items that travel through tasks of several domains, each hop releasing the next.

    At most `queue` of them are on their way; those that come meanwhile are dropped. Default: 1, or
    as many as a closed source has clients.
    """

    name: Name = key("what the flow is called; unique")
    source: Source = key(
        "`{ kind, period, offset, jitter, burst }`, or [closed](#closed-sources); see the table"
        " below"
    )
    via: Name | None = key(
        "the [device](semantics.md#devices) through which its items come in",
        default=None,
        unset="none",
    )
    out: Name | None = key(
        "the device through which they go out behind the last hop", default=None, unset="none"
    )
    hops: tuple[Name, ...] = key(
        'tasks as `"domain.task"`, in order; each of kind `event`, without offset or jitter'
    )
    deadline_ns: PositiveTime = key("from the release at the source to the end of the last hop")
    queue: Items = key(
        "most items on their way; more are dropped",
        default=None,
        unset="1, or the clients; with `via` the ring of the device",
    )

    if TYPE_CHECKING:  # tools/signatures.py

        @overload
        def __init__(
            self,
            *,
            name: str,
            source: Source | dict[str, Any],
            via: str | None = ...,
            out: str | None = ...,
            hops: Sequence[str],
            deadline: int | str,
            queue: int = ...,
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            name: str,
            source: Source | dict[str, Any],
            via: str | None = ...,
            out: str | None = ...,
            hops: Sequence[str],
            deadline_ns: int | str,
            queue: int = ...,
        ) -> None: ...
        def __init__(self, **values: Any) -> None: ...

    def _settle(self) -> None:
        if self.queue is None:
            self._set(queue=default_queue(self))

    def _findings(self) -> Iterable[Finding]:
        if not self.hops:
            yield Finding(("hops",), "an empty list", "at least one domain.task")
        if len(self.hops) > HOP_LIMIT:
            yield Finding(("hops",), f"{len(self.hops)} hops", f"at most {HOP_LIMIT}")
        clients = self.source.clients or 0
        if self.queue is not None and self.queue < clients:
            yield Finding(
                ("queue",),
                f"{self.queue} for {clients} clients",
                f"at least {clients}, or no queue: a client waits for its item",
            )
        source = self.source
        latest_ns = source.offset_ns + source.jitter_ns + source.think_range_ns[1]
        if latest_ns + self.deadline_ns >= TIME_LIMIT_NS:
            what = "offset + jitter" if source.clients is None else "offset + 2 * think"
            yield Finding(("deadline",), f"{what} + deadline above 2^62 ns", "a sum below 2^62 ns")


class Device(Part):
    """A network card, or what else brings packets and takes them, and the domain that drives it."""

    name: Name = key("what the device is called; unique")
    driver: Name = key("the domain that pays for its packets; one vcpu")
    receive_ns: PositiveTime = key("the driver's longest work for a packet that comes in")
    send_ns: PositiveTime = key("the driver's longest work for a packet that goes out")
    queue: Items = key(
        "length of its ring: packets that came in and are not received yet; more are dropped"
    )
    etf: Etf = key(
        "each packet takes [etf * receive, receive], and so for send", default=Fraction(1)
    )
    priority: Priority | None = key(
        "of its tasks in the driver; required for scheduler `fp`, only there",
        default=None,
        unset="none",
    )

    if TYPE_CHECKING:  # tools/signatures.py

        @overload
        def __init__(
            self,
            *,
            name: str,
            driver: str,
            receive: int | str,
            send: int | str,
            queue: int,
            etf: float | Fraction = ...,
            priority: int | None = ...,
        ) -> None: ...
        @overload
        def __init__(
            self,
            *,
            name: str,
            driver: str,
            receive_ns: int | str,
            send_ns: int | str,
            queue: int,
            etf: float | Fraction = ...,
            priority: int | None = ...,
        ) -> None: ...
        def __init__(self, **values: Any) -> None: ...

    @property
    def task_in(self) -> str:
        """The name of the driver's task that receives packets."""
        return f"{self.name} in"

    @property
    def task_out(self) -> str:
        """The name of the driver's task that sends packets."""
        return f"{self.name} out"


def default_queue(flow: Flow) -> int | None:
    """The most items on their way of a flow that gives no `queue`; None: its device will say."""
    return None if flow.via else flow.source.clients or 1


def _closed_source(one: Source) -> Iterator[Finding]:
    if one.clients is None:
        yield Finding(("clients",), "nothing", "a whole number from 1; kind closed needs clients")
    if one.think_ns is None:
        yield Finding(("think",), "nothing", "a time from 0; kind closed needs think")
    yield from excluded(Narrower.CLOSED_SOURCE, one)


def flows_through(flows: tuple[Flow, ...], domains: tuple[Domain, ...]) -> Iterator[Finding]:
    """Findings on the flows of a system with these domains."""
    yield from duplicates(("flow",), [flow.name for flow in flows])
    if len(flows) > FLOW_LIMIT:
        yield Finding(("flow",), f"{len(flows)} flows", f"at most {FLOW_LIMIT}")
    named: dict[str, list[Task]] = {}
    for member in domains:
        for inside in member.tasks:
            named.setdefault(f"{member.name}.{inside.name}", []).append(inside)
    for index, flow in enumerate(flows):
        for number, hop in enumerate(flow.hops):
            yield from _hop(("flow", index, "hops", number), hop, named.get(hop, []))


def _hop(here: Path, name: str, tasks: list[Task]) -> Iterator[Finding]:
    """A finding on a hop unless it is one task whose jobs are released by items alone."""
    if not tasks:
        yield Finding(here, repr(name), "domain.task of a task")
    elif len(tasks) > 1:
        yield Finding(here, f"{name!r}, which are {len(tasks)} tasks", "a name of one task only")
    elif tasks[0].kind is not TaskKind.EVENT:
        yield Finding(
            here,
            f"{name!r} of kind {tasks[0].kind}",
            'a task of kind "event": items release its jobs',
        )
    elif tasks[0].offset_ns or tasks[0].jitter_ns:
        yield Finding(here, f"{name!r} with an offset or jitter", "neither: items release its jobs")
