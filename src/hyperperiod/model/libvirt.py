# SPDX-License-Identifier: BSD-2-Clause
"""Reads domains of libvirt, as `virsh dumpxml` prints them: what their vcpus have of which cpus.

    for name in $(virsh list --all --name); do virsh dumpxml $name; done

A vcpu has a cpu that no other has, by `<vcpupin>`, and there a quota or all of it, by `<period>`
and `<quota>`. Its interface is what that promises it: the quota less what is overdrawn
(`OVERDRAWN_NS`), or nearly all. What is in it libvirt does not know: a busy task stands for all of
it, to be replaced by the tasks that are there. Two vcpus on one cpu are refused, since their quotas
promise them nothing, and so is a quota around those of the vcpus.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from hyperperiod.model.errors import InputError
from hyperperiod.model.interface import Interface
from hyperperiod.model.locate import Lines
from hyperperiod.model.units import NS_PER_UNIT
from hyperperiod.model.values import TomlTable, plain_name
from hyperperiod.model.xml_tree import Element, read_xml

KeyPath = tuple[str | int, ...]

OVERDRAWN_NS: Final = 5_000_000
"""What a cgroup may run beyond its quota, which it pays back from the next one: a tick of a kernel
with 250 in a second, and a millisecond by which it may be late."""
NEARLY_WHOLE: Final = Interface(period_ns=10_000_000, budget_ns=9_500_000)
"""What stands for all of a cpu under Linux: the rest is for what the kernel does there itself."""
_DEEPEST = 40
_PERIOD_US = 100_000
"""The period of a quota that gives none."""


def read_libvirt(file: str, text: str) -> tuple[TomlTable, Callable[[KeyPath], int]]:
    """The document that a TOML file of the same system would give, and its lines."""
    text = re.sub(r"^\s*<\?xml.*?\?>", "", text)
    root = read_xml(file, f"<domains>{text}</domains>", _place, with_text=True)
    lines: dict[KeyPath, int] = {}
    domains: list[TomlTable] = []
    pcpus: dict[int, int] = {}
    for number, one in enumerate(root.inside):
        lines["domain", number] = one.line
        own = []
        for line, cpu in _cpus(file, one):
            if cpu in pcpus:
                allowed = "a cpu for each vcpu: quotas that share one promise nothing"
                raise InputError(file, line, "cpuset", f"cpu {cpu} a second time", allowed)
            own.append(pcpus.setdefault(cpu, len(pcpus)))
        interface = _interface(file, one)
        domains.append(
            {
                "name": plain_name(_text(one, "name"), "unnamed"),
                "pcpus": own,
                "interface": {
                    "period": f"{interface.period_ns}ns",
                    "budget": f"{interface.budget_ns}ns",
                },
                "task": [
                    {"name": f"on-{vcpu}", "kind": "busy", "vcpu": vcpu} for vcpu in range(len(own))
                ],
            }
        )
    return {
        "name": plain_name(Path(file.strip("<>")).stem, "libvirt"),
        "description": "Read from domains of libvirt; busy tasks stand for what is inside",
        "policy": "ds",
        "pcpus": len(pcpus),
        "domain": domains,
    }, Lines(lines).of


def _place(tag: str, _above: str, depth: int) -> tuple[str, str] | None:
    if depth == 1 and tag != "domain":
        return f"the element {tag} outside of a domain", "what `virsh dumpxml DOMAIN` prints"
    return ("elements nested deeper", f"{_DEEPEST} levels") if depth > _DEEPEST else None


def _text(domain: Element, *names: str) -> str:
    """Returns the text of the element below a domain with that path; "" if there is none."""
    return next((one.text.strip() for one in domain.all(*names)), "")


def _number(file: str, line: int, key: str, text: str, allowed: str) -> int:
    if not re.fullmatch(r"[0-9]{1,12}", text):
        raise InputError(file, line, key, repr(text[:40]), allowed)
    return int(text)


def _cpus(file: str, domain: Element) -> Iterator[tuple[int, int]]:
    """Yields the cpu of each vcpu that the domain has at its start, with the line that says it."""
    vcpu = next(domain.all("vcpu"), Element("vcpu", {}, domain.line))
    count = vcpu.attributes.get("current", vcpu.text.strip() or "1")
    pins = {one.attributes.get("vcpu"): one for one in domain.all("cputune", "vcpupin")}
    for number in range(_number(file, vcpu.line, "vcpu", count, "how many vcpus there are")):
        pin = pins.get(str(number), vcpu)
        cpuset = pin.attributes.get("cpuset", "")
        allowed = f"one cpu for vcpu {number}, by <vcpupin>"
        yield pin.line, _number(file, pin.line, "cpuset", cpuset, allowed)


def _interface(file: str, domain: Element) -> Interface:
    """Returns what its quota, or none, promises each vcpu of a domain."""
    for one in domain.all("cputune", "global_quota"):
        raise InputError(file, one.line, "global_quota", one.text.strip(), "no quota around others")
    us = NS_PER_UNIT["us"]
    for one in domain.all("cputune", "quota"):
        text = one.text.strip()
        if text.startswith("-"):
            break
        quota_ns = _number(file, one.line, "quota", text, "microseconds, below 0 for no limit") * us
        if quota_ns <= OVERDRAWN_NS:
            allowed = f"more than the {OVERDRAWN_NS // us} that may be overdrawn"
            raise InputError(file, one.line, "quota", text, allowed)
        period = _text(domain, "cputune", "period") or str(_PERIOD_US)
        period_ns = _number(file, one.line, "period", period, "microseconds") * us
        if period_ns == 0:
            raise InputError(file, one.line, "period", "0", "above 0")
        return Interface(period_ns=period_ns, budget_ns=min(quota_ns - OVERDRAWN_NS, period_ns))
    return NEARLY_WHOLE
