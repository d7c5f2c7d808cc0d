# SPDX-License-Identifier: BSD-2-Clause
"""hyperperiodd does what is asked on its socket, and refuses everything else whole."""

from __future__ import annotations

import array
import contextlib
import json
import os
import random
import signal
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.linux.daemons import Daemon, command, daemon_in, program

from hyperperiod.model.policy import PRESETS, legal_policies

SEED = int(os.environ.get("HYPERPERIOD_SEED", "20250101"))
MALFORMED = 100_000
LIMIT = 4096

PTPS = "policy name=ptps pcpus=0-1"
A = "server a pcpu=0 period_ns=10000000 budget_ns=3000000 priority=1 inside=fp"
B = "server b pcpu=1 period_ns=20000000 budget_ns=5000000 priority=0"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with daemon_in(tmp_path) as one:
        yield one


def test_a_system_may_start_at_an_instant_that_is_to_come(daemon: Daemon) -> None:
    """The instant that is the core's time 0 is the one that was asked for."""
    daemon.does(PTPS, A)
    assert daemon.does("start epoch_ns=7000000000 force=1")["base_ns"] == 7_000_000_000


def test_programs_may_be_loaded_before_the_start(daemon: Daemon) -> None:
    """Loading is told to the kernel, and refused where there is no policy, or one in force."""
    assert "found no policy" in daemon.refuses("load")
    daemon.does(PTPS, A, "load", "start")
    assert [call.split()[0] for call in daemon.calls] == ["load", "start", "add"]
    assert "found a system in force" in daemon.refuses("load")


def test_a_system_is_started_changed_and_stopped(daemon: Daemon) -> None:
    """The kernel is told all at the start, then what changes, in the order of the requests."""
    me = os.getpid()
    daemon.does(PTPS, A, B, f"attach a pid={me} key=7", "record on")
    assert [call for call in daemon.calls if not call.startswith("record")] == []
    assert daemon.does("start")["base_ns"] == 5_000_000_000
    daemon.does("set a budget_ns=4000000", "swap name=ds", f"attach b thread={me}")
    daemon.does(f"detach b thread={me}", "remove b", "record off", "stop")
    assert daemon.calls == [
        "record 1",
        "start 0.0.0 global=0 cpus=3 recording=1",
        "add 0 inside=1 period_ns=10000000 budget_ns=3000000 priority=1 flags=0 weight=0 cpus=0",
        "add 64 inside=3 period_ns=20000000 budget_ns=5000000 priority=0 flags=0 weight=0 cpus=0",
        f"attach 0 pid={me} key=7",
        "change 0 inside=1 period_ns=10000000 budget_ns=4000000 priority=1 flags=0 weight=0 cpus=0",
        "swap 1.0.0",
        f"attach 64 thread={me} key=-1",
        f"detach 64 thread={me} key=-1",
        "remove 64",
        "record 0",
        "stop",
    ]


def test_a_server_of_a_global_policy_is_bound_to_cpus(daemon: Daemon) -> None:
    """To some of the policy's; all of them are no bound, and what is refused changes nothing."""
    times = "period_ns=10000000 budget_ns=1000000"
    daemon.does("policy name=rtds pcpus=1-3", f"server a pcpus=1,3 {times}", f"server b {times}")
    daemon.does("start", "set b pcpus=2", "set a pcpus=1-3", "set a budget_ns=2000000")
    assert [call.split()[-1] for call in daemon.calls if "cpus=" in call][1:] == [
        "cpus=a", "cpus=0", "cpus=4", "cpus=0", "cpus=0"
    ]  # fmt: skip
    assert "pcpus: found 0, allowed: the policy's" in daemon.refuses("set b pcpus=0,2")
    assert "pcpus: found '64'" in daemon.refuses("set b pcpus=64")
    assert "budget_ns: found" in daemon.refuses("set b pcpus=1 budget_ns=10000001")
    bound = {one["name"]: one.get("pcpus") for one in daemon.does("status")["servers"]}
    assert bound == {"a": None, "b": [2]}


