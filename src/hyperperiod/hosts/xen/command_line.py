# SPDX-License-Identifier: BSD-2-Clause
"""What a system says to Xen: its command line.

Xen is given `sched=hyperperiod` and options `hyperperiod=ITEM,ITEM,...`: the policy, and a server
for the vcpus of every domain (`d1`, `d2`, ... in file order). When the run begins and ends and what
is to change on the way are items of `hyperperiod-test`. Xen keeps 127 characters of an option, so
there are several; of options there may be any number.

Of the words of a guest (guests.py), what does not fit into the device tree goes into a text module
of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hyperperiod.hosts.channels import CHANNEL_LIMIT, channels_of
from hyperperiod.hosts.decisions import require_time
from hyperperiod.hosts.guests import ITEM_LIMIT, LINUX_DEADLINES_NS, counted_flows
from hyperperiod.hosts.priorities import Priorities
from hyperperiod.hosts.xen.devicetree import ARGUMENTS_LIMIT, PAGES, SLOTS_OF_PAGE
from hyperperiod.model import (
    Change,
    Domain,
    InputError,
    Interface,
    Policy,
    Scheduler,
    Scope,
    Slack,
    System,
    Vcpu,
    changed_vcpus,
    vcpus_of,
)
from hyperperiod.model.units import NS_PER_UNIT

OPTION = "hyperperiod="
"""What pools and domains start with (hosts/xen/options.h)."""
SCRIPT_OPTION = "hyperperiod-test="
"""When the run begins and ends, and what changes on the way."""
OPTION_LIMIT = 120
"""How many characters an option has at most; Xen would take 127."""
VCPU_LIMIT = 64
PCPU_LIMIT = 8
DOMAIN_LIMIT = 32
"""Xen keeps the arguments of that many domains at boot."""
GUEST_VCPU_LIMIT = 16
GUEST_TASK_LIMIT = 256
"""What the executive has room for."""
CARD_FRAMES = 256
"""What a card holds that its driver has not taken yet (guests/board/card.h)."""
UNRANKED = (Scheduler.EDF, Scheduler.FIFO, Scheduler.FAIR)
"""Under these, and the global ones like them, a task has no place of its own among the others."""
LINUX_RANKS = 98
"""Priorities of SCHED_FIFO, less the highest, which the guest needs for itself."""

TREE_BYTES = 2_774
VCPU_TREE_BYTES = 96
CHANNEL_TREE_BYTES = 148
"""A guest's own device tree, which Xen makes, has 4 KiB: what is left beside that of one vcpu, and
what each further vcpu and each channel take."""

CARD_WORD_BYTES = 48
"""More than the word by which a guest is told of a card."""

NO_SPARE = "spare=1s:0s"
"""The spare of a system that has none, under a policy with a spare: any period will do."""


def refuse(system: System) -> None:
    """InputError for what the simulator can run and this host cannot."""
    counted = [
        ("pcpus", system.pcpus, PCPU_LIMIT - bool(system.devices)),
        ("device", len(system.devices), SLOTS_OF_PAGE),
        ("device: drivers", len({device.driver for device in system.devices}), PAGES - 1),
        ("domain", len(system.domains), DOMAIN_LIMIT - bool(system.devices)),
        ("domain: vcpus", sum(domain.vcpus for domain in system.domains), VCPU_LIMIT),
    ]
    counted += _counted_flows(system)
    for domain in system.domains:
        counted.append((f"domain {domain.name}: vcpus", domain.vcpus, GUEST_VCPU_LIMIT))
        counted.append((f"domain {domain.name}: task", len(domain.tasks), GUEST_TASK_LIMIT))
    for what, found, limit in counted:
        if found > limit:
            raise InputError(system.name, None, what, str(found), f"at most {limit} on Xen")
    for domain in system.domains:
        if domain.guest.is_linux:
            _refuse_threads(system, domain)
        elif domain.vcpus > 1 and domain.scheduler.is_global:
            _require_whole_pcpus(system, domain)


def _require_whole_pcpus(system: System, domain: Domain) -> None:
    """InputError for an executive that should move jobs to vcpus that have a pcpu just now.

    Nobody tells it which these are, so it takes all of them to be there.
    """
    for name, keys in zip(domain.vcpu_names, domain.each_vcpu, strict=True):
        if keys.interface is None or keys.interface.budget_ns < keys.interface.period_ns:
            raise InputError(
                system.name,
                None,
                f"domain {domain.name}: scheduler",
                f'"{domain.scheduler}", and {name} without a budget of its whole period',
                "vcpus that always have a pcpu: guests on Xen do not learn which of theirs run"
                ' (a guest = "linux" moves jobs all the same)',
            )


def _refuse_threads(system: System, domain: Domain) -> None:
    """InputError for tasks that Linux cannot have as threads under the domain's scheduler."""
    where = f"domain {domain.name}: "
    for flow in system.flows:
        if any(hop.split(".")[0] == domain.name for hop in flow.hops):
            found = f'"{domain.guest}", and items of {flow.name}'
            allowed = "executive: Linux has no flows"
            raise InputError(system.name, None, f"{where}guest", found, allowed)
    if domain.scheduler.local not in UNRANKED and len(domain.tasks) > LINUX_RANKS:
        allowed = f"at most {LINUX_RANKS} under {domain.scheduler}: Linux has as many priorities"
        raise InputError(system.name, None, f"{where}task", str(len(domain.tasks)), allowed)
    least_ns, most_ns = LINUX_DEADLINES_NS
    for task in domain.tasks if domain.scheduler.local is Scheduler.EDF else ():
        if task.deadline_ns is not None and not least_ns <= task.deadline_ns <= most_ns:
            allowed = (
                f"{exact_time(least_ns)} to {exact_time(most_ns)} under {domain.scheduler} in Linux"
            )
            found = exact_time(task.deadline_ns)
            what = f"{where}task {task.name}: deadline"
            raise InputError(system.name, None, what, found, allowed)


