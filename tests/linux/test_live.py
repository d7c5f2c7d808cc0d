# SPDX-License-Identifier: BSD-2-Clause
"""`hyperperiod linux`: a system goes to the daemon as it was analysed, and members are found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.linux.daemons import Daemon, daemon_in
from tests.support.building import TOP

from hyperperiod.analysis import Analysis
from hyperperiod.cli import main
from hyperperiod.hosts.linux import live
from hyperperiod.hosts.linux.client import Client
from hyperperiod.hosts.linux.launch import launch
from hyperperiod.hosts.linux.members import KernelFiles, requests
from hyperperiod.model import InputError, MissingError, load_system, vcpus_of
from hyperperiod.runs import complete

SYSTEMS = TOP / "systems"


UNFITTED = "-unfitted"
"""What a system without interfaces that can be computed ends in: fit comes first."""
TOO_SHORT = ("ertds-example3", "late-packets-sedf", "late-packets-sedf-prime", "late-packets-psedf")
"""Systems with periods of some microseconds, in which a Linux would do nothing but decide."""


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    with daemon_in(tmp_path) as one:
        yield one


def command(daemon: Daemon, *words: str, code: int = 0) -> Result:
    socket = ("--socket", str(daemon.folder / "control"))
    done = CliRunner().invoke(main, ["linux", *words, *socket])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def shown(daemon: Daemon) -> Any:
    return json.loads(command(daemon, "status", "--json").stdout)


def example_systems() -> list[str]:
    names = (path.stem for path in SYSTEMS.glob("*.toml"))
    return sorted(name for name in names if not name.endswith(UNFITTED))


@pytest.mark.parametrize("name", example_systems())
def test_every_system_goes_to_the_daemon_as_it_was_analysed(tmp_path: Path, name: str) -> None:
    """The daemon, which asks the core, takes the servers of each example that has no events."""
    completed = complete(Analysis(load_system(str(SYSTEMS / f"{name}.toml"))))
    cpus = range(completed.pcpus)
    with daemon_in(tmp_path) as daemon, Client(tmp_path / "control") as client:
        if completed.swaps or completed.changes or name in TOO_SHORT:
            with pytest.raises(InputError, match=r"hyperperiod linux|deci"):
                live.start(client, completed, cpus, [], force=True)
            assert "servers" not in daemon.does("status")
            return
        live.start(client, completed, cpus, [], force=True)
        servers = {each["name"]: each for each in daemon.does("status")["servers"]}
    assert servers.pop("hyperperiodd")["best_effort"] is True
    assert set(servers) == {vcpu.name for vcpu in vcpus_of(completed)}
    for vcpu in vcpus_of(completed):
        server = servers[vcpu.name]
        if vcpu.interface is None:
            assert server["best_effort"] is True
        else:
            assert server["period_ns"] == vcpu.interface.period_ns
            assert server["budget_ns"] == vcpu.interface.budget_ns


def test_a_system_is_started_changed_and_stopped(daemon: Daemon, tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text((SYSTEMS / "flight-control.toml").read_text())
    names = [domain.name for domain in load_system(str(file)).domains]
    me = os.getpid()
    started = command(daemon, "start", str(file), "--attach", f"{names[0]}=pid:{me}", "--json")
    assert json.loads(started.stdout)["running"] is True
    assert f"attach 0 pid={me} key=-1" in daemon.calls
    assert "found a system in force" in command(daemon, "start", str(file), code=2).output
    command(daemon, "set", names[0], "--budget", "1ms", "--priority", "7")
    first = next(each for each in shown(daemon)["servers"] if each["name"] == names[0])
    assert (first["budget_ns"], first["priority"]) == (1_000_000, 7)
    command(daemon, "attach", names[1], f"thread:{me}", "--key", "3")
    command(daemon, "detach", names[1], f"thread:{me}")
    assert [call.split()[0] for call in daemon.calls[-3:]] == ["change", "attach", "detach"]
    done = command(daemon, "attach", names[1], "cgroup:/", "--key", "3", code=2)
    assert "key: found some; allowed: pid= or thread=" in done.output
    table = command(daemon, "status").stdout
    assert all(name in table for name in names)
    command(daemon, "stop")
    assert shown(daemon)["running"] is False


def test_what_was_observed_goes_to_the_daemon(daemon: Daemon, tmp_path: Path) -> None:
    """From the trace of a machine to servers in force it is three commands."""
    trace = str(TOP / "docs/examples/plant.txt.gz")
    found, fitted = str(tmp_path / "found.toml"), str(tmp_path / "fitted.toml")
    for words in (
        ("observe", trace, "--domain", "plant=.", "-o", found),
        ("fit", found, "--pcpus", "1", "--grid", "100us", "-o", fitted),
    ):
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, (done.output, done.exception)
    command(daemon, "start", fitted, "--attach", f"plant=pid:{os.getpid()}")
    (server,) = (one for one in shown(daemon)["servers"] if one["name"] == "plant")
    assert (server["period_ns"], server["budget_ns"]) == (500_000, 400_000)
    assert [member["pid"] for member in server["members"]] == [os.getpid()]


def test_what_would_be_asked_is_printed_for_a_file(daemon: Daemon, tmp_path: Path) -> None:
    """A daemon that performs it has what one has that was asked."""
    file = str(SYSTEMS / "flight-control.toml")
    words = (file, "--attach", "displays=cgroup:/later", "--force")
    requests_file = tmp_path / "requests"
    requests_file.write_text(command(daemon, "start", *words, "--print").stdout)
    assert daemon.calls == []
    assert "attach displays cgroup=/later wait=1\n" in requests_file.read_text()
    command(daemon, "attach", "displays", "cgroup:/later", code=2)
    command(daemon, "start", file, "--force")
    command(daemon, "attach", "displays", "cgroup:/later", "--wait")
    expected = shown(daemon)["servers"]
    (tmp_path / "other").mkdir()
    with daemon_in(tmp_path / "other", "--requests", str(requests_file)) as other:
        assert not any("requests:" in line for line in other.log)
        found = shown(other)
    for server in expected:
        for member in server["members"]:
            if "pid" in member:
                member["pid"] = found["pid"]
    assert (found["running"], found["servers"]) == (True, expected)


def test_what_is_refused_leaves_nothing_in_force(daemon: Daemon) -> None:
    file = str(SYSTEMS / "flight-control.toml")
    done = command(daemon, "start", file, "--attach", "nobody=pid:1", code=2)
    assert "'nobody'" in done.output
    assert "servers" not in shown(daemon)
    with Client(daemon.folder / "control") as client:
        system = complete(Analysis(load_system(file)))
        with pytest.raises(InputError, match="--cpus"):
            live.start(client, system, range(system.pcpus + 1), [], force=False)


def test_a_server_that_is_not_there_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    """Servers are those of the system; a VM may have one for each vcpu."""
    file = str(SYSTEMS / "flight-control.toml")
    words = ["linux", "start", file, "--socket", str(tmp_path / "nobody-listens")]
    for member in ("pid:1", "name:init", "vm:web"):
        done = CliRunner().invoke(main, [*words, "--attach", f"nobody={member}"])
        assert done.exit_code == 2, done.stderr
        assert "server: found 'nobody'; allowed: one of the servers: " in done.stderr
        assert "flight-laws" in done.stderr


def test_without_a_daemon_it_is_said_what_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First whether the kernel could have one at all."""
    kernel = tmp_path / "state"
    monkeypatch.setattr("hyperperiod.hosts.linux.client.KERNEL", kernel)
    with pytest.raises(MissingError, match="this kernel has no sched_ext"):
        Client(tmp_path / "control")
    kernel.touch()
    with pytest.raises(MissingError, match="hyperperiodd does not run"):
        Client(tmp_path / "control")


