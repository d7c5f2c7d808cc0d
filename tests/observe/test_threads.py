# SPDX-License-Identifier: BSD-2-Clause
"""Small traces by hand: what is one job, who woke whom, and what a trace does not tell."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import threading
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.support.printed import checked

from hyperperiod.cli import main
from hyperperiod.model import load_system

IDLE = ("swapper", 0)
Who = tuple[str, int]


def at(time_us: int, cpu: int = 0, flags: str = "d..2.", by: Who = IDLE) -> str:
    return f"{by[0]:>16}-{by[1]:<7} [{cpu:03d}] {flags} {time_us // 10**6}.{time_us % 10**6:06d}: "


def switch(time_us: int, before: Who, state: str, after: Who, cpu: int = 0) -> str:
    return (
        f"{at(time_us, cpu, by=before)}sched_switch: prev_comm={before[0]} prev_pid={before[1]}"
        f" prev_prio=120 prev_state={state} ==> next_comm={after[0]} next_pid={after[1]}"
        " next_prio=120"
    )


def wake(time_us: int, who: Who, event: str = "sched_wakeup", **more: Any) -> str:
    return f"{at(time_us, **more)}{event}: comm={who[0]} pid={who[1]} prio=120 target_cpu=000"


def job(start_us: int, ran_us: int, who: Who, cpu: int = 0, state: str = "S") -> list[str]:
    """Woken, on the cpu at once, and asleep again."""
    return [
        wake(start_us, who, cpu=cpu),
        switch(start_us, IDLE, "R", who, cpu),
        switch(start_us + ran_us, who, state, IDLE, cpu),
    ]


def jobs(who: Who, count: int, period_us: int, ran_us: int, first_us: int = 1000) -> list[str]:
    return [
        line for number in range(count) for line in job(first_us + number * period_us, ran_us, who)
    ]


def in_order(*lines: Iterable[str]) -> list[str]:
    """Lines of several threads as one trace; at one instant they stay in order."""
    return sorted(
        (one for part in lines for one in part), key=lambda line: line.split(": ")[0][-15:]
    )


def observed(folder: Path, lines: Iterable[str], *options: str) -> Any:
    path = folder / "trace.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    return checked(answer(str(path), "--json", *options).stdout)


def answer(*arguments: str, code: int = 0, data: bytes | None = None) -> Result:
    result = CliRunner().invoke(main, ["observe", *arguments], input=data)
    assert result.exit_code == code, result.output
    return result


def thread(result: Any, name: str) -> Any:
    (found,) = [one for one in result["threads"] if one["name"] == name]
    return found


PUMP, VALVE, LOG = ("pump", 7), ("valve", 8), ("log", 9)


def test_a_preempted_job_is_one_job_on_whichever_cpu_it_goes_on(tmp_path: Path) -> None:
    lines = [
        wake(100, PUMP, flags="dNh3."),
        switch(110, IDLE, "R", PUMP),
        switch(130, PUMP, "R+", VALVE),
        switch(150, IDLE, "R", PUMP, cpu=1),
        switch(175, PUMP, "D", IDLE, cpu=1),
    ]
    found = thread(observed(tmp_path, lines), "pump")
    assert (found["activations"], found["partial"]) == (1, 0)
    assert found["cost_max_ns"] == 45_000
    assert found["response_max_ns"] == 75_000
    assert found["cpus"] == [0, 1]


def test_older_kernels_mark_preemption_in_any_state(tmp_path: Path) -> None:
    lines = [
        wake(100, PUMP),
        switch(110, IDLE, "R", PUMP),
        switch(130, PUMP, "S+", VALVE),
        switch(150, VALVE, "S", PUMP),
        switch(175, PUMP, "S", IDLE),
    ]
    found = thread(observed(tmp_path, lines), "pump")
    assert (found["activations"], found["cost_max_ns"]) == (1, 45_000)


def test_states_may_be_numbers_and_flags_stand_beside_the_cpu(tmp_path: Path) -> None:
    """So `trace-cmd report -R` and `-l` write them; a preempted thread has a bit of its own."""
    lines = in_order(
        jobs(PUMP, 30, 10_000, 500),
        [switch(2000, VALVE, "R+", LOG, 1), switch(2500, LOG, "S", VALVE, 1)],
    )
    preempted = ("256", "0x100", "513", "1024", "1025", "2048", "4096")
    for sign, numbers in (("S", ("1", "0x1", "130")), ("R+", preempted), ("R", ("0", "0x0"))):
        for number in numbers:
            said = [
                line.replace(f"prev_state={sign} ==>", f"prev_state={number}") for line in lines
            ]
            assert said != lines
            assert observed(tmp_path, said) == observed(tmp_path, lines)
    beside = [re.sub(r"\[00(\d)\] (d..2.) ", r"  \1\2 ", line) for line in lines]
    assert beside[0] != lines[0]
    assert observed(tmp_path, beside) == observed(tmp_path, lines)


@pytest.mark.parametrize("state", ["512", "1026", "0x402", "8192", "-1", "0xz", "?", "S|0x400"])
def test_a_state_that_does_not_say_whether_a_thread_sleeps_is_damage(
    state: str, tmp_path: Path
) -> None:
    """Or says it of some kernels only: preempted up to 3.8 or 4.1, parked or idle later."""
    result = observed(tmp_path, [*job(100, 20, PUMP, state=state), *job(1000, 10, PUMP)])
    assert result["damaged"] == 1
    assert thread(result, "pump")["cost_max_ns"] == 10_000


def test_a_trace_begins_and_ends_in_jobs_that_do_not_count(tmp_path: Path) -> None:
    lines = [
        switch(10, PUMP, "S", IDLE),
        *job(100, 20, PUMP),
        wake(200, PUMP),
        switch(200, IDLE, "R", PUMP),
    ]
    found = thread(observed(tmp_path, lines), "pump")
    assert (found["activations"], found["partial"], found["cost_max_ns"]) == (1, 2, 20_000)


@pytest.mark.parametrize(
    ("text", "lost"),
    [
        ("CPU:1 [LOST 17 EVENTS]", 17),
        ("CPU:1 [LOST EVENTS]", 0),
        ("CPU:0 [5 EVENTS DROPPED]", 5),
        ("CPU:0 [EVENTS DROPPED]", 0),
    ],
)
def test_nothing_is_believed_across_lost_events(text: str, lost: int, tmp_path: Path) -> None:
    lines = [
        *job(100, 20, PUMP),
        wake(200, PUMP),
        switch(200, IDLE, "R", PUMP),
        text,
        switch(900, PUMP, "S", IDLE),
        *job(1000, 30, PUMP),
    ]
    result = observed(tmp_path, lines)
    found = thread(result, "pump")
    assert (found["activations"], found["partial"], found["cost_max_ns"]) == (2, 1, 30_000)
    assert (result["gaps"], result.get("lost", 0)) == (1, lost)


@pytest.mark.parametrize("length", [60, 90])
def test_nothing_is_believed_across_a_switch_that_is_damaged(length: int, tmp_path: Path) -> None:
    lines = [*job(100, 20, PUMP)[:2], switch(150, PUMP, "S", IDLE)[:length], *job(900, 30, PUMP)]
    del lines[3:5]
    result = observed(tmp_path, [*lines, *job(1000, 10, PUMP)])
    found = thread(result, "pump")
    assert (found["activations"], found["partial"], found["cost_max_ns"]) == (1, 1, 10_000)
    assert (result["damaged"], "gaps" in result) == (1, False)


def test_a_thread_that_is_caught_on_its_way_to_sleep(tmp_path: Path) -> None:
    """Woken while it still counts as running: a release if it sleeps, none if it goes on."""
    asleep = [
        *job(100, 20, PUMP)[:2],
        wake(118, PUMP, "sched_waking", cpu=1),
        switch(120, PUMP, "S", IDLE),
        wake(121, PUMP, cpu=1),
        switch(125, IDLE, "R", PUMP),
        switch(140, PUMP, "S", IDLE),
    ]
    found = thread(observed(tmp_path, asleep), "pump")
    assert (found["activations"], found["response_max_ns"]) == (2, 22_000)
    del asleep[4]
    seen = thread(observed(tmp_path, asleep), "pump")
    assert (seen["activations"], seen["response_max_ns"]) == (2, 22_000)
    awake = [
        *job(100, 20, PUMP)[:2],
        wake(110, PUMP, "sched_waking", cpu=1),
        wake(110, PUMP, cpu=1),
        switch(120, PUMP, "S", IDLE),
        *job(900, 10, PUMP),
    ]
    found = thread(observed(tmp_path, awake), "pump")
    assert (found["activations"], found["gap_min_ns"]) == (2, 800_000)


def test_a_second_wake_up_without_a_run_shows_that_something_is_missing(tmp_path: Path) -> None:
    lines = [wake(100, PUMP, "sched_waking"), wake(101, PUMP), *job(900, 20, PUMP)]
    lines[2] = wake(900, PUMP, "sched_waking")
    found = thread(observed(tmp_path, lines), "pump")
    assert (found["activations"], found["partial"], found["response_max_ns"]) == (1, 1, 20_000)
    preempted = [
        *job(100, 20, PUMP)[:2],
        switch(110, PUMP, "R+", IDLE),
        wake(115, PUMP, "sched_waking"),
        wake(115, PUMP),
        switch(120, IDLE, "R", PUMP),
        switch(130, PUMP, "S", IDLE),
    ]
    found = thread(observed(tmp_path, preempted), "pump")
    assert (found["activations"], found["partial"], found["cost_max_ns"]) == (1, 0, 20_000)


@pytest.mark.parametrize("dead", ["Z", "16", "0x20", "64"])
def test_an_ended_thread_leaves_its_number_to_another(dead: str, tmp_path: Path) -> None:
    end = f"{at(30_500, by=PUMP)}sched_process_exit: comm=pump pid=7 prio=120"
    lines = [
        *jobs(PUMP, 25, 1000, 100),
        wake(30_000, PUMP),
        switch(30_000, IDLE, "R", PUMP),
        end,
        switch(31_000, PUMP, dead, IDLE),
        *jobs(("other", 7), 25, 2000, 300, first_us=40_000),
        *job(100_000, 10, VALVE, state=dead),
    ]
    result = observed(tmp_path, lines)
    assert {one["name"]: one["cost_max_ns"] for one in result["threads"]} == {
        "pump": 100_000,
        "other": 300_000,
    }
    assert [one["domain"] for one in result["threads"]] == ["other", "pump"]
    assert result["ended_early"] == 1


def test_a_thread_keeps_what_it_did_under_another_name(tmp_path: Path) -> None:
    lines = [*jobs(("python", 7), 12, 1000, 100), *jobs(PUMP, 12, 1000, 100, first_us=13_000)]
    (found,) = observed(tmp_path, lines)["threads"]
    assert (found["name"], found["other_names"], found["activations"]) == ("pump", ["python"], 24)
    assert (found["period_ns"], found["jitter_ns"]) == (1_000_000, 0)


def test_a_name_steers_no_terminal(tmp_path: Path) -> None:
    (found,) = observed(tmp_path, jobs(("\x1b[2Jé", 7), 3, 1000, 100))["threads"]
    assert found["name"] == "?[2Jé"


def test_who_wakes_whom_is_a_chain(tmp_path: Path) -> None:
    lines = []
    for start in range(1000, 31_000, 1000):
        lines += [
            wake(start, PUMP, flags="d.h2."),
            switch(start, IDLE, "R", PUMP),
            wake(start + 50, VALVE, by=PUMP, flags="d..3."),
            switch(start + 60, PUMP, "S", VALVE),
            wake(start + 80, LOG, by=VALVE),
            switch(start + 90, VALVE, "S", LOG),
            switch(start + 95, LOG, "S", IDLE),
        ]
    result = observed(tmp_path, lines)
    assert thread(result, "pump")["woken_by"] == [{"name": "interrupt", "pid": None, "count": 30}]
    assert thread(result, "pump")["chain"] == []
    assert thread(result, "log")["chain"] == ["pump", "valve", "log"]
    without = observed(tmp_path, [re.sub(r"\] \S+ ", "] ", line) for line in lines])
    assert (without["flags"], thread(without, "log")["chain"]) == (False, [])


def test_interrupts_are_counted_for_their_cpu_and_wake_for_nobody(tmp_path: Path) -> None:
    """A softirq of 30 us on cpu 1, interrupted for 10 us; the thread it wakes is not the log's."""
    lines = [
        switch(90, IDLE, "R", LOG, cpu=1),
        f"{at(100, 1, by=LOG)}softirq_entry: vec=1 [action=TIMER]",
        f"{at(110, 1, by=LOG)}irq_handler_entry: irq=9 name=disk",
        f"{at(120, 1, by=LOG)}irq_handler_exit: irq=9 ret=handled",
        wake(125, PUMP, cpu=1, by=LOG),
        f"{at(140, 1, by=LOG)}softirq_exit: vec=1 [action=TIMER]",
        f"{at(141, 1, by=LOG)}softirq_exit: vec=1 [action=TIMER]",
        switch(150, IDLE, "R", PUMP),
        switch(160, PUMP, "S", IDLE),
    ]
    result = observed(tmp_path, lines)
    assert result["cpus"] == [
        {"cpu": 0, "interrupts_ns": 0, "softirqs_ns": 0},
        {"cpu": 1, "interrupts_ns": 10_000, "softirqs_ns": 30_000},
    ]
    assert thread(result, "pump")["woken_by"][0]["name"] == "interrupt"


