# SPDX-License-Identifier: BSD-2-Clause
"""The words of system files: schedulers, kinds of tasks and sources, draws, supply bounds.

Each is written in files as its value, and messages show that value. The words of policies are in
`policy`.
"""

from enum import StrEnum

# What interval lists call time in which nobody runs, and the spare: no domain is called so.
RESERVED_NAMES = ("idle", "spare", "stolen")


class Scheduler(StrEnum):
    """The scheduler inside a domain: which of its tasks is first."""

    RM = "rm"
    DM = "dm"
    FP = "fp"
    EDF = "edf"
    FIFO = "fifo"
    GEDF = "gedf"  # this one and the next three: on all vcpus of the domain together
    GRM = "grm"
    GDM = "gdm"
    GFP = "gfp"
    EXECUTOR = "executor"  # callbacks of ROS 2 in one thread, none of which is preempted
    FAIR = "fair"  # everybody in turn, as Linux does for ordinary threads; in Linux guests only

    @property
    def is_global(self) -> bool:
        """Whether jobs move between the vcpus of the domain."""
        return self in _GLOBAL

    @property
    def local(self) -> "Scheduler":
        """The scheduler that orders tasks alike and keeps jobs on their vcpu: of gedf it is edf."""
        return Scheduler(self.removeprefix("g")) if self.is_global else self

    @property
    def takes_priorities(self) -> bool:
        """Whether tasks must have priorities, since nothing else says who is first."""
        return self in (Scheduler.FP, Scheduler.GFP)


_GLOBAL = (Scheduler.GEDF, Scheduler.GRM, Scheduler.GDM, Scheduler.GFP)


class GuestKind(StrEnum):
    """The program that runs a domain's tasks on Xen: our executive, or Linux with threads.

    Linux has two kernels: Debian's for clouds, and its real-time one.
    """

    EXECUTIVE = "executive"
    LINUX = "linux"
    LINUX_RT = "linux-rt"

    @property
    def is_linux(self) -> bool:
        """Whether it is Linux, with whichever kernel."""
        return self is not GuestKind.EXECUTIVE


class TaskKind(StrEnum):
    """The kind of a task: how its jobs come."""

    PERIODIC = "periodic"
    SPORADIC = "sporadic"
    BUSY = "busy"
    EVENT = "event"


class SourceKind(StrEnum):
    """The kind of a source: how the items of a flow come."""

    PERIODIC = "periodic"
    SPORADIC = "sporadic"
    CLOSED = "closed"  # from clients that wait for the item before


class ThinkDraw(StrEnum):
    """The draw of a client's thinking: 0 to twice the mean in whole ns, or always the mean."""

    UNIFORM = "uniform"
    CONSTANT = "constant"


class Sbf(StrEnum):
    """The supply bound that the analysis uses."""

    GENERAL = "general"
    HARMONIC = "harmonic"
    EDP = "edp"
    SERVERS = "servers"
    """The general one, or what all servers on the pcpus leave where that is better."""
