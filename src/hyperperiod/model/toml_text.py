# SPDX-License-Identifier: BSD-2-Clause
"""The text of a system, or of a part of one, in TOML.

Only what differs from the defaults is written, in the order of the classes, so that what a
program makes (a generated task set, a fitted system) looks like what a person would write.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from hyperperiod.model.changes import Change, Overrun, Swap
from hyperperiod.model.domain import Domain, default_vcpus
from hyperperiod.model.flow import Device, Flow, default_queue
from hyperperiod.model.own_vcpu import OwnVcpu
from hyperperiod.model.part import Part, fields_of
from hyperperiod.model.policy import Policy
from hyperperiod.model.task import Task
from hyperperiod.model.units import format_time

# Parts that are written as tables of their own; everything else stands on one line.
_TABLES = (Domain, OwnVcpu, Task, Device, Flow, Swap, Change, Overrun)


def toml_text(part: Part) -> str:
    """The text of a TOML file with the keys of the part."""
    return "".join(_table(part, ())).lstrip("\n")


def _table(part: Part, path: tuple[str, ...]) -> Iterator[str]:
    """The plain keys of a part, then the tables inside it."""
    below: list[tuple[str, tuple[Part, ...]]] = []
    for key, value in _written(part):
        if isinstance(value, tuple) and value and isinstance(value[0], _TABLES):
            below.append((key, value))
        else:
            yield f"{key} = {_value(value)}\n"
    for key, members in below:
        header = (*path, key)
        for member in members:
            yield f"\n[[{'.'.join(header)}]]\n"
            yield from _table(member, header)


def _written(part: Part) -> Iterator[tuple[str, Any]]:
    """The keys of a part that say more than its defaults do."""
    for name, field in fields_of(type(part)).items():
        value = getattr(part, name)
        if value == field.default:
            continue
        if isinstance(part, Task) and name == "deadline_ns" and value == part.period_ns:
            continue
        if isinstance(part, Domain) and name == "vcpus" and value == default_vcpus(part):
            continue
        if isinstance(part, Domain) and name == "interface" and part.windows:
            continue
        if isinstance(part, Flow) and name == "queue" and value == default_queue(part):
            continue
        yield field.key, format_time(value) if name.endswith("_ns") else value


def _value(value: Any) -> str:
    match value:
        case Policy():
            return _policy(value)
        case Part():
            inside = ", ".join(f"{inner} = {_value(it)}" for inner, it in _written(value))
            return f"{{ {inside} }}"
        case tuple():
            return "[" + ", ".join(_value(member) for member in value) + "]"
        case StrEnum():
            return f'"{value}"'
        case str():
            return _text(value)
        case bool():
            return "true" if value else "false"
        case Fraction():
            return _decimal(value)
        case _:
            return str(value)


def _policy(policy: Policy) -> str:
    return f'"{policy}"'


def _text(value: str) -> str:
    """A basic string: JSON's escapes are TOML's, except for DEL, which TOML wants escaped."""
    return re.sub("\x7f", r"\\u007F", json.dumps(value, ensure_ascii=False))


def _decimal(value: Fraction) -> str:
    """A factor as a decimal; it was read from one, or is rounded to what files can say."""
    text = f"{Decimal(value.numerator) / Decimal(value.denominator):.9f}".rstrip("0")
    return text + "0" if text.endswith(".") else text