def test_gaps_without_a_grid_are_sporadic_by_the_least(tmp_path: Path) -> None:
    draw = random.Random(1)
    lines, now_us = [], 1000
    for _ in range(200):
        lines += job(now_us, 100, PUMP)
        now_us += draw.randint(2000, 4000)
    found = thread(observed(tmp_path, lines), "pump")
    assert found["kind"] == "sporadic"
    assert 2_000_000 <= found["period_ns"] == found["gap_min_ns"] <= 2_100_000
    assert found["fitted_period_ns"] is None


def test_missed_releases_leave_holes_in_the_grid(tmp_path: Path) -> None:
    lines = [
        line
        for number in range(3000)
        if number % 7 != 3 and not 1000 <= number < 1400
        for line in job(1000 + 1333 * number, 100, PUMP)
    ]
    found = thread(observed(tmp_path, lines), "pump")
    assert (found["kind"], found["period_ns"], found["jitter_ns"]) == ("periodic", 1_333_000, 0)


@pytest.mark.parametrize("jitter_us", [0, 300])
def test_short_sleeps_inside_are_bursts(jitter_us: int, tmp_path: Path) -> None:
    draw = random.Random(2)
    lines = []
    for number in range(700):
        start = 1000 + 10_000 * number + draw.randint(0, jitter_us)
        for _ in range(draw.randint(1, 3)):
            lines += job(start, 200, PUMP, state="D")
            start += 200 + draw.randint(20, 60)
    found = thread(observed(tmp_path, lines), "pump")
    assert (found["kind"], found["period_ns"]) == ("bursty", 10_000_000)
    assert found["jitter_ns"] <= 1000 * jitter_us
    assert (found["cost_max_ns"], found["activations_per_job_max"]) == (600_000, 3)


