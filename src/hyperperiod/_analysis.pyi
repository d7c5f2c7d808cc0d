# SPDX-License-Identifier: BSD-2-Clause
# The native analysis kernels; hyperperiod.analysis has the functions to call.
#
# A row is wcet, period, deadline, jitter, blocking; rows come in order of priority.
# judge            the verdict, and a response bound (holds) or a window that breaks a deadline
#                  (or 0)
# last_response    the response bound of the last load below the others
# responses        the response bound of each load below those before it
# witness          why it is so, of the load with that index (fixed priority: below those before it;
#                  edf: of all): the verdict, whether no better window is left to find (edf),
#                  release and finish (None: not known) of the job that decides, and windows, the
#                  first of which decides: length, supply, blocking, jobs of each load
# minimal_budget   the least multiple of the granule that serves the loads (None: none does), and
#                  whether it surely is the least
# optimal_interface  period, budget (0: none), periods tried, pruned, the last bound, whether all
#                  was judged; the grid is granule, first period, step, last period (0: no last)
# processor_demand the verdict, the shortest window that is short (misses) or the last one looked
#                  at, the demand in it, how far there was to look (None: no bound is known), and
#                  whether the utilisation is above 1
# largest_wcets    per load, all others as they are: its largest wcet (None: none will do), and
#                  whether it surely is
# shortest_deadlines  likewise its shortest deadline
# judge_batch      fills in the arrays: 1, 0 or -1 (unknown) per set, a bound or -1 per load
# bcl              per load, whether BCL's inequality holds with this room (deadline - wcet + 1)
# iterative_bcl    global EDF on `pcpus`: bounds on all responses (None: not all were confirmed)
# baker_confirms   the index of the first load from `first` on whose inequality of Baker's test does
#                  not surely hold, or the number of loads
# judge_cluster    global EDF on vcpus, so many of each kind: the verdict on the loads from `first`
#                  on, and the number of one and a window that were not confirmed (0: none known)
# cluster_witness  why the load with that index is confirmed or not: verdict, the tightest window or
#                  the one not confirmed (0: none), the supply in it, what of that is needed while
#                  the job runs and one unit, and the most that each load takes of the rest
# cluster_demand   the least supply of a window, from the deadline of the load on, that confirms it
#                  on so many vcpus
# cluster_response a bound on the responses of the load with that index on vcpus if those of the
#                  others are within theirs (None: none is confirmed)
# minimal_cluster_budget  as minimal_budget, for the shared vcpus of a cluster
# response_bound   of jobs of the streams `own` below those `above`: the bound, and release and
#                  completion of the job that decides, in its busy window (None: no bound)
# backlog_bound    the same where no more than `backlog` of own work is pending: the bound
# busy_window      the longest time without a gap in which work of streams is pending
# stream_counts    the most releases of each stream in a half-open window
# piece_bounds     of each flow, first and last hop: as response_bound, for all hops in between
# sbf              the least supply in any window of that length
# supply           shape, period, budget and, of the general shape, when in each period the budget
#                  is there (0: at its end); or a staircase: pairs (amount, wait) up to the budget,
#                  which repeat with the period

from collections.abc import Sequence
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Row: TypeAlias = tuple[int, int, int, int, int]
# wcet, period, jitter, burst, and what bounds a queue: size, jitter of the source, spacing
StreamRow: TypeAlias = tuple[int, int | None, int | None, int, tuple[int, int, int] | None]
# shape, period, budget, deadline; or stairs, period, budget
SupplyRow: TypeAlias = tuple[Shape, int, int, int] | tuple[Sequence[tuple[int, int]], int, int]
# shape, period, budget, deadline, how many vcpus
VcpusRow: TypeAlias = tuple[Shape, int, int, int, int]
# flow or "", hop, level, stream
VisitRow: TypeAlias = tuple[str, int, int, StreamRow]

class Shape(Enum):
    GENERAL = 0
    HARMONIC = 1
    POLLING = 2

class Local(Enum):
    FIXED_PRIORITY = 0
    EDF = 1
    FIFO = 2
    EXECUTOR = 3

