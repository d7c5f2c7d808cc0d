# SPDX-License-Identifier: BSD-2-Clause
"""What is configured on a Linux machine, as a system file: deadlines, quotas, weights and cpus.

A process with threads of SCHED_DEADLINE becomes a domain, each such thread a vcpu whose server is
what the kernel has admitted, under `cbs`: on each cpu if every thread has one of its own partition,
else on all cpus of the one partition together.

A cgroup that has one cpu to itself, as a partition of cpusets, becomes a server of what its quota
promises there, or of nearly all of it, under `ds`; cgroups called vcpu0, vcpu1 and so on are the
vcpus of a domain that is called as the one around them. Any other cgroup with a quota, a weight or
cpus of its own is best effort: what it gets depends on others. Weights are said where all of these
are siblings, since only siblings are weighed against each other.

What runs inside, the kernel does not know: a busy task stands for all of it. What a system file
cannot say is told in a note each, as threads of SCHED_FIFO, which have no period.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import struct
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from hyperperiod.hosts.linux.cpus import write_list
from hyperperiod.hosts.linux.members import KernelFiles, virtual_machines
from hyperperiod.hosts.linux.readings import (
    OddError,
    Readings,
    RealTimeThread,
    online,
    real_time_threads,
)
from hyperperiod.model import Interface, MissingError, System, format_time, to_toml
from hyperperiod.model.errors import InputError, some_names
from hyperperiod.model.limits import PCPU_LIMIT
from hyperperiod.model.policy import parse_policy
from hyperperiod.model.readers.libvirt import NEARLY_WHOLE, busy_tasks, promised
from hyperperiod.model.values import TomlTable, plain_name, unused_name

CGROUPS: Final = "sys/fs/cgroup"
DEADLINE: Final = "SCHED_DEADLINE"
US: Final = 1_000
USUAL_WEIGHT: Final = 100
VCPU: Final = re.compile(r"(.+)/vcpu\d+")
SCHED_GETATTR: Final = {"x86_64": 315, "aarch64": 275, "riscv64": 275}
"""The number of the system call, by machine."""
ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")
"""The kernel's `struct sched_attr`: last come runtime, deadline and period (ns)."""
Parameters = Callable[[int], tuple[int, int, int]]


class Cgroup(NamedTuple):
    """A cgroup: its folder, its quota in a period (ns), weight, cpus, and whose those are."""

    folder: str
    quota: tuple[int, int] | None
    weight: int
    cpus: frozenset[int]
    has_cpus: bool
    is_partition: bool
    may_burst: bool

    @property
    def is_configured(self) -> bool:
        """Whether anything is other than the kernel has it by itself."""
        return bool(self.quota or self.weight != USUAL_WEIGHT or self.has_cpus or self.is_partition)


def deadline_parameters(thread: int) -> tuple[int, int, int]:
    """Returns runtime, deadline and period (ns) of a thread; OSError if the kernel gives none."""
    given = ctypes.create_string_buffer(ATTRIBUTES.size)
    call = ctypes.CDLL(None, use_errno=True).syscall
    number = SCHED_GETATTR.get(platform.machine(), -1)
    if call(number, thread, given, ATTRIBUTES.size, 0):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    *_, runtime_ns, deadline_ns, period_ns = ATTRIBUTES.unpack(given.raw)
    return runtime_ns, deadline_ns, period_ns


def configured(
    files: Readings, parameters: Parameters = deadline_parameters
) -> tuple[str, list[str]]:
    """Returns a system file of what is configured on a machine, and what the file does not say.

    MissingError without cgroups of version 2; InputError if there is nothing to be said, or only
    what no one system has.
    """
    if files.text(f"{CGROUPS}/cgroup.controllers") is None:
        raise MissingError(
            "no cgroups of version 2 in /sys/fs/cgroup; boot with"
            " systemd.unified_cgroup_hierarchy=1"
        )
    try:
        return _Configuration(files, parameters).text()
    except OddError as odd:
        raise InputError("", None, "", str(odd), "what the kernel writes there") from None


