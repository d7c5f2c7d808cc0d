# SPDX-License-Identifier: BSD-2-Clause
"""Records one by one, as objects, for readers that are not in a hurry."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from hyperperiod.model.policy import Budget, Order, Slack
from hyperperiod.trace.format import Records, chunks

BUDGETS: Final = tuple(rule.value for rule in Budget)
ORDERS: Final = tuple(rule.value for rule in Order)
SLACKS: Final = tuple(rule.value for rule in Slack)
"""What the numbers in the value of a swap record stand for."""


class Record(NamedTuple):
    """One record with plain integers, which Python handles far faster than numpy's."""

    time_ns: int
    value: int
    job: int
    pcpu: int
    vcpu: int
    payer: int
    task: int
    kind: int
    flags: int
    reserved: int


def each(records: Records) -> Iterator[Record]:
    """The records of a trace as objects, one by one."""
    for chunk in chunks(records):
        yield from map(Record._make, chunk.tolist())
