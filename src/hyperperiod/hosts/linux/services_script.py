# SPDX-License-Identifier: BSD-2-Clause
"""What happens on the machine where real services run: parts of its script (`script`).

Before the first run the database is made, with what is in the site's tables. PostgreSQL and Apache
are started, each in a cgroup and as a user of its own, and clients ask for pages until everything
has been used once. Then, in each run, the cgroups are attached to their servers and clients are
started in theirs, who wait for the epoch and end at the horizon.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from hyperperiod.hosts.linux import script
from hyperperiod.hosts.linux.outside import name_of
from hyperperiod.model import System, vcpus_of

WEB, DATABASE, CLIENT = "web", "database", "client"
SERVICES: Final = (WEB, DATABASE, CLIENT)
"""What the domains of a system with services are called: each has one of these inside."""

PREPARE = """\
busybox mkdir -p /dev/shm /etc /tmp/services
busybox mount -t tmpfs shm /dev/shm
busybox ip link set lo up
echo "$USERS" >/etc/passwd
echo "$GROUPS" >/etc/group
busybox chmod 0777 /tmp /tmp/services
echo 4096 >/proc/sys/net/core/somaxconn
programs=$(echo /usr/lib/postgresql/*/bin)
data=/tmp/services/data

# Runs a command as a user in the cgroup of the same name, in place of this shell.
in_cgroup() {
    user=$1
    shift
    echo 0 >/sys/fs/cgroup/$user/cgroup.procs
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
}

start_database() {
    (in_cgroup database "exec $programs/postgres -D $data") >/tmp/services/database.log 2>&1 &
    until busybox grep -q ready $data/postmaster.pid 2>/dev/null; do
        kill -0 $! 2>/dev/null || give_up_on database
        busybox sleep 0.01
    done
}

start_web() {
    (in_cgroup web "exec /usr/sbin/apache2 -f /services/httpd.conf -D FOREGROUND") \\
        >/tmp/services/web.log 2>&1 &
    until busybox wget -q -O /dev/null "http://127.0.0.1:$port/?page=user&number=1" 2>/dev/null; do
        kill -0 $! 2>/dev/null || give_up_on web
        busybox sleep 0.01
    done
}

for each in web database client; do busybox mkdir /sys/fs/cgroup/$each; done
make_database
start_database
start_web
read -r up rest </proc/uptime
begin=$((${up%.*} + 1))
clients $port $warm_clients $warm_think_ns ${begin}000000000 $((begin + warm_s))000000000 0 \\
    /services/pages /tmp/services/ready /tmp/services/warm || give_up_on clients
"""

NUMBERED = list(enumerate(SERVICES, 1000))
USERS = "\n".join(
    ["root:x:0:0::/:/bin/sh", *(f"{name}:x:{user}:{user}::/tmp:/bin/sh" for user, name in NUMBERED)]
)
GROUPS = "\n".join(["root:x:0:", *(f"{name}:x:{group}:" for group, name in NUMBERED)])


class Clients(NamedTuple):
    """A closed loop of clients, each of which thinks for `think_ns` on average."""

    number: int
    think_ns: int


PORT: Final = 8080
WARM: Final = Clients(32, 50_000_000)
WARM_S: Final = 2
"""Before the first run more clients than Apache has processes ask for pages for so long (s)."""


def prepare() -> str:
    """What happens before the first run."""
    warm = f"warm_clients={WARM.number}\nwarm_think_ns={WARM.think_ns}\nwarm_s={WARM_S}\n"
    return f'port={PORT}\n{warm}USERS="{USERS}"\nGROUPS="{GROUPS}"\n{PREPARE}'


def run(system: System, number: int, clients: Clients, horizon_ns: int, seed: int) -> str:
    """The part of the script for a run of the services under the servers of a system."""
    attached = (
        f"attach {name_of(vcpu)} cgroup=/sys/fs/cgroup/{vcpu.domain.name}"
        for vcpu in vcpus_of(system)
    )
    words = f"$port {clients.number} {clients.think_ns} $epoch $((epoch + {horizon_ns})) {seed}"
    files = "/services/pages /tmp/$run/ready /left/$run/requests"
    return script.run(
        number,
        [*script.requests(system), *attached],
        "busybox chmod 0777 /tmp/$run /left/$run\n",
        f'(in_cgroup client "exec clients {words} {files}") &\ntasks=$!\n',
        1,
    )