def test_status_tells_all(daemon: Daemon) -> None:
    daemon.does(PTPS, A, f"attach a pid={os.getpid()}")
    before = daemon.does("status")
    assert before["running"] is False
    assert before["pid"] == daemon.process.pid
    assert before["cpus"] == [0, 1]
    assert before["policy"]["rules"] == "periodic+fp+none"
    assert "programs" not in before
    daemon.does("start")
    after = daemon.does("status")
    assert after["programs"] == [{"name": "busy", "runs": 3, "ns": 1500}]
    assert after["running"] is True
    (server,) = after["servers"]
    assert server["name"] == "a"
    assert (server["period_ns"], server["budget_ns"]) == (10_000_000, 3_000_000)
    assert server["members"] == [{"pid": os.getpid()}]
    assert server["used_ns"] == 1_000_000
    assert (server["periods"], server["short_periods"], server["supplied_ns_min"]) == (5, 2, 7)
    assert server["wakeup_counts"] == [1, 0, 3]
    assert (server["wakeups"], server["wakeups_depleted"]) == (4, 1)
    assert (server["wakeup_ns"], server["wakeup_ns_max"]) == (9000, 4000)


def test_who_has_ended_is_forgotten(daemon: Daemon) -> None:
    """Its id may be another's later; a start does not give that one a server."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        daemon.does(PTPS, A, f"attach a pid={child.pid}", f"attach a thread={os.getpid()}")
        assert len(daemon.does("status")["servers"][0]["members"]) == 2
    assert daemon.does("status")["servers"][0]["members"] == [{"thread": os.getpid()}]
    daemon.does("start")
    assert daemon.calls[-1] == f"attach 0 thread={os.getpid()} key=-1"


def test_a_system_can_be_started_again_and_forgotten(daemon: Daemon) -> None:
    daemon.does(PTPS, A, "start", "stop", "start", "stop", "clear")
    assert daemon.does("status").get("servers") is None
    assert [call.split()[0] for call in daemon.calls] == ["start", "add", "stop"] * 2


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_named_policy_is_taken(daemon: Daemon, name: str) -> None:
    """Names and rules are the core's; the scope is that of the name."""
    policy = PRESETS[name]
    daemon.does(f"policy name={name} pcpus=0")
    answer = daemon.does("status")["policy"]
    assert answer["rules"] == "+".join(policy.rules.split("+")[:3])
    assert answer["global"] == (policy.scope.value == "global")


def test_every_legal_policy_is_taken_and_no_other(daemon: Daemon) -> None:
    legal = {policy.rules for policy in legal_policies()}
    words = [sorted({rules.split("+")[i] for rules in legal}) for i in range(3)]
    for budget in words[0]:
        for order in words[1]:
            for slack in words[2]:
                for scope in ("", "+global"):
                    rules = f"{budget}+{order}+{slack}"
                    request = f"policy name={rules} pcpus=0-1 global={int(bool(scope))}"
                    assert daemon.ask(request)["ok"] is (f"{rules}{scope}" in legal), request


