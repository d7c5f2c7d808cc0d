# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiodctl hook`: containers have servers by their annotations.

Daemon and tool are those of daemons.py, whose cgroups are folders. A container is a process that
waits, in a cgroup that is said by a file. What runtimes read, hosts/linux/control/hyperperiod.json,
is looked at as well; at the end a runtime, crun, calls the hook.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.linux.daemons import Daemon, daemon_in, program
from tests.linux.whole import session
from tests.support.building import TOP
from tests.support.on_linux import need_linux

SEED = int(os.environ.get("HYPERPERIOD_SEED", "20250101"))
ID = "3f5c" * 16
OTHER = "a01b" * 16
CPU = min(os.sched_getaffinity(0))
ROOT = "/sys/fs/cgroup"


def scope(identity: str) -> str:
    return f"machine.slice/libpod-{identity}.scope"


@dataclass
class Host:
    """A daemon, and containers that are made and end."""

    daemon: Daemon
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def hook(self, state: str | bytes | dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """Runs the hook as a runtime does."""
        text = json.dumps(state) if isinstance(state, dict) else state
        data = text if isinstance(text, bytes) else text.encode()
        done = subprocess.run(
            [program("hyperperiodctl"), "--socket", self.daemon.folder / "control", "hook"],
            cwd=self.daemon.folder, input=data, capture_output=True, check=False,
        )  # fmt: skip
        assert done.stdout == b""
        assert "Sanitizer" not in done.stderr.decode()
        return subprocess.CompletedProcess(done.args, done.returncode, "", done.stderr.decode())

    def state(
        self, annotations: dict[str, Any], identity: str = ID, cgroup: str | None = None
    ) -> dict[str, Any]:
        """The state of a container that is made, whose process waits in its cgroup."""
        path = scope(identity) if cgroup is None else cgroup
        process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.processes.append(process)
        folder = self.daemon.folder
        (folder / "kernel.cgroups" / path).mkdir(parents=True, exist_ok=True)
        (folder / f"proc/{process.pid}").mkdir(parents=True)
        lines = ["9:memory:/elsewhere", f"0::/{path}", ""]
        (folder / f"proc/{process.pid}/cgroup").write_text("\n".join(lines))
        return {
            "ociVersion": "1.0.2", "id": identity, "status": "creating", "pid": process.pid,
            "bundle": "/b", "annotations": {"other": 'a "quoted" \\ é', **annotations},
        }  # fmt: skip

    def create(self, annotations: dict[str, Any], identity: str = ID) -> str:
        """A container that may start; the hook's complaints, which are none."""
        done = self.hook(self.state(annotations, identity))
        assert (done.returncode, done.stderr) == (0, "")
        return identity

    def end(self, annotations: dict[str, Any], identity: str = ID) -> None:
        """The container ends, its cgroup goes, and the runtime says so."""
        self.gone(identity)
        done = self.hook({"id": identity, "status": "stopped", "annotations": annotations})
        assert (done.returncode, done.stderr) == (0, "")

    def gone(self, identity: str = ID) -> None:
        (self.daemon.folder / "kernel.cgroups" / scope(identity)).rmdir()

    def servers(self) -> dict[str, dict[str, Any]]:
        found = self.daemon.does("status")["servers"]
        return {server["name"]: server for server in found}


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    with daemon_in(tmp_path) as daemon:
        daemon.does(
            f"policy name=ds pcpus={CPU}",
            f"server web pcpu={CPU} period_ns=20000000 budget_ns=4000000",
            "attach web cgroup=system.slice/web.service wait=1",
            "start",
        )
        host = Host(daemon)
        yield host
        for process in host.processes:
            process.communicate()


BUDGET = {"hyperperiod.budget": "3ms/10ms"}
NAMED = {**BUDGET, "hyperperiod.server": "shop"}
JOINS = {"hyperperiod.server": "web"}


def test_a_container_has_a_server_of_its_own_until_it_ends(host: Host) -> None:
    host.create(BUDGET)
    own = host.servers()[ID[:12]]
    assert (own["budget_ns"], own["period_ns"], own["pcpu"]) == (3_000_000, 10_000_000, CPU)
    assert own["priority"] == 16777215
    assert own["members"] == [{"cgroup": f"{ROOT}/{scope(ID)}"}]
    assert host.daemon.calls[-1].startswith("attach ")
    host.end(BUDGET)
    assert set(host.servers()) == {"web"}
    assert host.daemon.calls[-1].startswith("remove ")


def test_one_that_is_made_again_has_the_same_server_by_its_name(host: Host) -> None:
    """It comes after the other one has ended; also if nobody said that, as after a crash."""
    for identity, says in ((ID, True), (OTHER, False), ("77" * 32, True)):
        host.create({**NAMED, "hyperperiod.priority": "2"}, identity)
        shop = host.servers()["shop"]
        assert (shop["budget_ns"], shop["period_ns"], shop["priority"]) == (
            3_000_000,
            10_000_000,
            2,
        )
        assert shop["members"] == [{"cgroup": f"{ROOT}/{scope(identity)}"}]
        if says:
            host.end(NAMED, identity)
            assert "shop" not in host.servers()
        else:
            host.gone(identity)


def test_a_late_end_leaves_the_server_of_who_came_after(host: Host) -> None:
    host.create(NAMED)
    host.gone()
    host.create(NAMED, OTHER)
    done = host.hook({"id": ID, "status": "stopped", "annotations": NAMED})
    assert (done.returncode, done.stderr) == (0, "")
    assert host.servers()["shop"]["members"] == [{"cgroup": f"{ROOT}/{scope(OTHER)}"}]


def test_a_server_has_one_container_at_a_time(host: Host) -> None:
    host.create(NAMED)
    before = host.servers()["shop"]["members"]
    done = host.hook(host.state({**NAMED, "hyperperiod.budget": "1ms/10ms"}, OTHER))
    assert done.returncode == 2
    assert "hyperperiod.server: found 'shop', allowed: a server whose members have gone" in (
        done.stderr
    )
    done = host.hook({"id": OTHER, "status": "stopped", "annotations": NAMED})
    assert (done.returncode, done.stderr) == (0, "")
    assert host.servers()["shop"]["members"] == before


def test_servers_of_the_file_take_containers_too(host: Host) -> None:
    """Without a budget the server is one that is there, and stays."""
    service = {"cgroup": f"{ROOT}/system.slice/web.service", "waits": True}
    host.create(JOINS)
    host.create(JOINS, OTHER)
    both = [service, *({"cgroup": f"{ROOT}/{scope(each)}"} for each in (ID, OTHER))]
    assert host.servers()["web"]["members"] == both
    host.end(JOINS)
    assert sorted(map(str, host.servers()["web"]["members"])) == sorted(
        map(str, [both[0], both[2]])
    )
    host.end(JOINS, OTHER)
    assert host.servers()["web"]["members"] == [service]
    done = host.hook(host.state({"hyperperiod.server": "none"}))
    assert done.returncode == 2
    assert "hyperperiodd: server: found no 'none', allowed: one that was made" in done.stderr


def test_the_daemons_reason_ends_the_container(host: Host) -> None:
    before = host.daemon.does("status")["servers"]
    for budget, why in (
        ("9ms/10ms", "hyperperiodd: budgets: found servers that may keep cpus busy for 30 s"),
        ("11ms/10ms", "hyperperiodd: budget_ns: found none, or more than the period"),
        ("1us/10ms", "hyperperiodd: budget_ns: found less than a decision takes"),
        ("0ms/10ms", "hyperperiodd: budget_ns: found '0', allowed: "),
    ):
        done = host.hook(host.state({"hyperperiod.budget": budget}))
        assert done.returncode == 2
        assert why in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert host.daemon.does("status")["servers"] == before


def test_a_member_that_cannot_be_leaves_no_server(host: Host) -> None:
    host.daemon.does("attach web cgroup=s wait=1")
    for number in range(1022):
        host.daemon.does(f"attach web cgroup=s/{number} wait=1")
    done = host.hook(host.state(BUDGET))
    assert done.returncode == 2
    assert done.stderr == "hyperperiodd: member: found 1024 already, allowed: so many\n"
    assert set(host.servers()) == {"web"}


WRONG = "?"


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        (
            {"hyperperiod.budget": "3/10"},
            "hyperperiod.budget: found '3/10', allowed: BUDGET/PERIOD",
        ),
        ({"hyperperiod.budget": "3ms"}, "hyperperiod.budget: found '3ms'"),
        ({"hyperperiod.budget": "3ms/10ms/1"}, "hyperperiod.budget: found '3ms/10ms/1'"),
        ({"hyperperiod.budget": "3ms /10ms"}, "hyperperiod.budget: found '3ms /10ms'"),
        ({"hyperperiod.budget": ""}, "hyperperiod.budget: found ''"),
        ({"hyperperiod.budget": "\x1b\né" * 99}, f"hyperperiod.budget: found '{WRONG}'"),
        ({"hyperperiod.budget": "\x1b\n3"}, "hyperperiod.budget: found '..3'"),
        ({"hyperperiod.budget": 3}, f"hyperperiod.budget: found '{WRONG}'"),
        (
            {"hyperperiod.server": "a force=1"},
            "hyperperiod.server: found 'a force=1', allowed: a n",
        ),
        ({**BUDGET, "hyperperiod.server": ""}, "hyperperiod.server: found ''"),
        ({**BUDGET, "hyperperiod.server": "a" * 64}, "hyperperiod.server: found 'aaa"),
        (
            {**BUDGET, "hyperperiod.priority": "first"},
            "hyperperiod.priority: found 'first', allowed",
        ),
        ({**BUDGET, "hyperperiod.priority": "16777216"}, "hyperperiod.priority: found '16777216'"),
        (
            {**JOINS, "hyperperiod.priority": "1"},
            "hyperperiod.priority: found '1', allowed: beside",
        ),
    ],
)
def test_wrong_annotations_are_named(host: Host, annotations: dict[str, Any], said: str) -> None:
    before = host.daemon.does("status")["servers"]
    done = host.hook(host.state(annotations))
    assert done.returncode == 2
    assert done.stderr.startswith(f"hyperperiodctl: {said}")
    assert len(done.stderr.splitlines()) == 1
    assert host.daemon.does("status")["servers"] == before


