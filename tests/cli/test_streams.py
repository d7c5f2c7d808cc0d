# SPDX-License-Identifier: BSD-2-Clause
"""Full disks and closed streams: the right file is named, nothing half written stays.

The full disk is a small one in a mount namespace of its own, which needs root or a kernel that
gives user namespaces to everybody; `/dev/full` needs neither.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("hyperperiod._sim")

SYSTEMS = Path(__file__).parents[2] / "systems"
GOOD = str(SYSTEMS / "overload.toml")
NO_SPACE = "no space left on device"

NAMESPACE = ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), "--mount"]
MOUNT = "mount -t tmpfs -o size=64k none small"
SCRIPT = f"""
{MOUNT} || exit 99
[ -z "$OLD" ] || echo "$OLD" > "small/$OLD"
head -c 1M /dev/zero > small/fill 2>/dev/null
[ -z "$ROOM" ] || truncate -s "-$ROOM" small/fill
"$@"
code=$?
ls -A small > left
exit $code
"""


def hyperperiod(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "hyperperiod", *arguments]


def shell(command: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What a shell makes of `"$@" REDIRECTIONS`, with the program and its arguments for `$@`."""
    # What is printed waits in a buffer, as for users; unbuffered, a full disk is noticed at once.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}
    return subprocess.run(
        ["sh", "-c", command, "sh", *hyperperiod(*arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which `on_full_disk` sees the full disk `small`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small").mkdir()
    tried = shutil.which("unshare") and subprocess.run(
        [*NAMESPACE, "sh", "-c", MOUNT], capture_output=True, check=False
    )
    if not tried or tried.returncode != 0:
        pytest.skip("this machine does not let its users mount a disk of their own")
    return tmp_path


def on_full_disk(
    folder: Path, *arguments: str, **environment: str
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """What the program did, and what is on the disk afterwards."""
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", SCRIPT, "sh", *hyperperiod(*arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done, (folder / "left").read_text().split()


def test_a_trace_on_a_full_disk(full_disk: Path) -> None:
    done, left = on_full_disk(
        full_disk, "simulate", GOOD, "--trace", "small/x.hpt", "--report", "x.html"
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"error: small/x.hpt: {NO_SPACE}\n"
    assert left == ["fill"]
    assert not (full_disk / "x.html").exists()


def test_a_report_on_a_full_disk(full_disk: Path) -> None:
    done, left = on_full_disk(
        full_disk, "simulate", GOOD, "--trace", "x.hpt", "--report", "small/x.html"
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"error: small/x.html: {NO_SPACE}\n"
    assert left == ["fill"]
    assert not (full_disk / "x.hpt").exists()


def test_a_temporary_folder_on_a_full_disk(full_disk: Path) -> None:
    done, left = on_full_disk(
        full_disk, "simulate", GOOD, "--report", "x.html",
        TMPDIR=str(full_disk / "small"), ROOM="12K",
    )  # fmt: skip
    assert done.returncode == 3
    assert done.stderr.startswith(f"error: {full_disk}/small/hyperperiod-")
    assert done.stderr.endswith(f"/run.hpt: {NO_SPACE}\n")
    assert left == ["fill"]


@pytest.mark.parametrize("ending", ["csv", "parquet", "pftrace"])
def test_a_converted_trace_on_a_full_disk(ending: str, full_disk: Path) -> None:
    done = shell('"$@"', "simulate", GOOD, "--horizon", "5s", "--trace", "run.hpt")
    assert done.returncode in (0, 1)
    name = f"x.{ending}"
    done, left = on_full_disk(full_disk, "trace", "convert", "run.hpt", f"small/{name}", OLD=name)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"error: small/{name}: {NO_SPACE}\n"
    assert left == ["fill", name], "the old file stays"


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["fit", str(SYSTEMS / "flight-control.toml"), "--heuristics", "-o"], "x.toml"),
        (["analyze", GOOD, "--explain", "video", "--plot"], "x.svg"),
        (["analyze", GOOD, "--explain", "video", "--plot"], "x.html"),
        (["compare", GOOD, "--policies", "ptps", "--report"], "x.html"),
    ],
)
def test_small_files_on_a_full_disk(arguments: list[str], name: str, full_disk: Path) -> None:
    done, left = on_full_disk(full_disk, *arguments, f"small/{name}")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"error: small/{name}: {NO_SPACE}\n"
    assert left == ["fill"]


def test_an_export_on_a_full_disk(full_disk: Path) -> None:
    done, left = on_full_disk(
        full_disk, "export", GOOD, "--to", "toml", "--out", "small/new/folder"
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"error: small/new/folder: {NO_SPACE}\n"
    assert left == ["fill"]


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("command", ["simulate", "analyze"])
def test_full_standard_output(command: str, more: list[str]) -> None:
    done = shell('"$@" > /dev/full', command, GOOD, *more)
    assert (done.returncode, done.stderr) == (3, f"error: standard output: {NO_SPACE}\n")


@pytest.mark.parametrize("option", ["--trace", "--report"])
def test_files_that_are_full_devices(option: str) -> None:
    done = shell('"$@"', "simulate", GOOD, option, "/dev/full")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"error: /dev/full: {NO_SPACE}\n"


@pytest.mark.parametrize("arguments", [["simulate", GOOD], ["--help"], ["schema"]])
def test_closed_standard_output(arguments: list[str]) -> None:
    done = shell('"$@" >&-', *arguments)
    assert (done.returncode, done.stderr) == (3, "error: standard output is closed\n")
    assert shell('"$@" >&- 2>&-', *arguments).returncode == 3


def test_standard_output_that_is_only_read() -> None:
    done = shell('"$@" 1</dev/null', "analyze", GOOD)
    assert (done.returncode, done.stderr) == (3, "error: standard output: bad file descriptor\n")


@pytest.mark.parametrize("streams", ["2>&-", "0<&-", "0<&- 2>&-"])
def test_other_closed_streams_change_nothing(streams: str, tmp_path: Path) -> None:
    trace = tmp_path / "run.hpt"
    usual = shell('"$@"', "simulate", GOOD, "--trace", str(trace))
    recorded = trace.read_bytes()
    done = shell(f'"$@" {streams}', "simulate", GOOD, "--trace", str(trace))
    assert (done.returncode, done.stdout) == (usual.returncode, usual.stdout)
    assert trace.read_bytes() == recorded


@pytest.mark.parametrize("stream", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["analyze", "none.toml"], 2), (["analyze"], 2), (["simulate", GOOD], 1)],
)
def test_messages_that_nobody_takes(stream: str, arguments: list[str], code: int) -> None:
    assert shell(f'"$@" {stream}', *arguments).returncode == code


@pytest.mark.parametrize(
    ("module", "name"),
    [("_sim", "Scenario"), ("_check", "Checker"), ("_convert", "Csv"), ("_convert", "Perfetto")],
)
def test_what_an_error_still_holds_at_the_end_is_not_spoken_of(module: str, name: str) -> None:
    # A command ends without a look for cycles, and what was under way when an error came lies in
    # one: the error knows its frames, and one of them the error.
    code = f"""
import atexit, gc
from hyperperiod.{module} import {name}
gc.disable()
atexit.register(gc.freeze)
cycle = [{name}.__new__({name})]
cycle.append(cycle)
del cycle
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
