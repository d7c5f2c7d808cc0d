# SPDX-License-Identifier: BSD-2-Clause
"""The file of a sweep: what is drawn, what is varied, and what judges it.

A sweep is a grid. `[grid]` names keys of the file itself, with the values that each takes; every
combination is a *point*. At each point `systems` systems are drawn, and each is judged by hosts
(the analysis, the simulator) and by tests. What a system has beside its drawn tasks is said by
`[system]`, in the words of system files, or by a system file; without `[draw]` that is all of it,
and a grid over one of its keys varies it.

The system with number n at a point is drawn from a seed that comes from the sweep's seed, from
`[draw]` and from n alone. It does not matter where it is drawn nor when, and points that differ in
nothing of `[draw]` (in their policies, say) have the same systems.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple

from hyperperiod.experiments.sweep.periods import Periods, Range
from hyperperiod.experiments.sweep.utilizations import Undrawable
from hyperperiod.experiments.sweep.workloads import DrawnTask, DrawRequest, Generator, draw_tasks
from hyperperiod.model import Domain, InputError, Scope, System, Task, parse_policy
from hyperperiod.model.limits import Prose
from hyperperiod.model.load import read_document, read_experiment_document
from hyperperiod.model.part import Part, SomePart, fields_of, key, read_part, show_path
from hyperperiod.model.values import (
    Etf,
    Finding,
    JsonSchema,
    Kind,
    Name,
    Positive,
    PositiveTime,
    Reading,
    TomlTable,
    show,
)
from hyperperiod.model.values import Path as KeyPath

SECOND_NS = 1_000_000_000
MS_NS = 1_000_000
POINTS_LIMIT = 100_000
WHAT_CAN_BE_DRAWN = "what can be drawn"
LineOf = Callable[[KeyPath], int | None]
"""The line of a key in a file; None where there is no file."""


class Amount(Kind):
    """A number above 0, as an exact fraction."""

    def read(self, value: Any, path: KeyPath, reading: Reading) -> Any:
        number = isinstance(value, (int, Decimal, float, Fraction)) and not isinstance(value, bool)
        if not number or not 0 < value <= 1024:
            return reading.refuse(path, show(value), "a number above 0 and at most 1024")
        return Fraction(str(value)) if isinstance(value, float) else Fraction(value)

    def schema(self, definitions: Any) -> JsonSchema:  # noqa: ARG002
        return {"type": "number", "exclusiveMinimum": 0, "maximum": 1024}


class Host(StrEnum):
    """Who says what becomes of a system."""

    ANALYSIS = "analysis"
    SIM = "sim"
    XEN = "xen"
    LINUX = "linux"


MACHINES = (Host.XEN, Host.LINUX)
"""Those that run a system on a machine of its own, one after the other."""


class TaskTest(StrEnum):
    """Tests of all tasks together, as if there were no domains."""

    LIU_LAYLAND = "liu-layland"
    HYPERBOLIC = "hyperbolic"
    RESPONSE_TIME = "response-time"
    QPA = "qpa"
    GFB = "gfb"
    BAKER = "baker"
    BCL = "bcl"
    ITERATIVE_BCL = "iterative-bcl"


class Draw(Part):
    """What is drawn of each system."""

    generator: Generator = key("how tasks are drawn", default=Generator.UUNIFAST)
    utilization: Annotated[Fraction, Amount()] = key("of all tasks of a system together")
    domains: Positive = key("how many domains the tasks are spread over", default=1)
    tasks: Positive = key("how many tasks, all in all", default=10)
    max_share: Annotated[Fraction, Amount()] = key(
        "the most that one task may ask for", default=Fraction(1)
    )
    periods: Periods = key("how periods are drawn", default=Periods.LOG_UNIFORM)
    min_period_ns: PositiveTime = key("the least period", default=10 * MS_NS)
    max_period_ns: PositiveTime = key("the greatest", default=SECOND_NS)
    period_step_ns: PositiveTime = key("periods are multiples of it", default=MS_NS)
    min_deadline: Etf = key(
        "deadlines are uniform from this part of the period to the whole", default=Fraction(1)
    )
    wcet_step_ns: PositiveTime = key("execution times are multiples of it", default=1000)
    domain: dict[str, Any] = key("keys that every drawn domain has", default={})
    task: dict[str, Any] = key("keys that every drawn task has", default={})

    def _findings(self) -> Iterable[Finding]:
        if self.min_period_ns > self.max_period_ns:
            yield Finding(("min_period",), "a time above max_period", "at most max_period")
        elif self.max_period_ns // self.period_step_ns * self.period_step_ns < self.min_period_ns:
            yield Finding(("period_step",), "no multiple in the range of periods", "a smaller step")

    @property
    def asked(self) -> DrawRequest:
        """What the generator is to draw."""
        return DrawRequest(
            self.generator,
            self.domains,
            self.tasks,
            self.utilization,
            self.max_share,
            self.periods,
            Range(self.min_period_ns, self.max_period_ns, self.period_step_ns),
            self.min_deadline,
            self.wcet_step_ns,
        )


class Sweep(Part):
    """A sweep over many systems."""

    name: Name = key("what the sweep is called")
    title: Prose = key("the heading of its page", default="", unset="the name")
    source: Prose = key("where it comes from; free text", default="", unset="empty")
    seed: int = key("the seed of all draws", default=1)
    systems: Positive = key("how many systems are drawn at each point", default=100)
    part: Positive = key(
        "how many of them are one piece of work, which is done as a whole or not at all",
        default=250,
    )
    horizon_ns: PositiveTime = key("how long each is simulated", default=10 * SECOND_NS)
    hosts: tuple[Host, ...] = key(
        "`analysis` (interfaces and verdicts), `sim` (a run up to the horizon), `xen` and `linux`"
        " (a run in QEMU)",
        default=(Host.ANALYSIS,),
    )
    tests: tuple[TaskTest, ...] = key(
        "tests of all tasks together, as if there were no domains", default=(), unset="none"
    )
    x: str | None = key(
        "the key of the grid on the x axis of the page",
        default=None,
        unset="the first with several numbers",
    )
    file: str | None = key(
        "a system file, relative to this one; `[system]` overrides its keys",
        default=None,
        unset="none",
    )
    system: dict[str, Any] = key("keys of a system file", default={}, unset="none")
    draw: Draw | None = key("the tasks that are drawn", default=None, unset="none")
    grid: dict[str, Any] = key(
        "keys of this file, in quotes, with lists of values", default={}, unset="one point"
    )

    def _findings(self) -> Iterable[Finding]:
        if not self.hosts and not self.tests:
            yield Finding(("hosts",), "no host and no test", "one of them at least")
        if self.x is not None and self.x not in self.grid:
            yield Finding(("x",), repr(self.x), "a key of [grid]")


class Pattern(Generic[SomePart]):
    """Records that have `common` keys and differ in others: read once in full, then varied."""

    def __init__(self, part: type[SomePart], common: TomlTable) -> None:
        self._part, self._common = part, common
        self._first: SomePart | None = None

    def like(self, own: TomlTable) -> SomePart | TomlTable:
        """The record with these keys, or their table if it is refused: its reader says why.

        The keys are the same at every call; common ones go before them.
        """
        table = {**own, **self._common}
        if self._first is None:
            reading = Reading(from_file=False)
            made = read_part(self._part, table, (), reading)
            if not reading.findings and self._common.keys().isdisjoint(own):
                self._first = made
            return table
        return self._first.varied(**own) or table


@dataclass(frozen=True)
class Point:
    """One combination of the grid: its values by key, and the sweep with them in place."""

    number: int
    values: Mapping[str, Any]
    sweep: Sweep

    @cached_property
    def tasks(self) -> Pattern[Task]:
        """What is drawn as a task here."""
        return Pattern(Task, {} if self.sweep.draw is None else self.sweep.draw.task)

    @cached_property
    def domains(self) -> Pattern[Domain]:
        """What is drawn as a domain here."""
        common = {} if self.sweep.draw is None else self.sweep.draw.domain
        return Pattern(Domain, {name: one for name, one in common.items() if name != "task"})


@dataclass(frozen=True)
class PartOfWork:
    """Systems of one point that are done together: those from `first` up to `end`."""

    number: int
    point: Point
    first: int
    end: int

    @property
    def systems(self) -> int:
        """How many."""
        return self.end - self.first


@dataclass(frozen=True)
class LoadedSweep:
    """A sweep as it was read: every worker makes the same points of the same `document`."""

    name: str
    document: TomlTable
    sweep: Sweep
    points: tuple[Point, ...]

    @property
    def digest(self) -> str:
        """What tells one experiment from another: its results depend on nothing else."""
        return _digest(self.document)

    def parts(self) -> list[PartOfWork]:
        """All the work, point after point."""
        found: list[PartOfWork] = []
        for point in self.points:
            systems, size = point.sweep.systems, point.sweep.part
            for first in range(0, systems, size):
                found.append(PartOfWork(len(found), point, first, min(first + size, systems)))
        return found


def load_sweep(name: str, systems: int | None = None) -> LoadedSweep:
    """The experiment in the file `name`; InputError if it is wrong.

    `systems` counts instead of the number in the file. The first system of every point is made, so
    that what is wrong with one is known before any work begins.
    """
    document, line_of = read_experiment_document(name)
    return _checked(name, document, systems, line_of)


def experiment_in(values: Mapping[str, Any], systems: int | None = None) -> LoadedSweep:
    """The experiment that a program says as a dictionary with the keys of a file.

    It is the one of a file that says the same: their folders are alike. Errors are as of files.
    """
    return _checked("", _as_in_files(values), systems, lambda _path: None)


def _checked(file: str, document: TomlTable, systems: int | None, line_of: LineOf) -> LoadedSweep:
    """The experiment, of which the first system of every point could be made."""
    base = _base_of(file, document)
    own_keys = {(one,) for one in document.get("system", {})} if base is not None else set()
    if base is not None:
        rest = {one: value for one, value in document.items() if one != "file"}
        document = {**rest, "system": base.table | document.get("system", {})}
    if systems is not None:
        document = {**document, "systems": systems}
    experiment = _read(file or "the experiment", document, line_of)
    for point in experiment.points:
        _, findings = _made(point, 0)
        if findings:
            path, found, allowed = findings[0]
            where, key = path[:1], path[1:]
            if base is not None and where == ("system",) and key[:1] not in own_keys:
                raise InputError(base.file, base.line_of(key), show_path(key), found, allowed)
            name = file or "the experiment"
            raise InputError(name, line_of(path), show_path(path), found, allowed)
    return experiment


def _as_in_files(value: Any) -> Any:
    """A value of Python as a reader of TOML gives it: lists, and decimal numbers."""
    if isinstance(value, Mapping):
        return {str(key): _as_in_files(one) for key, one in value.items()}
    if hasattr(value, "tolist"):  # an array
        value = value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [_as_in_files(one) for one in value]
    return Decimal(str(value)) if isinstance(value, float) else value


def experiment_of(name: str, document: TomlTable) -> LoadedSweep:
    """The same experiment from a document that `load_sweep` has read, as workers are given it."""
    return _read(name, document, lambda _path: None)


class Base(NamedTuple):
    """The system file that a sweep names: its table goes into the experiment for the workers."""

    file: str
    table: TomlTable
    line_of: LineOf


def _base_of(name: str, document: TomlTable) -> Base | None:
    """What the file says that the document of the file `name` names; None if it names none."""
    file = document.get("file")
    if not isinstance(file, str) or not isinstance(document.get("system", {}), dict):
        return None
    path = str(Path(name).parent / file)
    return Base(path, *read_document(path))


def _read(name: str, document: TomlTable, line_of: LineOf) -> LoadedSweep:
    sweep = _sweep_of(name, document, line_of)
    axes = []
    for path, values in sweep.grid.items():
        if not isinstance(values, list) or not values:
            allowed = "a list of at least one value"
            raise InputError(name, line_of(("grid", path)), f"grid.{path}", show(values), allowed)
        axes.append([(path, value) for value in values])
    count = 1
    for axis in axes:
        count *= len(axis)
    if count > POINTS_LIMIT:
        raise InputError(name, line_of(("grid",)), "grid", f"{count:,} points", f"{POINTS_LIMIT:,}")
    points = []
    for number, chosen in enumerate(product(*axes)):
        changed = deepcopy(document)
        for path, value in chosen:
            _set(name, changed, path, value, line_of)
        points.append(Point(number, dict(chosen), _sweep_of(name, changed, line_of, sweep.grid)))
    return LoadedSweep(name, document, sweep, tuple(points))


def _sweep_of(name: str, document: TomlTable, line_of: LineOf, varied: Iterable[str] = ()) -> Sweep:
    """The sweep that a document says, with values of the grid at the keys in `varied`."""
    reading = Reading(from_file=True)
    sweep = read_part(Sweep, document, (), reading)
    if sweep is None or reading.findings:
        one = reading.findings[0]
        path = _in_grid(one.path, varied)
        raise InputError(name, line_of(path), show_path(path), one.found, one.allowed)
    return sweep


def _in_grid(path: KeyPath, varied: Iterable[str]) -> KeyPath:
    """The line of the grid that says what is at a path of the file; the path, if none does."""
    for one in varied:
        steps = _steps(one)
        if steps is not None and path[: len(steps)] == steps:
            return ("grid", one)
    return path


_STEP = re.compile(r"([A-Za-z_][\w-]*)((?:\[\d+\])*)")


def _steps(path: str) -> KeyPath | None:
    """The keys and indices of a path such as `system.domain[0].scheduler`; None if it is none."""
    steps: list[str | int] = []
    for one in path.split("."):
        match = _STEP.fullmatch(one)
        if match is None:
            return None
        steps += [match[1], *(int(index) for index in re.findall(r"\d+", match[2]))]
    return tuple(steps)


def _set(name: str, document: TomlTable, path: str, value: Any, line_of: LineOf) -> None:
    """Puts a value where a path such as `system.domain[0].interface.budget` leads."""
    steps = _steps(path)
    if steps is None:
        allowed = "keys of this file, as in draw.utilization or system.domain[0].scheduler"
        raise InputError(name, line_of(("grid", path)), "grid", repr(path), allowed)
    known = {field.key for field in fields_of(Sweep).values()} - {"grid", "name", "file", "part"}
    if steps[0] not in known:
        allowed = f"a key that begins with {', '.join(sorted(known))}"
        raise InputError(name, line_of(("grid", path)), "grid", repr(path), allowed)
    at: Any = document
    for step in steps[:-1]:
        if isinstance(step, str) and isinstance(at, dict):
            at = at.setdefault(step, {})
        elif isinstance(step, int) and isinstance(at, list) and step < len(at):
            at = at[step]
        else:
            raise InputError(name, line_of(("grid", path)), "grid", repr(path), "a key that exists")
    if not isinstance(at, dict) or not isinstance(steps[-1], str):
        raise InputError(name, line_of(("grid", path)), "grid", repr(path), "a key of a table")
    at[steps[-1]] = value


def seed_of(point: Point, number: int) -> int:
    """The seed of a system: of its draws, and of its run."""
    draw = point.sweep.draw
    drawn = None if draw is None else {**vars(draw), "domain": None, "task": None}
    return int(_digest([point.sweep.seed, drawn, number])[:16], 16)


def system_of(point: Point, number: int) -> System:
    """The system with this number at a point; InputError where keys do not go together."""
    system, findings = _made(point, number)
    if system is None or findings:
        path, found, allowed = findings[0]
        about = f"{point.sweep.name}, point {point.number}, system {number}"
        raise InputError(about, None, show_path(path), found, allowed)
    return system


def _made(point: Point, number: int) -> tuple[System | None, list[Finding]]:
    """The system with this number, if there can be one, and what is wrong, by keys of the file."""
    sweep = point.sweep
    name = f"{sweep.name}-{point.number}-{number}"
    table: TomlTable = {"policy": "ptps", **sweep.system, "name": name[-64:]}
    if sweep.draw is not None:
        try:
            table["domain"] = _drawn_domains(point, sweep.draw, table, seed_of(point, number))
        except Undrawable as error:
            return None, [Finding(("draw",), str(error), WHAT_CAN_BE_DRAWN)]
        except InputError as error:  # of a policy that is none
            path = _in_grid(("system", "policy"), point.values)
            return None, [Finding(path, error.found, error.allowed)]
    reading = Reading(from_file=False)
    system = read_part(System, table, (), reading)
    if system is not None:
        reading.findings.extend(system.missing_pins())
    return system, [
        one._replace(path=_in_grid(_key_of(point, one.path), point.values))
        for one in reading.findings
    ]


def _key_of(point: Point, path: KeyPath) -> KeyPath:
    """The key of the sweep's file that a key of its systems comes from."""
    match path:
        case ("domain", int(), "task", int(), *rest) if point.sweep.draw is not None:
            return ("draw", "task", *rest)
        case ("domain", int(), *rest) if point.sweep.draw is not None:
            return ("draw", "domain", *rest)
    return ("system", *path)