@pytest.mark.parametrize("lost", [10, 600])
def test_a_burst_that_was_not_seen_whole_does_not_count(lost: int, tmp_path: Path) -> None:
    """700 bursts of three jobs: one has lost events, and the first and last may be longer."""
    lines = []
    for number in range(700):
        start = 1000 + 10_000 * number
        for part in range(3):
            lines += job(start + 250 * part, 200 + number % 7, PUMP)
        if number == lost:
            lines[-3:-1] = ["CPU:0 [LOST 2 EVENTS]"]
    found = thread(observed(tmp_path, lines), "pump")
    assert (found["kind"], found["jobs"], found["partial"]) == ("bursty", 697, 1)
    assert (found["period_ns"], found["cost_max_ns"]) == (10_000_000, 618_000)


@pytest.mark.parametrize("seen", [1, 2])
@pytest.mark.parametrize("is_first", [True, False])
def test_a_burst_whose_beginning_was_not_seen_moves_no_grid(
    seen: int, is_first: bool, tmp_path: Path
) -> None:
    """One burst, the first in the trace or one after a gap, shows only its last jobs."""
    bursts = [
        [line for part in range(3) for line in job(1000 + 10_000 * number + 800 * part, 300, PUMP)]
        for number in range(200)
    ]
    cut = 0 if is_first else 50
    bursts[cut] = ["CPU:0 [LOST EVENTS]", *bursts[cut][-3 * seen :]]
    found = thread(observed(tmp_path, chain.from_iterable(bursts)), "pump")
    assert (found["kind"], found["jobs"]) == ("bursty", 198 if is_first else 196)
    assert (found["period_ns"], found["jitter_ns"]) == (10_000_000, 0)
    assert found["cost_max_ns"] == 900_000