def _counted_flows(system: System) -> Iterator[tuple[str, int, int]]:
    """What there is of flows, and the most that a guest and Xen have room for."""
    yield from counted_flows(system)
    between = "flow: pairs of domains with items between them"
    channels = channels_of(system)
    yield between, len(channels), CHANNEL_LIMIT
    for device in system.devices:
        yield f"device {device.name}: queue", device.queue, ITEM_LIMIT
    at_once = sum(flow.source.burst for flow in system.flows if flow.via is not None)
    yield "device: packets that may come at once", at_once, CARD_FRAMES
    for number, domain in enumerate(system.domains):
        ends = sum(channel.other(number) is not None for channel in channels)
        room = _tree_room(domain) - _card_bytes(system, domain)
        limit = max(0, room) // CHANNEL_TREE_BYTES
        yield f"domain {domain.name}: domains that it exchanges items with", ends, limit


def xen_arguments(
    system: System, *, epoch_ns: int, horizon_ns: int | None = None, ring_bytes: int | None = None
) -> str:
    """The scheduler's part of Xen's command line; interfaces must be known.

    InputError for servers that Xen would refuse at boot.
    """
    require_time(system, "Xen")
    listed = items(system)
    if ring_bytes is not None:
        listed.append(f"ring={exact_bytes(ring_bytes)}")
    script = [*events(system), f"epoch={exact_time(epoch_ns)}"]
    if horizon_ns is not None:
        script.append(f"horizon={exact_time(horizon_ns)}")
    said = [*options(OPTION, listed), *options(SCRIPT_OPTION, script)]
    return " ".join(["sched=hyperperiod", *said])


def items(system: System) -> list[str]:
    """Returns what pools and domains start with, as items of `OPTION`."""
    priorities = Priorities(system)
    policies = [system.policy, *(swap.policy for swap in system.swaps)]
    listed = [f"policy={_policy(system.policy)}"]
    if system.policy.name is None and system.policy.scope is Scope.GLOBAL:
        listed.append("scope=global")
    if system.quantum_ns is not None:
        listed.append(f"quantum={exact_time(system.quantum_ns)}")
    if system.spare is not None:
        listed.append(f"spare={_interface(system.spare)}")
    elif any(one.slack is Slack.SPARE for one in policies):
        listed.append(NO_SPARE)
    listed += [
        f"{_who(vcpu)}={_server(system, vcpu, priorities)}"
        for vcpu in vcpus_of(system)
        if vcpu.index == 0 or not vcpu.domain.is_plain
    ]
    return listed


def _who(vcpu: Vcpu) -> str:
    """What Xen's command line calls a vcpu: with all of its domain where these are alike."""
    number = f"d{vcpu.domain_index + 1}"
    return number if vcpu.domain.is_plain else f"{number}.{vcpu.index}"


