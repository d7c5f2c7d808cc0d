# SPDX-License-Identifier: BSD-2-Clause
"""What a machine lacks, what Xen cannot run, and machines that break down: exit codes, messages."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from hyperperiod.cli import main
from hyperperiod.hosts.recorded_run import RunRequest
from hyperperiod.hosts.result import RunResult
from hyperperiod.hosts.xen import images
from hyperperiod.hosts.xen.machine import Guest, XenMachine, boot
from hyperperiod.hosts.xen.run import COMPLAINTS
from hyperperiod.model import FailedError, MissingError
from hyperperiod.resources import BUILD_VARIABLE, build_folder

SYSTEMS = Path(__file__).parents[2] / "systems"
SYSTEM = str(SYSTEMS / "overload.toml")

PRETENDS_TO_BE_DTC = """#!/bin/sh
while [ $# -gt 1 ]; do shift; done
"""


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all that a run needs, none of it real."""
    for place in ("xen/arm64/xen", "guests/executive.bin"):
        path = tmp_path / "build" / place
        path.parent.mkdir(parents=True)
        path.write_bytes(b"nothing")
    monkeypatch.setenv(BUILD_VARIABLE, str(tmp_path / "build"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "build"


def program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.mark.parametrize("gone", ["xen/arm64/xen", "guests/executive.bin"])
def test_what_is_not_built_is_named(built: Path, gone: str) -> None:
    (built / gone).unlink()
    result = CliRunner().invoke(main, ["run", SYSTEM, "--on", "xen"])
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"is not built yet: there is no {built / gone}" in result.stderr
    assert "install it with: hyperperiod xen build arm64" in result.stderr
    assert not Path("out").exists()


@pytest.mark.usefixtures("built")
def test_a_missing_qemu_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = CliRunner().invoke(main, ["run", SYSTEM, "--on", "xen"])
    assert (result.exit_code, result.stdout) == (3, "")
    assert "apt-get install qemu-system-arm" in result.stderr
    assert not Path("out").exists()


def test_peers_are_built_by_another_command(built: Path) -> None:
    with pytest.raises(MissingError, match="hyperperiod xen build arm64-stock"):
        images.hypervisor("arm64-stock")
    assert build_folder() == built


def test_what_xen_cannot_run_is_refused(tmp_path: Path) -> None:
    text = Path(SYSTEM).read_text().replace("[[domain]]", "[[domain]]\nvcpus = 17", 1)
    (tmp_path / "large.toml").write_text(text)
    result = CliRunner().invoke(main, ["run", str(tmp_path / "large.toml"), "--on", "xen"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "found 17; allowed: at most 16 on Xen" in result.stderr


def test_more_clients_than_a_guest_has_room_for_are_refused(tmp_path: Path) -> None:
    text = (SYSTEMS / "request-response.toml").read_text().replace("clients = 60", "clients = 257")
    (tmp_path / "many.toml").write_text(text)
    result = CliRunner().invoke(main, ["run", str(tmp_path / "many.toml"), "--on", "xen"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "domain clients: clients: found 257; allowed: at most 256 on Xen" in result.stderr


@pytest.mark.parametrize("hosts", ["sim,bsd", "sim,sim", ""])
def test_hosts_to_compare_are_those_that_there_are(hosts: str) -> None:
    result = CliRunner().invoke(main, ["compare", SYSTEM, "--hosts", hosts])
    assert result.exit_code == 2
    assert "allowed:" in result.stderr


@pytest.mark.usefixtures("built")
def test_a_machine_that_does_not_start_is_a_failed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin", "dtc", PRETENDS_TO_BE_DTC)
    program(tmp_path / "bin", "qemu-system-aarch64", "#!/bin/sh\necho no such machine >&2\nexit 1")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    result = CliRunner().invoke(main, ["run", SYSTEM, "--on", "xen"])
    assert result.exit_code == 70
    assert "error: the run failed: qemu-system-aarch64 failed" in result.stderr
    assert "no such machine" in result.stderr
    assert not Path("out").exists()


NOTHING_RAN = RunResult(
    system="overload",
    host="xen",
    policy="ptps",
    horizon_ns=1,
    seed=1,
    interrupted=False,
    preemptions=0,
    migrations=0,
    response_error=0.0,
    domains=(),
    pcpus=(),
)


@pytest.mark.parametrize("full", ["out/overload-xen/run.hpt", "asked.hpt"])
def test_a_full_disk_after_the_run_names_the_file(
    full: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the log is left of a run whose trace has no room; a copy elsewhere costs it nothing."""
    monkeypatch.chdir(tmp_path)

    def fails(file: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(file))

    def runs(request: RunRequest, *_: object) -> object:
        (tmp_path / "out" / "overload-xen" / "console.log").write_text("booted")
        if full.startswith("out/"):
            fails(request.trace_path)
        return NOTHING_RAN

    monkeypatch.setattr("hyperperiod.hosts.xen.run.run", runs)
    monkeypatch.setattr("shutil.copyfile", lambda _source, target: fails(target))
    result = CliRunner().invoke(main, ["run", SYSTEM, "--on", "xen", "--trace", "asked.hpt"])
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.endswith(f"\nerror: {full}: no space left on device\n")
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    kept = {"console.log"} if full.startswith("out/") else {"console.log", "run.hpt", "result.json"}
    assert left == {f"out/overload-xen/{name}" for name in kept}


@pytest.mark.parametrize("began", [True, False])
def test_a_failed_run_leaves_its_log_and_nothing_of_another(
    began: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Earlier results go once there is a log of a later run, and stay if it could not begin."""
    monkeypatch.chdir(tmp_path)
    folder = Path("out") / "overload-xen"
    folder.mkdir(parents=True)
    for name in ("console.log", "run.hpt", "result.json"):
        (folder / name).write_text("earlier")
    os.utime(folder / "console.log", (0, 0))

    def fails(*_arguments: object, **_more: object) -> None:
        if began:
            (folder / "console.log").write_text("later")
        raise FailedError("it broke down")

    monkeypatch.setattr("hyperperiod.hosts.xen.run.run", fails)
    result = CliRunner().invoke(main, ["run", SYSTEM, "--on", "xen"])
    assert result.exit_code == 70
    left = sorted(path.name for path in folder.iterdir())
    assert left == (["console.log"] if began else ["console.log", "result.json", "run.hpt"])


HANGS = f"""#!{sys.executable}
# Dumps a tree, listens, says something once, and then nothing any more.
import socket, sys, time
for argument in sys.argv:
    if argument.startswith("dumpdtb="):
        sys.exit(0)
    if argument.startswith("unix:"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(argument[5:].split(",")[0])
        listener.listen()
    if argument.startswith("file:"):
        open(argument[5:], "w").write("(XEN) hello\\n" + {{"PANIC"}}.pop() + "\\n")
peer = listener.accept()[0]
peer.sendall(b'{{"QMP": {{}}}}\\n')
peer.recv(4096)
peer.sendall(b'{{"return": {{}}}}\\n')
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("last", "reason"),
    [("(XEN) Panic on CPU 0:", "Xen panicked"), ("and no more", "no sign of life for 1 s")],
)
def test_a_machine_that_hangs_is_ended(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, reason: str
) -> None:
    program(tmp_path / "bin", "dtc", PRETENDS_TO_BE_DTC)
    program(tmp_path / "bin", "qemu-system-aarch64", HANGS.replace("PANIC", last))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    machine = XenMachine(
        built / "xen/arm64/xen", "", (Guest(built / "guests/executive.bin", "", 1),)
    )
    before = time.monotonic()
    with (
        pytest.raises(FailedError, match=reason) as error,
        boot(machine, tmp_path / "console") as running,
    ):
        running.wait_for("horizon reached", patience_s=1)
    assert time.monotonic() - before < 20
    assert last in error.value.log
    assert running._process.poll() is not None


def test_half_a_line_is_no_complaint() -> None:
    """The console is read while Xen prints."""
    COMPLAINTS.require_none("(XEN) Freed memory\n(XEN) hyperperiod: ring ")
    with pytest.raises(FailedError, match="does not run this system"):
        COMPLAINTS.require_none("(XEN) hyperperiod: d9: what is that; the default instead\n")
    # The first Linux has no name on the console, where others say which domain they are.
    for name in ("", "DOM2: "):
        with pytest.raises(FailedError):
            COMPLAINTS.require_none(f"(XEN) {name}linux-guest: there is no card\n")
