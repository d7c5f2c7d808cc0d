# SPDX-License-Identifier: BSD-2-Clause
"""Reads domains of libvirt, as `virsh dumpxml` prints them: what their vcpus have of which cpus.

    virsh list --all --name | while read -r name; do [ -z "$name" ] || virsh dumpxml "$name"; done

A vcpu has a cpu that no other has, by `<vcpupin>`, and there a quota or all of it, by `<period>`
and `<quota>`. Its interface is what that promises it: the quota less what is overdrawn
(`OVERDRAWN_NS`), or nearly all. What is in it libvirt does not know: a busy task stands for all of
it, to be replaced by the tasks that are there. Refused is what may be on the cpu of a vcpu beside
it, another one or a thread of an emulator's, since then a quota promises nothing; so is a quota
around those of the vcpus, or for a vcpu of `fifo` or `rr`, for which none holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

from hyperperiod.model.errors import InputError
from hyperperiod.model.interface import Interface
from hyperperiod.model.locate import Lines
from hyperperiod.model.readers.xml_tree import Element, read_xml
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.model.values import TomlTable, plain_name

KeyPath = tuple[str | int, ...]
_Threads = tuple[str, int, int]
"""Threads that are no vcpus: of what, the line that says where, and the set of cpus there."""

OVERDRAWN_NS: Final = 5_000_000
"""What a cgroup may run beyond its quota, which it pays back from the next one: a tick of a kernel
with 250 in a second, and a millisecond by which it may be late."""
NEARLY_WHOLE: Final = Interface(period_ns=10_000_000, budget_ns=9_500_000)
"""What stands for all of a cpu under Linux: the rest is for what the kernel does there itself."""
PERIODS_NS: Final = (1_000_000, 1_000_000_000)
"""The shortest and the longest period of a quota that the kernel takes."""
_PERIOD_NS = 100_000_000
"""The period of a quota that gives none."""
_PART = re.compile(r"(\^?)([0-9]{1,4})(?:-([0-9]{1,4}))?")
_ALL = "0-9999"
"""More cpus than Linux can have."""


def read_libvirt(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    text = re.sub(r"^\s*<\?xml.*?\?>", "", text)
    root = read_xml(file, f"<domains>{text}</domains>", _place, with_text=True)
    lines: dict[KeyPath, int] = {}
    domains: list[TomlTable] = []
    pcpus: dict[int, int] = {}
    threads: list[_Threads] = []
    for number, one in enumerate(root.inside):
        lines["domain", number] = one.line
        own = []
        for line, cpu in _cpus(file, one):
            if cpu in pcpus:
                allowed = "a cpu for each vcpu: quotas that share one promise nothing"
                raise InputError(file, line, "cpuset", f"cpu {cpu} a second time", allowed)
            own.append(pcpus.setdefault(cpu, len(pcpus)))
        threads.extend(_threads(file, one))
        interface = _interface(file, one)
        name = next((name.text.strip() for name in one.all("name")), "")
        domains.append(
            {
                "name": plain_name(name, "unnamed"),
                "pcpus": own,
                "interface": {
                    "period": f"{interface.period_ns}ns",
                    "budget": f"{interface.budget_ns}ns",
                },
                "task": busy_tasks(len(own)),
            }
        )
    taken = sum(1 << cpu for cpu in pcpus)
    for what, line, cpus in threads:
        if both := cpus & taken:
            found = f"{what} threads on cpu {both.bit_length() - 1}"
            raise InputError(file, line, "cpuset", found, f"cpus of no vcpu, by <{what}pin>")
    return {
        "name": plain_name(Path(file.strip("<>")).stem, "libvirt"),
        "description": "Read from domains of libvirt; busy tasks stand for what is inside",
        "policy": "ds",
        "pcpus": len(pcpus),
        "domain": domains,
    }, Lines(lines).of


def promised(quota_ns: int, period_ns: int) -> Interface | None:
    """Returns what a quota on a cpu of its own promises, as a server; None if nothing."""
    budget_ns = quota_ns - OVERDRAWN_NS
    if budget_ns <= 0:
        return None
    whole_ns = period_ns * NEARLY_WHOLE.budget_ns // NEARLY_WHOLE.period_ns
    return Interface(period_ns=period_ns, budget_ns=min(budget_ns, whole_ns))


def busy_tasks(vcpus: int) -> list[TomlTable]:
    """Returns a task for each vcpu that stands for all of what is in it, as nobody knows that."""
    return [{"name": f"on-{vcpu}", "kind": "busy", "vcpu": vcpu} for vcpu in range(vcpus)]


def _place(tag: str, _above: str, depth: int) -> tuple[str, str] | None:
    if depth == 1 and tag != "domain":
        return f"the element {tag} outside of a domain", "what `virsh dumpxml DOMAIN` prints"
    return None


def _number(file: str, line: int, key: str, text: str, allowed: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise InputError(file, line, key, repr(text[:40]), allowed)
    return int(text)


def _cpus(file: str, domain: Element) -> Iterator[tuple[int, int]]:
    """Yields the cpu of each vcpu that the domain has at its start, with the line that says it."""
    vcpu = next(domain.all("vcpu"), domain)
    pins: dict[int, Element] = {}
    for one in domain.all("cputune", "vcpupin"):
        found = one.attributes.get("vcpu", "")
        number = _number(file, one.line, "vcpu", found, "the number of a vcpu")
        if pins.setdefault(number, one) is not one:
            raise InputError(
                file, one.line, "vcpu", f"{found} a second time", "a pin for each vcpu"
            )
    for number in _vcpus(file, domain, vcpu):
        pin = pins.get(number, vcpu)
        cpus = _cpuset(file, pin)
        if cpus.bit_count() != 1:
            found = repr(pin.attributes.get("cpuset", "")[:40])
            allowed = f"one cpu for vcpu {number}, by <vcpupin>"
            raise InputError(file, pin.line, "cpuset", found, allowed)
        yield pin.line, cpus.bit_length() - 1


def _vcpus(file: str, domain: Element, vcpu: Element) -> Iterable[int]:
    """Returns the numbers of those that there are at the start: some may be plugged in later."""
    listed = list(domain.all("vcpus", "vcpu"))
    if not listed:
        count = vcpu.attributes.get("current", vcpu.text.strip() or "1")
        return range(_number(file, vcpu.line, "vcpu", count, "how many vcpus there are"))
    return [
        _number(file, one.line, "id", one.attributes.get("id", ""), "the number of a vcpu")
        for one in listed
        if one.attributes.get("enabled") == "yes"
    ]


def _threads(file: str, domain: Element) -> Iterator[_Threads]:
    """Yields where an emulator's threads and those for I/O are: as `<vcpu>` says, if not pinned."""
    vcpu = next(domain.all("vcpu"), domain)
    allowed, io = "how many there are", domain.all("iothreads")
    counts = [_number(file, one.line, one.tag, one.text.strip(), allowed) for one in io]
    for what, there in (("emulator", 1), ("iothread", sum(counts))):
        pins = list(domain.all("cputune", f"{what}pin"))
        unpinned = there > len({one.attributes.get("iothread") for one in pins})
        for one in (*pins, vcpu) if unpinned else pins:
            yield what, one.line, _cpuset(file, one)