@pytest.mark.parametrize(
    ("request_", "found"),
    [
        (" ", "request: found ''"),
        ("statut", "request: found 'statut'"),
        ("status ", "found ''"),
        ("status x=1", "found 'x='"),
        ("server", "server: found ''"),
        ("server a/b pcpu=0", "server: found 'a/b'"),
        (f"server {'a' * 64} pcpu=0", "server: found 'aaa"),
        ("server c pcpu=0", "period_ns: found none"),
        ("server c period_ns=10 budget_ns=5", "pcpu: found none"),
        ("server c pcpu=2 period_ns=10 budget_ns=5", "pcpu: found another one"),
        ("server c pcpu=global period_ns=10 budget_ns=5", "pcpu: found global"),
        ("server c pcpu=0 pcpus=0 period_ns=10 budget_ns=5", "pcpus: found some, allowed: pcpu="),
        ("set a pcpus=1", "pcpus: found some, allowed: pcpu="),
        ("server c pcpu=64 period_ns=10 budget_ns=5", "pcpu: found '64'"),
        ("server c pcpu=0 period_ns=0 budget_ns=5", "period_ns: found '0'"),
        ("server c pcpu=0 period_ns=1e6 budget_ns=5", "period_ns: found '1e6'"),
        ("server c pcpu=0 period_ns=-1 budget_ns=5", "period_ns: found '-1'"),
        ("server c pcpu=0 period_ns=99999999999999999999 budget_ns=5", "period_ns: found '9999"),
        ("server c pcpu=0 period_ns=9 period_ns=9", "period_ns: found twice"),
        ("server c pcpu=0 period_ns=1000000 budget_ns=1000001", "budget_ns: found none, or more"),
        ("server c pcpu=0 period_ns=1000000 budget_ns=4999", "budget_ns: found less than a dec"),
        ("server c pcpu=0 period_ns=15000 budget_ns=5000", "so short that deciding"),
        ("server c pcpu=0 period_ns=90 budget_ns=5 inside=x", "inside: found 'x'"),
        ("server c pcpu=0 best_effort=1 period_ns=9000000", "best_effort: found"),
        ("server c pcpu=0 period_ns=9000000 budget_ns=90000 weight=2", "weight: found"),
        ("server c pcpu=0 period_ns=9000000 budget_ns=90000 users=nobody-there", "users: found"),
        ("server a pcpu=1 period_ns=10000000 budget_ns=1000000", "server: found a already"),
        ("set c budget_ns=7", "server: found no 'c'"),
        ("set a budget_ns=10000001", "budget_ns: found none, or more"),
        ("set a inside=edf", "set: found 'inside='"),
        ("attach a", "member: found 0"),
        ("attach a pid=1 thread=1", "member: found 2"),
        ("attach a pid=4194303", "pid: found no 4194303"),
        ("attach a pid=me", "pid: found 'me'"),
        ("attach a cgroup=/no/such/one", "cgroup: found no cgroup"),
        ("attach a cgroup=../../etc", "cgroup: found a path"),
        ("attach a pid=1 key=32768", "key: found 32768"),
        ("attach a cgroup=/ key=1", "key: found some, allowed: pid= or thread="),
        ("detach a pid=1", "member: found none of this server"),
        ("swap name=rtds", "found a global policy"),
        ("swap name=periodic+edf+spare", "rules that do not go together"),
        ("swap name=x", "name: found 'x'"),
        ("policy name=ds pcpus=0", "policy: found servers already"),
        ("record maybe", "record: found 'maybe'"),
        ("start", "start: found a system in force"),
        ("clear", "clear: found a system in force"),
        ("server c pcpu=1 period_ns=10000000 budget_ns=8000000", "keep cpus busy for 30 s"),
    ],
)
def test_what_makes_no_sense_is_refused_whole(daemon: Daemon, request_: str, found: str) -> None:
    daemon.does(PTPS, A, B, "start")
    assert found in daemon.refuses(request_)


def test_before_its_time_a_request_is_refused(daemon: Daemon) -> None:
    for request in (A, "start", "swap name=ds"):
        assert "allowed: after policy" in daemon.refuses(request)
    assert "pcpus: found several" in daemon.refuses("policy name=hsf-fp pcpus=0-1")
    daemon.does(PTPS, A)
    assert "found no system in force" in daemon.refuses("stop")
    assert "rings: found none" in daemon.refuses("rings")


def test_what_the_kernel_refuses_leaves_all_as_it_was(daemon: Daemon) -> None:
    me = os.getpid()
    daemon.does(PTPS, A, "start", f"attach a pid={me}")
    why = "kernel: found something, allowed: nothing"
    (daemon.folder / "kernel.refuse").write_text(why)
    before = daemon.does("status")
    for request in (B, "set a budget_ns=1000000", "swap name=ds", "remove a",
                    f"attach a thread={me}", f"detach a pid={me}"):  # fmt: skip
        answer = daemon.ask(request)
        assert answer == {"ok": False, "error": why}, request
        assert daemon.does("status") == before, request


def at(daemon: Daemon, seconds: int) -> dict[str, Any]:
    """What the daemon says when it has looked at what is so many seconds after the clock began."""
    daemon.write("clock", f"{seconds}000000000")
    daemon.does("status")
    return daemon.does("status")


