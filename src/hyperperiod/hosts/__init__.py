# SPDX-License-Identifier: BSD-2-Clause
"""Hosts: where a system is run. Each gives the same result object (`result`) and trace.

What hosts on real kernels share is here, and neither knows the other: `debian` fetches packages
and `build_job` watches builds; `guests` says what a guest is told; `rings` reads what was recorded,
`replay` makes the same decisions again and `merge` makes one trace of a kernel's decisions and the
jobs of its guests.
"""

from collections.abc import Iterable
from enum import StrEnum

HOSTS = ("sim", "xen", "linux")
"""The hosts that every command which runs systems can run them on, as `--on` names them."""


class Stock(StrEnum):
    """A scheduler of Linux's own, or of Xen's."""

    EEVDF = "eevdf"
    QUOTA = "quota"
    DEADLINE = "deadline"
    CREDIT2 = "credit2"
    RTDS = "rtds"
    NULL = "null"

    @property
    def host(self) -> str:
        """The host that runs systems under it: machine, dash, scheduler."""
        on_xen = self in (Stock.CREDIT2, Stock.RTDS, Stock.NULL)
        return f"{'xen' if on_xen else 'linux'}-{self}"


STOCK = tuple(scheduler.host for scheduler in Stock)
"""The same machines under schedulers that they have themselves."""

ALL_HOSTS = (*HOSTS, *STOCK)


def of_policy(hosts: Iterable[str], number: int) -> list[str]:
    """Returns which hosts of a comparison run its policy of this number, from 0 on.

    A scheduler that a host has itself knows none of our policies: it runs once, with the first.
    """
    return [host for host in hosts if host not in STOCK or number == 0]


def machine_of(host: str) -> str:
    """Returns which of `HOSTS` a host is, whatever its scheduler."""
    return host.partition("-")[0]


def scheduler_of(host: str) -> str:
    """Returns what comes behind the dash of a host's name; nothing for our own scheduler."""
    return host.partition("-")[2]
