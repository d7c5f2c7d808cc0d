# SPDX-License-Identifier: BSD-2-Clause
"""Real services, wherever they run: a web server, a database, and the clients of a small site.

`hyperperiod linux build --services` makes an archive of them for Linux's initial file system. What
is here has no more of a host than a shell: who they are, the functions that start them, and the
pages that came.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.model import InputError, MissingError, System
from hyperperiod.resources import build_folder
from hyperperiod.trace.format import Records

WEB, DATABASE, CLIENT = "web", "database", "client"
SERVICES: Final = (WEB, DATABASE, CLIENT)
"""What the domains of a system with services are called: each has one of these inside."""
DOM0, BATCH = "dom0", "batch"
"""On Xen there may be two more: dom0 before them, which carries packets, and behind them a VM that
always runs."""
PAGE: Final = np.dtype([("asked_ns", "<u8"), ("there_ns", "<u8")])
"""What clients leave of a page: when it was asked for and when it was there, since the epoch."""
LAYER: Final = "services.cpio"


class Clients(NamedTuple):
    """A closed loop of clients, each of which thinks for `think_ns` on average."""

    number: int
    think_ns: int


class SessionRequest(NamedTuple):
    """A session that is wanted: the servers, from 0 to the horizon, and the clients."""

    run: RunRequest
    clients: Clients


class ServiceSession(NamedTuple):
    """A session: the scheduler's records, and the pages that came (PAGE); times since the epoch.

    `packets` is how many the VMs sent through dom0, where it has a server of its own.
    """

    records: Records
    pages: NDArray[np.void]
    packets: int | None = None


SERVE = """\
busybox mkdir -p /dev/shm /etc /tmp/services
busybox mount -t tmpfs shm /dev/shm
busybox ip link set lo up
echo "$USERS" >/etc/passwd
echo "$GROUPS" >/etc/group
busybox chmod 0777 /tmp /tmp/services
echo 4096 >/proc/sys/net/core/somaxconn
programs=$(echo /usr/lib/postgresql/*/bin)
data=/tmp/services/data

# Runs a command as a user where its service belongs, in place of this shell.
serve() {
    user=$1
    shift
    enter $user
    exec busybox su -s /bin/sh "$user" -c "$*"
}

# Ends what runs, with what services have logged.
give_up_on() {
    busybox tail -n 20 /tmp/services/*.log
    give_up "$1 does not run"
}

as_database() {
    busybox su -s /bin/sh database -c "$*" >/tmp/services/made.log 2>&1 || give_up_on database
    ! busybox grep -E "ERROR|FATAL" /tmp/services/made.log || give_up_on database
}

make_database() {
    as_database "$programs/initdb -D $data --no-locale -E UTF8 -U database -A trust -N"
    echo "CREATE DATABASE site" | as_database "$programs/postgres --single -j -F -D $data postgres"
    as_database "$programs/postgres --single -j -F -D $data site </services/schema.sql"
    busybox cat /services/postgresql.conf >>$data/postgresql.conf
    echo "host all all samenet trust" >>$data/pg_hba.conf
}

start_database() {
    (serve database "exec $programs/postgres -D $data") >/tmp/services/database.log 2>&1 &
    until busybox grep -q ready $data/postmaster.pid 2>/dev/null; do
        kill -0 $! 2>/dev/null || give_up_on database
        busybox sleep 0.01
    done
}

# The web server asks the database at an address.
start_web() {
    (export PGHOST=$1
    serve web "exec /usr/sbin/apache2 -f /services/httpd.conf -D FOREGROUND") \\
        >/tmp/services/web.log 2>&1 &
    until busybox wget -q -O /dev/null "http://127.0.0.1:$port/?page=user&number=1" 2>/dev/null; do
        kill -0 $! 2>/dev/null || give_up_on web
        busybox sleep 0.01
    done
}
"""
"""What a machine needs for services, and functions that start them: their users call `enter`."""

NUMBERED = list(enumerate(SERVICES, 1000))
USERS = "\n".join(
    ["root:x:0:0::/:/bin/sh", *(f"{name}:x:{user}:{user}::/tmp:/bin/sh" for user, name in NUMBERED)]
)
GROUPS = "\n".join(["root:x:0:", *(f"{name}:x:{group}:" for group, name in NUMBERED)])


PORT: Final = 8080
WARM: Final = Clients(32, 50_000_000)
WARM_S: Final = 2
"""Before the first run more clients than Apache has processes ask for pages for so long (s)."""


def settings() -> str:
    """The variables of a shell that SERVE needs."""
    warm = f"warm_clients={WARM.number}\nwarm_think_ns={WARM.think_ns}\nwarm_s={WARM_S}\n"
    return f'port={PORT}\n{warm}USERS="{USERS}"\nGROUPS="{GROUPS}"\n'


def services_layer() -> Path:
    """The archive with the services; MissingError where it is not built."""
    layer = build_folder() / "linux" / LAYER
    if not layer.is_file():
        raise MissingError(
            f"the services are not built yet: there is no {layer}",
            "hyperperiod linux build --services",
        )
    return layer


def refuse_other(system: System, *, dom0: bool = False) -> None:
    """InputError for a system whose domains are not the services on one pcpu.

    Where `dom0` says so they may stand between dom0 and batch.
    """
    names = [domain.name for domain in system.domains]
    services = names[1:-1] if dom0 and names[:1] + names[-1:] == [DOM0, BATCH] else names
    if sorted(services) != sorted(SERVICES) or any(one.vcpus > 1 for one in system.domains):
        allowed = f"{', '.join(SERVICES)}, with a vcpu each"
        raise InputError(system.name, None, "domain", ", ".join(names), allowed)
    if system.pcpus > 1:
        raise InputError(system.name, None, "pcpus", str(system.pcpus), "1")
    for key in ("swaps", "changes", "stolen"):
        found = len(getattr(system, key))
        if found:
            raise InputError(system.name, None, key, str(found), "none with services")
