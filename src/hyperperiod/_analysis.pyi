# SPDX-License-Identifier: BSD-2-Clause
# The native analysis kernels; hyperperiod.analysis has the functions to call.
#
# A row is wcet, period, deadline, jitter, blocking; rows come in order of priority.
# judge            the verdict, and a response bound (holds) or a window that breaks a deadline
#                  (or 0)
# last_response    the response bound of the last load below the others
# minimal_budget   the least multiple of the granule that serves the loads (None: none does), and
#                  whether it surely is the least
# optimal_interface  period, budget (0: none), periods tried, pruned, the last bound, whether all
#                  was judged
# sbf              the least supply in any window of that length

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

Row: TypeAlias = tuple[int, int, int, int, int]

class Shape(Enum):
    GENERAL = 0
    HARMONIC = 1
    POLLING = 2

class Local(Enum):
    FIXED_PRIORITY = 0
    EDF = 1
    FIFO = 2

class Verdict(Enum):
    HOLDS = 0
    MISSES = 1
    UNKNOWN = 2

def judge(
    local: Local, loads: Sequence[Row], shape: Shape, period: int, budget: int
) -> tuple[Verdict, int]: ...
def last_response(
    loads: Sequence[Row], shape: Shape, period: int, budget: int
) -> tuple[Verdict, int]: ...
def minimal_budget(
    local: Local, loads: Sequence[Row], shape: Shape, period: int, granule: int
) -> tuple[int | None, bool]: ...
def optimal_interface(
    components: Sequence[tuple[Local, Sequence[Row]]], shape: Shape, quantum: int
) -> tuple[int, int, int, int, int, bool]: ...
def sbf(shape: Shape, period: int, budget: int, window: int) -> int: ...
