# SPDX-License-Identifier: BSD-2-Clause
"""The rows of a figure that are of one kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from hyperperiod.model.result_object import ResultObject

SomeRow = TypeVar("SomeRow", bound=ResultObject)


def rows_of(kind: type[SomeRow], rows: Iterable[object]) -> list[SomeRow]:
    """The rows, all of which must be of that kind."""
    found = [row for row in rows if isinstance(row, kind)]
    assert len(found) == len(list(rows)), f"rows that are no {kind.__name__}"
    return found
