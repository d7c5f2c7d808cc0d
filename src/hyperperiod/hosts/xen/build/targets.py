# SPDX-License-Identifier: BSD-2-Clause
"""A name for everything that `hyperperiod xen build` can build.

Of any number of builds into one folder at once, one works and the others wait for it.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hyperperiod.hosts.build_job import BuildJob
from hyperperiod.hosts.xen.build import dom0, hypervisor, linux_guest, programs, toolstack


@dataclass(frozen=True)
class Target:
    """Something to build: raises MissingError for missing tools (`need`), or makes it (`build`)."""

    need: Callable[[], None]
    build: Callable[[BuildJob], Path]


TARGETS = {
    **{
        name: Target(partial(hypervisor.need_tools, flavour), partial(hypervisor.build, flavour))
        for name, flavour in hypervisor.FLAVOURS.items()
    },
    "guests": Target(programs.need_for_executive, programs.build_executive),
    "lockstep": Target(programs.need_for_plugin, programs.build_lockstep),
    "handlers": Target(programs.need_for_plugin, programs.build_handlers),
    "tools": Target(programs.need_for_tools, programs.build_tools),
    "tools-arm64": Target(
        partial(programs.need_for_tools, "arm64"), partial(programs.build_tools, arch="arm64")
    ),
    "dom0": Target(dom0.need_tools, dom0.build),
    "xl": Target(toolstack.need_tools, toolstack.build),
    **{
        f"{kind}-guest": Target(linux_guest.need_tools, partial(linux_guest.build, kind))
        for kind in linux_guest.PACKAGES
    },
}


def build(job: BuildJob, names: Sequence[str]) -> dict[str, Path]:
    """Builds the targets of these names, as far as they are not up to date: name, result.

    With a hypervisor for arm64 come the guests that run on it and the plugins of QEMU. All that the
    machine must have is looked for before any work begins.
    """
    wanted = list(dict.fromkeys(names))
    if any(name.startswith("arm64") for name in wanted):
        wanted += [name for name in ("guests", "lockstep", "handlers") if name not in wanted]
    for name in wanted:
        TARGETS[name].need()
    if any(name in hypervisor.FLAVOURS or name == "xl" for name in wanted):
        hypervisor.need_plain_path(job.root)
    job.root.mkdir(parents=True, exist_ok=True)
    with (job.root / ".xen-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return {name: TARGETS[name].build(job) for name in wanted}
