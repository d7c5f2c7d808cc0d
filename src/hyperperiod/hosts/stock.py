# SPDX-License-Identifier: BSD-2-Clause
"""What runs under schedulers that hosts have themselves share: no server of ours is there.

What such a scheduler cannot do is refused by its name, what it is not told is said, and the trace
and the result are those of a system without servers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hyperperiod.hosts import Stock
from hyperperiod.hosts.recorded_run import RunRecording, RunRequest
from hyperperiod.hosts.replay import Replayed
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.rings import Ring, new_records, silent_ring
from hyperperiod.model import Domain, InputError, Order, System, vcpus_of
from hyperperiod.model.own_vcpu import OwnVcpu
from hyperperiod.model.vcpus import bandwidth_of, interface_of_vcpu, interface_result
from hyperperiod.observe.events import Switch, Thread
from hyperperiod.trace.format import STOLEN, Kind

WEIGHT: Final = 1000
"""The weight of a whole pcpu."""
_BY_DOMAIN: Final = (Stock.CREDIT2, Stock.EEVDF, Stock.QUOTA)
"""What these are told is of a domain, whose vcpus are all the same to them."""


def wrong(key: str, found: str, allowed: str, scheduler: Stock) -> InputError:
    """Returns the error for what a scheduler cannot do for a system."""
    return InputError("", None, key, f"{found} on {scheduler.host}", allowed)


def refuse_events(system: System, scheduler: Stock) -> None:
    """InputError for a system that is to be swapped or changed while it runs, or has devices."""
    counted = {"swap": system.swaps, "change": system.changes, "device": system.devices}
    for key, found in counted.items():
        if found:
            raise wrong(key, f"{len(found)} of them", "none", scheduler)


def weight_of(domain: Domain, sharing: int = 1) -> int:
    """Returns a weight in proportion to the budgets of a domain, of each of so many that share it;
    the least for one without."""
    return max(1, round(WEIGHT * bandwidth_of(domain) / sharing))


def not_told_sentence(system: System, scheduler: Stock, own: Mapping[str, object]) -> str:
    """Returns what of a system a scheduler is not told: of its `own`, which are there or not, and
    of what none of them knows; empty if nothing."""
    vcpus = vcpus_of(system)
    ranks = {one.given.priority for one in vcpus if not one.best_effort}
    apart = [one for one in system.domains if len({keys.interface for keys in one.each_vcpu}) > 1]
    found = {
        **own,
        "the budgets of single vcpus": apart and scheduler in _BY_DOMAIN,
        "priorities of servers": len(ranks) > 1 and system.policy.order is not Order.EDF,
        "weights of best effort": any(one.best_effort and one.weight for one in vcpus),
        "which pcpu a vcpu is on": system.pcpus > 1 and any(one.pcpu is not None for one in vcpus),
        "the quantum": system.quantum_ns,
        "the spare": system.spare,
        "who may use extra time": scheduler is not Stock.RTDS and any(one.extra for one in vcpus),
    }
    left_out = [what for what, is_there in found.items() if is_there]
    return f"{scheduler.host} is not told {', '.join(left_out)}" if left_out else ""


def switched_ring(
    switches: Sequence[Switch],
    epoch_ns: int,
    cpus: Sequence[int],
    vcpu_of: Callable[[Thread], int | None],
) -> Ring:
    """Returns who ran when, as records of a trace, from what was recorded of switches.

    A thread is a vcpu of the system, or it has stolen the time. The pcpu is at its place in `cpus`.
    """
    records = new_records(len(switches), Kind.IDLE, 0)
    for record, event in zip(records, switches, strict=True):
        record["time_ns"], record["pcpu"] = max(0, event.time_ns - epoch_ns), cpus.index(event.cpu)
        vcpu = vcpu_of(event.after)
        if vcpu is not None:
            record["kind"], record["vcpu"], record["payer"] = Kind.RUN, vcpu, vcpu
        elif event.after[1]:
            record["flags"] = STOLEN
    return Ring(silent_ring().header, records, 0)


def unserved(system: System, scheduler: Stock) -> System:
    """The system without servers, under a policy that is called like the scheduler: as its trace
    has it."""
    domains = tuple(
        one.replace(
            interface=None,
            best_effort=True,
            extra=False,
            own_vcpus=tuple(OwnVcpu(pcpu=own.pcpu) for own in one.own_vcpus),
        )
        for one in system.domains
    )
    return system.replace(domains=domains, policy=system.policy.replace(name=str(scheduler)))


def result_under(
    scheduler: Stock,
    request: RunRequest,
    recording: RunRecording,
    count: Callable[[str, RunRequest, Sequence[Replayed]], RunResult],
) -> RunResult:
    """The result of a run under a scheduler that its host has itself.

    `count` makes one of the run that is counted in its place: on which host, of a system without
    servers, to which nothing could be promised, with these decisions.
    """
    nobody = unserved(request.system, scheduler)
    without = request._replace(system=nobody, guarantees=False)
    (ring,) = recording.decisions
    decided = [Replayed(0, nobody.pcpus, 0, ring.records, {})]
    return with_interfaces(count(scheduler.host, without, decided), request.system)


def with_interfaces(result: RunResult, system: System) -> RunResult:
    """The result of a system without servers, with the interfaces that domains and their vcpus were
    to get."""
    found = []
    for one, domain in zip(result.domains, system.domains, strict=True):
        # A domain whose vcpus are all alike has none of its own.
        each = tuple(
            vcpu.replace(interface=interface_of_vcpu(keys.interface))
            for vcpu, keys in zip(one.each_vcpu, domain.each_vcpu, strict=False)
        )
        found.append(one.replace(interface=interface_result(domain), each_vcpu=each))
    return result.replace(domains=tuple(found))
