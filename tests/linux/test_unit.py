# SPDX-License-Identifier: BSD-2-Clause
"""The systemd unit starts what was installed, in a way that the daemon understands.

The unit, the programs and the file of requests are installed below a folder by the Makefile's
`install`. The daemon that is started as the unit says is that of daemons.py, over a kernel that is
a log.
"""

from __future__ import annotations

import configparser
import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.linux.daemons import command, daemon_in, program
from tests.support.on_linux import TOP, need_linux

BUILT = ("hyperperiodd", "hyperperiodctl", "hyperperiod.bpf.o")


class Installed(NamedTuple):
    """Where things were installed."""

    prefix: Path
    unit: Path
    requests: Path

    def service(self) -> Mapping[str, str]:
        """The keys of the unit's service. Every key may be there once: none is a list here."""
        parser = configparser.ConfigParser(interpolation=None)
        parser.optionxform = str  # type: ignore[assignment, method-assign]
        parser.read(self.unit)
        return parser["Service"]

    def start(self) -> list[str]:
        """The words of the command that starts the daemon."""
        return shlex.split(self.service()["ExecStart"])


def install(folder: Path) -> Installed:
    """What was just built, below a folder; nothing is built again."""
    linux = need_linux()
    out = folder / "out"
    out.mkdir()
    for path in (*linux.glob("*.o"), *(linux / name for name in BUILT)):
        shutil.copy(path, out)
    found = Installed(folder / "usr", folder / "units" / "hyperperiodd.service",
                      folder / "config" / "requests")  # fmt: skip
    subprocess.run(
        ["make", "--silent", "-f", "hosts/linux/daemon/Makefile", "install", f"OUT={out}",
         f"SYSROOT={linux / 'root'}", f"PREFIX={found.prefix}", f"UNITS={found.unit.parent}",
         f"CONFIG={found.requests.parent}"],
        cwd=TOP, check=True,
    )  # fmt: skip
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return install(tmp_path_factory.mktemp("installed"))


def test_what_the_unit_starts_is_installed(installed: Installed) -> None:
    daemon, *options = installed.start()
    assert os.access(daemon, os.X_OK)
    assert Path(daemon).read_bytes() == (need_linux() / "hyperperiodd").read_bytes()
    values = dict(itertools.pairwise(options))
    assert Path(values["--object"]).read_bytes() == (need_linux() / BUILT[2]).read_bytes()
    assert Path(values["--requests"]) == installed.requests
    assert installed.requests.is_file()
    tool = installed.prefix / "bin" / "hyperperiodctl"
    assert os.access(tool, os.X_OK)
    hooks = installed.prefix / "share/containers/oci/hooks.d"
    (hook,) = (json.loads(path.read_text())["hook"] for path in hooks.iterdir())
    assert hook["path"] == str(tool)


def test_requests_that_are_there_are_kept(tmp_path: Path) -> None:
    mine = tmp_path / "config" / "requests"
    mine.parent.mkdir()
    mine.write_text("policy name=ds pcpus=0\n")
    assert install(tmp_path).requests.read_text() == "policy name=ds pcpus=0\n"


def test_systemd_has_nothing_to_say_about_the_unit(installed: Installed) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd is not installed")
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(installed.unit)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if installed.unit.name in line]
    assert said == []


def as_the_unit_says(installed: Installed, folder: Path) -> list[str]:
    """The options of the unit, of which the object is that of the log."""
    words = installed.start()[1:]
    words[words.index("--object") + 1] = str(folder / "object")
    return words


def test_the_daemon_is_ready_when_it_is_started_as_the_unit_says(
    installed: Installed, tmp_path: Path
) -> None:
    """The requests that were installed are comments."""
    with daemon_in(tmp_path, *as_the_unit_says(installed, tmp_path)) as daemon:
        assert daemon.does("status").get("servers") is None
        assert not any("requests:" in line for line in daemon.log)


def test_requests_of_the_comments_give_the_daemon_a_server(
    installed: Installed, tmp_path: Path
) -> None:
    """So it never starves. The cgroup of their member need not be there."""
    said = (TOP / "hosts/linux/daemon/requests").read_text().splitlines()
    lines = [line.removeprefix("#   ") for line in said if line.startswith("#   ")]
    mine = tmp_path / "requests"
    mine.write_text("".join(f"{line}\n" for line in lines if "cgroup=" not in line))
    words = as_the_unit_says(installed, tmp_path)
    words[words.index("--requests") + 1] = str(mine)
    with daemon_in(tmp_path, *words) as daemon:
        status = daemon.does("status")
        assert not any("requests:" in line for line in daemon.log)
    (own,) = (server for server in status["servers"] if server["name"] == "hyperperiodd")
    assert own["best_effort"] is True
    assert own["members"] == [{"pid": status["pid"]}]
    assert status["running"] is True


def test_systemd_waits_for_the_daemon_to_be_ready(installed: Installed) -> None:
    """daemon_in waits for the same word; in the background another process would say it."""
    assert installed.service()["Type"] == "notify"
    assert "--foreground" in installed.start()
    sockets = Path(f"/run/{installed.service()['RuntimeDirectory']}")
    usage = subprocess.run([program("hyperperiodd"), "--help"], capture_output=True, text=True)
    assert f"({sockets}/control)" in usage.stdout
    assert f"({sockets}/tasks)" in usage.stdout


def test_servers_outlive_the_daemon_and_not_the_unit(installed: Installed) -> None:
    """Pins are there until SIGTERM; what the next daemon reads is there until the unit stops."""
    service = installed.service()
    values = dict(itertools.pairwise(installed.start()))
    tool = (TOP / "hosts/linux/control/client.c").read_text()
    assert f'#define KEEP_FOLDER "{values["--keep"]}"' in tool
    assert service["RuntimeDirectoryPreserve"] == "restart"
    assert service["ExecReload"] == "/bin/sh -c 'kill -HUP $MAINPID'"


def test_systemd_starts_it_again_unless_that_is_of_no_use(
    installed: Installed, tmp_path: Path
) -> None:
    """Bad input and a kernel that lacks something are there the next time as well."""
    service = installed.service()
    of_no_use = [int(code) for code in service["RestartPreventExitStatus"].split()]
    assert service["Restart"] == "on-failure"
    words = command(tmp_path)
    wrong = subprocess.run([*words, "--object-file"], capture_output=True)
    unread = subprocess.run([*words, "--requests", tmp_path / "none"], capture_output=True)
    (tmp_path / "object").unlink()
    lacking = subprocess.run(words, capture_output=True)
    assert [wrong.returncode, unread.returncode, lacking.returncode] == [2, 2, 3]
    assert of_no_use == [2, 3]
    with daemon_in(tmp_path) as daemon:
        daemon.process.send_signal(signal.SIGKILL)
        assert daemon.process.wait(60) not in of_no_use


def test_it_has_the_rights_that_the_security_page_says(installed: Installed) -> None:
    service = installed.service()
    page = " ".join((TOP / "docs/linux/security.md").read_text().split())
    assert (
        "no network, a file system that it can only read, no device but `/dev/kmsg`, the system"
        " calls of `@system-service` with `bpf` and `perf_event_open`, and no new privileges"
    ) in page
    assert service["DevicePolicy"] == "closed"
    assert service["DeviceAllow"] == "/dev/kmsg r"
    assert service["SystemCallFilter"] == "@system-service bpf perf_event_open"
    assert service["PrivateNetwork"] == service["NoNewPrivileges"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["ReadWritePaths"] == f"/run/{service['RuntimeDirectory']}"