@pytest.mark.parametrize(
    "cgroup",
    ["user.slice/session-1.scope", "", f"a b/{ID}", f"a*/{ID}", f"{'a/' * 300}{ID}"],
)
def test_a_cgroup_that_is_not_the_containers_own_is_none(host: Host, cgroup: str) -> None:
    """Else the shell that it was started from would be in its server."""
    done = host.hook(host.state(BUDGET, cgroup=cgroup))
    assert done.returncode == 2
    assert "cgroup of the container: found '" in done.stderr
    assert set(host.servers()) == {"web"}


def test_containers_without_annotations_of_ours_need_no_daemon(host: Host) -> None:
    host.daemon.end()
    for none in ({}, {"hyperperiod": "x"}, {"hyperperiod.budgets": "x"}):
        host.create(none)
        host.end(none)
    done = host.hook({"id": ID, "status": "creating", "pid": 1})
    assert (done.returncode, done.stderr) == (0, "")
    done = host.hook(host.state(BUDGET))
    assert done.returncode == 3
    assert "found no daemon at" in done.stderr


def test_it_is_not_made_while_no_system_is_in_force(host: Host) -> None:
    host.daemon.does("stop")
    done = host.hook(host.state(BUDGET))
    assert done.returncode == 2
    assert "system: found 'none in force', allowed: after `hyperperiodctl start`" in done.stderr
    host.daemon.does("clear")
    assert host.hook(host.state(BUDGET, OTHER)).returncode == 2


