# SPDX-License-Identifier: BSD-2-Clause
"""What happens where real services run in VMs: the scripts of dom0 and of the guests.

dom0 makes a bridge, and with stock `xl` the guests, in a pool of one pcpu. Database, web server and
clients begin one after the other, each as soon as what it needs answers. Then, in each session,
`hyperperiod-xen` sets policy and servers, and the clients' guest is told over the network what to
ask for; it sends back the pages that came. dom0 keeps them, and at the end the pool's ring.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hyperperiod.hosts.services import (
    CLIENT,
    DATABASE,
    PORT,
    SERVE,
    SERVICES,
    WARM,
    WARM_S,
    WEB,
    SessionRequest,
    settings,
)
from hyperperiod.hosts.xen.command_line import exact_time
from hyperperiod.model import Interface, System
from hyperperiod.model.units import NS_PER_UNIT

COMPLAINT: Final = "hyperperiod: error:"
BEGUN: Final = "hyperperiod: session"
POOL: Final = "real-time"
BEFORE_NS: Final = 100_000_000
"""So long before its epoch a session's clients are started."""
RING: Final = "ring"
PAGES: Final = "pages"
"""A line before pages; errors come without it."""

ADDRESSES: Final = {name: f"10.0.0.{number}" for number, name in enumerate(SERVICES, 1)}
DOM0_ADDRESS: Final = "10.0.0.100"
DATABASE_PORT, ORDERS_PORT = 5432, 1000
GUEST_MIB: Final = 576

# The clocks of dom0 and of guests agree, for both come from Xen's.
NOW: Final = """\
now() {
    adjtimex | sed -n 's/.*time.tv_u*sec: *//p'
}
"""

GUEST: Final = f"""\
#!/bin/busybox sh
# The kernel's command line has `service` and `address`.
export PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
exec >/dev/console 2>&1

give_up() {{
    echo "{COMPLAINT} $*"
    poweroff -f
}}

enter() {{
    :
}}

insmod /xen-netfront.ko || give_up "no network"
until [ -e /sys/class/net/eth0 ]; do sleep 0.05; done
ip addr add $address/24 dev eth0
ip link set eth0 up
"""

BEGIN: Final = f"""\
case $service in
{DATABASE}) make_database && start_database ;;
{WEB}) start_web {ADDRESSES[DATABASE]} ;;
{CLIENT}) while :; do nc -l -p {ORDERS_PORT} -e /session; done ;;
esac
# What services complain of later is in the log of the VM's console.
tail -n 0 -F /tmp/services/$service.log /tmp/services/apache.log
"""

ORDERED: Final = f"""\
#!/bin/busybox sh
# On a connection from dom0: a line with how many clients, their thoughts, when all ends, a seed.
export PATH=/bin
{NOW}
read -r clients think_ns end_ns seed
cd /tmp/services
rm -f ready records
now
epoch=$(($(sed -n 's/now at \\([0-9]*\\) nsecs/\\1/p' /proc/timer_list) + {BEFORE_NS}))
if su -s /bin/sh {CLIENT} -c "exec clients {ADDRESSES[WEB]} {PORT} $clients $think_ns $epoch \\
    $((epoch + end_ns)) $seed /services/pages ready records" 2>clients.log; then
    echo {PAGES}
    cat records
else
    cat clients.log
fi
"""

DOM0: Final = f"""\
complain() {{
    echo "{COMPLAINT} $*" >/dev/console
    exit 1
}}

must() {{
    "$@" >/tmp/said 2>&1 || complain "$*: $(cat /tmp/said)"
}}
{NOW}
for driver in /modules/network/*; do must insmod "$driver"; done
must brctl addbr guests
must ip addr add {DOM0_ADDRESS}/24 dev guests
must ip link set guests up
must hyperperiod-xen pool-create {POOL} --policy rtds --cpus 1

guest() {{
    cat >"/tmp/$1.cfg" <<CFG
name = "$1"
type = "pv"
kernel = "/session/vmlinuz"
ramdisk = "/session/guest.cpio"
memory = {GUEST_MIB}
vif = ["bridge=guests,script=/session/vif"]
extra = "console=hvc0 quiet panic=-1 mitigations=off rootfstype=ramfs service=$1 address=$2"
on_poweroff = "preserve"
CFG
    must xl create -p "/tmp/$1.cfg"
    must hyperperiod-xen move "$1" {POOL}
}}

patiently() {{
    looks=0
    until "$@" >/dev/null 2>&1; do
        looks=$((looks + 1))
        [ $looks -lt 600 ] || complain "no answer: $*"
        sleep 0.2
    done
}}

order() {{
    echo "$2" | nc {ADDRESSES[CLIENT]} {ORDERS_PORT} >>"/results/$1"
}}

# session NUMBER CLIENTS THINK_NS END_NS SEED
session() {{
    number=$1
    shift
    now >"/results/$number"
    echo "{BEGUN} $number" >/dev/console
    patiently order $number "$*"
}}
"""

VIF: Final = """\
#!/bin/sh
# xl calls it for what is to be done with dom0's end of a guest's network.
[ "$1" = online ] || exit 0
ip link set "$vif" up
brctl addif guests "$vif"
xenstore-write "$XENBUS_PATH/hotplug-status" connected
"""


def guest_init() -> str:
    """The first program of every guest."""
    return f"{GUEST}{settings()}{SERVE}{BEGIN}"


def dom0_run(requests: Sequence[SessionRequest]) -> str:
    """The script of dom0 for sessions one after the other, with the same domains in each."""
    names = [domain.name for domain in requests[0].run.system.domains]
    warm = f"session warm {WARM.number} {WARM.think_ns} {WARM_S * NS_PER_UNIT['s']} 0\n"
    lines = [
        DOM0,
        *(f"guest {name} {ADDRESSES[name]}\n" for name in names),
        f"must xl unpause {DATABASE}\n",
        f"patiently nc -w 1 {ADDRESSES[DATABASE]} {DATABASE_PORT} </dev/null\n",
        f"must xl unpause {WEB}\n",
        f"patiently wget -q -O - 'http://{ADDRESSES[WEB]}:{PORT}/?page=user&number=1'\n",
        f"must xl unpause {CLIENT}\n",
        warm,
    ]
    for number, (run, clients) in enumerate(requests):
        lines += _servers(run.system)
        words = f"{clients.number} {clients.think_ns} {run.horizon_ns} {run.seed}"
        lines.append(f"session {number} {words}\n")
    return "".join([*lines, f"must hyperperiod-xen trace {POOL} -o /results/{RING}\n"])


def _servers(system: System) -> Iterator[str]:
    """What puts the policy and the servers of a system in force."""
    if system.spare is not None:
        yield f"must hyperperiod-xen spare {POOL} {_server(system.spare)}\n"
    for domain in system.domains:
        assert domain.interface is not None, "a service has a server"
        yield f"must hyperperiod-xen set {domain.name} {_server(domain.interface)} --force\n"
    yield f"must hyperperiod-xen policy {POOL} {system.policy.name}\n"


def _server(interface: Interface) -> str:
    period, budget = exact_time(interface.period_ns), exact_time(interface.budget_ns)
    return f"--period {period} --budget {budget}"
