# SPDX-License-Identifier: BSD-2-Clause
"""What happens on the machine where real services run: parts of its script (`script`).

Before the first run the database is made, with what is in the site's tables. PostgreSQL and Apache
are started, each in a cgroup and as a user of its own, and clients ask for pages until everything
has been used once. Then, in each run, the cgroups are attached to their servers and clients are
started in theirs, who wait for the epoch and end at the horizon.
"""

from __future__ import annotations

from typing import Final

from hyperperiod.hosts.linux import script
from hyperperiod.hosts.linux.outside import name_of
from hyperperiod.hosts.services import SERVE, Clients, settings
from hyperperiod.model import System, vcpus_of

PREPARE: Final = """\
enter() {
    echo 0 >/sys/fs/cgroup/$1/cgroup.procs
}

for each in web database client; do busybox mkdir /sys/fs/cgroup/$each; done
make_database
start_database
start_web 127.0.0.1
read -r up rest </proc/uptime
begin=$((${up%.*} + 1))
clients 127.0.0.1 $port $warm_clients $warm_think_ns ${begin}000000000 \\
    $((begin + warm_s))000000000 0 /services/pages /tmp/services/ready /tmp/services/warm ||
    give_up_on clients
"""


def prepare() -> str:
    """What happens before the first run."""
    return f"{settings()}{SERVE}{PREPARE}"


def run(system: System, number: int, clients: Clients, horizon_ns: int, seed: int) -> str:
    """The part of the script for a run of the services under the servers of a system."""
    attached = (
        f"attach {name_of(vcpu)} cgroup=/sys/fs/cgroup/{vcpu.domain.name}"
        for vcpu in vcpus_of(system)
    )
    ends = f"$((epoch + {horizon_ns}))"
    words = f"127.0.0.1 $port {clients.number} {clients.think_ns} $epoch {ends} {seed}"
    files = "/services/pages /tmp/$run/ready /left/$run/requests"
    return script.run(
        number,
        [*script.requests(system), *attached],
        "busybox chmod 0777 /tmp/$run /left/$run\n",
        f'(serve client "exec clients {words} {files}") &\ntasks=$!\n',
        1,
    )
