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

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hyperperiod.trace.format import Header

PROPERTIES: tuple[tuple[str, str], ...]

class Checker:
    def __init__(
        self,
        header: Header,
        lateness_ns: int,
        budgets: Sequence[str],
        orders: Sequence[str],
        slacks: Sequence[str],
        properties: Sequence[str],
    ) -> None: ...
    def feed(self, records: NDArray[np.uint8]) -> None: ...
    def close(self) -> list[tuple[str, int, list[tuple[int, str]]]]: ...