# --- cpus ------------------------------------------------------------------------------------


def others(count: int) -> list[int]:
    """Cpus on which no process of this machine may run."""
    return [cpu for cpu in range(63) if cpu not in os.sched_getaffinity(0)][:count]


def in_force(host: Host, policy: str, cpus: list[int]) -> None:
    host.daemon.does("stop", "clear")
    host.daemon.does(f"policy name={policy} pcpus={','.join(map(str, cpus))}", "start")


def test_its_server_is_where_it_may_run_and_there_is_room(host: Host) -> None:
    own = sorted(os.sched_getaffinity(0))[:2]
    in_force(host, "ds", sorted([*own, *others(3)]))
    found = []
    for number in range(3 * len(own)):
        state = host.state({"hyperperiod.budget": "4ms/10ms"}, f"{number}{ID[1:]}")
        done = host.hook(state)
        if done.returncode == 2:
            assert "hyperperiodd: budgets: found servers" in done.stderr
        found.append(None if done.returncode else host.servers()[f"{number}{ID[1:12]}"]["pcpu"])
    assert found == [cpu for cpu in own for _ in range(2)] + [None] * len(own)


def test_a_global_policy_lets_it_run_where_its_cpuset_does(host: Host) -> None:
    own = sorted(os.sched_getaffinity(0))[:2]
    in_force(host, "rtds", own)
    host.create(BUDGET)
    assert "pcpus" not in host.servers()[ID[:12]]
    in_force(host, "rtds", sorted([*own, *others(2)]))
    host.create(BUDGET, OTHER)
    assert host.servers()[OTHER[:12]]["pcpus"] == own