class _Configuration:
    """Turns what the files of a machine say into domains, and keeps notes of what is not said."""

    def __init__(self, files: Readings, parameters: Parameters) -> None:
        self.files = files
        self.notes: list[str] = []
        self.names: set[str] = set()
        self.cgroups = {one.folder: one for one in _cgroups(files)}
        self.threads = list(real_time_threads(files))
        self.deadlines: dict[RealTimeThread, Interface] = {}
        for one in self.threads:
            if one.policy == DEADLINE:
                self._read_deadline(one, parameters)
            else:
                where = f"before all quotas on cpus {write_list(one.cpus)}"
                self._note(f"{_said(one)} has no period: it comes {where}")
        servers = files.paths("sys/kernel/debug/sched/*_server/cpu*/runtime")
        if self.deadlines and not (servers and all(files.number(path) == 0 for path in servers)):
            self._note("the kernel's own servers for other threads, 5 % of each cpu")
        if "hypervisor" in (files.text("proc/cpuinfo") or "").split():
            self._note("this machine is virtual: what its host takes of its cpus is not seen")
        if "hidepid=" in (files.text("proc/mounts") or ""):
            self._note("threads of others may be hidden: /proc has hidepid")
        if files.text(f"{CGROUPS}/cgroup.events") is not None:
            self._note("what is outside of this container is not seen")

    def text(self) -> tuple[str, list[str]]:
        """Returns the system file and the notes."""
        partitions = {one.cpus for one in self.deadlines}
        is_global = any(len(cpus) > 1 for cpus in partitions)
        if is_global and len(partitions) > 1:
            found = " and ".join(sorted(map(write_list, partitions)))
            allowed = "the cpus of one partition, or partitions of one cpu each"
            raise InputError("", None, DEADLINE, f"threads on cpus {found}", allowed)
        shared = next(iter(partitions)) if is_global else frozenset()
        every = [*self._of_deadlines(), *self._of_cgroups()]
        served = [one for one in every if "vcpu" in one]
        best_effort = [one for one in every if "vcpu" not in one]
        used = {cpu for one in served for cpu in one["pcpus"]} | shared
        self._note_the_kernels(used)
        domains = [*served, *self._weighed(self._with_room(best_effort, used, shared))]
        if not domains:
            found = "; ".join(["nothing configured that a system file can say", *self.notes])
            allowed = "a cgroup with a quota, a weight or cpus, or a thread of SCHED_DEADLINE"
            raise InputError("", None, "", found, allowed)
        numbers = {cpu: number for number, cpu in enumerate(sorted(used))}
        for one in domains:
            cpus = one.pop("pcpus")
            one |= {"vcpus": len(cpus)} if is_global else {"pcpus": [numbers[cpu] for cpu in cpus]}
        policy = "cbs+edf+none+global" if is_global else "cbs" if self.deadlines else "ds"
        system = System.of(
            {
                "name": plain_name(self.files.text("proc/sys/kernel/hostname") or "", "machine"),
                "description": "What is configured; busy tasks stand for what is inside",
                "policy": parse_policy(policy),
                "pcpus": len(used),
                "domain": domains,
            }
        )
        head = [f"pcpu {number} is cpu {cpu}" for cpu, number in numbers.items()]
        comments = "".join(f"# {line}\n" for line in (*head, *self.notes))
        return f"{comments}{to_toml(system)}", self.notes

    def _with_room(
        self, best_effort: list[TomlTable], used: set[int], shared: frozenset[int]
    ) -> Iterator[TomlTable]:
        """Yields those that a file has pcpus for, and adds their cpus to those that are used."""
        for one in best_effort:
            cpus = set(one["pcpus"])
            if cpus and len(used | cpus) <= PCPU_LIMIT and (not shared or cpus <= shared):
                used |= cpus
                yield one
            else:
                here = f"cpus {write_list(cpus)}" if cpus else "no cpu"
                whose = f"cpus {write_list(shared)} alone" if shared else f"1 to {PCPU_LIMIT} pcpus"
                self._note(f"{one['name']}: best effort on {here}; a file has {whose}")

    def _weighed(self, best_effort: Iterator[TomlTable]) -> Iterator[TomlTable]:
        """Yields them with weights if they are siblings, else without."""
        found = list(best_effort)
        parents = {one.pop("parent") for one in found}
        for one in found:
            if len(parents) > 1 and (weight := one.pop("weight")) != USUAL_WEIGHT:
                self._note(f"{one['name']}: its weight of {weight}, which is among its siblings")
        yield from found

    def _note_the_kernels(self, cpus: set[int]) -> None:
        """Notes threads of the kernel's that come before servers on these cpus."""
        first = [
            f"{one.name} ({one.thread})"
            for one in real_time_threads(self.files, of_the_kernel=True)
            if one.cpus & cpus and (one.policy == DEADLINE or not self.deadlines)
        ]
        if first:
            said = some_names(first)
            self._note(f"threads of the kernel's that come before servers on their cpus: {said}")

    def _note(self, text: str) -> None:
        """Keeps a note; a comment of TOML has no control characters, as names of threads may."""
        self.notes.append("".join(one if one.isprintable() else "?" for one in text))

    def _read_deadline(self, thread: RealTimeThread, parameters: Parameters) -> None:
        try:
            runtime_ns, deadline_ns, period_ns = parameters(thread.thread)
        except OSError as error:
            self._note(f"{_said(thread)}: no parameters ({error.strerror})")
            return
        if deadline_ns != period_ns:
            found = f"a deadline of {format_time(deadline_ns)} in {format_time(period_ns)}"
            raise InputError("", None, _said(thread), found, "the period: a server has no other")
        self.deadlines[thread] = Interface(period_ns=period_ns, budget_ns=runtime_ns)

    def _of_deadlines(self) -> Iterator[TomlTable]:
        """Yields a domain for each process with such threads."""
        host = KernelFiles(self.files.root / "proc", self.files.root / CGROUPS)
        machines = {
            process: name for name, found in virtual_machines(host).items() for process in found
        }
        for process in dict.fromkeys(one.process for one in self.deadlines):
            own = {one: its for one, its in self.deadlines.items() if one.process == process}
            unit = host.cgroup(process).rpartition("/")[2]
            comm = self.files.text(f"proc/{process}/comm") or ""
            found = machines.get(process) or (unit if unit.endswith(".service") else comm)
            # Under a global policy only how many there are counts.
            yield self._served(found, [min(one.cpus) for one in own], own.values())

    def _of_cgroups(self) -> Iterator[TomlTable]:
        """Yields a domain for each cgroup that is configured, or for those of its vcpus."""
        found = {folder: one for folder, one in self.cgroups.items() if one.is_configured}
        servers = {folder: self._server(one) for folder, one in found.items()}
        members: dict[str, list[Cgroup]] = {}
        for folder, one in found.items():
            above = [str(path) for path in Path(folder).parents]
            if around := [
                other
                for other in above
                if isinstance(servers.get(other), Interface) and found[other].cpus & one.cpus
            ]:
                self._note(f"{folder}: its own limits, inside of {around[0]}")
            elif isinstance(servers[folder], str) and any(
                Path(other).is_relative_to(folder) for other in found if other != folder
            ):
                self._note(f"{folder}: its limits, which are around others")
            else:
                vcpu = VCPU.fullmatch(folder)
                members.setdefault(vcpu[1] if vcpu else folder, []).append(one)
        for owner, own in members.items():
            given = [servers[one.folder] for one in own]
            title = "container" if owner == "." else owner.removesuffix("/libvirt")
            title = title.rpartition("/")[2].replace("\\x2d", "-")
            interfaces = [one for one in given if isinstance(one, Interface)]
            if len(interfaces) == len(own):
                yield self._served(title, [min(one.cpus) for one in own], interfaces)
                continue
            for one, reason in zip(own, given, strict=True):
                if one.quota:
                    quota = " in ".join(map(format_time, one.quota))
                    why = reason if isinstance(reason, str) else "other vcpus have no server"
                    self._note(f"{one.folder}: its quota of {quota} is best effort here: {why}")
            yield {
                "name": self._name(title),
                "best_effort": True,
                "pcpus": sorted(set().union(*(one.cpus for one in own))),
                "weight": own[0].weight,
                "parent": str(Path(own[0].folder).parent),
            }

    def _server(self, one: Cgroup) -> Interface | str:
        """Returns what a cgroup is promised, or why it is promised nothing."""
        if self.deadlines:
            return "a file has one policy, here that of SCHED_DEADLINE"
        if not one.is_partition or len(one.cpus) != 1:
            return "it has no cpu to itself (cpuset.cpus.partition)"
        if one.may_burst:
            return "it may burst (cpu.max.burst)"
        for path in Path(one.folder).parents:
            above = self.cgroups.get(str(path))
            if above is not None and above.quota:
                return f"there is one around it, of {path}"
        for thread in self.threads:
            if thread.cpus & one.cpus:
                return f"{_said(thread)}, may be on its cpu"
        if one.quota is None:
            return NEARLY_WHOLE
        for other in self.cgroups.values():
            if Path(other.folder).is_relative_to(one.folder) and not other.cpus <= one.cpus:
                return f"{other.folder}, on other cpus, takes of it"
        return promised(*one.quota) or "it may be overdrawn by as much"

    def _served(self, title: str, cpus: list[int], interfaces: Collection[Interface]) -> TomlTable:
        return {
            "name": self._name(title),
            "pcpus": cpus,
            "vcpu": [{"interface": its} for its in interfaces],
            "task": busy_tasks(len(cpus)),
        }

    def _name(self, title: str) -> str:
        """Returns a name that no other domain has."""
        text = title.encode("utf-8", "replace").decode()  # a name of a folder may be no text
        name = unused_name(plain_name(text, "unnamed"), self.names)
        self.names.add(name)
        return name


