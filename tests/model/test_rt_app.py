# SPDX-License-Identifier: BSD-2-Clause
"""Workloads of rt-app: what is read, that it is what the threads do, what is refused."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hyperperiod.model import InputError, Scheduler, System, TaskKind, load_system
from hyperperiod.model.readers.lenient_json import read_json

US = 1_000

GOOD = """{
    /* Comments and a comma
    * behind the last member. */
    "tasks" : {
        "control" : { "run" : 2000, "timer" : { "ref" : "unique", "period" : 10000 } },
        "log" : {
            "delay" : 500, // after the others
            "phases" : {
                "only" : { "loop" : 10, "run0" : 300, "runtime" : 200, "sleep" : 49500 },
            },
        },
        "twin" : {
            "instance" : 2, "taskgroup" : "/video/decode", "cpus" : [3],
            "run" : 5000, "sleep" : 0, "timer" : { "ref" : "uniqueA", "period" : 40000,
                "mode" : "absolute" }
        },
        "none" : { "instance" : 0, "run" : 1, "timer" : { "ref" : "own", "period" : 9 } },
    },
    "resources" : { "m0" : { "type" : "mutex" } },
    "global" : { "duration" : 2, "calibration" : "CPU0", "logdir" : "/tmp, \\"x\\"" },
}
"""


def read(text: str, folder: Path) -> System:
    file = folder / "load.json"
    file.write_text(text, encoding="utf-8")
    return load_system(file)


def of(thread: dict[str, Any], folder: Path, **more: Any) -> System:
    """The system of one thread `t`."""
    return read(json.dumps({"tasks": {"t": thread}, "global": more}), folder)


def timer(period: int, ref: str = "unique") -> dict[str, Any]:
    return {"ref": ref, "period": period}


def test_threads_become_tasks_of_their_groups(tmp_path: Path) -> None:
    system = read(GOOD, tmp_path)
    assert (system.name, str(system.policy), system.pcpus) == ("load", "ptps", 4)
    assert "runs for 2 s" in system.description
    plain, video = system.domains
    assert (plain.name, plain.scheduler, plain.pcpu) == ("load", Scheduler.RM, None)
    assert (video.name, video.scheduler, video.pcpu) == ("video-decode", Scheduler.RM, 3)
    control, log = plain.tasks
    assert (control.kind, control.period_ns, control.wcet_ns) == (
        TaskKind.PERIODIC, 10_000 * US, 2_000 * US,
    )  # fmt: skip
    assert (log.kind, log.period_ns, log.wcet_ns, log.offset_ns) == (
        TaskKind.SPORADIC, 50_000 * US, 500 * US, 500 * US,
    )  # fmt: skip
    assert [task.name for task in video.tasks] == ["twin-0", "twin-1"]
    assert {(task.period_ns, task.wcet_ns) for task in video.tasks} == {(40_000 * US, 5_000 * US)}


def test_priorities_of_fifo(tmp_path: Path) -> None:
    """A larger number is first there, a smaller one here; 10 without any."""
    threads = {
        name: {"run": 1, "timer": timer(100), **more}
        for name, more in {
            "last": {"priority": 1},
            "plain": {},
            "first": {"priority": 99},
        }.items()
    }
    document = {"tasks": threads, "global": {"default_policy": "SCHED_FIFO"}}
    (domain,) = read(json.dumps(document), tmp_path).domains
    assert domain.scheduler is Scheduler.FP
    ranked = sorted(domain.tasks, key=lambda task: (task.priority is None, task.priority))
    assert [task.name for task in ranked] == ["first", "plain", "last"]
    assert [task.priority for task in ranked] == [0, 89, 98]


@pytest.mark.parametrize(
    ("given", "deadline_us"),
    [
        ({"dl-deadline": 60, "dl-period": 90}, 60),
        ({"dl-period": 90}, 90),
        ({}, 100),
    ],
)
def test_deadlines(given: dict[str, int], deadline_us: int, tmp_path: Path) -> None:
    thread = {"policy": "SCHED_DEADLINE", "dl-runtime": 20, "run": 20, "timer": timer(100)}
    (domain,) = of(thread | given, tmp_path).domains
    assert domain.scheduler is Scheduler.EDF
    assert domain.tasks[0].deadline_ns == deadline_us * US


def test_a_vcpu_on_each_cpu(tmp_path: Path) -> None:
    threads = {
        f"t{number}": {"run": 1, "timer": timer(100), "cpus": [cpu]}
        for number, cpu in enumerate([5, 2, 5])
    }
    system = read(json.dumps({"tasks": threads}), tmp_path)
    (domain,) = system.domains
    assert (system.pcpus, domain.vcpus, domain.pcpus) == (6, 2, (2, 5))
    assert [task.vcpu for task in domain.tasks] == [1, 0, 1]


def test_without_a_wait_a_thread_is_busy(tmp_path: Path) -> None:
    (domain,) = of({"run": 1000}, tmp_path).domains
    assert domain.best_effort
    assert [task.kind for task in domain.tasks] == [TaskKind.BUSY]


def rounds(thread: dict[str, Any], count: int) -> Iterator[tuple[int, int]]:
    """What a thread does alone on a cpu, event by event (us): when each round begins, its runs."""
    now, woken = 0, 0
    for _ in range(count):
        begun, ran = now, 0
        for key, value in thread.items():
            if key.startswith("run"):
                now, ran = now + value, ran + value
            elif key.startswith("sleep"):
                now += value
            elif key.startswith("timer"):
                woken += value["period"]
                now = max(now, woken)
        yield begun, ran


def test_jobs_are_the_rounds_of_the_thread(tmp_path: Path) -> None:
    """Random threads, alone on a cpu: they begin rounds when the task may release jobs."""
    draw = random.Random("rt-app")
    for _ in range(200):
        runs = [draw.randint(1, 2000) for _ in range(draw.randint(1, 3))]
        thread: dict[str, Any] = {f"run{number}": run for number, run in enumerate(runs)}
        if draw.random() < 0.5:
            thread["timer0"] = timer(sum(runs) + draw.randint(0, 5000))
        else:
            thread["sleep"] = draw.randint(1, 5000)
        (task,) = of(thread, tmp_path).domains[0].tasks
        assert task.period_ns is not None
        for number, (begun, ran) in enumerate(rounds(thread, 20)):
            assert begun * US == number * task.period_ns
            assert ran * US == task.wcet_ns


TWO = '{"tasks": {"a": {%s},\n"b": {%s}}}'
THREAD = '{"tasks": {"t": {\n"run": 10,\n%s\n"timer": {"ref": "unique", "period": 100}}}}'


@pytest.mark.parametrize(
    ("text", "line", "key", "words"),
    [
        ("", 1, "", "the end of the file"),
        ("[]", 1, "", "an object"),
        ("{\n} x", 2, "", "nothing behind"),
        ('{"tasks": {\n"t": nul}}', 2, "", "a JSON value"),
        ('{"tasks": {\n"t": 1e9}}', 2, "", "a JSON value"),
        ('{"tasks"\n= {}}', 2, "", "behind the key tasks"),
        ('{"tasks": {}\n"global": {}}', 2, "", ", or }"),
        ('{"tasks": {} /* never', 1, "", ", or }"),
        ('{"\n": 1}', 1, "", "on one line"),
        ('{"\\ud800": 1}', 1, "", "surrogate"),
        ("\n" + '{"a":' * 40, 2, "", "16 levels"),
        ("{}", 1, "domain", "at least one"),
        ('{"tasks": {},\n"task": {}}', 2, "task", "did you mean tasks?"),
        ('{"tasks": {"a": 1}}', 1, "tasks.a", "an object"),
        ('{"global": {\n"durations": 1}}', 2, "global.durations", "did you mean duration?"),
        ('{"global": {\n"duration": 0}}', 2, "global.duration", "seconds above 0"),
        (THREAD % '"run": 10,', 3, "", "run a second time"),
        (THREAD % '"lock": "m",', 3, "tasks.t.lock", "no counterpart"),
        (THREAD % '"fork": "m",', 3, "tasks.t.fork", "no counterpart"),
        (THREAD % '"iorun": 8,', 3, "tasks.t.iorun", "no counterpart"),
        (THREAD % '"util_min": 8,', 3, "tasks.t.util_min", "no counterpart"),
        (THREAD % '"loop": 3,', 3, "tasks.t.loop", "without end"),
        (THREAD % '"sleep": 3,', 4, "tasks.t.timer", "timer behind sleep"),
        (THREAD % '"timer0": {}, "run1": 1,', 3, "tasks.t.run1", "run1 behind timer0"),
        (THREAD % '"run1": -1,', 3, "tasks.t.run1", "microseconds"),
        (THREAD % '"run1": 1.5,', 3, "tasks.t.run1", "microseconds"),
        (THREAD % '"run1": true,', 3, "tasks.t.run1", "microseconds"),
        (THREAD % '"run1": 9999999999999999999,', 1, "task[0].wcet", "below 2^62"),
        (THREAD % '"delay": "1",', 3, "tasks.t.delay", "microseconds"),
        (THREAD % '"policy": "SCHED_RR",', 3, "tasks.t.policy", "SCHED_FIFO"),
        (THREAD % '"priority": -5,', 3, "tasks.t.priority", "only SCHED_FIFO"),
        (THREAD % '"policy": "SCHED_FIFO", "priority": 0,', 3, "tasks.t.priority", "1 to 99"),
        (THREAD % '"dl-period": 5,', 3, "tasks.t.dl-period", "without SCHED_DEADLINE"),
        (
            THREAD % '"policy": "SCHED_DEADLINE",\n"dl-runtime": 9,',
            4, "tasks.t.dl-runtime", "at least 10us",
        ),
        (THREAD % '"cpus": [0, 1],', 3, "tasks.t.cpus", "stays on one"),
        (THREAD % '"cpus": [64],', 3, "tasks.t.cpus", "below 64"),
        (THREAD % '"taskgroup": 1,', 3, "tasks.t.taskgroup", "name of a group"),
        (THREAD % '"instance": -1,', 3, "tasks.t.instance", "at most 4096"),
        (
            TWO % ('"run": 1, "instance": 3000', '"run": 1, "instance": 2000'),
            2, "tasks.b.instance", "at most 4096 threads in all",
        ),
        (THREAD.replace("unique", "x") % '"instance": 2,', 4, "timer.ref", "in several threads"),
        (THREAD.replace('"ref": "unique",', "") % "", 4, "timer.ref", "found nothing"),
        (THREAD.replace("100", '1, "mode": "x"') % "", 4, "timer.mode", "relative or absolute"),
        (THREAD.replace("100", "0") % "", 1, "period", "above 0"),
        (THREAD.replace("10,", "0,") % "", 1, "tasks.t", "runs for no time"),
        ('{"tasks": {"t": {\n"phases": {}}}}', 2, "tasks.t.phases", "one phase"),
        (
            '{"tasks": {"t": {"phases": {"a": {"run": 1, "sleep": 1},\n"b": {"run": 2}}}}}',
            1, "tasks.t.phases", "2 phases",
        ),
        (
            TWO % ('"run": 1', '"run": 1, "policy": "SCHED_FIFO"'),
            2, "tasks.b.policy", "as that of a",
        ),
        (
            '{"tasks": {"a": {"run": 1, "sleep": 1, "cpus": [0]},\n"b": {"run": 1, "sleep": 1}}}',
            2, "tasks.b.cpus", "or for none",
        ),
        (
            TWO % (('"run": 1, "timer": {"ref": "x", "period": 9}',) * 2),
            2, "tasks.b.timer.ref", "the timer x in several threads",
        ),
    ],
)  # fmt: skip
def test_what_is_refused(text: str, line: int, key: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(text, tmp_path)
    problems = [p for p in error.value.problems if key in p.key and words in str(p)]
    assert problems, str(error.value)
    assert problems[0].line == line


def drawn_value(draw: random.Random, depth: int) -> Any:
    kind = draw.randrange(6 if depth else 4)
    if kind == 0:
        return draw.choice([True, False, None])
    if kind == 1:
        return draw.randint(-(10**12), 10**12)
    if kind in (2, 3):
        return "".join(draw.choice('a"\\/*,{}[]\u00e4\u2028\U0001f600 //') for _ in range(6))
    if kind == 4:
        return [drawn_value(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {f"k{n}/*": drawn_value(draw, depth - 1) for n in range(draw.randrange(4))}


def test_plain_json_is_read_as_python_reads_it() -> None:
    draw = random.Random("json")
    for _ in range(500):
        value = drawn_value(draw, 4)
        text = json.dumps(value, indent=draw.choice([None, 1]), ensure_ascii=draw.random() < 0.5)
        assert read_json("x.json", text)[0] == value


def test_each_key_has_its_line() -> None:
    text = '{\n"a": 1, /* \n\n */ "b": [\n2,\n3], // "c": 4\n}'
    value, lines = read_json("x.json", text)
    assert value == {"a": 1, "b": [2, 3]}
    assert lines == {(): 1, ("a",): 2, ("b",): 4, ("b", 0): 5, ("b", 1): 6}