# --- commands --------------------------------------------------------------------------------


class Asked:
    """A daemon that performs every request but those of the server "none"."""

    def __init__(self) -> None:
        self.requests: list[str] = []

    def ask(self, request: str) -> None:
        if request.split()[1] == "none":
            raise InputError("", None, "server", "no 'none'", "another")
        self.requests.append(request)


def test_a_command_is_in_its_server_before_it_begins(tmp_path: Path) -> None:
    """And its cgroup, which is below ours, goes with it, and is no member any more."""
    daemon = Asked()
    host = _host_with_us_in(tmp_path, "/user.slice/own.scope")
    ours = f"user.slice/own.scope/hyperperiod-{os.getpid()}"
    listed = host.cgroups / ours / "cgroup.procs"
    # A kernel's folder would go with what is in it.
    script = 'test "$(cat "$0")" = $$ && rm "$0" && exit $1'
    code = launch("s", ["sh", "-c", script, str(listed), "7"], daemon, host)
    assert code == 7
    assert daemon.requests == [f"attach s cgroup=/{ours}", f"detach s cgroup=/{ours}"]
    assert not listed.parent.exists()
    in_root = _host_with_us_in(tmp_path / "root", "/")
    script = 'rm "$0" && kill -9 $$'
    listed = in_root.cgroups / f"hyperperiod-{os.getpid()}" / "cgroup.procs"
    assert launch("s", ["sh", "-c", script, str(listed)], daemon, in_root) == 128 + 9
    assert daemon.requests[-1] == f"detach s cgroup=/hyperperiod-{os.getpid()}"


