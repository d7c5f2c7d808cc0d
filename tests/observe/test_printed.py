# SPDX-License-Identifier: BSD-2-Clause
"""Traces that other tools print: files of trace-cmd and folders of LTTng.

`version6.dat` and `version7.dat` were recorded by trace-cmd 3.1.6, the second in compressed parts,
of two threads of real time: pump waits for a timer of 20 ms and valve for one of 11 ms.
"""

from __future__ import annotations

import lzma
import os
import shutil
import struct
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.support.printed import checked

from hyperperiod.cli import main
from hyperperiod.observe.printed import printed_file

DATA = Path(__file__).parents[1] / "data" / "observe"
MS = 10**6

# The events of LTTng that observe reads, and one more, in the language of CTF.
METADATA = """/* CTF 1.8 */
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 32; align = 8; signed = false; } := u32;
typealias integer { size = 64; align = 8; signed = false; } := u64;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { u32 magic; }; };
clock { name = mono; freq = 1000000000; };
typealias integer { size = 64; align = 8; map = clock.mono.value; } := now;
stream {
    packet.context := struct { now timestamp_begin; now timestamp_end; u64 content_size;
        u64 packet_size; u64 events_discarded; s32 cpu_id; };
    event.header := struct { u32 id; now timestamp; };
};
event { name = sched_waking; id = 0; fields := struct {
    string comm; s32 tid; s32 prio; s32 target_cpu; }; };
event { name = sched_switch; id = 1; fields := struct {
    string prev_comm; s32 prev_tid; s32 prev_prio; s32 prev_state;
    string next_comm; s32 next_tid; s32 next_prio; }; };
event { name = power_cpu_idle; id = 2; fields := struct { s32 state; }; };
"""


def answer(name: Path, code: int = 0) -> Any:
    """Returns what observe finds in a trace, or, with an exit code, what it says of it."""
    result = CliRunner().invoke(main, ["observe", str(name), "--json"])
    assert result.exit_code == code, result.output
    return result.stderr if code else checked(result.stdout)


def unpacked(name: str, folder: Path) -> Path:
    """Returns a file of trace-cmd."""
    path = folder / name
    path.write_bytes(lzma.decompress((DATA / f"{name}.xz").read_bytes()))
    return path


def packet(begin_ms: int, end_ms: int, discarded: int) -> bytes:
    """Returns a part of a trace in which pump runs every 10 ms on cpu 3, behind so many events that
    were discarded."""
    pump, idle = (b"pump\0", 42, -51), (b"swapper/3\0", 0, 20)
    data = b""
    for start_ns in range(begin_ms * MS, end_ms * MS, 10 * MS):
        data += struct.pack("<iQ5siii", 0, start_ns, *pump, 3)
        data += struct.pack("<iQ10siii5sii", 1, start_ns + 1000, *idle, 0, *pump)
        data += struct.pack("<iQ5siii10sii", 1, start_ns + MS, *pump, 1, *idle)
        data += struct.pack("<iQi", 2, start_ns + MS + 1000, 4)
    times_ns, bits = (begin_ms * MS, end_ms * MS), 8 * (48 + len(data))
    return struct.pack("<IQQQQQi", 0xC1FC1FC1, *times_ns, bits, bits, discarded, 3) + data


def recorded_folder(folder: Path, *packets: bytes) -> Path:
    """Returns the folder of a session of these packets, or of one with 300 ms."""
    kernel = folder / "session" / "kernel"
    kernel.mkdir(parents=True)
    (kernel / "metadata").write_text(METADATA)
    (kernel / "channel_3").write_bytes(b"".join(packets) or packet(1, 300, 0))
    return kernel.parent


def tool(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts a program in the place of a tool."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="no trace-cmd")
@pytest.mark.parametrize("version", [6, 7])
def test_a_file_of_trace_cmd_is_read(version: int, tmp_path: Path) -> None:
    result = answer(unpacked(f"version{version}.dat", tmp_path))
    (pump,) = [one for one in result["threads"] if one["name"] == "pump"]
    assert (pump["activations"], pump["priority"]) == (25, 49)
    assert "flags" not in result, "they are there"
    assert abs(result["span_ns"] - 500 * MS) < MS
    assert result["resolution_ns"] == 1
    assert "damaged" not in result


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="no trace-cmd")
def test_the_text_of_trace_cmd_says_the_same_in_each_of_its_forms(tmp_path: Path) -> None:
    """With and without its own forms of events (-N), with states as numbers (-R)."""
    file, text = unpacked("version7.dat", tmp_path), tmp_path / "text"
    found = []
    for form in ("-t", "-N", "-R"):
        with text.open("wb") as out:
            subprocess.run(["trace-cmd", "report", "-t", form, file], stdout=out, check=True)
        found.append(answer(text))
    assert found[0] == found[1] == found[2]
    for one in (found[0], whole := answer(file)):
        for thread in one["threads"]:
            del thread["woken_by"]
    assert found[0]["threads"] == whole["threads"]


