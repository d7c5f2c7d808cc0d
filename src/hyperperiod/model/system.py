# SPDX-License-Identifier: BSD-2-Clause
"""A system: the one thing that every command reads.

The classes here and in `domain`, `task`, `flow`, `interface` and `changes` are the definition from
which the reader, the messages, the JSON Schema and the tables of keys in `docs/formats.md` all
come. Fields carry their unit in the name (`period_ns`); files use the short key (`period`) with a
text such as "10ms". Objects are frozen. What a single value must be is said by its type; what the
values of one object must be together stands with its class, what excludes what in `exclusions`, and
what the objects of a system must be beside each other in functions at the end of these files, in
`pcpus` and in `quantum`. All of it is checked whenever an object is made, from a file or in Python.
Defaults that depend on other fields (a deadline is the period, the only pcpu is pcpu 0, a
best-effort domain without tasks is a plain hog) are filled in by the classes, once.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hyperperiod.model import pcpus
from hyperperiod.model.changes import (
    Change,
    Overrun,
    Swap,
    changes_of_vcpus,
    overruns_of_tasks,
    swaps_in_order,
)
from hyperperiod.model.domain import Domain, priorities, unique_names, without_tasks
from hyperperiod.model.exclusions import Narrower, excluded
from hyperperiod.model.flow import Device, Flow, flows_through
from hyperperiod.model.interface import Interface
from hyperperiod.model.limits import PcpuId, Pcpus, Prose
from hyperperiod.model.part import Part, key
from hyperperiod.model.policy import Policy, PolicyChoice, Scope
from hyperperiod.model.quantum import whole_quanta
from hyperperiod.model.stolen import Stolen, thefts_fit
from hyperperiod.model.task import DeviceTask
from hyperperiod.model.units import format_time
from hyperperiod.model.values import Finding, Name, PositiveTime, Time
from hyperperiod.model.words import Sbf, SourceKind, TaskKind


class Overheads(Part):
    """The time that the machine takes for itself; the analysis and the simulator add it."""

    context_switch_ns: Time = key(
        "another vcpu runs here than the one before; going idle is free", default=0
    )
    pick_ns: Time = key("every pick", default=0)
    replenish_ns: Time = key("each refill that was noticed since the last pick", default=0)
    wake_ns: Time = key("each arrival since the last pick", default=0)
    interrupt_ns: Time = key("a pick that a timer or a kick made", default=0)
    migration_ns: Time = key("the vcpu ran on another pcpu before", default=0)

    if TYPE_CHECKING:  # tools/signatures.py

        def __init__(
            self,
            *,
            context_switch: int | str = ...,
            context_switch_ns: int | str = ...,
            pick: int | str = ...,
            pick_ns: int | str = ...,
            replenish: int | str = ...,
            replenish_ns: int | str = ...,
            wake: int | str = ...,
            wake_ns: int | str = ...,
            interrupt: int | str = ...,
            interrupt_ns: int | str = ...,
            migration: int | str = ...,
            migration_ns: int | str = ...,
        ) -> None: ...


class System(Part):
    """Domains on pcpus under a policy."""

    name: Name = key("what the system is called")
    description: Prose = key("what it is; free text", default="", unset="empty")
    policy: PolicyChoice = key("a name, rules joined by `+`, or `{ budget, order, slack, scope }`")
    pcpus: Pcpus = key("how many pcpus there are, 1 to 64", default=1)
    quantum_ns: PositiveTime | None = key(
        "budgets and periods are multiples of it; equals take turns", default=None, unset="none"
    )
    major_frame_ns: PositiveTime | None = key(
        'how long the table of windows is, under the policy `"table"`', default=None, unset="none"
    )
    sbf: Sbf = key(
        'the supply bound: or `"harmonic"` or `"edp"`, refused where they are not sound, or'
        ' `"servers"`; see [domains](analysis/domains.md)',
        default=Sbf.GENERAL,
    )
    spare: Interface | None = key(
        "`{ period, budget }`, for policies with a spare", default=None, unset="computed"
    )
    overheads: Overheads = key(
        "what the machine takes for itself, `[overheads]`", default=Overheads()
    )
    reserved: tuple[PcpuId, ...] = key(
        "pcpus on which [`fit`](fit.md) puts nothing", default=(), unset="none"
    )
    stolen: tuple[Stolen, ...] = key(
        "time that pcpus are not there to be granted, `[[stolen]]`", default=()
    )
    domains: tuple[Domain, ...] = key("its domains, `[[domain]]`; at least one", name="domain")
    devices: tuple[Device, ...] = key(
        "what packets come in and go out through, `[[device]]`", default=(), name="device"
    )
    flows: tuple[Flow, ...] = key("its flows, `[[flow]]`", default=(), name="flow")
    swaps: tuple[Swap, ...] = key(
        "other policies from some instants on, `[[swap]]`", default=(), name="swap"
    )
    changes: tuple[Change, ...] = key(
        "other interfaces or pcpus from some instants on, `[[change]]`", default=(), name="change"
    )
    overruns: tuple[Overrun, ...] = key(
        "tasks whose jobs run longer than analysed, `[[overrun]]`", default=(), name="overrun"
    )

    if TYPE_CHECKING:  # tools/signatures.py

        def __init__(
            self,
            *,
            name: str,
            description: str = ...,
            policy: Policy | str | dict[str, Any],
            pcpus: int = ...,
            quantum: int | str | None = ...,
            quantum_ns: int | str | None = ...,
            major_frame: int | str | None = ...,
            major_frame_ns: int | str | None = ...,
            sbf: str = ...,
            spare: Interface | dict[str, Any] | None = ...,
            overheads: Overheads | dict[str, Any] = ...,
            reserved: Sequence[int] = ...,
            stolen: Sequence[Stolen | dict[str, Any]] = ...,
            domains: Sequence[Domain | dict[str, Any]],
            devices: Sequence[Device | dict[str, Any]] = ...,
            flows: Sequence[Flow | dict[str, Any]] = ...,
            swaps: Sequence[Swap | dict[str, Any]] = ...,
            changes: Sequence[Change | dict[str, Any]] = ...,
            overruns: Sequence[Overrun | dict[str, Any]] = ...,
        ) -> None: ...

    def _settle(self) -> None:
        if self.pcpus == 1 and self.policy.scope is Scope.PARTITIONED:
            at_home = (
                one if one.pcpu is not None or one.pcpus is not None else one.replace(pcpu=0)
                for one in self.domains
            )
            self._set(domains=tuple(at_home))
        frame_ns = self.major_frame_ns
        if frame_ns is not None:
            self._set(domains=tuple(pcpus.with_interface(one, frame_ns) for one in self.domains))
        plain = self.without_devices()
        self._set(domains=plain.domains, flows=plain.flows)
        if self.devices and not self._device_findings():
            from hyperperiod.model.devices import with_devices

            domains, flows = with_devices(self.devices, self.domains, self.flows)
            self._set(domains=domains, flows=flows)

    def _findings(self) -> Iterable[Finding]:
        if not self.domains:
            yield Finding(("domain",), "no domain", "at least one [[domain]]")
        yield from pcpus.policy_fits(("policy",), self.policy, self.pcpus)
        yield from unique_names(self.domains)
        yield from pcpus.pins(self.domains, self.policy, self.pcpus)
        yield from pcpus.wishes(self.domains, self.reserved, self.policy, self.pcpus)
        yield from pcpus.capacity(self.domains, self.policy)
        yield from priorities(self.domains, [self.policy, *(swap.policy for swap in self.swaps)])
        if self.quantum_ns is not None:
            yield from whole_quanta(self.spare, self.domains, self.changes, self.quantum_ns)
        yield from swaps_in_order(self.swaps, self.policy, self.pcpus)
        yield from changes_of_vcpus(self.changes, self.domains, self.policy, self.pcpus)
        yield from self._device_findings() or self._findings_with_devices()
        yield from pcpus.table_fits(self.domains, self.policy, self.major_frame_ns)
        if self.major_frame_ns is not None:
            yield from excluded(Narrower.TABLE, self)
        yield from thefts_fit(self.stolen, self.pcpus)
        yield from overruns_of_tasks(self.overruns, self.domains)

    def _findings_with_devices(self) -> Iterator[Finding]:
        """Findings on what is whole only with the tasks and hops of devices."""
        yield from without_tasks(self.domains)
        yield from flows_through(self.flows, self.domains)

    def _device_findings(self) -> list[Finding]:
        if not self.devices and not any(flow.via or flow.out for flow in self.flows):
            return []
        from hyperperiod.model.devices import devices_fit

        plain = self.without_devices()
        return list(devices_fit(self.devices, plain.domains, plain.flows))

    def without_devices(self) -> "System":
        """The system without the tasks and hops that are made of its devices, as its file is."""
        if not any(isinstance(task, DeviceTask) for one in self.domains for task in one.tasks):
            return self
        from hyperperiod.model.devices import without_devices

        domains, flows = without_devices(self.domains, self.flows, self.devices)
        return self.replace(domains=domains, flows=flows)

    def policies_text(self, horizon_ns: int | None = None) -> str:
        """The policies of a run of that length, or of any: `ptps, then crps from 2s`."""
        later = [one for one in self.swaps if horizon_ns is None or one.at_ns < horizon_ns]
        named = [f"{one.policy} from {format_time(one.at_ns)}" for one in later]
        return ", then ".join([str(self.policy), *named])

    def missing_pins(self) -> Iterator[Finding]:
        """The findings on the domains that a partitioned policy still has to be told a pcpu for.

        A system without pins is a legal system: it is what `fit` completes. Whoever analyses, runs
        or exports one needs them all.
        """
        return pcpus.missing_pins(self.domains, self.policy, self.pcpus)

    def ring_of(self, flow: Flow) -> int | None:
        """Returns the length of the ring that a flow's items come into; None if there is none."""
        return next((one.queue for one in self.devices if one.name == flow.via), None)

    @property
    def pinned(self) -> bool:
        """Whether every domain has its pcpu, where the policy wants one."""
        return not any(self.missing_pins())

    @property
    def timers(self) -> frozenset[str]:
        """What time itself releases, as "domain.task": to an executor these are timers.

        They are the periodic tasks, and the first hops of flows with a periodic source.
        """
        periodic = (flow for flow in self.flows if flow.source.kind is SourceKind.PERIODIC)
        names = (
            f"{domain.name}.{task.name}"
            for domain in self.domains
            for task in domain.tasks
            if task.kind is TaskKind.PERIODIC
        )
        return frozenset((*names, *(flow.hops[0] for flow in periodic)))

    def _repr_html_(self) -> str:
        """The system as notebooks show it: as its file would be."""
        from html import escape

        from hyperperiod.model.toml_text import toml_text

        return f"<pre>{escape(toml_text(self.without_devices()))}</pre>"