def test_what_the_kernel_ends_is_put_in_force_again(daemon: Daemon) -> None:
    """It ends a scheduler whose threads wait for too long; a moment later that may be over."""
    at(daemon, 100)
    daemon.does(PTPS, A, "start")
    ended = daemon.write("ended", "runnable task stall")
    status = at(daemon, 150)
    assert (status["running"], status["ends"]) == (False, 1)
    assert status["ended"] == "runnable task stall"
    assert status["again_ns"] == 151_000_000_000
    assert any("ended the scheduler: runnable task stall; tried again in 1 s" in line
               for line in daemon.log)  # fmt: skip
    ended.unlink()
    assert at(daemon, 150)["running"] is False
    status = at(daemon, 151)
    assert (status["running"], status["ends"]) == (True, 1)
    assert "again_ns" not in status
    calls = [call.split()[0] for call in daemon.calls]
    assert calls == ["start", "add", "stop", "start", "add"]


def test_it_is_tried_less_and_less_often_and_not_for_ever(daemon: Daemon) -> None:
    """Whoever looks after services sees that: the daemon ends, and not well."""
    now_s = 100
    at(daemon, now_s)
    daemon.does(PTPS, A, "start")
    daemon.write("ended", "runnable task stall")
    for wait_s in (1, 2, 4, 8):
        assert at(daemon, now_s)["again_ns"] == (now_s + wait_s) * 10**9
        now_s += wait_s
    assert at(daemon, now_s)["again_ns"] == (now_s + 16) * 10**9
    daemon.write("clock", f"{now_s + 16}000000000")
    with contextlib.suppress(OSError, ValueError):
        daemon.ask("status")
        daemon.ask("status")
    assert daemon.process.wait(60) == 1
    assert any("after 5 tries for good" in line for line in daemon.log)


def test_what_was_well_for_long_is_tried_as_at_first(daemon: Daemon) -> None:
    at(daemon, 100)
    daemon.does(PTPS, A, "start")
    for now_s in (200, 300, 400, 500, 600, 700, 800):
        ended = daemon.write("ended", "runnable task stall")
        assert at(daemon, now_s)["again_ns"] == (now_s + 1) * 10**9
        ended.unlink()
        assert at(daemon, now_s + 1)["running"] is True


def test_what_was_ended_on_purpose_stays_out(daemon: Daemon) -> None:
    """By SysRq, or by a stop while it is waited for; a start is possible at any time."""
    at(daemon, 100)
    daemon.does(PTPS, A, "start")
    ended = daemon.write("ended", "disabled by sysrq-S")
    status = at(daemon, 101)
    assert (status["running"], "again_ns" in status) == (False, False)
    ended.unlink()
    daemon.does("start")
    ended = daemon.write("ended", "runnable task stall")
    assert "again_ns" in at(daemon, 102)
    daemon.does("stop")
    ended.unlink()
    assert at(daemon, 200)["running"] is False
    daemon.does("start")


def test_a_cgroup_may_be_waited_for(daemon: Daemon) -> None:
    """It is a member by its path, whatever the slashes; and can be detached before it is there."""
    daemon.does(PTPS, A, "attach a cgroup=no//such/ wait=1", "attach a cgroup=/no/such wait=1")
    (server,) = daemon.does("status")["servers"]
    assert server["members"] == [{"cgroup": "/sys/fs/cgroup/no/such", "waits": True}]
    daemon.does("start")
    assert "wait: found some" in daemon.refuses("attach a pid=1 wait=1")
    daemon.does("detach a cgroup=no/such")
    assert daemon.does("status")["servers"][0]["members"] == []


def test_a_cpu_that_this_machine_cannot_have_is_refused(daemon: Daemon) -> None:
    assert "pcpus: found 63, allowed: cpus that this" in daemon.refuses("policy name=ds pcpus=0,63")


