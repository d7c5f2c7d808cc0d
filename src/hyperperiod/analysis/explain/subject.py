# SPDX-License-Identifier: BSD-2-Clause
"""What `--explain` is asked about: a task, a server, or a domain inside another one.

Tasks are called domain.task, or only task where that is unique; servers like their domain, or
domain.0, domain.1 where it has several vcpus; inner domains by their name. A full name wins over
a short one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hyperperiod.model import Domain, InputError, System, Task
from hyperperiod.model.errors import did_you_mean

SHOWN = 8


@dataclass(frozen=True)
class Subject:
    """`path` leads from the outermost domain to the one meant; without `task`, its server."""

    name: str
    path: tuple[Domain, ...]
    index: int
    task: Task | None = None
    vcpu: int | None = None

    @property
    def domain(self) -> Domain:
        return self.path[-1]


def find(system: System, name: str) -> Subject:
    """The one subject of that name; InputError, with names to choose from, if there is none."""
    subjects = [
        subject
        for index, domain in enumerate(system.domains)
        for subject in _subjects((domain,), index)
    ]
    full = [subject for subject in subjects if subject.name == name]
    short = [one for one in subjects if one.task is not None and one.task.name == name]
    for found in (full, short):
        if len(found) == 1:
            return found[0]
    names = list(dict.fromkeys(subject.name for subject in short or full or subjects))
    shown = ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    hint = "" if short or full else did_you_mean(name, names)
    raise InputError("", None, "--explain", repr(name), f"one task or domain of {shown}{hint}")


def _subjects(path: tuple[Domain, ...], index: int) -> Iterator[Subject]:
    domain = path[-1]
    for task in domain.tasks:
        yield Subject(f"{domain.name}.{task.name}", path, index, task, task.vcpu)
    yield Subject(domain.name, path, index)
    if domain.vcpus > 1:
        for vcpu, name in enumerate(domain.vcpu_names):
            yield Subject(name, path, index, vcpu=vcpu)
    for inner in domain.domains:
        yield from _subjects((*path, inner), index)