def domain_name(index: int) -> str:
    """What a drawn domain is called."""
    return f"domain{index + 1}"


def task_name(index: int) -> str:
    """What a drawn task is called in its domain."""
    return f"task{index + 1}"


def drawn_domains(point: Point, number: int) -> list[list[tuple[int, int, int, int, int]]]:
    """The loads of a system with this number, by domain.

    They are wcet, period and deadline (ns), no jitter and no blocking.
    """
    draw = point.sweep.draw
    if draw is None:
        return []
    try:
        domains = _tasks_by_domain(draw, seed_of(point, number))
    except Undrawable as error:
        about = f"{point.sweep.name}, point {point.number}, system {number}"
        raise InputError(about, None, "draw", str(error), WHAT_CAN_BE_DRAWN) from None
    return [
        [(task.wcet_ns, task.period_ns, task.deadline_ns, 0, 0) for task in tasks]
        for tasks in domains
    ]


def only_loads_are_drawn(draw: Draw) -> bool:
    """Whether all that systems differ in is what `drawn_domains` has."""
    drawn = {"name", "period", "wcet", "deadline"}
    return drawn.isdisjoint(draw.task) and "name" not in draw.domain


def _tasks_by_domain(draw: Draw, seed: int) -> list[list[DrawnTask]]:
    """The tasks of each domain that has some."""
    tasks = draw_tasks(draw.asked, seed)
    domains: dict[int, list[DrawnTask]] = {}
    for task in tasks:
        domains.setdefault(task.domain, []).append(task)
    return [domains[index] for index in sorted(domains)]


