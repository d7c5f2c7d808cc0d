# SPDX-License-Identifier: BSD-2-Clause
"""What happens in a run: a shell script made from the system.

It starts hyperperiodd and asks it for the system's policy and servers. Then a process for each
domain makes the threads of its tasks, which sleep until the epoch, an instant of Linux's clock that
is the core's time 0; commands begin then, each in a cgroup of its own (commands.py). What is done
to the run from outside has processes of its own (outside.py). When all are there the scheduler is
put in force. At the horizon the processes end; the scheduler's rings and theirs are left in a
folder. Whatever goes wrong ends it too, and is said on the console.

In a machine of QEMU's the first program (`init`) makes the folders that a Linux needs and starts
hyperperiodd; the script (`booted`) goes on from there, writes what is left to the port of results,
and turns the machine off. On the kernel of this machine (`here`) the daemon is a process of the
script's own, with sockets of its own. It ends with the script, however that ends, and so the
kernel's own scheduler goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import NamedTuple

from hyperperiod.hosts import Stock
from hyperperiod.hosts.guests import Workload, guest_ring_bytes, guest_words
from hyperperiod.hosts.linux import commands, live, stock
from hyperperiod.hosts.linux.outside import COUNTING, Outsider, name_of
from hyperperiod.hosts.qemu import ICOUNT_RATE
from hyperperiod.hosts.recorded_run import LATE
from hyperperiod.hosts.rings import GUEST_RING_OFFSET
from hyperperiod.model import PlacedTask, Scope, System, vcpus_of
from hyperperiod.model.units import NS_PER_UNIT

READY = "hyperperiod: ready"
BEGUN, DONE, COMPLAINT = "hyperperiod: begins at", "hyperperiod: done", "hyperperiod: error:"
EPOCH = "epoch=0"
"""In the words of a domain, where the script puts the epoch."""

MACHINE = """\
#!/bin/busybox sh
export PATH=/bin
busybox mount -t devtmpfs dev /dev
busybox mount -t proc proc /proc
busybox mount -t sysfs sys /sys
busybox mount -t cgroup2 cgroup /sys/fs/cgroup
busybox mount -t bpf bpf /sys/fs/bpf
busybox mkdir -p /left /run/hyperperiod
busybox --install -s /bin
exec >/dev/console 2>&1
left=/left tmp=/tmp words=/words object=/bin/hyperperiod.bpf.o
orders=/dev/vport0p2 commands=/sys/fs/cgroup/commands

# What commands print must leave room for all else that is kept in memory.
limit() {
    mount -t tmpfs -o size=64m printed "$1"
}

over() {
    poweroff -f
    while :; do sleep 1000; done
}
"""

HERE = """\
over() {
    exit 1
}

# From now on the kernel's own scheduler is in force. Who asks for the end may be gone, and then
# nobody else takes the folder away.
restore() {
    trap '' HUP INT TERM
    [ "$(cat $counting)" = $counted ] || echo $counted >$counting
    [ -z "$daemon" ] || kill $daemon 2>/dev/null
    [ -z "$tasks" ] || kill -9 $tasks 2>/dev/null
    [ -z "$daemon$tasks" ] || wait $daemon $tasks
    [ ! -d "$commands" ] || end_commands
    [ -z "$trace" ] || rmdir "$trace"
    [ -z "$lent" ] || echo -cpu >/sys/fs/cgroup/cgroup.subtree_control
    [ -z "$asked" ] || rm -rf "$folder"
}
end_commands() {
    echo 1 >"$commands/cgroup.kill"
    for look in $(seq 200); do
        rmdir "$commands"/* "$commands" 2>/dev/null
        [ -d "$commands" ] || return
        sleep 0.05
    done
}
trap restore EXIT
trap 'asked=1; exit 1' HUP INT TERM
export HYPERPERIOD_CONTROL="$tmp/control" PATH="$programs:$PATH"
counted=$(cat $counting)
daemon= tasks= asked= trace= lent= commands=/sys/fs/cgroup/hyperperiod-run-$$

limit() {
    :
}

hyperperiodctl() {
    $tied "$programs/hyperperiodctl" --socket "$HYPERPERIOD_CONTROL" "$@"
}

hyperperiodd() {
    $tied "$programs/hyperperiodd" --foreground --socket "$HYPERPERIOD_CONTROL" --tasks none "$@" &
    daemon=$!
    until hyperperiodctl status >/dev/null 2>&1; do
        kill -0 $daemon 2>/dev/null || return 1
        sleep 0.05
    done
}
"""

ASK = """\
give_up() {
    echo "$COMPLAINT $*"
    over
}

ask() {
    hyperperiodctl "$@" >"$tmp/answer" 2>&1 || give_up "$*: $(cat "$tmp/answer")"
}

# The clock of hyperperiodd and the threads, in whole seconds.
read_clock() {
    ask status
    now=$(sed 's/.*"clock_ns": \\([0-9]*\\)[0-9]\\{9\\}.*/\\1/' "$tmp/answer")
}
"""

GO_ON = f"""\
echo "{READY}"
{{ snapshot >/tmp/given && cpio -i -u </tmp/given; }} 2>/tmp/answer || give_up "$(cat /tmp/answer)"
rm /tmp/given
. /script
"""

START = """\
hyperperiodd --cpus $cpus --object "$object" >"$tmp/daemon" 2>&1 ||
    give_up "hyperperiodd: $(cat "$tmp/daemon")"
