# SPDX-License-Identifier: BSD-2-Clause
# The native properties of traces; hyperperiod.trace.properties has the functions to call.
#
# PROPERTIES  name and sentence of each, in the order in which they are reported
# Checker     one trace before some of them, in one pass: the header, how late its picks may be,
#             what the numbers in swap records stand for, and the names of the properties
# feed        the next records, as bytes (32 for each); IndexError if one names what the header does
#             not have. Other threads run meanwhile
# close       the trace has ended: of each property why it was skipped (or empty), how many
#             violations there are, and the first of them as instant and words
# Fields      what the fields of records may be: by kind (0 is none) and for each of pcpu, vcpu,
#             payer and task three numbers, an id being below the first, or from the second up to
#             before the third; and how many budget, order and slack rules there are
# first_wrong the place among some records (bytes) of the first that no trace has, and the name of
#             its field ("end" for an end that is not the last), or None; `before_ns` is the time of
#             the record before them, `left` how many the trace has from the first of them on

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    def __init__(
        self, ids: Sequence[Sequence[tuple[int, int, int]]], rules: tuple[int, int, int]
    ) -> None: ...
    def first_wrong(
        self, records: NDArray[np.uint8], before_ns: int, left: int
    ) -> tuple[int, str] | None: ...