def _host_with_us_in(folder: Path, cgroup: str) -> KernelFiles:
    """Files of a kernel that shows this process in a cgroup."""
    host = KernelFiles(folder / "proc", folder / "cgroups")
    (host.cgroups / cgroup.lstrip("/")).mkdir(parents=True)
    ours = host.proc / str(os.getpid())
    ours.mkdir(parents=True)
    (ours / "cgroup").write_text(f"0::{cgroup}\n")
    return host


def test_a_command_that_cannot_be_in_its_server_does_not_begin(tmp_path: Path) -> None:
    host = _host_with_us_in(tmp_path, "/")
    with pytest.raises(InputError, match="'none'"):
        launch("none", ["touch", str(tmp_path / "begun")], Asked(), host)
    assert list(host.cgroups.iterdir()) == []
    assert not (tmp_path / "begun").exists()
    host.cgroups.rmdir()
    with pytest.raises(MissingError, match="no cgroup can be made"):
        launch("s", ["true"], Asked(), host)


# --- members ---------------------------------------------------------------------------------


@pytest.fixture
def host(tmp_path: Path) -> KernelFiles:
    """A machine with two VMs of QEMU, a program with workers, and containers."""
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    processes = {
        100: (["/usr/bin/qemu-system-x86_64", "-name", "guest=web,debug-threads=on", "-smp", "2"],
              {100: "qemu-system-x86", 101: "CPU 0/KVM", 102: "CPU 1/KVM", 103: "worker",
               104: "IO disk", 105: "IO mon_iothread", 106: "vhost-100"}),
        200: (["/usr/bin/kvm", "-smp", "1", "-name", "old"], {200: "kvm", 201: "kvm"}),
        300: (["./server"], {300: "server", 301: "worker-0", 302: "worker-1"}),
        400: ([], {400: "kthreadd"}),
        500: ([], {500: "vhost-100"}),
    }  # fmt: skip
    for process, (words, threads) in processes.items():
        for thread, comm in threads.items():
            folder = proc / str(process) / "task" / str(thread)
            folder.mkdir(parents=True)
            (folder / "comm").write_text(f"{comm}\n")
        (proc / str(process) / "cmdline").write_bytes(b"".join(f"{w}\0".encode() for w in words))
    (proc / "100/cgroup").write_text("1:cpu:/\n0::/user.slice/web.scope\n")
    (proc / "self").mkdir()
    for name in (
        "system.slice/docker-0123456789abcdef.scope/inner",
        "system.slice/nginx.service",
        "machine.slice/libpod-0123fedcba.scope",
        "lxc.payload.db",
        "a/nginx",
    ):
        (cgroups / name).mkdir(parents=True)
    return KernelFiles(proc, cgroups)


@pytest.mark.parametrize(
    ("member", "expected"),
    [
        ("cgroup:/a/b", ["attach s cgroup=/a/b"]),
        ("pid:7", ["attach s pid=7"]),
        ("thread:7", ["attach s thread=7"]),
        ("name:worker-*", ["attach s thread=301", "attach s thread=302"]),
        ("name:worker", ["attach s thread=103"]),
        ("vm:web", ["attach s.0 thread=101", "attach s thread=102"]),
        ("iothread:web", [f"attach s thread={thread}" for thread in (104, 106, 500)]),
        ("emulator:web", [f"attach s thread={thread}" for thread in (100, 103, 105)]),
        (
            "container:0123456789abcdef",
            ["attach s cgroup=/system.slice/docker-0123456789abcdef.scope"],
        ),
        ("container:012345", ["attach s cgroup=/system.slice/docker-0123456789abcdef.scope"]),
        ("container:nginx.service", ["attach s cgroup=/system.slice/nginx.service"]),
        ("container:db", ["attach s cgroup=/lxc.payload.db"]),
    ],
)
def test_members_are_found(host: KernelFiles, member: str, expected: list[str]) -> None:
    assert requests("s", member, ["s", "s.0"], host) == expected


SCOPE = "machine.slice/machine-qemu\\x2d{}\\x2dweb.scope/libvirt"