def test_damage_is_counted_and_the_first_line_named(tmp_path: Path) -> None:
    lines = ["# tracer: nop", "cpus=2", *jobs(PUMP, 3, 1000, 100)]
    lines[4:4] = ["gibberish", f"{at(1050)}sched_switch: prev_comm=pump prev_p"]
    result = observed(tmp_path, lines)
    assert (result["damaged"], result["first_damaged"]) == (2, {"line": 5, "text": "gibberish"})
    text = answer(str(tmp_path / "trace.txt")).stdout
    assert "2 damaged lines; line 5 is the first: gibberish" in text


def test_events_that_were_overwritten_are_told(tmp_path: Path) -> None:
    head = "# entries-in-buffer/entries-written: 140/2500   #P:4"
    result = observed(tmp_path, [head, *jobs(PUMP, 3, 1000, 100)])
    assert (result["overwritten"], "damaged" in result) == (2360, False)


def test_time_that_goes_back_ends_what_was_known(tmp_path: Path) -> None:
    lines = [*job(5000, 100, PUMP)[:2], *jobs(PUMP, 3, 1000, 100)]
    result = observed(tmp_path, lines)
    assert result["backward"] == 1
    assert thread(result, "pump")["cost_max_ns"] == 100_000


def test_two_traces_in_one_make_no_period_and_no_longer_span(tmp_path: Path) -> None:
    result = observed(tmp_path, 2 * jobs(PUMP, 30, 1000, 100) + jobs(PUMP, 3, 1000, 100))
    found = thread(result, "pump")
    assert (found["kind"], found["period_ns"]) == ("sporadic", 1_000_000)
    assert (result["span_ns"], result["backward"]) == (29_100_000, 2)


