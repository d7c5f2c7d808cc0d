# SPDX-License-Identifier: BSD-2-Clause
"""What the values of a system must be together.

Each function looks at one object and returns its findings: where (keys below that object, as a
file writes them), what was found, what is allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hyperperiod.model.policy import ONE_PCPU_ONLY, Order, Scope
from hyperperiod.model.units import TIME_LIMIT_NS, format_time
from hyperperiod.model.values import Finding, Path

if TYPE_CHECKING:
    from hyperperiod.model.system import (
        Domain,
        Flow,
        Interface,
        PeriodRange,
        Source,
        System,
        Task,
    )

# How deep domains may nest. Nobody builds deeper; the bound keeps every recursion shallow.
DEPTH_LIMIT = 16
# Interfaces are named by these words in interval lists.
RESERVED_NAMES = ("idle", "spare")


def interface(one: Interface) -> Iterator[Finding]:
    if one.budget_ns > one.period_ns:
        yield Finding(
            ("budget",),
            f"a budget of {format_time(one.budget_ns)}",
            f"at most the period, {format_time(one.period_ns)}",
        )


def period_range(one: PeriodRange) -> Iterator[Finding]:
    if one.max_ns < one.min_ns:
        yield Finding(
            ("max",),
            format_time(one.max_ns),
            f"at least min, {format_time(one.min_ns)}",
        )


def task(one: Task) -> Iterator[Finding]:
    if one.kind.value == "busy":
        yield from _busy_task(one)
        return
    for key, value in (("period", one.period_ns), ("wcet", one.wcet_ns)):
        if value is None:
            yield Finding((key,), "nothing", f"a time above 0; kind {one.kind.value} needs {key}")
    # Every instant of a job's first period stays in range: the sums of three times do.
    reach = one.offset_ns + one.jitter_ns + (one.deadline_ns or 0)
    if reach >= TIME_LIMIT_NS:
        yield Finding(
            ("offset",), "offset + jitter + deadline above 2^62 ns", "a sum below 2^62 ns"
        )


def _busy_task(one: Task) -> Iterator[Finding]:
    allowed = "a busy task has no period, deadline, jitter or blocking (offset and wcet are free)"
    if one.period_ns is not None:
        yield Finding(("period",), format_time(one.period_ns), allowed)
    elif one.deadline_ns is not None:
        yield Finding(("deadline",), format_time(one.deadline_ns), allowed)
    if one.jitter_ns:
        yield Finding(("jitter",), format_time(one.jitter_ns), allowed)
    if one.blocking_ns:
        yield Finding(("blocking",), format_time(one.blocking_ns), allowed)
    if one.wcet_ns is None and one.etf != 1:
        yield Finding(("etf",), str(float(one.etf)), "etf only beside wcet: endless work has none")


def domain(one: Domain) -> Iterator[Finding]:
    if one.domains:
        yield from _outer_domain(one)
    elif one.best_effort:
        yield from _best_effort_domain(one)
    else:
        yield from _real_time_domain(one)
    yield from _duplicates(("task",), [task.name for task in one.tasks])
    yield from _duplicates(("domain",), [inner.name for inner in one.domains])
    for index, member in enumerate(one.tasks):
        yield from _task_in_domain(one, index, member)


def _outer_domain(one: Domain) -> Iterator[Finding]:
    allowed = (
        "a domain of domains has no tasks of its own, an interface, and one vcpu unless it is gedf"
    )
    if one.tasks:
        yield Finding(("task",), f"{len(one.tasks)} tasks beside domains", allowed)
    if one.best_effort:
        yield Finding(("best_effort",), "true", allowed)
    if one.vcpus != 1 and one.scheduler.value != "gedf":
        yield Finding(("vcpus",), str(one.vcpus), allowed)
    for index, inner in enumerate(one.domains):
        if inner.pcpu is not None:
            yield Finding(
                ("domain", index, "pcpu"), str(inner.pcpu), "pcpu only in the outermost domain"
            )
        if inner.best_effort:
            yield Finding(
                ("domain", index, "best_effort"), "true", "false: an inner domain has a server"
            )
    if _depth(one) > DEPTH_LIMIT:
        yield Finding(("domain",), "domains nested deeper", f"{DEPTH_LIMIT} levels")
    yield from _interface_once(one)


def _depth(one: Domain) -> int:
    return 1 + max((_depth(inner) for inner in one.domains), default=0)


def _best_effort_domain(one: Domain) -> Iterator[Finding]:
    allowed = "a best-effort domain has no server: no {}"
    for key, present in (
        ("interface", one.interface is not None),
        ("interface_period", one.interface_period_ns is not None),
        ("interface_period_range", one.interface_period_range is not None),
        ("priority", one.priority is not None),
        ("extra", one.extra),
    ):
        if present:
            yield Finding((key,), f"{key} with best_effort = true", allowed.format(key))


def _real_time_domain(one: Domain) -> Iterator[Finding]:
    if not one.tasks:
        yield Finding(
            ("task",), "a domain without tasks", "at least one [[domain.task]], or best_effort"
        )
        return
    yield from _interface_once(one)
    yield from _weight_alone(one)
    if one.interface is None and one.weight is None and one.utilization == 0:
        yield Finding(
            ("interface",), "nothing", "{ period, budget }: busy tasks give no demand to compute it"
        )


def _weight_alone(one: Domain) -> Iterator[Finding]:
    """A weight stands for an interface: a share of what the others leave."""
    if one.weight is None:
        return
    for key, present in (
        ("interface", one.interface is not None),
        ("interface_period", one.interface_period_ns is not None),
        ("interface_period_range", one.interface_period_range is not None),
        ("extra", one.extra),
    ):
        if present:
            allowed = f"weight or {key}; or best_effort = true with a weight"
            yield Finding((key,), f"{key} with a weight", allowed)


def _interface_once(one: Domain) -> Iterator[Finding]:
    given = [
        key
        for key, value in (
            ("interface", one.interface),
            ("interface_period", one.interface_period_ns),
            ("interface_period_range", one.interface_period_range),
        )
        if value is not None
    ]
    for key in given[1:]:
        yield Finding((key,), f"{given[0]} and {key}", "one of the two, or neither")


def _task_in_domain(one: Domain, index: int, member: Task) -> Iterator[Finding]:
    here = ("task", index)
    if member.vcpu is not None and member.vcpu >= one.vcpus:
        yield Finding((*here, "vcpu"), str(member.vcpu), _up_to(one.vcpus, "vcpus"))
    if member.vcpu is not None and one.scheduler.value == "gedf":
        yield Finding(
            (*here, "vcpu"), str(member.vcpu), 'no vcpu: with scheduler = "gedf" jobs move'
        )
    by_number = one.scheduler.value == "fp"
    a_hog = one.best_effort and member.kind.value == "busy"
    if by_number and member.priority is None and not a_hog:
        yield Finding(
            (*here, "priority"), "nothing", 'a whole number from 0: scheduler "fp" needs it'
        )
    if not by_number and member.priority is not None:
        yield Finding(
            (*here, "priority"),
            f'{member.priority} with scheduler "{one.scheduler.value}"',
            'a task priority only with scheduler = "fp"',
        )


def _up_to(count: int, what: str) -> str:
    return f"0 (there is 1 of the {what})" if count == 1 else f"0 to {count - 1}"


def _duplicates(path: Path, names: list[str]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield Finding((*path, index, "name"), f"{name!r} a second time", "each name once")
        seen.add(name)


def system(one: System) -> Iterator[Finding]:
    if not one.domains:
        yield Finding(("domain",), "no domain", "at least one [[domain]]")
    yield from _policy_fits(one)
    yield from _domain_names(one)
    yield from _pins(one)
    yield from _capacity(one)
    yield from _priorities(one)
    yield from _quantum(one)
    yield from _swaps(one)
    yield from _changes(one)
    yield from _flows(one)


def _policy_fits(one: System) -> Iterator[Finding]:
    if one.policy.name == ONE_PCPU_ONLY and one.pcpus != 1:
        yield Finding(
            ("policy",), f"hsf-fp on {one.pcpus} pcpus", "pcpus = 1, or partitioned-hsf-fp"
        )


def _domain_names(one: System) -> Iterator[Finding]:
    """Domain names are unique at every depth, and so are the names of their vcpus."""
    taken: dict[str, str] = {}
    for path, member in _all_domains(one.domains, ()):
        for name in {member.name, *member.vcpu_names}:
            if name in RESERVED_NAMES:
                yield Finding((*path, "name"), repr(name), "a name other than idle and spare")
            elif taken.get(name) is not None:
                yield Finding(
                    (*path, "name"),
                    f"{name!r} a second time",
                    "each domain once (several vcpus are called name.0, name.1, ...)",
                )
            taken[name] = member.name


def _all_domains(domains: tuple[Domain, ...], above: Path) -> Iterator[tuple[Path, Domain]]:
    for index, member in enumerate(domains):
        path = (*above, "domain", index)
        yield path, member
        yield from _all_domains(member.domains, path)


def _pins(one: System) -> Iterator[Finding]:
    """A pin that is given must mean something; one that is missing is left to `missing_pins`."""
    partitioned = one.policy.scope is Scope.PARTITIONED
    for index, member in enumerate(one.domains):
        here = ("domain", index, "pcpu")
        if member.pcpu is None:
            continue
        if member.pcpu >= one.pcpus:
            yield Finding(here, str(member.pcpu), _up_to(one.pcpus, "pcpus"))
        elif not partitioned and one.pcpus > 1:
            yield Finding(
                here, str(member.pcpu), f"no pcpu: under the global policy {one.policy} vcpus move"
            )


def missing_pins(one: System) -> Iterator[Finding]:
    """The domains that a partitioned policy still has to be told a pcpu for.

    A system without pins is a legal system: it is what `fit` completes. Whoever analyses, runs
    or exports one needs them all.
    """
    if one.policy.scope is not Scope.PARTITIONED:
        return
    for index, member in enumerate(one.domains):
        if member.pcpu is None:
            yield Finding(
                ("domain", index, "pcpu"),
                "nothing",
                f"{_up_to(one.pcpus, 'pcpus')}: policy {one.policy} pins every domain"
                " (hyperperiod fit chooses pcpus)",
            )


def _capacity(one: System) -> Iterator[Finding]:
    from hyperperiod.model.system import TASK_LIMIT, VCPU_LIMIT

    cores: Counter[int | None] = Counter()
    for member in one.domains:
        if one.policy.scope is Scope.GLOBAL or member.pcpu is not None:
            cores[member.pcpu if one.policy.scope is Scope.PARTITIONED else None] += member.vcpus
    for core, vcpus in cores.items():
        if vcpus > VCPU_LIMIT:
            where = "" if core is None else f" on pcpu {core}"
            yield Finding(("domain",), f"{vcpus} vcpus{where}", f"at most {VCPU_LIMIT}")
    tasks = sum(len(member.tasks) for _, member in _all_domains(one.domains, ()))
    if tasks > TASK_LIMIT:
        yield Finding(("domain",), f"{tasks} tasks", f"at most {TASK_LIMIT}")


def _priorities(one: System) -> Iterator[Finding]:
    """All domains with a server have a priority, or none has; else the others must be ordinary.

    So they are under fp-edf; where only deadlines count, nobody asks.
    """
    orders = {one.policy.order, *(swap.policy.order for swap in one.swaps)}
    if Order.FP not in orders or Order.FP_EDF in orders:
        return
    served = [(i, member) for i, member in enumerate(one.domains) if not member.best_effort]
    given = [index for index, member in served if member.priority is not None]
    if not given or len(given) == len(served):
        return
    for index, member in served:
        if member.priority is None:
            yield Finding(
                ("domain", index, "priority"),
                "nothing",
                "a priority for every domain with a server, or for none",
            )


def _quantum(one: System) -> Iterator[Finding]:
    if one.quantum_ns is None:
        return
    yield from _whole_quanta(("spare",), one.spare, one.quantum_ns)
    for path, member in _all_domains(one.domains, ()):
        yield from _whole_quanta((*path, "interface"), member.interface, one.quantum_ns)
        period_ns = member.interface_period_ns
        if period_ns is not None and period_ns % one.quantum_ns:
            yield _not_whole((*path, "interface_period"), period_ns, one.quantum_ns)
        for key, time_ns in _times_of_range(member):
            if time_ns % one.quantum_ns:
                yield _not_whole((*path, "interface_period_range", key), time_ns, one.quantum_ns)
    for index, change in enumerate(one.changes):
        yield from _whole_quanta(("change", index, "interface"), change.interface, one.quantum_ns)


def _times_of_range(member: Domain) -> list[tuple[str, int]]:
    given = member.interface_period_range
    if given is None:
        return []
    times = [("min", given.min_ns), ("max", given.max_ns)]
    return times if given.step_ns is None else [*times, ("step", given.step_ns)]


def _whole_quanta(path: Path, one: Interface | None, quantum_ns: int) -> Iterator[Finding]:
    if one is None:
        return
    for key, time_ns in (("period", one.period_ns), ("budget", one.budget_ns)):
        if time_ns % quantum_ns:
            yield _not_whole((*path, key), time_ns, quantum_ns)


def _not_whole(path: Path, time_ns: int, quantum_ns: int) -> Finding:
    return Finding(
        path, format_time(time_ns), f"a multiple of the quantum, {format_time(quantum_ns)}"
    )


def _swaps(one: System) -> Iterator[Finding]:
    last_ns = -1
    for index, swap in enumerate(one.swaps):
        if swap.at_ns <= last_ns:
            yield Finding(
                ("swap", index, "at"), format_time(swap.at_ns), "swaps in order of time, one each"
            )
        last_ns = max(last_ns, swap.at_ns)
        if swap.policy.scope is not one.policy.scope:
            yield Finding(
                ("swap", index, "policy"),
                f"{swap.policy}, which is {swap.policy.scope}",
                f"a {one.policy.scope} policy, like {one.policy}",
            )
        if swap.policy.name == ONE_PCPU_ONLY and one.pcpus != 1:
            yield Finding(
                ("swap", index, "policy"),
                f"hsf-fp on {one.pcpus} pcpus",
                "pcpus = 1, or partitioned-hsf-fp",
            )


def _changes(one: System) -> Iterator[Finding]:
    served = [member.name for member in one.domains if not member.best_effort]
    times: set[tuple[int, str]] = set()
    for index, change in enumerate(one.changes):
        here = ("change", index)
        if change.domain not in served:
            yield Finding(
                (*here, "domain"),
                repr(change.domain),
                f"the name of a domain with a server: {', '.join(served[:8]) or 'there is none'}",
            )
        if (change.at_ns, change.domain) in times:
            yield Finding(
                (*here, "at"), format_time(change.at_ns), "one change of a domain at an instant"
            )
        times.add((change.at_ns, change.domain))


def _flows(one: System) -> Iterator[Finding]:
    from hyperperiod.model.system import FLOW_LIMIT

    yield from _duplicates(("flow",), [flow.name for flow in one.flows])
    if len(one.flows) > FLOW_LIMIT:
        yield Finding(("flow",), f"{len(one.flows)} flows", f"at most {FLOW_LIMIT}")
    named: dict[str, list[Task]] = {}
    for member in one.domains:
        for inside in member.tasks:
            named.setdefault(f"{member.name}.{inside.name}", []).append(inside)
    for index, route in enumerate(one.flows):
        for place, hop in enumerate(route.hops):
            here = ("flow", index, "hops", place)
            yield from _hop(here, hop, named.get(hop, []))


def _hop(here: Path, name: str, tasks: list[Task]) -> Iterator[Finding]:
    """A hop is one task, and its items alone say when its jobs are released."""
    if not tasks:
        yield Finding(here, repr(name), "domain.task of a task")
    elif len(tasks) > 1:
        yield Finding(here, f"{name!r}, which are {len(tasks)} tasks", "a name of one task only")
    elif tasks[0].kind.value != "event":
        yield Finding(
            here,
            f"{name!r} of kind {tasks[0].kind.value}",
            'a task of kind "event": items release its jobs',
        )
    elif tasks[0].offset_ns or tasks[0].jitter_ns:
        yield Finding(here, f"{name!r} with an offset or jitter", "neither: items release its jobs")


def source(one: Source) -> Iterator[Finding]:
    if one.kind.value == "closed":
        yield from _closed_source(one)
        return
    if one.period_ns is None:
        yield Finding(("period",), "nothing", f"a time above 0; kind {one.kind.value} needs period")
    for key, value in (
        ("clients", one.clients),
        ("think", one.think_ns),
        ("think_draw", one.think_draw),
    ):
        if value is not None:
            allowed = f'{key} only with kind = "closed"'
            yield Finding((key,), f"{key} of a {one.kind.value} source", allowed)


def _closed_source(one: Source) -> Iterator[Finding]:
    if one.clients is None:
        yield Finding(("clients",), "nothing", "a whole number from 1; kind closed needs clients")
    if one.think_ns is None:
        yield Finding(("think",), "nothing", "a time from 0; kind closed needs think")
    for key, given in (
        ("period", one.period_ns is not None),
        ("jitter", one.jitter_ns != 0),
        ("burst", one.burst != 1),
    ):
        if given:
            allowed = "a closed source has clients, think, think_draw and offset"
            yield Finding((key,), f"{key} of a closed source", allowed)


def flow(one: Flow) -> Iterator[Finding]:
    from hyperperiod.model.system import HOP_LIMIT

    if not one.hops:
        yield Finding(("hops",), "an empty list", "at least one domain.task")
    if len(one.hops) > HOP_LIMIT:
        yield Finding(("hops",), f"{len(one.hops)} hops", f"at most {HOP_LIMIT}")
    clients = one.source.clients or 0
    if one.queue < clients:
        yield Finding(
            ("queue",),
            f"{one.queue} for {clients} clients",
            f"at least {clients}, or no queue: a client waits for its item",
        )
    source = one.source
    latest_ns = source.offset_ns + source.jitter_ns + source.think_range_ns[1]
    if latest_ns + one.deadline_ns >= TIME_LIMIT_NS:
        what = "offset + jitter" if source.clients is None else "offset + 2 * think"
        yield Finding(("deadline",), f"{what} + deadline above 2^62 ns", "a sum below 2^62 ns")
