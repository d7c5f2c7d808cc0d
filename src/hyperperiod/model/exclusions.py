# SPDX-License-Identifier: BSD-2-Clause
"""What excludes what: the keys that must not be given beside others, in one table.

`EXCLUDED` says for each kind of object that is narrower than its class (a busy task, a best-effort
domain, a closed source) which fields must stay at their defaults, and in which words a message
refuses them: what was found, what is allowed. In these words `{key}` is the key and `{value}` its
value, both as a file writes them (of a list, its length); other words in braces come from the
caller. `unless` names a field that, where it is given, is why this one is not looked at.

`INTERFACE_KEYS` are the ways to say what a vcpu gets in each period: at most one of them is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from hyperperiod.model.part import Field, Part, fields_of
from hyperperiod.model.values import Finding, Path, show


class Narrower(StrEnum):
    """The kinds of objects in which some keys of their class have no meaning."""

    BUSY_TASK = "a busy task"
    COMMAND = "a task that is a command"
    MOVING_TASK = "a task whose jobs move between vcpus"
    TASK_BY_RULE = "a task whose priority its scheduler works out"
    OUTER_DOMAIN = "a domain of domains"
    INNER_DOMAIN = "a domain in a domain"
    BEST_EFFORT_DOMAIN = "a best-effort domain"
    BEST_EFFORT_VCPU = "a best-effort vcpu"
    PARTITION = "a domain with windows"
    TABLE = "a system with a table"
    WEIGHTED_DOMAIN = "a domain with a weight that is not best effort"
    WEIGHTED_VCPU = "a vcpu with a weight that is not best effort"
    MOVING_DOMAIN = "a domain under a global policy"
    MOVING_VCPU = "a vcpu under a global policy"
    OPEN_SOURCE = "a periodic or sporadic source"
    CLOSED_SOURCE = "a closed source"


class Excluded(NamedTuple):
    """Fields that must stay at their defaults, and what a message says of one that does not."""

    fields: tuple[str, ...]
    found: str
    allowed: str
    unless: str | None = None


INTERFACE_KEYS = ("interface", "interface_period_ns", "interface_period_range")

_UNEQUAL = ("pcpus", "spread", "together", "apart", "own_vcpus")

_BUSY = "a busy task has no period, deadline, jitter or blocking (offset and wcet are free)"
OUTER_ALLOWED = (
    "a domain of domains has no tasks of its own, an interface, and one vcpu unless it is gedf"
)
_ALIKE = "vcpus that differ only in the outermost domain with tasks: no {key}"
_WEIGHTED = (
    Excluded(
        (*INTERFACE_KEYS, "extra"),
        "{key} with a weight",
        "weight or {key}; or best_effort = true with a weight",
    ),
)

EXCLUDED: dict[Narrower, tuple[Excluded, ...]] = {
    Narrower.BUSY_TASK: (
        Excluded(("period_ns",), "{value}", _BUSY),
        # A deadline that nobody gave is the period.
        Excluded(("deadline_ns",), "{value}", _BUSY, unless="period_ns"),
        Excluded(("jitter_ns", "blocking_ns"), "{value}", _BUSY),
        Excluded(
            ("etf",), "{value}", "etf only beside wcet: endless work has none", unless="wcet_ns"
        ),
    ),
    Narrower.COMMAND: (
        Excluded(
            ("wcet_ns", "offset_ns"),
            "{value} of a command",
            "a command begins with the run and has no {key}",
        ),
    ),
    Narrower.MOVING_TASK: (
        Excluded(("vcpu",), "{value}", 'no vcpu: with scheduler = "{scheduler}" jobs move'),
    ),
    Narrower.TASK_BY_RULE: (
        Excluded(
            ("priority",),
            '{value} with scheduler "{scheduler}"',
            'a task priority only with scheduler = "fp" or "gfp"',
        ),
    ),
    Narrower.OUTER_DOMAIN: (
        Excluded(("tasks",), "{value} tasks beside domains", OUTER_ALLOWED),
        Excluded(("best_effort",), "{value}", OUTER_ALLOWED),
        Excluded(("windows",), "{key}", "no {key} of a domain of domains"),
        Excluded(_UNEQUAL, "{key}", _ALIKE),
    ),
    Narrower.INNER_DOMAIN: (
        Excluded(("pcpu",), "{value}", "pcpu only in the outermost domain"),
        Excluded(("best_effort",), "{value}", "false: an inner domain has a server"),
        Excluded(("windows",), "{key}", "{key} only in the outermost domain"),
        Excluded(_UNEQUAL, "{key}", _ALIKE),
    ),
    Narrower.BEST_EFFORT_DOMAIN: (
        Excluded(
            (*INTERFACE_KEYS, "priority", "extra"),
            "{key} with best_effort = true",
            "a best-effort domain has no server: no {key}",
        ),
    ),
    Narrower.BEST_EFFORT_VCPU: (
        Excluded(
            (*INTERFACE_KEYS, "priority", "extra"),
            "{key} with best_effort = true",
            "a best-effort vcpu has no server: no {key}",
        ),
    ),
    Narrower.PARTITION: (
        Excluded(
            (*INTERFACE_KEYS[1:], "priority", "best_effort", "extra", "weight", "own_vcpus"),
            "{key} beside windows",
            "no {key}: windows say what the domain gets",
        ),
        Excluded(("pcpus",), "{key} beside windows", "pcpu: a partition has one vcpu"),
    ),
    Narrower.TABLE: (
        Excluded(
            ("quantum_ns", "sbf", "spare", "overheads", "stolen", "swaps", "changes"),
            '{key} under the policy "table"',
            "no {key}: what it would make of windows is not known",
        ),
    ),
    Narrower.WEIGHTED_DOMAIN: _WEIGHTED,
    Narrower.WEIGHTED_VCPU: _WEIGHTED,
    Narrower.MOVING_DOMAIN: (
        Excluded(("pcpu",), "{value}", "no pcpu: under the global policy {policy} vcpus move"),
        Excluded(("pcpus",), "pcpus", "no pcpus: under the global policy {policy} vcpus move"),
    ),
    Narrower.MOVING_VCPU: (
        Excluded(("pcpu",), "{value}", "no pcpu: under the global policy {policy} vcpus move"),
    ),
    Narrower.OPEN_SOURCE: (
        Excluded(
            ("clients", "think_ns", "think_draw"),
            "{key} of a {kind} source",
            '{key} only with kind = "closed"',
        ),
    ),
    Narrower.CLOSED_SOURCE: (
        Excluded(
            ("period_ns", "jitter_ns", "burst"),
            "{key} of a closed source",
            "a closed source has clients, think, think_draw and offset",
        ),
    ),
}


def excluded(
    narrower: Narrower, one: Part, path: Path = (), /, **words: object
) -> Iterator[Finding]:
    """The findings on the fields of an object of the narrower kind that must not be given but are.

    `path` leads to the object; `words` are those in the row's texts that the object does not know.
    """
    fields = fields_of(type(one))
    for row in EXCLUDED[narrower]:
        if row.unless is not None and _given(one, fields[row.unless]):
            continue
        for field in (fields[name] for name in row.fields):
            if _given(one, field):
                known = {"key": field.key, "value": _shown(one, field), **words}
                found, allowed = row.found.format(**known), row.allowed.format(**known)
                yield Finding((*path, field.key), found, allowed)


def several_interfaces(one: Part, path: Path = ()) -> Iterator[Finding]:
    """The findings on all but the first of the ways in which a domain or vcpu has its interface."""
    fields = fields_of(type(one))
    given = [fields[name].key for name in INTERFACE_KEYS if _given(one, fields[name])]
    for key in given[1:]:
        yield Finding((*path, key), f"{given[0]} and {key}", "one of the two, or neither")


def _given(one: Part, field: Field) -> bool:
    value: Any = getattr(one, field.name)
    return bool(value != field.default)


def _shown(one: Part, field: Field) -> str:
    """A field's value as a file writes it, without quotes; of a list, its length."""
    value = getattr(one, field.name)
    if isinstance(value, tuple):
        return str(len(value))
    written = field.kind.write(value)
    return written if isinstance(written, str) else show(written)