def test_a_file_whose_start_is_refused_is_no_start(tmp_path: Path) -> None:
    """Nobody is told that it is ready: what the file says is not in force."""
    (tmp_path / "object").touch()
    (tmp_path / "kernel.refuse").write_text("kernel: found another scheduler, allowed: none")
    requests = tmp_path / "requests"
    requests.write_text(f"{PTPS}\n{A}\nstart\n")
    said = subprocess.run(
        [*command(tmp_path), "--requests", requests], capture_output=True, text=True, timeout=60,
        env={**os.environ, "FAKE_KERNEL": str(tmp_path / "kernel")},
    )  # fmt: skip
    assert said.returncode == 1
    assert f"{requests}:3: " in said.stderr
    assert "found another scheduler" in said.stderr


def test_servers_leave_something_for_what_is_outside(daemon: Daemon) -> None:
    """Who insists on a whole cpu is warned; in what is left the background has its turns."""
    daemon.does("policy name=rtds pcpus=0")
    full = "server a period_ns=10000000 budget_ns=10000000"
    assert "force=1 insists" in daemon.refuses(full)
    (warning,) = daemon.does(f"{full} force=1")["warnings"]
    assert "busy for 30 s" in warning
    daemon.does("set a budget_ns=2000000")
    assert "warnings" not in daemon.does("server rest best_effort=1")
    assert "warnings" not in daemon.does("set a extra=1")


def naive_busy(servers: list[tuple[int, int]], pcpus: int, limit: int) -> int:
    """The longest stretch, one time unit after the other: every server serves a budget as late as
    it can in the period before, then one at each beginning of a period."""
    demand = 0
    releases = dict.fromkeys(range(limit), 0)
    for period, budget in servers:
        releases[0] += budget
        for at in range(budget, limit, period):
            releases[at] += budget
    for time in range(limit):
        demand += releases[time]
        if demand < pcpus:
            return time
        demand -= pcpus
    return limit