def _drawn_domains(
    point: Point, draw: Draw, table: TomlTable, seed: int
) -> list[Domain | TomlTable]:
    """The domains of a system: those with tasks, in order, each on the least loaded pcpu."""
    domains = _tasks_by_domain(draw, seed)
    made: list[TomlTable] = [
        {
            "name": domain_name(index),
            "task": [
                point.tasks.like(
                    {
                        "name": task_name(number),
                        "period": task.period_ns,
                        "wcet": task.wcet_ns,
                        "deadline": task.deadline_ns,
                    }
                )
                for number, task in enumerate(tasks)
            ],
        }
        for index, tasks in enumerate(domains)
    ]
    pcpus = table.get("pcpus", 1)
    if isinstance(pcpus, int) and pcpus > 1 and _is_partitioned(table["policy"]):
        _place(made, domains, pcpus)
    return [point.domains.like(one) for one in made]


def _is_partitioned(policy: Any) -> bool:
    if isinstance(policy, dict):
        return policy.get("scope") != Scope.GLOBAL
    return parse_policy(policy).scope is Scope.PARTITIONED


def _place(made: list[TomlTable], domains: Sequence[list[DrawnTask]], pcpus: int) -> None:
    """Worst fit: the domains that ask for most first, each where the least is asked for so far."""
    loads = [Fraction(0)] * pcpus
    wants = [
        sum((Fraction(task.wcet_ns, task.period_ns) for task in tasks), Fraction(0))
        for tasks in domains
    ]
    for place in sorted(range(len(made)), key=lambda one: (-wants[one], one)):
        pcpu = loads.index(min(loads))
        made[place]["pcpu"] = pcpu
        loads[pcpu] += wants[place]


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