@pytest.mark.parametrize("below", ["", "/emulator"])
@pytest.mark.parametrize(
    ("member", "servers", "expected"),
    [
        ("vm:web", ["s"], ["attach s cgroup=/{}/vcpu*"]),
        ("vm:web", ["s", "s.1"], ["attach s.1 cgroup=/{}/vcpu1", "attach s cgroup=/{}/vcpu*"]),
        ("vm:web", ["s.0"], ["attach s.0 cgroup=/{}/vcpu0"]),
        ("emulator:web", ["s"], ["attach s cgroup=/{}/!(vcpu*|iothread*)"]),
        (
            "iothread:web",
            ["s"],
            ["attach s cgroup=/{}/iothread*", "attach s thread=106", "attach s thread=500"],
        ),
    ],
)
def test_a_machine_of_libvirt_is_found_again_by_its_name(
    host: KernelFiles, member: str, servers: list[str], expected: list[str], below: str
) -> None:
    """Each start has another number in the name of its cgroup; its vcpus have cgroups below."""
    (host.proc / "100/cgroup").write_text(f"0::/{SCOPE.format(12)}{below}\n")
    threads = requests("s", member, servers, host)
    assert all(" thread=" in request for request in threads)
    (host.cgroups / SCOPE.format(12) / "vcpu0").mkdir(parents=True)
    found = requests("s", member, servers, host)
    assert found == [request.format(SCOPE.format("+([0-9])")) for request in expected]
    assert requests("s", member, servers, host, threads=True) == threads


def have_program(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program of this name is first in PATH."""
    program = folder / "bin" / name
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


SYSTEMCTL = """\
case "$6" in
nginx.service) echo LoadState=loaded; echo ControlGroup=/system.slice/nginx.service ;;
off.service) echo LoadState=loaded; echo Slice=a-b.slice; echo ControlGroup= ;;
w@any.service) echo LoadState=loaded; echo Slice=system-w.slice; echo ControlGroup= ;;
init.scope) echo LoadState=loaded; echo Slice=-.slice; echo ControlGroup= ;;
a-b.slice) echo LoadState=loaded; echo Slice=a.slice; echo ControlGroup= ;;
broken.service) echo no bus >&2; exit 1 ;;
*) echo LoadState=not-found; echo Slice=; echo ControlGroup= ;;
esac"""


@pytest.mark.parametrize(
    ("unit", "cgroup"),
    [
        ("nginx.service", "/system.slice/nginx.service"),
        ("nginx", "/system.slice/nginx.service"),
        ("off", "/a.slice/a-b.slice/off.service"),
        ("w@*.service", "/system.slice/system-w.slice/w@*.service"),
        ("w@[0-3]", "/system.slice/system-w.slice/w@[0-3].service"),
        ("init.scope", "/init.scope"),
        ("a-b.slice", "/a.slice/a-b.slice"),
    ],
)
def test_a_unit_is_its_cgroup_whether_it_runs_or_not(
    unit: str, cgroup: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it does not run, its slice says where it will be."""
    have_program(tmp_path, "systemctl", SYSTEMCTL, monkeypatch)
    assert requests("s", f"unit:{unit}", ["s"]) == [f"attach s cgroup={cgroup} wait=1"]


def test_units_that_cannot_be_found_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    have_program(tmp_path, "systemctl", SYSTEMCTL, monkeypatch)
    with pytest.raises(InputError, match=r"found 'no.service'; allowed: one that `systemctl"):
        requests("s", "unit:no", ["s"])
    with pytest.raises(InputError, match=r"NAME@\*.service for instances; or cgroup:PATTERN"):
        requests("s", "unit:nginx-*", ["s"])
    with pytest.raises(MissingError, match="systemctl: no bus"):
        requests("s", "unit:broken", ["s"])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingError, match="sudo apt install systemd"):
        requests("s", "unit:nginx", ["s"])


def test_a_container_is_found_by_the_name_that_it_was_given(
    host: KernelFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docker, podman or nerdctl knows its id; one that does not run has no cgroup."""
    script = '[ "$6" = shop ] && echo 0123456789abcdef || { [ "$6" = off ] && echo fedcba98; }'
    have_program(tmp_path, "podman", script, monkeypatch)
    have_program(tmp_path, "docker", "exit 1", monkeypatch)
    found = requests("s", "container:shop", ["s"], host)
    assert found == ["attach s cgroup=/system.slice/docker-0123456789abcdef.scope"]
    for name in ("off", "nobody"):
        with pytest.raises(InputError, match=f"found 0 of '{name}'; allowed: one that runs"):
            requests("s", f"container:{name}", ["s"], host)


@pytest.mark.parametrize(
    ("member", "found"),
    [
        ("web", "'web'"),
        ("vm:", "'vm:'"),
        ("pid:x", "'x'"),
        ("name:nobody", "'nobody'"),
        ("vm:db", "0 called 'db'; allowed: one virtual machine: old, web"),
        ("vm:old", "no vcpus of 'old'; allowed: threads that QEMU names"),
        ("container:nginx", "2 of 'nginx' (a/nginx, system.slice/nginx.service)"),
        ("container:0123", "0 of '0123'"),
    ],
)
def test_members_that_are_not_there_are_refused(host: KernelFiles, member: str, found: str) -> None:
    with pytest.raises(InputError) as refused:
        requests("s", member, ["s"], host)
    assert found in str(refused.value)
