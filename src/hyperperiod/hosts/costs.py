# SPDX-License-Identifier: BSD-2-Clause
"""What a host takes for itself, as the tables of a system file, from what was measured of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from hyperperiod.measured import LINUX_KERNEL, XEN, read
from hyperperiod.model import Overheads, Stolen, format_time
from hyperperiod.model.part import Part, key

TICK_PERIOD_NS: Final = 4_000_000
"""The time between two ticks of Debian's kernel (CONFIG_HZ=250), as host and in guests."""
MACHINES: Final = {"xen": XEN, "linux": LINUX_KERNEL}
"""The section of `measured.toml` that is about each host that takes something."""


def longest_ns(section: str, *names: str) -> int:
    """Returns the longest of some times that `measured.toml` has, rounded up to 100 ns."""
    numbers = read()[section].numbers
    return 100 * math.ceil(max(numbers[name].value for name in names) / 100)


class HostCosts(Part):
    """What a host takes, as `doctor --measure HOST --write FILE` writes it to a file."""

    overheads: Overheads = key("what the machine takes for itself", default=Overheads())
    stolen: tuple[Stolen, ...] = key("time that pcpus are not there to be granted", default=())

    def table(self) -> str:
        """The tables of a system file."""
        return "\n".join(self._tables())

    def _tables(self) -> Iterator[str]:
        times = {name: value for name, value in vars(self.overheads).items() if value}
        if times:
            yield _table("[overheads]", times)
        for one in self.stolen:
            yield _table("[[stolen]]", {"period_ns": one.period_ns, "duration_ns": one.duration_ns})


def _table(head: str, times: Mapping[str, int]) -> str:
    lines = (f'{name.removesuffix("_ns")} = "{format_time(ns)}"\n' for name, ns in times.items())
    return f"{head}\n{''.join(lines)}"


class MeasuredCosts(NamedTuple):
    """What was measured of a host, and on what."""

    costs: HostCosts
    on: str


def measured_costs(host: str) -> MeasuredCosts:
    """What `measured.toml` says of "xen" or "linux"."""
    section = read()[MACHINES[host]]
    numbers = {name: int(number.value) for name, number in section.numbers.items()}
    return MeasuredCosts(
        kernel_costs(numbers) if host == "linux" else xen_costs(numbers), section.on
    )


def xen_costs(numbers: Mapping[str, int]) -> HostCosts:
    """What Xen takes, by the numbers of `hosts.xen.measure`."""
    fields = vars(Overheads())
    found = {name: numbers.get(f"cost {name.removesuffix('_ns')}", 0) for name in fields}
    return HostCosts(overheads=Overheads(**found))


def kernel_costs(numbers: Mapping[str, int]) -> HostCosts:
    """What the kernel takes on the Linux host, by the numbers of `hosts.linux.measure`.

    A switch is taken for a whole preemption and a wake for all that a job takes beside itself, so
    that each has some of the other's in it. A tick takes its time from whoever is there.
    """
    wake_ns = max(numbers["wake"], numbers["job"])
    thefts = [
        Stolen(period_ns=numbers[name], duration_ns=numbers[name.replace("period", "duration")])
        for name in numbers
        if name.startswith("theft ") and name.endswith("period")
    ]
    tick = Stolen(period_ns=TICK_PERIOD_NS, duration_ns=numbers["tick"])
    overheads = Overheads(context_switch_ns=numbers["preempt"], wake_ns=wake_ns)
    return HostCosts(overheads=overheads, stolen=(tick, *thefts))