"""

BEGIN = """\
read_clock
epoch=$((now + start_s))000000000
tasks=
"""

WAIT = """\
waiting=$processes
while [ "$waiting" != 0 ]; do
    sleep 0.01
    waiting=$processes
    for file in "$tmp/$run"/ready*; do [ -e "$file" ] && waiting=$((waiting - 1)); done
    kill -0 $tasks 2>/dev/null || give_up "a domain's tasks do not run"
done
"""

RUN = """\
read_clock
[ "$now" -lt "${epoch%?????????}" ] || give_up "$LATE"
echo "$BEGUN $epoch"
for each in $tasks; do
    wait $each
    ended=$?
    [ $ended = 0 ] || [ $ended = 143 ] || give_up "a domain's tasks have ended early"
done
tasks=
ask status
cp "$tmp/answer" "$left/$run/status"
"""


class Force(NamedTuple):
    """What puts a scheduler in force when all is ready, and what keeps its records at the end."""

    begin: str
    end: str


OURS = Force(
    "ask start epoch_ns=$epoch force=$force\n",
    'ask rings path="$left/$run/rings"\nask stop\nask clear\n',
)

ORDERS = """\
{
    read -r order <"$orders" && {
        clock=$(hyperperiodctl status | sed 's/.*"clock_ns": \\([0-9]*\\).*/\\1/')
        echo $((clock - epoch)) >"$left/$run/ended"
        kill $tasks
    }
} &
"""

END = """\
tar c -C /left . >/dev/vport0p1
echo "$DONE"
over
"""


def init(first: str, *, cpus: int) -> str:
    """The first program of a machine with so many cpus.

    After what it does first it takes the files of its run, and goes on with the script.
    """
    return f"{MACHINE}\n{ASK}{_said()}cpus={cpus}\n{first}{GO_ON}"


def booted(runs: Sequence[str], *, start_s: int, prepare: str = "") -> str:
    """The script of a machine that has started hyperperiodd, for runs one after the other.

    The epoch of each is `start_s` seconds after the first of its processes is made. A run can be
    ended early, by a line on the port of orders, if it is the only one.
    """
    # Nobody but us is on that machine whom servers that leave nothing to others could frighten.
    settings = f"force=1\nstart_s={start_s}\n"
    return "".join([settings, prepare, *_with_orders(runs), END])


class Place(NamedTuple):
    """Where a script finds what it needs on this machine, and leaves what comes of it."""

    folder: Path
    """With `left`, `tmp`, `words` and `orders`, from which a line is read that ends the run."""
    programs: Path
    tied: Sequence[str] = ()
    """What ends a program when the script ends."""


def here(runs: Sequence[str], place: Place, *, cpus: int, start_s: int) -> str:
    """The script for runs on the kernel of this machine, on `cpus` cpus that servers may be on;
    otherwise as `booted`.

    Servers that leave nothing to all others for long are refused: the others are whoever uses this
    machine.
    """
    values = {
        "folder": place.folder,
        **{name: place.folder / name for name in ("left", "tmp", "words", "orders")},
        "object": place.programs / "hyperperiod.bpf.o",
        "programs": place.programs,
        "tied": " ".join(place.tied),
        "counting": COUNTING,
        "force": 0,
    }
    head = "".join(f"{name}={quote(str(value))}\n" for name, value in values.items())
    settings = f"{_said()}cpus={cpus}\nstart_s={start_s}\n"
    return "".join([head, HERE, ASK, settings, START, *_with_orders(runs), 'echo "$DONE"\n'])


def _said() -> str:
    """Shell that sets the variables with the lines by which a script says how far it is."""
    return f'COMPLAINT="{COMPLAINT}"\nBEGUN="{BEGUN}"\nDONE="{DONE}"\nLATE="{LATE}"\n'


def _with_orders(runs: Sequence[str]) -> Sequence[str]:
    """The runs; one that is alone can be ended early."""
    return runs if len(runs) > 1 else [runs[0].replace("for each in", f"{ORDERS}for each in")]


def run(
    number: int,
    requests: Iterable[str],
    prepare: str,
    processes: str,
    waiting: int,
    force: Force = OURS,
) -> str:
    """The part of the script for the run of this number, under the scheduler that is in `force`.

    `requests` are those for hyperperiodd. `prepare` is done before the epoch is set, `processes`
    starts what knows it, with its process ids in `tasks`: they say in `waiting` files that they are
    ready, and end at the horizon.
    """
    folders = f'run={number}\nmkdir -p "$tmp/$run" "$left/$run"\n'
    asked = "".join(f"ask {request}\n" for request in requests)
    count = f"processes={waiting}\n"
    begun = f"{count}{BEGIN}{processes}{WAIT}{force.begin}{RUN}"
    return f"{folders}{asked}{prepare}{begun}{force.end}"


def run_tasks(
    system: System,
    number: int,
    horizon_ns: int,
    outside: Mapping[str, Outsider],
    cpus: Sequence[int],
    workloads: Mapping[int, Workload],
    scheduler: Stock | None = None,
) -> str:
    """The part of the script for a run of a system's tasks: processes of domains, and commands.

    `cpus` are those that the pcpus are; `workloads` is what domains do in place of tasks. With a
    `scheduler` of the kernel's own nothing of ours is in force.
    """
    own = sorted(cpus[: system.pcpus])
    processes = [
        *(
            _process(system, number, workloads.get(number), own, scheduler)
            for number in domains_of_tasks(system)
        ),
        *(_command(placed, horizon_ns, own, scheduler) for placed in commands.commands_of(system)),
        *(_outside(name, one, own[one.pcpu]) for name, one in outside.items()),
    ]
    logs, all_processes = commands.logs(system), "".join(processes)
    if scheduler is None:
        prepare, asked, force = commands.groups(system), requests(system, own), OURS
    else:
        prepare, asked = stock.groups(system, scheduler, own), iter(())
        force = Force("", stock.KEEP)
    return run(number, asked, f"{logs}{prepare}", all_processes, len(processes), force)


def domains_of_tasks(system: System) -> list[int]:
    """The domains that have a process for their tasks; commands do the work of the others."""
    return [
        number for number, domain in enumerate(system.domains) if not commands.has_commands(domain)
    ]


def words(
    system: System,
    number: int,
    horizon_ns: int,
    seed: int,
    workload: Workload | None = None,
    *,
    icount: bool,
) -> str:
    """What the process of a domain (from 0) is told, but for the epoch."""
    room = workload.ring_bytes if workload else guest_ring_bytes(system, number, horizon_ns)
    told = guest_words(
        system,
        number,
        epoch_ns=0,
        horizon_ns=workload.span_ns if workload else horizon_ns,
        seed=seed,
        memory_bytes=GUEST_RING_OFFSET + room,
        rate=ICOUNT_RATE if icount else 0,
        counter_hz=NS_PER_UNIT["s"],
        wires=False,
        workload=workload,
    )
    return " ".join(told) + "\n"


def requests(system: System, cpus: Sequence[int] | None = None) -> Iterator[str]:
    """What hyperperiodd is asked for before the start, on these cpus or the first ones.

    `$force` is the script's.
    """
    for request in live.requests(system, cpus or range(system.pcpus), name_of):
        yield f"{request} force=$force" if request.startswith("server ") else request
    yield "record on"


def lock_domains(system: System) -> Sequence[Sequence[int]]:
    """The vcpus (ids) of each lock domain, in the order of their numbers there."""
    vcpus = vcpus_of(system)
    if system.policy.scope is Scope.GLOBAL:
        return [[vcpu.id for vcpu in vcpus]]
    return [[vcpu.id for vcpu in vcpus if (vcpu.pcpu or 0) == pcpu] for pcpu in range(system.pcpus)]


def _process(
    system: System,
    number: int,
    workload: Workload | None,
    cpus: Sequence[int],
    scheduler: Stock | None,
) -> str:
    epoch = f"$((epoch + {workload.offset_ns}))" if workload else "$epoch"
    own = [vcpu for vcpu in vcpus_of(system) if vcpu.domain_index == number]
    servers, enter, kept = " ".join(map(name_of, own)), "", ""
    if scheduler is not None:
        servers = " ".join(stock.server_word(vcpu, scheduler) for vcpu in own)
        enter = f"inside {stock.group_of(system, number)} {stock.mask(cpus)} "
        kept = f'echo $! >"$left/$run/{stock.process_of(number)}"\n'
    return (
        f'sed "s/{EPOCH}/epoch={epoch}/" "$words/$run/{number}" >"$tmp/$run/words{number}"\n'
        f'{enter}tasks "$tmp/$run/words{number}" "$left/$run/ring{number}"'
        f' "$tmp/$run/ready{number}" {servers} &\n'
        f'tasks="$tasks $!"\n{kept}'
    )


def _command(
    placed: PlacedTask, horizon_ns: int, cpus: Sequence[int], scheduler: Stock | None
) -> str:
    started = commands.process(placed, horizon_ns)
    if scheduler is None:
        return started
    kept = f'echo $! >"$left/$run/{stock.supervisor_of(placed)}"\n'
    return f"taskset {stock.mask(cpus)} {started}{kept}"


def _outside(name: str, outsider: Outsider, cpu: int) -> str:
    """Starts a process that does something to the run from outside, on this cpu."""
    file = f'"$tmp/$run/{name}"'
    return (
        f'{{ echo $epoch; cat "$words/$run/{name}"; }} >{file}\n'
        f'events {file} "$tmp/$run/ready-{name}" {cpu} {outsider.priority} &\n'
        'tasks="$tasks $!"\n'
    )