@pytest.mark.parametrize("policy", ["ds", "rtds"])
def test_a_container_that_may_run_on_none_of_the_cpus_is_refused(host: Host, policy: str) -> None:
    in_force(host, policy, others(2))
    done = host.hook(host.state(BUDGET))
    assert done.returncode == 2
    assert "cpus of the container: found 'none of the policy's'" in done.stderr


# --- what is no state --------------------------------------------------------------------------


def test_what_is_no_state_is_refused(host: Host) -> None:
    """Cut and changed states do no harm: they are refused, or as good as others."""
    state = json.dumps(host.state(NAMED, cgroup="elsewhere"))
    for text in ("", "{}", "[]", "null", '{"id": 3}', '{"id": ""}', '{"id": "a', "\0", "{" * 9999,
                 "x" * (1 << 22), state.replace("creating", "creating\\u0000") + "\0"):  # fmt: skip
        done = host.hook(text)
        assert done.returncode == 2
        assert "standard input: found '" in done.stderr or "cgroup of the" in done.stderr
    rng = random.Random(SEED)
    for _ in range(150):
        data = bytearray(state.encode())
        for _ in range(rng.randrange(4)):
            data[rng.randrange(len(data))] = rng.choice(b'"{}[]\\:,u0 \xff')
        done = host.hook(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))
        assert done.returncode in (0, 2), (SEED, data)
    assert set(host.servers()) == {"web"}


# --- what runtimes read ------------------------------------------------------------------------


def test_runtimes_call_it_for_containers_with_our_annotations() -> None:
    """The form is that of oci-hooks(5): keys and values of annotations are patterns."""
    file = json.loads((TOP / "hosts/linux/control/hyperperiod.json").read_text())
    assert file["version"] == "1.0.0"
    assert file["stages"] == ["createRuntime", "poststop"]
    assert file["hook"]["args"] == [Path(file["hook"]["path"]).name, "hook"]
    ((key, value),) = file["when"]["annotations"].items()
    asked = [
        "hyperperiod.budget",
        "hyperperiod.server",
        "hyperperiodXbudget",
        "my.hyperperiod.budget",
    ]
    assert [bool(re.search(key, name)) for name in asked] == [True, True, False, False]
    assert re.search(value, "3ms/10ms")