def _cgroups(files: Readings) -> Iterator[Cgroup]:
    """Yields all cgroups, those that are around others first."""
    paths = files.paths(f"{CGROUPS}/**/cgroup.controllers")
    found = [str(Path(path).parent.relative_to(CGROUPS)) for path in paths]
    effective: dict[str, frozenset[int]] = {}
    for folder in sorted(found, key=lambda folder: (folder.count("/"), len(folder), folder)):
        here = f"{CGROUPS}/{folder}"
        own = files.cpus(f"{here}/cpuset.cpus.effective")
        weight = files.number(f"{here}/cpu.weight")
        above = effective.get(str(Path(folder).parent), frozenset(online(files)))
        effective[folder] = above if own is None else frozenset(own)
        yield Cgroup(
            folder,
            _quota(files, f"{here}/cpu.max"),
            USUAL_WEIGHT if weight is None else max(1, weight),  # 0: cpu.idle
            effective[folder],
            bool(files.text(f"{here}/cpuset.cpus")),
            files.text(f"{here}/cpuset.cpus.partition") in ("root", "isolated"),
            bool(files.number(f"{here}/cpu.max.burst")),
        )


def _quota(files: Readings, path: str) -> tuple[int, int] | None:
    """Returns a quota and its period (ns); None if there is none."""
    text = files.text(path) or "max"
    if text.startswith("max"):
        return None
    quota, _, period = text.partition(" ")
    if not (quota.isdecimal() and period.isdecimal()):
        raise OddError(path, text)
    return int(quota) * US, int(period) * US


def _said(thread: RealTimeThread) -> str:
    priority = "" if thread.policy == DEADLINE else f" {thread.priority}"
    return f"{thread.name} ({thread.thread}), of {thread.policy}{priority}"
