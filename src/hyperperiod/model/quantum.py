# SPDX-License-Identifier: BSD-2-Clause
"""The rule about the quantum: budgets and periods, wherever they are given, are multiples of it."""

from __future__ import annotations

from collections.abc import Iterator

from hyperperiod.model.changes import Change
from hyperperiod.model.domain import Domain, nested_domains
from hyperperiod.model.interface import Interface, PeriodRange
from hyperperiod.model.own_vcpu import OwnVcpu
from hyperperiod.model.units import format_time
from hyperperiod.model.values import Finding, Path


def whole_quanta(
    spare: Interface | None,
    domains: tuple[Domain, ...],
    changes: tuple[Change, ...],
    quantum_ns: int,
) -> Iterator[Finding]:
    """Findings on the times of interfaces and periods that are no multiples of the quantum."""
    for path, time_ns in _times(spare, domains, changes):
        if time_ns % quantum_ns:
            allowed = f"a multiple of the quantum, {format_time(quantum_ns)}"
            yield Finding(path, format_time(time_ns), allowed)


def _times(
    spare: Interface | None, domains: tuple[Domain, ...], changes: tuple[Change, ...]
) -> Iterator[tuple[Path, int]]:
    """Each time (ns) that the rule is about, with its place in the file."""
    if spare is not None:
        yield from _times_of_interface(("spare",), spare)
    for path, member in nested_domains(domains):
        yield from _times_of_server(path, member)
        for number, own in enumerate(member.own_vcpus):
            yield from _times_of_server((*path, "vcpu", number), own)
    for index, change in enumerate(changes):
        if change.interface is not None:
            yield from _times_of_interface(("change", index, "interface"), change.interface)


def _times_of_server(path: Path, one: Domain | OwnVcpu) -> Iterator[tuple[Path, int]]:
    if one.interface is not None:
        yield from _times_of_interface((*path, "interface"), one.interface)
    if one.interface_period_ns is not None:
        yield (*path, "interface_period"), one.interface_period_ns
    if one.interface_period_range is not None:
        yield from _times_of_range((*path, "interface_period_range"), one.interface_period_range)


def _times_of_interface(path: Path, one: Interface) -> Iterator[tuple[Path, int]]:
    yield (*path, "period"), one.period_ns
    yield (*path, "budget"), one.budget_ns


def _times_of_range(path: Path, one: PeriodRange) -> Iterator[tuple[Path, int]]:
    yield (*path, "min"), one.min_ns
    yield (*path, "max"), one.max_ns
    if one.step_ns is not None:
        yield (*path, "step"), one.step_ns
