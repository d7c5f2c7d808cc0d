# SPDX-License-Identifier: BSD-2-Clause
"""What happens where real services run in VMs: the scripts of dom0 and of the guests.

dom0 makes a bridge, and with stock `xl` the guests, in a pool of one pcpu. Database, web server and
clients begin one after the other, each as soon as what it needs answers. Then, in each session,
`hyperperiod-xen` sets policy and servers, and the clients' guest is told over the network what to
ask for; it sends back the pages that came. dom0 keeps them, and at the end the pool's ring.

Where dom0 is a domain of the system the pool is its own, Pool-0. It has its server of the system
while clients ask for pages, and an ample one when it makes domains and sets servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from hyperperiod.hosts.services import (
    BATCH,
    CLIENT,
    DATABASE,
    DOM0,
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
POOL, DOM0_POOL = "real-time", "Pool-0"
BEFORE_NS: Final = 100_000_000
"""So long before its epoch a session's clients are started."""
RING: Final = "ring"
PACKETS: Final = "packets-"
"""Before the number of a session: what dom0 has received of each VM, before it and after."""
PAGES: Final = "pages"
"""A line before pages; errors come without it."""

ADDRESSES: Final = {name: f"10.0.0.{number}" for number, name in enumerate(SERVICES, 1)}
DOM0_ADDRESS: Final = "10.0.0.100"
DATABASE_PORT, ORDERS_PORT = 5432, 1000
GUEST_MIB, BATCH_MIB = 576, 128
AMPLE: Final = Interface(period_ns=10_000_000, budget_ns=9_000_000)
"""The server of dom0 between sessions."""
SHARED_LINE: Final = " sched=hyperperiod hyperperiod=policy=rtds,d0=10ms:9ms"
"""What Xen's command line has more where Pool-0 is the pool of all."""

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

BEGIN_DOM0: Final = f"""\
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
"""

MAKE_POOL: Final = f"must hyperperiod-xen pool-create {POOL} --policy rtds --cpus 1\n"

# Stock xl makes no domain in a pool of ours, and Pool-0 is one here.
MAKE_NURSERY: Final = """\
must xl cpupool-cpu-remove Pool-0 1
must xl cpupool-create 'name="nursery"' 'sched="credit2"' 'cpus=["1"]'
"""
IN_NURSERY: Final = """ 'pool="nursery"'"""

FUNCTIONS: Final = f"""
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
    must xl create -p "/tmp/$1.cfg"{{into}}
    must hyperperiod-xen move "$1" {{pool}}
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

SHARED: Final = f"""
received() {{
    cat /sys/class/net/vif*/statistics/rx_packets
}}

# shared SERVER NUMBER ...: a session in which dom0 has this server once the clients are told
shared() {{
    server=$1
    shift
    received >"/results/{PACKETS}$1"
    session "$@" &
    sleep 0.05
    must hyperperiod-xen set 0 $server --force
    wait
    received >>"/results/{PACKETS}$1"
    must hyperperiod-xen set 0 {{ample}} --force
}}

cat >/tmp/{BATCH}.cfg <<CFG
name = "{BATCH}"
type = "pv"
kernel = "/session/vmlinuz"
ramdisk = "/session/{BATCH}.cpio"
memory = {BATCH_MIB}
extra = "quiet"
CFG
must xl create -p /tmp/{BATCH}.cfg{IN_NURSERY}
must hyperperiod-xen move {BATCH} {DOM0_POOL}
"""

ALWAYS_BUSY: Final = """\
#!/bin/busybox sh
while :; do :; done
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


def has_dom0(system: System) -> bool:
    """Returns whether dom0 has a server of the system, in the pool of the VMs."""
    return system.domains[0].name == DOM0


def dom0_run(requests: Sequence[SessionRequest]) -> str:
    """The script of dom0 for sessions one after the other, with the same domains in each."""
    system = requests[0].run.system
    shared = has_dom0(system)
    pool, into, make = (DOM0_POOL, IN_NURSERY, MAKE_NURSERY) if shared else (POOL, "", MAKE_POOL)
    names = [domain.name for domain in system.domains if domain.name in SERVICES]
    warm = f"session warm {WARM.number} {WARM.think_ns} {WARM_S * NS_PER_UNIT['s']} 0\n"
    lines = [
        BEGIN_DOM0,
        make,
        FUNCTIONS.replace("{pool}", pool).replace("{into}", into),
        *(f"guest {name} {ADDRESSES[name]}\n" for name in names),
        SHARED.replace("{ample}", _server(AMPLE)) if shared else "",
        f"must xl unpause {DATABASE}\n",
        f"patiently nc -w 1 {ADDRESSES[DATABASE]} {DATABASE_PORT} </dev/null\n",
        f"must xl unpause {WEB}\n",
        f"patiently wget -q -O - 'http://{ADDRESSES[WEB]}:{PORT}/?page=user&number=1'\n",
        f"must xl unpause {CLIENT}\n",
        warm,
        f"must xl unpause {BATCH}\n" if shared else "",
    ]
    for number, (run, clients) in enumerate(requests):
        lines += _servers(run.system, pool)
        words = f"{number} {clients.number} {clients.think_ns} {run.horizon_ns} {run.seed}"
        own = f'shared "{_server(run.system.domains[0].interface)}"' if shared else "session"
        lines.append(f"{own} {words}\n")
    return "".join([*lines, f"must hyperperiod-xen trace {pool} -o /results/{RING}\n"])


def _servers(system: System, pool: str) -> Iterator[str]:
    """What puts the policy and the servers of a system in force, but for dom0's."""
    if system.spare is not None:
        yield f"must hyperperiod-xen spare {pool} {_server(system.spare)}\n"
    for domain in system.domains:
        if domain.name != DOM0:
            yield f"must hyperperiod-xen set {domain.name} {_server(domain.interface)} --force\n"
    yield f"must hyperperiod-xen policy {pool} {system.policy.name}\n"


def _server(interface: Interface | None) -> str:
    if interface is None:
        return "--best-effort"
    period, budget = exact_time(interface.period_ns), exact_time(interface.budget_ns)
    return f"--period {period} --budget {budget}"
