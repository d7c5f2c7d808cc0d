# SPDX-License-Identifier: BSD-2-Clause
"""Tables of tasks: what is read, what is refused with its line, and that nothing is lost."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.rules import SCHEDULERS

from hyperperiod.model import (
    Domain,
    InputError,
    Interface,
    PeriodRange,
    Scheduler,
    System,
    Task,
    TaskKind,
    load_system,
    parse_policy,
    to_table,
)
from hyperperiod.model.words import RESERVED_NAMES

MS = 1_000_000


def read(text: str, folder: Path, name: str = "set.csv") -> System:
    file = folder / name
    file.write_text(text, encoding="utf-8", newline="")
    return load_system(file)


def test_the_smallest_table_is_one_domain(tmp_path: Path) -> None:
    system = read("period_ms,wcet_ms\n20,2\n40,5.5\n", tmp_path)
    assert (system.name, str(system.policy), system.pcpus) == ("set", "ptps", 1)
    (domain,) = system.domains
    assert (domain.name, domain.scheduler, domain.pcpu) == ("set", Scheduler.RM, 0)
    assert [task.name for task in domain.tasks] == ["task1", "task2"]
    assert [task.wcet_ns for task in domain.tasks] == [2 * MS, 5_500_000]


WHOLE = """# flight control
domain;scheduler;pcpu;interface_period;interface_budget_us;name;kind;period_ms;wcet_us;deadline;\
offset;jitter;blocking;priority;etf;vcpu
control;fp;1;10ms;4000;loop;;20;2000;15ms;1ms;2us;3us;7;0.5;0
control;;;;;spin;busy;;;;;;;9;;

