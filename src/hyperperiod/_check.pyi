# SPDX-License-Identifier: BSD-2-Clause
# The native properties of traces; hyperperiod.trace.properties has the functions to call. And the
# rows of records (record/record.h, record/ring.h), of which hyperperiod.trace.format and readers of
# rings are made.
#
# PROPERTIES  name and sentence of each, in the order in which they are reported
# Checker     one trace before some of them, in one pass: the header, how late its picks may be,
#             what the numbers in swap records stand for, and the names of the properties
# feed        the next records, as bytes (32 for each); IndexError if one names what the header does
#             not have. Other threads run meanwhile
# close       the trace has ended: of each property why it was skipped (or empty), how many
#             violations there are, and the first of them as instant and words
# Fields      what the fields of records may be, where there are so many pcpus, vcpus and tasks, and
#             so many budget, order and slack rules
# first_wrong the place among some records (bytes) of the first that no trace has, and the name of
#             its field ("end" for an end that is not the last), or None; `before_ns` is the time of
#             the record before them, `left` how many the trace has from the first of them on

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

class Kind(IntEnum):
    # What happened. The numbers are the ones in the file.
    RUN = 1
    IDLE = 2
    CHARGE = 3
    REPLENISH = 4
    DEPLETE = 5
    ARRIVE = 6
    DEPART = 7
    RELEASE = 8
    COMPLETE = 9
    MISS = 10
    KICK = 11
    SWAP = 12
    END = 13
    ITEM = 14
    DROP = 15
    MOVE = 16

class Call(IntEnum):
    # Kinds that only rings have: calls of the core, and what guests measured.
    START = 32
    QUANTUM = 33
    BUDGET = 34
    SET_SPARE = 35
    ADD = 36
    UPDATE = 37
    REMOVE = 38
    ADD_PCPU = 39
    DROP_PCPU = 40
    SAVED = 41
    HOLD = 42
    BIND = 43
    LEAVE = 44
    WANTED = 45
    REFILL = 46
    LEFT = 47
    JOIN = 48
    STEAL = 49
    RETURN = 50
    SAMPLE = 64
    RESPONSE = 65

NONE: int
# In a vcpu, payer, task or pcpu field: nobody.
SPARE: int
# In a payer or vcpu field: the spare server.
SECOND_PAYER: int
# Flag of a run record: the vcpu pays as well, beside the payer (lend).
EXTRA: int
# Flag of a run or charge record: the vcpu is at an extra-time level.
STOLEN: int
# Flag of an idle record: the pcpu is not there to be granted.
AFTER_PICK: int
# Flag of a depart record: after picks of its instant, and so after its refills.
HOST: int
# Flag of a run record of a ring: the hypervisor took the pcpu for work of its own.
FIELDS: tuple[tuple[str, int], ...]
# The fields of a record in the order in which they lie there, and how many bytes each has.
STEPS: tuple[int, ...]
# By the number of a kind, the step of an instant that its records belong to.

RING_MAGIC: bytes
RING_FIELDS: tuple[tuple[str, int], ...]
# The first 8 bytes of a ring, and the fields of its header behind them.
RING_OVERFLOW: int
RING_ENDED: int
RING_PAUSED: int
# Flags in the header of a ring.

PROPERTIES: tuple[tuple[str, str], ...]

class Checker:
    def __init__(
        self,
        header: Mapping[str, Any],
        lateness_ns: int,
        budgets: Sequence[str],
        orders: Sequence[str],
        slacks: Sequence[str],
        properties: Sequence[str],
    ) -> None: ...
    def feed(self, records: NDArray[np.uint8]) -> None: ...
    def close(self) -> list[tuple[str, int, list[tuple[int, str]]]]: ...

class Fields:
    def __init__(self, pcpus: int, vcpus: int, tasks: int, rules: tuple[int, int, int]) -> None: ...
    def first_wrong(
        self, records: NDArray[np.uint8], before_ns: int, left: int
    ) -> tuple[int, str] | None: ...
