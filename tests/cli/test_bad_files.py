# SPDX-License-Identifier: BSD-2-Clause
"""Files that are no systems at all, places that cannot be written, and odd command lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from hyperperiod.cli import execute, main
from hyperperiod.hosts import sim
from hyperperiod.model.load import FILE_LIMIT_BYTES

SYSTEMS = Path(__file__).parents[2] / "systems"
GOOD = str(SYSTEMS / "overload.toml")


def refuse(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result


def test_missing_file(tmp_path: Path) -> None:
    result = refuse("analyze", str(tmp_path / "none.toml"))
    assert "none.toml: found no such file; allowed: a system file" in result.stderr


def test_directory(tmp_path: Path) -> None:
    assert "found a directory" in refuse("analyze", str(tmp_path)).stderr


def test_empty_name() -> None:
    assert "found an empty name; allowed: a system file" in refuse("analyze", "").stderr


def test_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    """Some editors begin every UTF-8 file with one."""
    file = tmp_path / "marked.toml"
    file.write_bytes(b"\xef\xbb\xbf" + Path(GOOD).read_bytes())
    plain = CliRunner().invoke(main, ["analyze", GOOD, "--json"])
    assert CliRunner().invoke(main, ["analyze", str(file), "--json"]).stdout == plain.stdout


def test_a_trace_in_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.hpt")
    assert "a device or pipe" in refuse("trace", "check", str(tmp_path / "pipe.hpt")).stderr


def test_device_without_an_end() -> None:
    assert "/dev/zero: found a larger file" in refuse("analyze", "/dev/zero").stderr


def test_name_with_a_null() -> None:
    assert "a null in the name" in refuse("analyze", "a\0b.toml").stderr


def test_path_below_a_file() -> None:
    assert "not a directory" in refuse("analyze", f"{GOOD}/x.toml").stderr


def test_long_name() -> None:
    assert "file name too long" in refuse("analyze", "x" * 5000).stderr


def test_unreadable(tmp_path: Path) -> None:
    file = tmp_path / "secret.toml"
    file.write_text("")
    file.chmod(0)
    command = [sys.executable, "-m", "hyperperiod", "analyze", str(file)]
    if os.geteuid() == 0:
        # Root may read everything, but for one without that right.
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"error: {file}: found permission denied" in done.stderr


def test_not_utf8_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.toml"
    file.write_bytes(b'name = "s"\npolicy = "caf\xe9"\n')
    result = refuse("analyze", str(file))
    assert f"{file}:2: found byte 0xe9, which is not UTF-8; allowed: text in UTF-8" in result.stderr


def test_huge_file_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.toml"
    with file.open("wb") as out:
        out.truncate(100 << 20)
    assert "found a larger file; allowed: a system file" in refuse("analyze", str(file)).stderr


def test_largest_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    file.write_text("#" * (FILE_LIMIT_BYTES + 1))
    assert "a larger file" in refuse("analyze", str(file)).stderr
    file.write_text("#" * FILE_LIMIT_BYTES)
    assert "name: found nothing" in refuse("analyze", str(file)).stderr


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--horizon", "0s", "above 0"),
        ("--horizon", "10", "a unit"),
        ("--horizon", "-1s", "a unit"),
        ("--horizon", "999999999999s", "below 2^62"),
        ("--seed", "-1", "found '-1'; allowed: a whole number from 0 to 18446744073709551615"),
        ("--seed", "abc", "found 'abc'; allowed: a whole number from 0 to"),
        ("--seed", str(2**64), "a whole number from 0 to"),
        ("--policy", "nice", "ptps"),
        ("--policy", "rtsd", "; did you mean rtds?"),
        ("--policy", "periodc+edf", "; did you mean periodic+edf?"),
        ("--policy", "deferrable+fp+lend", "none, spare, extra"),
        ("--policy", "", "ptps"),
        ("--frobnicate", "1", "error: --frobnicate: found an unknown option; allowed: what `"),
    ],
)
def test_options(option: str, value: str, word: str) -> None:
    assert word in refuse("simulate", GOOD, option, value).stderr


def test_policy_that_does_not_fit() -> None:
    result = refuse("simulate", str(SYSTEMS / "exsched-table2.toml"), "--policy", "hsf-fp")
    assert "exsched-table2 under hsf-fp: policy: found hsf-fp on 2 pcpus" in result.stderr


def test_partitioned_without_pins() -> None:
    system = str(SYSTEMS / "ertds-experiment-c.toml")
    result = refuse("simulate", system, "--policy", "crps")
    assert "domain[0].pcpu: found nothing; allowed: 0 to 1" in result.stderr


def test_compare_same_policy_twice() -> None:
    assert "a second time" in refuse("compare", GOOD, "--policies", "ptps,crps,ptps").stderr


def test_commands_that_are_not_there() -> None:
    assert refuse("frobnicate").stderr.endswith("sweep, trace, xen\n")
    assert refuse("analyse", GOOD).stderr.startswith("error: found 'analyse'; allowed: analyze, ")
    assert refuse("analyse", GOOD).stderr.endswith("; did you mean analyze?\n")
    assert "error: SYSTEM: found nothing; allowed: " in refuse("analyze").stderr
    assert "error: --seed: found no value; allowed: " in refuse("simulate", GOOD, "--seed").stderr
    assert "error: found unexpected extra argument (b)" in refuse("analyze", "a", "b").stderr
    assert "--on" in refuse("run", GOOD).stderr
    said = refuse("run", GOOD, "--on", "kvm").stderr
    assert "error: --on: found 'kvm'; allowed: sim, xen, linux, linux-eevdf, " in said
    assert "; did you mean xen?" in refuse("run", GOOD, "--on", "xem").stderr
    said = refuse("analyze", GOOD, "--explain", "control.lop").stderr
    assert "allowed: one task or domain of" in said
    assert "; did you mean control.loop?" in said


@pytest.mark.parametrize(("option", "ending"), [("--trace", ".hpt"), ("--report", ".html")])
def test_unwritable_places(option: str, ending: str, tmp_path: Path) -> None:
    missing = tmp_path / "no" / "such" / f"run{ending}"
    result = refuse("simulate", GOOD, option, str(missing))
    assert f"{missing}: {option}: found no such file or directory" in result.stderr
    folder = tmp_path / f"folder{ending}"
    folder.mkdir()
    assert f"{option}: found a directory" in refuse("simulate", GOOD, option, str(folder)).stderr
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize(
    "arguments",
    [
        ["simulate", GOOD, "--trace", "/proc/run.hpt"],
        ["simulate", GOOD, "--report", "/proc/run.html"],
        ["export", GOOD, "--to", "csv", "--out", "/proc/none/out"],
        ["examples", "overload", "--into", "/proc/none"],
        ["fit", GOOD, "-o", "/proc/run.toml"],
    ],
)
def test_an_unwritable_place_has_one_exit_code(arguments: list[str]) -> None:
    assert ": found " in refuse(*arguments).stderr


def test_a_trace_that_will_fill_the_disk_is_told_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execute, "JUDGED_BYTES", 50_000)
    monkeypatch.setattr(sim, "INSTANTS_AT_ONCE", 100)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=500_000))
    file = tmp_path / "run.hpt"
    words = ["simulate", GOOD, "--trace", str(file), "--horizon"]
    said = CliRunner().invoke(main, [*words, "100s"]).stderr
    found = re.findall(
        r"warning: the trace will take about \d+ MiB, .*: --horizon (\S+) fits", said
    )
    assert len(found) == 1, said
    assert CliRunner().invoke(main, [*words, found[0]]).stderr == ""
    written_at_once = 16_384 * 32
    assert file.stat().st_size < written_at_once + 500_000


@pytest.mark.parametrize(
    ("arguments", "name", "endings"),
    [
        (["simulate", GOOD, "--report"], "x.pdf", ".html"),
        (["simulate", GOOD, "--trace"], "x.csv", ".hpt"),
        (["run", GOOD, "--on", "sim", "--trace"], "x", ".hpt"),
        (["compare", GOOD, "--report"], "x.htm", ".html"),
        (["latency", "--report"], "html", ".html"),
        (["fit", GOOD, "-o"], "x.xml", ".toml"),
        (["doctor", "--measure", "xen", "--write"], "x.txt", ".toml"),
        (["reproduce", "ertds-fig6", "--plot"], "x.png", ".svg"),
        (["analyze", GOOD, "--explain", "video", "--plot"], "x.pdf", ".svg or .html"),
        (["trace", "convert", "none.hpt"], "x.txt", ".pftrace or .csv or .parquet"),
    ],
)
def test_names_that_promise_something_else(
    arguments: list[str], name: str, endings: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert f"allowed: a name that ends in {endings}" in refuse(*arguments, name).stderr
    assert not list(tmp_path.iterdir())


def test_hosts_that_are_not_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYPERPERIOD_BUILD", str(tmp_path / "nothing"))
    result = CliRunner().invoke(main, ["run", GOOD, "--on", "linux"])
    assert result.exit_code == 3
    assert result.stdout == ""
    assert "not built yet" in result.stderr
    assert "hyperperiod linux build" in result.stderr


@pytest.mark.parametrize("host", ["linux", "xen"])
@pytest.mark.parametrize("below", ["", "build"])
def test_nothing_is_built_into_a_file(host: str, below: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("something")
    message = refuse(host, "build", "--into", str(file / below)).stderr
    assert f"--into: found the file {file}; allowed: a folder that is there" in message
    assert file.read_text() == "something"


def test_nested_domains_do_not_run(tmp_path: Path) -> None:
    file = tmp_path / "nested.toml"
    file.write_text(
        'name = "n"\npolicy = "ptps"\n[[domain]]\nname = "o"\n'
        '[[domain.domain]]\nname = "i"\n[[domain.domain.task]]\nname = "t"\n'
        'period = "10ms"\nwcet = "1ms"\n'
    )
    assert "domain[0].domain: found domains inside 'o'" in refuse("simulate", str(file)).stderr


@pytest.mark.parametrize(
    "trace", [b"", b"HPTRACE1", b"HPTRACE1\xff\xff\xff\xff", b"\0" * 4096, b"HPTRACE1" * 99]
)
@pytest.mark.parametrize("command", ["intervals", "jobs", "check"])
def test_bad_traces(command: str, trace: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bad.hpt"
    file.write_bytes(trace)
    assert str(file) in refuse("trace", command, str(file)).stderr


@pytest.mark.parametrize("command", ["intervals", "jobs", "check"])
def test_a_system_is_no_trace(command: str) -> None:
    said = refuse("trace", command, GOOD).stderr
    assert f"{GOOD}: found a system file (.toml); allowed: a trace (.hpt)" in said
    assert "hyperperiod analyze" in said


def test_a_result_is_no_system_and_no_trace(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    result.write_text('{"system": {"name": "x"}}')
    said = refuse("trace", "check", str(result)).stderr
    assert "allowed:" in said
    assert "a system file" not in said
    assert f"{result}:1: system: found system" in refuse("analyze", str(result)).stderr


def test_a_trace_is_no_system(tmp_path: Path) -> None:
    file = tmp_path / "run.hpt"
    file.write_bytes(b"HPTRACE1" + b"\xff" * 100)
    said = refuse("analyze", str(file)).stderr
    assert f"{file}: found a trace; allowed: a system file" in said
    assert "`hyperperiod trace`" in said


def test_trace_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in refuse("trace", "jobs", str(tmp_path / "none.hpt")).stderr
    assert "a directory" in refuse("trace", "check", str(tmp_path)).stderr


class TestAsProcess:
    """What only a real process shows: tracebacks at exit, closed pipes, full disks."""

    @staticmethod
    def run(*arguments: str, **extra: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "hyperperiod", *arguments]
        return subprocess.run(  # type: ignore[call-overload, no-any-return]
            command, stderr=subprocess.PIPE, text=True, timeout=60, check=False, **extra
        )

    def test_bad_file(self, tmp_path: Path) -> None:
        file = tmp_path / "bad.toml"
        file.write_text("polcy = 1\n")
        done = self.run("analyze", str(file), stdout=subprocess.PIPE)
        assert done.returncode == 2
        assert done.stdout == ""
        assert "did you mean policy?" in done.stderr
        assert "Traceback" not in done.stderr

    def test_missing_file(self) -> None:
        done = self.run("simulate", "none.toml", stdout=subprocess.PIPE)
        assert done.returncode == 2
        assert "error: none.toml: found no such file" in done.stderr

    def test_closed_pipe(self) -> None:
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = self.run("schema", stdout=write_end)
        os.close(write_end)
        assert done.returncode == 141
        assert done.stderr == ""

    def test_full_disk(self) -> None:
        with Path("/dev/full").open("w") as full:
            done = self.run("schema", stdout=full)
        assert done.returncode == 3
        assert "standard output: no space left" in done.stderr
        assert "Traceback" not in done.stderr