"video";edf;0;15ms;;frame;sporadic;40;9000;;;;;;;
"""


def test_every_column(tmp_path: Path) -> None:
    system = read(WHOLE, tmp_path)
    control, video = system.domains
    assert system.pcpus == 2
    assert (control.scheduler, control.pcpu) == (Scheduler.FP, 1)
    assert control.interface == Interface(period_ns=10 * MS, budget_ns=4 * MS)
    loop, spin = control.tasks
    assert (loop.deadline_ns, loop.offset_ns, loop.jitter_ns) == (15 * MS, MS, 2000)
    assert (loop.blocking_ns, loop.priority, loop.vcpu) == (3000, 7, 0)
    assert loop.etf == Fraction(1, 2)
    assert spin.kind is TaskKind.BUSY
    assert (video.scheduler, video.interface_period_ns) == (Scheduler.EDF, 15 * MS)
    assert video.tasks[0].kind is TaskKind.SPORADIC
    assert video.tasks[0].deadline_ns == 40 * MS


def test_line_ends_marks_and_quotes_of_spreadsheets(tmp_path: Path) -> None:
    plain = read("name,period,wcet\na,20ms,1ms\n", tmp_path)
    dressed = '\ufeffname , period,"wcet"\r\n"a", "20ms" ,1ms\r\n\r\n'
    assert read(dressed.replace(', "20ms" ,', ",20ms ,"), tmp_path) == plain


def test_priorities_without_a_scheduler_are_fixed_ones(tmp_path: Path) -> None:
    system = read("period_ms,wcet_ms,priority\n20,2,1\n40,5,0\n", tmp_path)
    assert system.domains[0].scheduler is Scheduler.FP


HEAD = "domain,name,period_ms,wcet\n"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", 1, "no row"),
        ("\n# nothing\n\n", 1, "no row"),
        (HEAD, 1, "no task"),
        ("domain,name,perod_ms,wcet\na,b,1,1ms\n", 1, "did you mean period?"),
        ("domain,name_ms\na,1\n", 1, "unknown column 'name_ms'"),
        ("period,period_ms,wcet\n1ms,1,1ms\n", 1, "the column period a second time"),
        (HEAD + "a,b,20\n", 2, "3 fields; allowed: 4"),
        (HEAD + "\n\na,b,20,1ms,5\n", 4, "5 fields"),
        (HEAD + "a,b,20ms,1ms\n", 2, "period_ms: found '20ms'; allowed: a number of ms"),
        (HEAD + "a,b,-20,1ms\n", 2, "a number of ms"),
        (HEAD + "a,b,1e3,1ms\n", 2, "a number of ms"),
        (HEAD + "a,b,20,1\n", 2, "domain[0].task[0].wcet: found '1'"),
        (HEAD + "a,b,20,1ms\na,c,,1ms\n", 3, "domain[0].task[1].period: found nothing"),
        (HEAD + "a,b,20,1ms\na,b,20,1ms\n", 3, "a second time"),
        (HEAD + "a,b,0.0000001,1ms\n", 2, "whole number of nanoseconds"),
        (HEAD + 'a,"b,20,1ms\n', 2, "CSV, RFC 4180"),
        (HEAD + 'a,"b"c,20,1ms\n', 2, "CSV, RFC 4180"),
        (HEAD + f"a,{'b' * 5000},20,1ms\n", 2, "a longer field"),
        ("period,wcet,priority\n1ms,1us,high\n", 2, "priority: found 'high'; allowed: a whole"),
        ("period,wcet,etf\n1ms,1us,half\n", 2, "etf: found 'half'"),
        ("period,wcet,pcpu\n1ms,1us,0\n2ms,1us,1\n", 3, "pcpu: found '1' for domain set"),
        ("period,wcet,pcpu\n1ms,1us,64\n", 2, "pcpu"),
        ("period,wcet,scheduler\n1ms,1us,llf\n", 2, "scheduler: found 'llf'"),
        ("period,wcet,interface_budget\n1ms,1us,5us\n", 2, "interface.period"),
        ("period,wcet\n" + "1ms,1ns\n" * 4097, 4098, "at most 4096"),
    ],
)
def test_what_is_refused(text: str, line: int, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(text, tmp_path)
    problems = [problem for problem in error.value.problems if words in str(problem)]
    assert problems, str(error.value)
    assert problems[0].line == line
    assert problems[0].file.endswith("set.csv")


names = st.text(
    st.characters(codec="utf-8", exclude_categories=("C", "Z"), exclude_characters=",;\"'\\/<>|"),
    min_size=1,
    max_size=12,
)
times = st.integers(1, 10**15)


@st.composite
def tasks(draw: st.DrawFn, scheduler: str, name: str) -> Task:
    kind = draw(st.sampled_from(list(TaskKind)))
    given = {"name": name, "kind": kind, "offset_ns": draw(st.integers(0, 10**9))}
    if scheduler == "fp":
        given["priority"] = draw(st.integers(0, 100))
    if kind is not TaskKind.BUSY:
        given |= {"period_ns": draw(times), "wcet_ns": draw(times)}
        given |= draw(
            st.fixed_dictionaries(
                {},
                optional={
                    "deadline_ns": times,
                    "jitter_ns": times,
                    "blocking_ns": times,
                    "etf": st.integers(1, 10**9).map(lambda n: Fraction(n, 10**9)),
                },
            )
        )
    return Task.of(given)


@st.composite
def systems(draw: st.DrawFn) -> System:
    pcpus = draw(st.integers(1, 4))
    chosen = draw(st.lists(names, min_size=1, max_size=3, unique=True))
    chosen = [name for name in chosen if name not in RESERVED_NAMES] or ["a"]
    domains = []
    for index, name in enumerate(chosen):
        scheduler = draw(st.sampled_from(SCHEDULERS))
        inside = draw(st.lists(names, min_size=1, max_size=4, unique=True))
        period = draw(times)
        # The last pcpu is in use, so that the table shows how many there are.
        pcpu = pcpus - 1 if index == 0 else draw(st.integers(0, pcpus - 1))
        domains.append(
            Domain(
                name=name,
                scheduler=scheduler,
                pcpu=pcpu,
                interface=Interface(period_ns=period, budget_ns=draw(st.integers(1, period))),
                tasks=tuple(draw(tasks(scheduler, task)) for task in inside),
            )
        )
    policy = parse_policy("ptps")
    return System(name="set", policy=policy, pcpus=pcpus, domains=tuple(domains))


@settings(max_examples=60, deadline=None)
@given(system=systems())
def test_written_and_read_again_is_the_same(
    system: System, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert read(to_table(system), tmp_path_factory.mktemp("table")) == system


TASK = Task(name="t", period_ns=MS, wcet_ns=1)


@pytest.mark.parametrize(
    ("domain", "key"),
    [
        (Domain(name="d", best_effort=True), "best_effort"),
        (Domain(name="d", tasks=(TASK,), extra=True), "extra"),
        (Domain(name="d", tasks=(TASK,), weight=2), "weight"),
        (Domain(name="d", domains=(Domain(name="e", tasks=(TASK,)),)), "domain"),
        (
            Domain(
                name="d",
                tasks=(TASK,),
                interface_period_range=PeriodRange(min_ns=MS, max_ns=2 * MS),
            ),
            "interface_period_range",
        ),
    ],
)
def test_what_a_table_cannot_say(domain: Domain, key: str) -> None:
    system = System(name="s", policy=parse_policy("ptps"), domains=(domain,))
    with pytest.raises(InputError, match=rf"domain\[0\]\.{key}"):
        to_table(system)