@pytest.mark.skipif(shutil.which("babeltrace2") is None, reason="no babeltrace2")
@pytest.mark.parametrize("inside", ["", "kernel"])
def test_a_folder_of_lttng_is_read(inside: str, tmp_path: Path) -> None:
    result = answer(recorded_folder(tmp_path) / inside)
    (pump,) = [one for one in result["threads"] if one["name"] == "pump"]
    assert (pump["kind"], pump["jobs"], pump["period_ns"]) == ("periodic", 30, 10 * MS)
    assert (pump["cost_max_ns"], pump["priority"], pump["cpus"]) == (MS - 1000, 49, [3])
    assert result["events"] == 120
    assert "damaged" not in result


def test_without_its_tool_a_trace_is_missing_something(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    said = answer(unpacked("version7.dat", tmp_path), code=3)
    assert "apt-get install trace-cmd" in said
    folder = recorded_folder(tmp_path)
    assert "apt-get install coreutils" in answer(folder, code=3)
    tool(tmp_path, "stdbuf", ":", monkeypatch)
    assert "apt-get install babeltrace2" in answer(folder, code=3)


@pytest.mark.skipif(shutil.which("babeltrace2") is None, reason="no babeltrace2")
def test_what_was_lost_is_told_at_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On standard error, when the lines before it are there; in colours for whoever likes them."""
    monkeypatch.setenv("BABELTRACE_TERM_COLOR", "always")
    lost = answer(recorded_folder(tmp_path, packet(1, 300, 0), packet(401, 700, 5)))
    assert (lost["events"], lost["lost"], lost["gaps"]) == (240, 5, 1)
    assert not {"damaged", "cut"} & lost.keys()
    (pump,) = [one for one in lost["threads"] if one["name"] == "pump"]
    assert (pump["jobs"], pump["partial"]) == (60, 0)


LINE = "x-7 [0] 1.000000000: sched_switch: a:7 [120] S ==> b:8 [120]"


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo no such format >&2; exit 1", "no such format"),
        ("exit 1", "exit code 1"),
        (f"echo '{LINE}'; kill -SEGV $$", "Segmentation fault"),
        (f"echo '{LINE}'; kill -PIPE $$", "Broken pipe"),
        (":", "no event"),
    ],
)
def test_what_a_tool_cannot_read_is_bad_input(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It failed, whatever it has printed before; its own words say why."""
    tool(tmp_path, "trace-cmd", script, monkeypatch)
    tool(tmp_path, "babeltrace2", script, monkeypatch)
    file = unpacked("version6.dat", tmp_path)
    for trace in (file, recorded_folder(tmp_path)):
        assert str(trace) in answer(trace, code=2)
    assert said in answer(file, code=2)


def test_what_a_tool_says_besides_is_not_in_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = len(LINE) // 2
    script = f"printf '{LINE[:half]}'; echo no plugin >&2; echo '{LINE[half:]}'"
    tool(tmp_path, "trace-cmd", script, monkeypatch)
    result = answer(unpacked("version6.dat", tmp_path))
    assert (result["events"], "damaged" in result) == (1, False)


@pytest.mark.parametrize(("does", "ends"), [("sleep 60", KeyboardInterrupt), ("yes", None)])
def test_a_tool_does_not_outlive_its_reader(
    does: str, ends: type[BaseException] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither where we are told to end, nor where nobody reads on."""
    tool(tmp_path, "trace-cmd", f"echo $$; exec {does}", monkeypatch)
    with suppress(KeyboardInterrupt), printed_file(str(tmp_path)) as text:
        process = int(text.readline())
        if ends is not None:
            raise ends
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@pytest.mark.skipif(shutil.which("trace-cmd") is None, reason="no trace-cmd")
def test_a_file_may_be_called_like_an_option_or_be_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = unpacked("version7.dat", tmp_path).rename("-t.dat")
    found = checked(CliRunner().invoke(main, ["observe", "--json", "--", "-t.dat"]).stdout)
    with file.open("rb") as opened:
        as_input = answer(Path(f"/dev/fd/{opened.fileno()}"))
    assert found["threads"] == as_input["threads"] != []


def test_other_folders_and_pipes_are_bad_input(tmp_path: Path) -> None:
    assert "a folder without a trace of the kernel in it" in answer(tmp_path, code=2)
    data = unpacked("version7.dat", tmp_path).read_bytes()
    result = CliRunner().invoke(main, ["observe", "-"], input=data)
    assert "a trace of trace-cmd on standard input; allowed: text" in result.stderr
    assert result.exit_code == 2