# --- a runtime ---------------------------------------------------------------------------------

SESSION = """\
chmod +x busybox hyperperiodd hyperperiodctl
mkdir -p b/rootfs/bin b/rootfs/proc b/rootfs/dev /run/hyperperiod
cp busybox b/rootfs/bin
./hyperperiodd --foreground --object hyperperiod.bpf.o >left/log 2>&1 &
for look in $(seq 100); do
    ./hyperperiodctl status >left/look 2>&1 && break
    sleep 0.3
done
for request in "policy name=ds pcpus=0" "server hyperperiodd pcpu=0 best_effort=1" \
    "attach hyperperiodd pid=self" start; do
    ./hyperperiodctl $request >>left/asked || exit 1
done
sh -c 'while :; do :; done' &
crun() { /usr/bin/crun --root /run/crun "$@" >>left/crun 2>&1; }
for turn in 1 2; do
    cp small b/config.json
    crun run --no-pivot -d -b b $turn-3f5c3f5c3f5c || exit 1
    ./hyperperiodctl status >left/first$turn
    sleep 3
    ./hyperperiodctl status >left/last$turn
    crun kill $turn-3f5c3f5c3f5c KILL
    crun delete -f $turn-3f5c3f5c3f5c || exit 1
    ./hyperperiodctl status >left/after$turn
done
cp large b/config.json
crun run --no-pivot -d -b b 3-3f5c3f5c3f5c && exit 1
exit 0
"""


def bundle(budget: str) -> bytes:
    """A container that never sleeps, as a runtime reads it."""
    hooks = [{"path": "/tmp/hyperperiodctl", "args": ["hyperperiodctl", "hook"]}]
    told = {"hyperperiod.budget": budget, "hyperperiod.server": "shop"}
    words = ["/bin/busybox", "sh", "-c", "while :; do :; done"]
    return json.dumps({
        "ociVersion": "1.0.2",
        "process": {"user": {"uid": 0, "gid": 0}, "args": words, "cwd": "/"},
        "root": {"path": "rootfs"},
        "annotations": told | {"run.oci.hooks.stderr": "/tmp/left/said"},
        "hooks": {"createRuntime": hooks, "poststop": hooks},
        "linux": {"namespaces": [{"type": "mount"}, {"type": "pid"}]},
        "mounts": [
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
            {"destination": "/proc", "type": "proc", "source": "proc"},
        ],
    }).encode()  # fmt: skip


@pytest.mark.slow
def test_crun_gives_containers_their_budgets(tmp_path: Path) -> None:
    """On a kernel with sched_ext: two of a name, one after the other, and one that is too large."""
    if shutil.which("crun") is None:
        pytest.skip("crun: not found; apt-get install crun")
    built = need_linux()
    names = ("hyperperiodd", "hyperperiodctl", "hyperperiod.bpf.o")
    given = {name: (built / name).read_bytes() for name in names}
    given |= {"busybox": (built / "root/usr/bin/busybox").read_bytes(), "small": bundle("3ms/10ms"),
              "large": bundle("99ms/100ms")}  # fmt: skip
    left = session(SESSION, given, tmp_path)
    for turn in "12":
        first, last = (
            json.loads(left[f"{name}{turn}"])["servers"][1] for name in ("first", "last")
        )
        assert first["name"] == "shop"
        had = (last["used_ns"] - first["used_ns"]) / (last["now_ns"] - first["now_ns"])
        assert had == pytest.approx(0.3, abs=0.002)
        after = [server["name"] for server in json.loads(left[f"after{turn}"])["servers"]]
        assert after == ["hyperperiodd"]
    assert b"hyperperiodd: budgets: found servers that may keep" in left["said"]