def _cpuset(file: str, one: Element) -> int:
    """Returns a set of cpus such as 4-7,^5, a bit for each; all cpus if it gives none."""
    cpus, text = 0, one.attributes.get("cpuset", _ALL)
    for part in text.split(","):
        found = _PART.fullmatch(part)
        if not found:
            raise InputError(file, one.line, "cpuset", repr(text[:40]), "cpus such as 4-7,^5")
        first, last = int(found[2]), int(found[3] or found[2])
        some = (2 << last) - (1 << first) if first <= last else 0
        cpus = cpus & ~some if found[1] else cpus | some
    return cpus


def _interface(file: str, domain: Element) -> Interface:
    """Returns what its quota, or none, promises each vcpu of a domain."""
    for one in domain.all("cputune", "global_quota"):
        if _quota(file, one) >= 0:
            found = one.text.strip()
            raise InputError(file, one.line, "global_quota", found, "no quota around others")
    us, (least_ns, most_ns) = NS_PER_UNIT["us"], PERIODS_NS
    period_ns = _PERIOD_NS
    for one in domain.all("cputune", "period"):
        allowed, text = f"{least_ns // us} to {most_ns // us} microseconds", one.text.strip()
        period_ns = _number(file, one.line, "period", text, allowed) * us
        if not least_ns <= period_ns <= most_ns:
            raise InputError(file, one.line, "period", text, allowed)
    for one in domain.all("cputune", "quota"):
        quota_ns = _quota(file, one) * us
        if not 0 <= quota_ns < period_ns:
            break
        for sched in domain.all("cputune", "vcpusched"):
            if sched.attributes.get("scheduler") not in ("batch", "idle"):
                found = repr(sched.attributes.get("scheduler", ""))
                allowed = "batch or idle: for others no quota holds"
                raise InputError(file, sched.line, "scheduler", found, allowed)
        interface = promised(quota_ns, period_ns)
        if interface is None:
            allowed = f"more than the {OVERDRAWN_NS // us} that may be overdrawn"
            raise InputError(file, one.line, "quota", one.text.strip(), allowed)
        return interface
    return NEARLY_WHOLE


def _quota(file: str, one: Element) -> int:
    """Returns a quota (us), -1 for no limit."""
    text, allowed = one.text.strip(), "microseconds, below 0 for no limit"
    unlimited = re.fullmatch("-[0-9]+", text)
    return -1 if unlimited else _number(file, one.line, one.tag, text, allowed)
