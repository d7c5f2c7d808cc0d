# SPDX-License-Identifier: BSD-2-Clause
"""Traces of Xen, as xentrace writes them: vcpus are threads, and what they do is found."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.support.xentraces import record, state_change

from hyperperiod.cli import main
from hyperperiod.cli.tables.observe import observation_lines
from hyperperiod.model import InputError
from hyperperiod.observe.events import Event, Gap, Switch, Wake
from hyperperiod.observe.observe import Asked, observe
from hyperperiod.observe.result import ObservationResult
from hyperperiod.observe.xentrace import XenTrace, window

MS = 1_000_000
HZ = 62_500_000
TICKS_PER_MS = HZ // 1000
IDLE, CONTROL, OTHER = (0x7FFF, 0), (1, 0), (2, 1)


def job(start: int, end: int, who: tuple[int, int]) -> bytes:
    """A vcpu wakes up, has the idle pcpu, and sleeps again."""
    return b"".join([
        state_change(start, who, "blocked", "runnable"),
        state_change(start + 10, IDLE, "running", "runnable"),
        state_change(start + 10, who, "runnable", "running"),
        record(0x21002, [who[0] << 16], start + 20),
        state_change(end, who, "running", "blocked"),
        state_change(end, IDLE, "runnable", "running"),
    ])  # fmt: skip


def trace() -> bytes:
    """Thirty jobs of one vcpu every 10 ms, and of another every 7 ms on another pcpu; the windows
    of a pcpu are not those of its times alone."""
    windows = [
        window(pcpu, b"".join(
            job(at, at + ms * TICKS_PER_MS, who)
            for at in range(first, first + 15 * every * TICKS_PER_MS, every * TICKS_PER_MS)
        ))
        for first_half in (0, 15)
        for pcpu, every, ms, who in ((0, 10, 2, CONTROL), (3, 7, 1, OTHER))
        for first in [(100 + first_half * every) * TICKS_PER_MS]
    ]  # fmt: skip
    return b"".join(windows)


def found(data: bytes, folder: Path, cpu_hz: int | None = HZ) -> ObservationResult:
    path = folder / "xen.trace"
    path.write_bytes(data)
    return observe(str(path), Asked(cpu_hz=cpu_hz)).result


def events(data: bytes) -> list[Event]:
    return list(XenTrace(data, HZ).read())


def test_vcpus_are_threads_with_periods(tmp_path: Path) -> None:
    result = found(trace(), tmp_path)
    assert (result.resolution_ns, result.cut, result.gaps, result.backward) == (16, False, 0, 0)
    seen = {one.name: one for one in result.threads}
    assert sorted(seen) == ["d1v0", "d2v1"]
    for name, period_ms, cpu in (("d1v0", 10, 0), ("d2v1", 7, 3)):
        assert (seen[name].kind, seen[name].period_ns) == ("periodic", period_ms * MS)
        assert tuple(seen[name].cpus) == (cpu,)
        assert seen[name].activations == 30


def test_a_change_of_state_is_a_wake_or_half_a_switch() -> None:
    gap, wake, first, second = events(window(0, job(TICKS_PER_MS, 2 * TICKS_PER_MS, CONTROL)))
    assert isinstance(gap, Gap)
    control, idle = ("d1v0", 65537, 120), ("idle", 0, 120)
    assert wake == Wake(MS, 0, control, None, final=True)
    assert first == Switch(MS + 160, 0, idle, sleeps=False, ends=False, after=control)
    assert second == Switch(2 * MS, 0, control, sleeps=True, ends=False, after=idle)


def test_nothing_is_known_of_what_was_before_records_are_lost() -> None:
    one = job(TICKS_PER_MS, 2 * TICKS_PER_MS, CONTROL)
    lost = record(0x1F001, (7, 0, 0, 0), 3 * TICKS_PER_MS)
    lines = XenTrace(window(0, one + lost + job(10**6, 10**6 + 100, CONTROL)), HZ)
    kinds = [type(event) for event in lines.read()]
    assert kinds == [Gap, Wake, Switch, Switch] * 2
    assert (lines.lost, lines.gaps, lines.is_cut) == (7, 1, False)


def jobs(first: int, end: int) -> list[bytes]:
    """Some of the jobs of one vcpu, of a millisecond every 10 ms."""
    starts = [(100 + 10 * number) * TICKS_PER_MS for number in range(first, end)]
    return [job(start, start + TICKS_PER_MS, CONTROL) for start in starts]


LOST = record(0x1F001, [2, 0, 391 * TICKS_PER_MS, 0], 600 * TICKS_PER_MS)
UNTIMED = record(0x21001 | 2 << 8 | 1 << 4, [CONTROL[0] << 16])
BROKEN = record(0x21001, [0] * 7)[:12]
STATE_BYTES = len(state_change(0, IDLE, "running", "runnable"))


@pytest.mark.parametrize(
    ("between", "gaps"), [(LOST, (1, 2)), (BROKEN, (1, 0)), (bytes(100), (1, 0))]
)
def test_what_is_missing_on_one_pcpu_is_believed_of_none(
    between: bytes, gaps: tuple[int, int], tmp_path: Path
) -> None:
    """The end of a job is missing; meanwhile the vcpu runs elsewhere, as far as anybody knows."""
    before = b"".join(jobs(0, 30))[: -2 * STATE_BYTES] + between
    elsewhere = window(1, b"".join(jobs(30, 50)))
    result = found(window(0, before) + elsewhere + window(0, b"".join(jobs(50, 80))), tmp_path)
    (seen,) = result.threads
    assert (result.gaps, result.lost) == gaps
    assert (seen.activations, seen.cost_max_ns) == (29 + 30, MS - 160)
    assert tuple(seen.cpus) == (0,)


def test_what_has_no_time_yet_is_passed_over(tmp_path: Path) -> None:
    """A trace begins with its first time."""
    result = found(window(0, UNTIMED + b"".join(jobs(0, 30))), tmp_path)
    assert result.span_ns == 291 * MS


@pytest.mark.parametrize("behind", [b"\xff" * 12 + trace(), bytes(5000)])
def test_what_begins_no_window_ends_what_can_be_read(behind: bytes, tmp_path: Path) -> None:
    result = found(trace() + behind, tmp_path)
    assert (result.damaged_from, result.cut) == (len(trace()), False)
    assert [one.activations for one in result.threads] == [30, 30]
    said = "\n".join(map(str, observation_lines(result)))
    assert f"damaged from byte {len(trace())} on" in said
    assert "a counter of 62,500,000 Hz" in said


def test_a_file_may_end_anywhere(tmp_path: Path) -> None:
    """What was before is read, whatever is not there; no cut breaks the reader."""
    whole = window(0, job(TICKS_PER_MS, 2 * TICKS_PER_MS, CONTROL)) * 2
    for size in range(len(whole)):
        lines = XenTrace(whole[:size], HZ)
        assert len(list(lines.read())) <= len(events(whole))
        assert lines.is_cut or size in (0, len(whole) // 2)
    assert found(trace()[:-1], tmp_path).cut


@pytest.mark.parametrize(
    "damaged",
    [
        window(0, b"\xff" * 64),
        window(0, record(0x21001, [], 5)) + window(1, record(0x1F001, [], 5)),
        window(0, state_change(2**64 - 1, CONTROL, "blocked", "runnable")),
        window(0, b"")[:4] + b"\xff" * 100,
    ],
)
def test_what_is_damaged_breaks_nothing(damaged: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no event"):
        found(damaged, tmp_path)


def test_the_counter_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found times of xentrace, in ticks; allowed: --cpu-hz"):
        found(trace(), tmp_path, None)
    with pytest.raises(InputError, match="found --cpu-hz; allowed: a trace that xentrace wrote"):
        found(b"text\n", tmp_path)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found an empty file; allowed: a trace that xentrace"):
        found(b"", tmp_path)
    with pytest.raises(InputError, match=r"a trace of Xen, packed by gzip; allowed: .* only text"):
        found(gzip.compress(trace()), tmp_path)
    with pytest.raises(InputError, match="found a trace of Xen, highest byte first"):
        found(trace()[3::-1], tmp_path)
    done = CliRunner().invoke(main, ["observe", "--live", "1s", "--cpu-hz", str(HZ)])
    assert done.exit_code == 2
    assert "found --cpu-hz beside --live" in done.output


def test_a_system_is_written(tmp_path: Path) -> None:
    path, out = tmp_path / "xen.trace", tmp_path / "xen.toml"
    path.write_bytes(trace())
    words = ["observe", str(path), "--cpu-hz", str(HZ), "-o", str(out)]
    assert CliRunner().invoke(main, words, catch_exceptions=False).exit_code == 0
    text = out.read_text()
    assert 'period = "10ms"' in text
    assert 'period = "7ms"' in text
