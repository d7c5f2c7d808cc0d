# SPDX-License-Identifier: BSD-2-Clause
# Traces in other formats; hyperperiod.trace.convert has the functions to call.
#
# Arrays of records are contiguous, and their numbers of pcpus, vcpus, tasks and rules exist, as in
# every trace that hyperperiod.trace.format has read; IndexError for one that does not.

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

class Perfetto:
    # A trace in Perfetto's format, in pieces that follow one another in the file. Vcpus: name and
    # whether it has a server. Tasks: domain and name. Flows, rules: their names, by their numbers.

    def __init__(
        self,
        *,
        pcpus: int,
        vcpus: Sequence[tuple[str, bool]],
        tasks: Sequence[tuple[str, str]],
        flows: Sequence[str],
        has_one_spare: bool,
        budgets: Sequence[str],
        orders: Sequence[str],
        slacks: Sequence[str],
    ) -> None: ...
    def packets(self, records: NDArray[np.void]) -> bytes: ...
    def last_packets(self, now_ns: int) -> bytes: ...
    # Ends what pcpus do; jobs that are not completed stay open.

class Csv:
    # Rows of CSV, without a heading. Names by their numbers.

    def __init__(self, *, vcpus: Sequence[str], tasks: Sequence[str]) -> None: ...
    def rows(self, records: NDArray[np.void]) -> bytes: ...

class Columns:
    # Columns as Arrow has them in memory, in the order of a record's fields, flags as two: for each
    # the bits that say which records have one (None: all), and its numbers or bits. Names are
    # numbers of lists: of the kinds from the first on, the vcpus with the spare behind them, and
    # the tasks.

    def __init__(self, *, vcpus: int) -> None: ...
    def columns(self, records: NDArray[np.void]) -> list[tuple[bytes | None, bytes]]: ...

PERFETTO_FIELDS: tuple[tuple[str, str, int], ...]
PERFETTO_VALUES: tuple[tuple[str, str, int], ...]
# What is used of Perfetto's format: message, name of a field or of an enum's value, number.