def events(system: System) -> list[str]:
    """Swaps and changes in order of time, at one time swaps first: items of `SCRIPT_OPTION`."""
    priorities = Priorities(system)
    timed = [
        *(
            (swap.at_ns, f"swap={exact_time(swap.at_ns)}:{_policy(swap.policy)}")
            for swap in system.swaps
        ),
        *(
            (change.at_ns, text)
            for change in system.changes
            for text in _changes(system, change, priorities)
        ),
    ]
    return [item for _, item in sorted(timed, key=lambda event: event[0])]


def options(option: str, listed: Iterable[str]) -> list[str]:
    """Returns items as options of this name, as many in each as Xen takes."""
    lines: list[str] = []
    for item in listed:
        if lines and len(lines[-1]) + 1 + len(item) <= OPTION_LIMIT:
            lines[-1] += f",{item}"
        else:
            lines.append(f"{option}{item}")
    return lines


def arguments_limit(system: System, number: int) -> int:
    """Characters of arguments that have room in the device tree of a domain (from 0)."""
    domain = system.domains[number]
    ends = sum(channel.other(number) is not None for channel in channels_of(system))
    limit = min(ARGUMENTS_LIMIT, _tree_room(domain) - ends * CHANNEL_TREE_BYTES)
    return limit - _card_bytes(system, domain)


def _tree_room(domain: Domain) -> int:
    return TREE_BYTES - (domain.vcpus - 1) * VCPU_TREE_BYTES


def _card_bytes(system: System, domain: Domain) -> int:
    cards = sum(device.driver == domain.name for device in system.devices)
    return cards * CARD_WORD_BYTES


def split_words(words: Sequence[str], limit: int = ARGUMENTS_LIMIT) -> tuple[str, bytes | None]:
    """The words for the device tree, and a text with the rest if not all have room."""
    used = -1
    for index, word in enumerate(words):
        used += 1 + len(word)
        if used > limit:
            return " ".join(words[:index]), (" ".join(words[index:]) + "\n").encode()
    return " ".join(words), None


def exact_time(time_ns: int) -> str:
    """A time as a whole number in the largest unit that allows it."""
    for unit, size in reversed(NS_PER_UNIT.items()):
        if time_ns % size == 0:
            return f"{time_ns // size}{unit}"
    raise AssertionError("every time is a number of nanoseconds")


def exact_bytes(size: int) -> str:
    """A size as a whole number in the largest unit that allows it."""
    for shift, unit in ((20, "M"), (10, "k")):
        if size and size % (1 << shift) == 0:
            return f"{size >> shift}{unit}"
    return str(size)


def _policy(policy: Policy) -> str:
    return policy.name or f"{policy.budget}+{policy.order}+{policy.slack}"


def _interface(interface: Interface) -> str:
    return f"{exact_time(interface.period_ns)}:{exact_time(interface.budget_ns)}"


def _server(system: System, vcpu: Vcpu, priorities: Priorities) -> str:
    return ":".join(_server_parts(system, vcpu, priorities))


def _server_parts(system: System, vcpu: Vcpu, priorities: Priorities) -> Iterator[str]:
    if vcpu.best_effort:
        yield "best-effort"
    else:
        assert vcpu.interface is not None, "interfaces must be known"
        yield _interface(vcpu.interface)
        yield f"p{priorities.of(vcpu)}"
    if system.pcpus > 1 and system.policy.scope is Scope.PARTITIONED:
        yield f"cpu{vcpu.pcpu}"
    if vcpu.extra and not vcpu.best_effort:
        yield "extra"
    if vcpu.best_effort and vcpu.weight is not None:
        yield f"w{vcpu.weight}"


def _changes(system: System, change: Change, priorities: Priorities) -> Iterator[str]:
    """A change as items: those for all vcpus of a domain that are alike, else those for each."""
    at = exact_time(change.at_ns)
    for vcpu in changed_vcpus(system, change):
        whole = vcpu.domain.is_plain and change.domain == vcpu.domain.name
        who = _who(vcpu) if whole else f"d{vcpu.domain_index + 1}.{vcpu.index}"
        if change.interface is not None:
            server = f"{_interface(change.interface)}:p{priorities.after(change, vcpu)}"
            yield f"change={at}:{who}:{server}{':extra' if vcpu.extra else ''}"
        if change.pcpu is not None:
            yield f"move={at}:{who}:cpu{change.pcpu}"
        if whole:
            return