class Verdict(Enum):
    HOLDS = 0
    MISSES = 1
    UNKNOWN = 2

class Test(Enum):
    RESPONSE_TIME = 0
    QPA = 1
    PROCESSOR_DEMAND = 2
    GFB = 3
    BAKER = 4
    BCL = 5
    ITERATIVE_BCL = 6

def judge(
    local: Local, loads: Sequence[Row], supply: SupplyRow, looks: int = 50_000_000
) -> tuple[Verdict, int]: ...
def last_response(
    loads: Sequence[Row], supply: SupplyRow, looks: int = 50_000_000
) -> tuple[Verdict, int]: ...
def responses(
    loads: Sequence[Row], supply: SupplyRow, looks: int = 50_000_000
) -> list[tuple[Verdict, int]]: ...
def witness(
    local: Local, loads: Sequence[Row], index: int, supply: SupplyRow, looks: int = 50_000_000
) -> tuple[Verdict, bool, int, int | None, list[tuple[int, int, int, list[int]]]]: ...
def minimal_budget(
    local: Local, loads: Sequence[Row], shape: Shape, period: int, granule: int, deadline: int = 0
) -> tuple[int | None, bool]: ...
def optimal_interface(
    components: Sequence[tuple[Local, Sequence[Row]]],
    shape: Shape,
    grid: tuple[int, int, int, int],
    until: int = 0,
) -> tuple[int, int, int, int, int, bool]: ...
def processor_demand(loads: Sequence[Row]) -> tuple[Verdict, int, int, int | None, bool]: ...
def largest_wcets(
    local: Local, loads: Sequence[Row], supply: SupplyRow
) -> list[tuple[int | None, bool]]: ...
def shortest_deadlines(
    local: Local, loads: Sequence[Row], supply: SupplyRow
) -> list[tuple[int | None, bool]]: ...
def judge_batch(
    test: Test,
    loads: NDArray[np.int64],
    starts: NDArray[np.int64],
    pcpus: int,
    verdicts: NDArray[np.int8],
    bounds: NDArray[np.int64] | None,
) -> None: ...
def judge_cluster(
    loads: Sequence[Row], vcpus: Sequence[VcpusRow], first: int = 0
) -> tuple[Verdict, int, int]: ...
def bcl(loads: Sequence[Row], rooms: Sequence[int], pcpus: int) -> list[bool]: ...
def iterative_bcl(loads: Sequence[Row], pcpus: int) -> list[int] | None: ...
def baker_confirms(loads: Sequence[Row], pcpus: int, first: int) -> int: ...
def cluster_witness(
    loads: Sequence[Row], index: int, vcpus: Sequence[VcpusRow]
) -> tuple[Verdict, int, int, int, list[int]]: ...
def cluster_demand(loads: Sequence[Row], index: int, width: int, window: int) -> int: ...
def cluster_response(
    local: Local,
    loads: Sequence[Row],
    bounds: Sequence[int],
    index: int,
    vcpus: Sequence[VcpusRow],
) -> int | None: ...
def minimal_cluster_budget(
    loads: Sequence[Row], shape: Shape, period: int, granule: int, shared: int, whole: int
) -> tuple[int | None, bool]: ...
def response_bound(
    own: Sequence[StreamRow],
    above: Sequence[StreamRow],
    supply: SupplyRow,
    blocking: int,
) -> tuple[int, int, int] | None: ...
def backlog_bound(
    backlog: int,
    above: Sequence[StreamRow],
    supply: SupplyRow,
    blocking: int,
) -> int | None: ...
def busy_window(streams: Sequence[StreamRow], supply: SupplyRow, blocking: int) -> int | None: ...
def stream_counts(streams: Sequence[StreamRow], window: int) -> list[int]: ...
def piece_bounds(
    visits: Sequence[VisitRow],
    supply: SupplyRow,
    blocking: Sequence[int],
) -> list[tuple[str, int, int, tuple[int, int, int] | None]]: ...
def sbf(supply: SupplyRow, window: int) -> int: ...