def test_seconds_since_1970_are_times_as_well(tmp_path: Path) -> None:
    found = thread(observed(tmp_path, jobs(PUMP, 30, 1000, 100, 1_764_331_000 * 10**6)), "pump")
    assert (found["kind"], found["jobs"], found["period_ns"]) == ("periodic", 30, 1_000_000)


def test_a_priority_that_is_lent_is_not_the_threads(tmp_path: Path) -> None:
    lines = [line.replace("prio=120", "prio=40") for line in jobs(PUMP, 30, 1000, 100)]
    lines[-1] = lines[-1].replace("prio=40", "prio=3")
    assert thread(observed(tmp_path, lines), "pump")["priority"] == 40


def test_packed_and_piped_traces_are_the_same(tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in jobs(PUMP, 30, 1000, 100)).encode()
    packed = tmp_path / "trace.txt.gz"
    packed.write_bytes(gzip.compress(text))
    found = checked(answer(str(packed), "--json").stdout)
    piped = checked(answer("-", "--json", data=text).stdout)
    assert found["threads"] == piped["threads"]
    assert piped["trace"] == "<stdin>"
    packed.write_bytes(gzip.compress(text)[:-20])
    assert checked(answer(str(packed), "--json").stdout)["cut"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no event; allowed: a trace: text of ftrace"),
        ("#\n", "with the columns thread-pid [cpu] seconds.micros: event"),
        ("name = 'x'\n", "trace.txt:1: found \"name = 'x'\"; allowed: a trace"),
        (f"{wake(10, PUMP)}\n", "found no event sched_switch; allowed: one where a thread stops"),
        ("HPTRACE1 broken", "allowed"),
    ],
)
def test_what_is_no_trace_is_bad_input(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(text)
    assert message in answer(str(path), code=2).stderr


@pytest.mark.parametrize(
    "fill", [b"\0", b"gibberish\n", b"#\n"], ids=["zeros", "gibberish", "comments"]
)
def test_what_never_ends_is_bad_input(fill: bytes, tmp_path: Path) -> None:
    """A program would write 16 MiB, and long before that nobody reads any more."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    given_up = threading.Event()

    def write() -> None:
        try:
            with pipe.open("wb") as file:
                for _ in range(4096):
                    file.write(4096 // len(fill) * fill)
        except BrokenPipeError:
            given_up.set()

    writer = threading.Thread(target=write)
    writer.start()
    assert "allowed: a trace" in answer(str(pipe), code=2).stderr
    writer.join()
    assert given_up.is_set()


def test_what_cannot_be_read_is_named() -> None:
    assert "/proc/self/mem: found input/output error" in answer("/proc/self/mem", code=2).stderr


@pytest.mark.parametrize("name", ["a\nb", "a\udcffb"])
def test_a_trace_may_have_any_name(name: str, tmp_path: Path) -> None:
    path, out = tmp_path / f"{name}.txt", tmp_path / "out.toml"
    path.write_text("".join(f"{line}\n" for line in two_threads()))
    assert "a?b.txt: " in answer(str(path), "-o", str(out)).stdout
    assert load_system(out).name == "a?b"


def test_too_many_threads_for_a_system_are_told_with_what_helps(tmp_path: Path) -> None:
    lines = [
        line for pid in range(1, 1026) for line in jobs(("w", pid), 2, 10**6, 10, 1000 + 20 * pid)
    ]
    path, out = tmp_path / "trace.txt", str(tmp_path / "out.toml")
    path.write_text("".join(f"{line}\n" for line in in_order(lines)))
    error = answer(str(path), "--least", "2", "-o", out, code=2).stderr
    assert "found 1025 vcpus on pcpu 0; allowed: at most 1024: --only leaves threads out" in error
    answer(str(path), "--least", "2", "-o", out, "--domain", "all=w")


def test_bad_options_are_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("".join(f"{line}\n" for line in jobs(PUMP, 3, 1000, 100)))
    assert "--only: found '('" in answer(str(path), "--only", "(", code=2).stderr
    assert "--domain: found 'x'" in answer(str(path), "--domain", "x", code=2).stderr
    for name in ("a;b", " x", "y" * 80, "a\nb", "a\udcffb"):
        assert f"found {name!r}" in answer(str(path), "--domain", f"{name}=.", code=2).stderr
    idle = answer(str(path), "--domain", "idle=.", code=2).stderr
    assert "--domain: found 'idle'; allowed: a name other than idle" in idle
    out = str(tmp_path / "out.toml")
    assert "found no thread that becomes a task" in answer(str(path), "-o", out, code=2).stderr
    assert not Path(out).exists()
    assert "no such file" in answer(str(tmp_path / "none"), code=2).stderr


def two_threads() -> list[str]:
    return in_order(jobs(PUMP, 30, 10_000, 500), jobs(VALVE, 40, 7000, 300, first_us=3500))


def test_who_gives_way_was_the_last_to_come(tmp_path: Path) -> None:
    """A job of one that left its cpu unseen does not count: it did not run all the time."""
    lines = in_order(jobs(PUMP, 30, 10_000, 500), jobs(VALVE, 40, 7000, 300, first_us=3500))
    left = next(place for place, line in enumerate(lines) if "prev_comm=pump" in line)
    assert thread(observed(tmp_path, lines), "pump")["partial"] == 0
    found = thread(observed(tmp_path, [*lines[:left], *lines[left + 1 :]]), "pump")
    assert (found["partial"], found["activations"], found["cost_max_ns"]) == (1, 29, 500_000)


def test_both_files_are_written_or_none(tmp_path: Path) -> None:
    path, out, rows = tmp_path / "plant.txt", tmp_path / "plant.toml", tmp_path / "plant.csv"
    lines = [line for line in two_threads() if "sched_wakeup: comm=pump" not in line][1:]
    lines += in_order(jobs(PUMP, 30, 10_000, 500, first_us=400_000))
    path.write_text("".join(f"{line}\n" for line in lines))
    answer(str(path), "-o", str(out), "--jobs", str(tmp_path / "no" / "x.csv"), code=2)
    assert not out.exists()
    said = answer(str(path), "-o", str(out), "--jobs", str(rows))
    assert "leaves out 1 jobs that were not seen whole, and 29 whose wake-up was" in said.stderr
    assert out.exists()
    assert len(rows.read_text().splitlines()) == 1 + 30 + 40


def test_times_beyond_all_clocks_are_damage(tmp_path: Path) -> None:
    lines = [*two_threads(), wake(9_999_999_999_000_000, PUMP)]
    assert observed(tmp_path, lines)["damaged"] == 1


def test_a_system_is_written_that_analyze_takes(tmp_path: Path) -> None:
    path, out = tmp_path / "plant.txt", tmp_path / "plant.toml"
    path.write_text("".join(f"{line}\n" for line in two_threads()))
    answer(str(path), "-o", str(out), "--domain", "water=pump|valve", "--margin", "10%")
    system = load_system(out)
    (domain,) = system.domains
    assert (system.name, domain.name) == ("plant", "water")
    assert [(one.name, one.period_ns, one.wcet_ns) for one in domain.tasks] == [
        ("pump", 10_000_000, 550_000),
        ("valve", 7_000_000, 330_000),
    ]
    text = out.read_text()
    assert text.count('"  # measured, not proved: ') == 4
    assert "500us is the longest of 30 jobs in 290.5ms, with 10 % more" in text
    assert CliRunner().invoke(main, ["analyze", str(out)]).exit_code == 0


def test_processes_are_domains_and_priorities_those_of_real_time(tmp_path: Path) -> None:
    lines = [
        line.replace(" [000]", " (      5) [000]", 1).replace("prio=120", "prio=40")
        if line.startswith((f"{'pump':>16}", f"{'valve':>16}"))
        else line.replace("prio=120", "prio=40")
        for line in two_threads()
    ]
    out = tmp_path / "out.toml"
    found = observed(tmp_path, lines, "-o", str(out))
    assert {one["domain"] for one in found["threads"]} == {"pump"}
    (domain,) = load_system(out).domains
    assert (domain.scheduler, [one.priority for one in domain.tasks]) == ("fp", [40, 40])


def test_what_does_not_fit_a_cpu_is_left_out_and_told(tmp_path: Path) -> None:
    lines = jobs(PUMP, 30, 1000, 900)
    found = observed(tmp_path, lines)["threads"][0]
    assert found["task"] is None
    assert found["left_out"] == "more than a cpu: 1.08ms of every 1ms, with the margin"
    assert observed(tmp_path, lines, "--margin", "10%")["threads"][0]["task"] == "pump"


def test_only_those_that_are_asked_for(tmp_path: Path) -> None:
    names = [one["name"] for one in observed(tmp_path, two_threads(), "--only", "^v")["threads"]]
    assert names == ["valve"]


def test_our_own_traces_are_read_as_well(tmp_path: Path) -> None:
    system = str(Path(__file__).parents[2] / "systems" / "flight-control.toml")
    trace, out = str(tmp_path / "run.hpt"), str(tmp_path / "out.toml")
    runner = CliRunner()
    runner.invoke(main, ["simulate", system, "--horizon", "2s", "--trace", trace])
    piped = answer("-", data=Path(trace).read_bytes(), code=2)
    assert "<stdin>: found a trace of ours on standard input; allowed: text" in piped.stderr
    answer(trace, "-o", out)
    found = {
        (domain.name, one.name): one for domain in load_system(out).domains for one in domain.tasks
    }
    for domain in load_system(system).domains:
        for task in domain.tasks:
            if task.wcet_ns is not None:
                seen = found[domain.name, task.name]
                assert seen.period_ns == task.period_ns
                assert seen.wcet_ns is not None
                assert task.wcet_ns * 0.95 < seen.wcet_ns / 1.2 <= task.wcet_ns


def test_a_machine_that_ran_is_found_again() -> None:
    """Linux on two cpus, threads of real time whose program says 5 ms, 7.123457 ms and 20 ms, and
    0.3, 0.5 and 2 ms of work; a fourth is woken by the one of 20 ms and works for 0.4 ms."""
    trace = Path(__file__).parents[2] / "docs" / "examples" / "plant.txt.gz"
    found = checked(answer(str(trace), "--json").stdout)
    often = {one["name"]: one for one in found["threads"] if one["task"]}
    truth = {
        "valves": (5_000_000, 300_000),
        "sensors": (7_123_457, 500_000),
        "control": (20_000_000, 2_000_000),
        "log": (20_000_000, 400_000),
    }
    assert often.keys() == truth.keys()
    for name, (period_ns, cost_ns) in truth.items():
        one = often[name]
        assert one["kind"] == "periodic"
        if name == "sensors":
            assert abs(one["period_ns"] - period_ns) * one["jobs"] <= one["jitter_ns"]
        else:
            assert one["period_ns"] == period_ns
        # Interrupts and the ways in and out are in what a thread takes.
        assert cost_ns <= one["cost_mean_ns"] <= cost_ns * 1.06
    assert often["log"]["chain"] == ["control", "log"]
    assert often["log"]["priority"] == 49


@pytest.mark.slow
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_trace_may_be_cut_at_any_byte(is_packed: bool, tmp_path: Path) -> None:
    data = "".join(f"{line}\n" for line in two_threads()[:30]).encode()
    data = gzip.compress(data) if is_packed else data
    for length in range(len(data)):
        (tmp_path / "trace.txt").write_bytes(data[:length])
        result = CliRunner().invoke(main, ["observe", str(tmp_path / "trace.txt"), "--json"])
        assert result.exit_code in (0, 2), (length, result.output)


def test_a_trace_may_be_cut_and_garbled_anywhere(tmp_path: Path) -> None:
    draw = random.Random(3)
    whole = "".join(f"{line}\n" for line in two_threads()[:60]).encode()
    packed = gzip.compress(whole)
    path = tmp_path / "trace.txt"
    for number in range(150):
        data = bytearray(packed if number % 3 == 0 else whole)
        del data[draw.randrange(len(data)) :]
        for _ in range(draw.randint(0, 8)):
            if data:
                data[draw.randrange(len(data))] = draw.randrange(256)
        path.write_bytes(data)
        result = CliRunner().invoke(main, ["observe", str(path), "--json"])
        assert result.exit_code in (0, 2), (number, result.output)
        assert json.loads(result.stdout)


def test_a_timer_may_be_late_by_most_of_a_period_and_is_never_early(tmp_path: Path) -> None:
    """Each hundredth release is three quarters of a period late; none of them moves the grid."""
    lines = [
        line
        for number in range(1500)
        for line in job(1000 + 4321 * number + 3200 * (number % 100 == 50), 100, PUMP)
    ]
    found = thread(observed(tmp_path, lines), "pump")
    assert (found["kind"], found["period_ns"]) == ("periodic", 4_321_000)
    assert found["jitter_ns"] == 3_200_000