def test_the_longest_stretch_is_that_of_a_naive_model() -> None:
    rng = random.Random(SEED)
    for _ in range(150):
        servers = []
        for _ in range(rng.randint(1, 4)):
            period = rng.randint(2, 12)
            servers.append((period, rng.randint(1, max(1, period // 3))))
        words = [f"{period}:{budget}" for period, budget in servers]
        done = subprocess.run([program("busy"), "1", *words], capture_output=True, text=True)
        expected = naive_busy(servers, 1, 3000)
        if expected == 3000:
            assert int(done.stdout) >= 3000, (servers, done.stdout)
        else:
            assert int(done.stdout) == expected, (servers, done.stdout, done.stderr)


# --- sockets ---------------------------------------------------------------------------------


def test_sockets_are_open_to_whom_they_should(daemon: Daemon) -> None:
    modes = {
        name: stat.S_IMODE((daemon.folder / name).stat().st_mode) for name in ("control", "tasks")
    }
    assert modes == {"control": 0o660, "tasks": 0o666}


def test_a_thread_enters_a_server_that_is_open(daemon: Daemon) -> None:
    """The socket for tasks knows enter and leave alone, of threads of the one who asks."""
    daemon.does(PTPS, A, f"{B} users=all", "start")
    client = daemon.connect("tasks")
    me = os.getpid()
    assert daemon.ask(f"enter b thread={me}", client)["ok"] is True
    assert daemon.calls[-1] == f"attach 64 thread={me} key=-1"
    assert daemon.ask(f"leave thread={me}", client)["ok"] is True
    assert daemon.calls[-1] == f"detach 64 thread={me} key=-1"
    for request, found in (
        ("status", "found one that changes or shows"),
        ("stop", "found one that changes or shows"),
        ("enter b thread=1", "thread: found one of another process"),
        (f"leave thread={me}", "thread: found none of any server"),
        (f"enter c thread={me}", "server: found no 'c'"),
    ):
        answer = daemon.ask(request, client)
        assert answer["ok"] is False, answer
        assert found in answer["error"]
    daemon.does(f"attach a thread={me}")
    for request in (f"enter b thread={me}", f"leave thread={me}"):
        assert "found one that was attached" in daemon.ask(request, client)["error"]


def test_one_user_leaves_room_for_others(daemon: Daemon) -> None:
    """Threads that end make room again."""
    daemon.does(PTPS, f"{A} users=all")
    client = daemon.connect("tasks")
    done = threading.Event()
    threads = [threading.Thread(target=done.wait) for _ in range(257)]
    for thread in threads:
        thread.start()
    *inside, last = (f"enter a thread={thread.native_id}" for thread in threads)
    assert all(daemon.ask(request, client)["ok"] for request in (*inside, inside[0]))
    assert "found 256 of this user" in daemon.ask(last, client)["error"]
    assert daemon.ask(last)["ok"] is True
    done.set()
    for thread in threads:
        thread.join()
    assert daemon.ask(f"enter a thread={os.getpid()}", client)["ok"] is True


@pytest.mark.parametrize(("inside", "key"), [("fp", 3), ("edf", 9000), ("fifo", -1), ("turns", -1)])
def test_a_server_takes_what_it_goes_by(daemon: Daemon, inside: str, key: int) -> None:
    daemon.does(PTPS, f"server c pcpu=0 best_effort=1 inside={inside} users=all", "start")
    me = os.getpid()
    daemon.does(f"enter c thread={me} priority=3 deadline_ns=9000")
    assert daemon.calls[-1] == f"attach 0 thread={me} key={key}"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become somebody else")
def test_who_may_enter_is_asked_of_the_kernel(daemon: Daemon) -> None:
    daemon.folder.chmod(0o755)
    for above in daemon.folder.parents[:3]:
        above.chmod(above.stat().st_mode | 0o111)
    daemon.does(PTPS, f"{A} users=12345", B, "server c pcpu=1 best_effort=1 users=all", "start")
    asks = (
        "import os, socket, sys\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.connect(sys.argv[1])\n"
        "for name in 'abc':\n"
        "    s.send(f'enter {name} thread={os.getpid()}'.encode())\n"
        "    print(int(b'\"ok\": true' in s.recv(4096)), end='')\n"
    )

    def answers(group: int) -> str:
        return subprocess.run(
            ["python3", "-c", asks, str(daemon.folder / "tasks")],
            user=54321, group=group, extra_groups=[], capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    assert answers(12345) == "101"
    assert answers(54321) == "001"


def test_answers_come_with_the_rings(daemon: Daemon) -> None:
    daemon.does(PTPS, A, "start")
    client = daemon.connect()
    client.send(b"rings")
    _, extra, _, _ = client.recvmsg(4096, socket.CMSG_SPACE(4))
    (file,) = array.array("i", extra[0][2])
    with os.fdopen(file, "rb") as rings:
        assert rings.read() == b"rings of 2"


def test_the_tool_asks_and_writes_by_its_own_rights(daemon: Daemon, tmp_path: Path) -> None:
    tool = [str(program("hyperperiodctl")), "--socket", str(daemon.folder / "control")]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*tool, *words], capture_output=True, text=True)

    assert run(*PTPS.split()).returncode == 0
    assert run(*A.split()).returncode == 0
    assert run("start").returncode == 0
    assert run("rings", f"path={tmp_path / 'rings'}").returncode == 0
    assert (tmp_path / "rings").read_text() == "rings of 2"
    assert run("rings", f"path={tmp_path / 'no' / 'rings'}").returncode == 3
    refused = run("start")
    assert refused.returncode == 2
    assert "found a system in force" in refused.stdout
    daemon.end()
    gone = run("status")
    assert gone.returncode == 3
    assert "found no daemon" in gone.stderr


def test_too_many_clients_push_the_quiet_ones_out(daemon: Daemon) -> None:
    """Connections that ask nothing keep nobody out."""
    first = daemon.connect()
    busy = daemon.connect()
    for _ in range(100):
        daemon.connect()
        assert daemon.ask("status", busy)["ok"] is True
    assert first.recv(64) == b""


def send_for_ever(client: socket.socket) -> None:
    while True:
        client.send(b"status")


def test_who_does_not_read_is_left_alone(daemon: Daemon) -> None:
    """Answers that nobody takes end the connection; the daemon waits for none of them."""
    daemon.does(PTPS, A, B)
    deaf = daemon.connect()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        send_for_ever(deaf)
    assert daemon.does("status")["servers"][0]["name"] == "a"


def test_a_second_daemon_finds_the_first(daemon: Daemon) -> None:
    second = subprocess.run(command(daemon.folder), capture_output=True, text=True)
    assert second.returncode == 3
    assert "found another daemon there" in second.stderr
    daemon.does("status")


def test_a_daemon_that_was_killed_leaves_nothing_in_the_way(tmp_path: Path) -> None:
    """The new one knows no servers, says so, and performs the file of requests again."""
    requests = tmp_path / "requests"
    requests.write_text(f"# a system\n{PTPS}\n{A}\nserver wrong\nstart\n")
    with daemon_in(tmp_path, "--requests", str(requests)) as first:
        assert first.does("status")["running"] is True
        assert any("requests:4: " in line for line in first.log)
        first.process.send_signal(signal.SIGKILL)
        first.process.wait()
    with daemon_in(tmp_path) as second:
        assert second.does("status").get("servers") is None
        assert any("no servers, until requests make them" in line for line in second.log)


def test_in_the_background_it_is_ready_when_it_returns(tmp_path: Path) -> None:
    """And it can be put into a server of its own by the file of requests."""
    requests = tmp_path / "requests"
    requests.write_text(
        f"{PTPS}\nserver hyperperiodd pcpu=0 best_effort=1\nattach hyperperiodd pid=self\n"
    )
    words = [word for word in command(tmp_path) if word != "--foreground"]
    environment = {"FAKE_KERNEL": str(tmp_path / "kernel")}
    done = subprocess.run([*words, "--requests", str(requests)], env=environment, timeout=60)
    assert done.returncode == 0
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(str(tmp_path / "control"))
        client.send(b"status")
        status = json.loads(client.recv(1 << 18))
        assert status["servers"][0]["members"] == [{"pid": status["pid"]}]
        second = subprocess.run(words, env=environment, stderr=subprocess.PIPE, timeout=60)
        assert second.returncode == 3
        assert b"found another daemon there" in second.stderr
        os.kill(status["pid"], signal.SIGTERM)
        assert client.recv(64) == b""


def test_a_kernel_without_sched_ext_is_said(tmp_path: Path) -> None:
    words = command(tmp_path)
    (tmp_path / "object").unlink()
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 3
    assert "found no sched_ext, allowed: Linux 6.16 or later" in done.stderr


# --- malformed requests ----------------------------------------------------------------------


def malformed(rng: random.Random) -> bytes:
    """A packet that no request is: random bytes, a request with a wrong byte, cut or too long."""
    good = rng.choice([A, B, PTPS, "status", "start", "stop", "attach a pid=1", "swap name=ds"])
    kind = rng.randrange(5)
    if kind == 0:
        return b"\xff" + rng.randbytes(rng.randrange(1, 200))
    if kind == 1:
        at = rng.randrange(len(good))
        return good[:at].encode() + bytes([rng.choice([0, 7, 10, 127, 200])]) + good[at:].encode()
    if kind == 2:
        return (good + " " * rng.randrange(1, 4) + "x" * rng.randrange(1, 9)).encode()
    if kind == 3:
        return good.encode().ljust(LIMIT + rng.randrange(1, LIMIT), b"1")
    at = rng.randrange(1, len(good))
    return f"{good[:at]}~{good[at:]}".encode() + b"=" * rng.randrange(3)


def test_malformed_requests_change_nothing(daemon: Daemon) -> None:
    """Each is refused and logged; the system and its kernel are as they were, and no request that
    is sent between them is lost."""
    rng = random.Random(SEED)
    daemon.does(PTPS, A, "start")
    calls = daemon.calls
    client = daemon.connect()
    status = daemon.does("status")
    for number in range(MALFORMED):
        packet = malformed(rng)
        answer = daemon.ask(packet, client)
        assert answer["ok"] is False, (SEED, number, packet)
        if number % 1000 == 0:
            assert daemon.does("status") == status
    assert daemon.calls == calls
    assert sum("refused process" in line for line in daemon.log) == MALFORMED
